import pytest

from benchmarks.errors import BenchmarkError
from benchmarks.runs.rows import COLUMNS, RowFile


@pytest.fixture
def rows(tmp_path):
    return RowFile(tmp_path / "results" / "rows.csv")


def test_rows_come_back_as_they_were(rows, make_row):
    given = [
        make_row(key="a", objective=0.1 + 0.2, message='says "no", and\nbreaks off'),
        make_row(key="b", objective=None, verified=None, bound=None, gap=None, seed=7),
        make_row(key="c", verified=False, status="wrong"),
    ]
    with rows.writing():
        for row in given:
            rows.append(row)
    first, *rest = rows.read()
    assert first.message == 'says "no", and breaks off'
    assert first.objective == 0.1 + 0.2
    assert rest == given[1:]


def test_the_last_row_of_a_run_counts(rows, make_row):
    with rows.writing():
        for key, seconds in (("a", 1.0), ("b", 2.0), ("a", 3.0)):
            rows.append(make_row(key=key, solve_seconds=seconds))
    assert [(row.key, row.solve_seconds) for row in rows.read()] == [("b", 2.0), ("a", 3.0)]


@pytest.mark.parametrize("cut", [1, 20, 200])
def test_a_row_cut_short_is_dropped_and_writing_goes_on(rows, make_row, cut):
    with rows.writing():
        rows.append(make_row(key="a"))
        rows.append(make_row(key="b"))
    content = rows.path.read_bytes()
    rows.path.write_bytes(content[:-cut])
    assert [row.key for row in rows.read()] == ["a"]
    with rows.writing():
        rows.append(make_row(key="c"))
    assert [row.key for row in rows.read()] == ["a", "c"]


def test_only_one_process_writes(rows):
    with rows.writing():
        other = RowFile(rows.path)
        with pytest.raises(BenchmarkError, match="Another process is writing"), other.writing():
            pass
    with rows.writing():
        pass


def test_a_file_of_another_version_is_refused(rows):
    rows.path.parent.mkdir()
    rows.path.write_text("instance,seconds\ntoy,1\n")
    with pytest.raises(BenchmarkError, match="other columns"):
        rows.read()


def test_a_bad_cell_is_named(rows, make_row):
    with rows.writing():
        rows.append(make_row(key="odd", seed=123456))
    rows.path.write_text(rows.path.read_text().replace("123456", "many"))
    with pytest.raises(BenchmarkError, match="bad row for 'odd'"):
        rows.read()


def test_no_file_means_no_rows(rows):
    assert rows.read() == []


def test_the_columns_that_the_documentation_promises_are_there():
    promised = (
        "instance fingerprint method solver versions seed threads status objective bound gap "
        "gap_to_best build_seconds solve_seconds wall_seconds peak_memory host finished "
        "qpopt_version commit claimed_objective claimed_status verified"
    )
    assert set(promised.split()) <= set(COLUMNS)
