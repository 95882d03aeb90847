from functools import partial

import pytest

from benchmarks.library.curation import improve
from benchmarks.runs.execute import Outcome, execute
from benchmarks.runs.rows import RowFile
from benchmarks.runs.run import run
from qpopt import Solution
from tests.benchmarks.conftest import STUB


@pytest.fixture
def start(library, tmp_path):
    """Run with the stub into a folder of its own."""
    carry_out = partial(execute, command=STUB)

    def go(specs, **options):
        return run(specs, tmp_path / "out", library=library, carry_out=carry_out, **options)

    return go


def test_good_and_bad_runs_all_become_rows(start, make_spec, tmp_path):
    specs = [make_spec(solver=act) for act in ("fine", "crash", "boast", "refuse")]
    rows = start(specs, jobs=2)
    assert {row.solver: row.status for row in rows} == {
        "fine": "optimal",
        "crash": "crash",
        "boast": "wrong",
        "refuse": "refused",
    }
    written = RowFile(tmp_path / "out" / "rows.csv").read()
    assert {row.key for row in written} == {spec.key for spec in specs}
    traces = {path.stem for path in (tmp_path / "out" / "traces").iterdir()}
    assert traces >= {specs[0].key}
    assert Solution.load(tmp_path / "out" / "solutions" / f"{specs[0].key}.json").found


def test_a_second_start_does_only_what_is_missing(start, make_spec, tmp_path):
    first, second = make_spec(seed=0), make_spec(seed=1)
    assert len(start([first])) == 1
    assert [row.seed for row in start([first, second])] == [1]
    assert start([first, second]) == []
    assert len(start([first, second], rerun=True)) == 2
    lines = (tmp_path / "out" / "rows.csv").read_text().splitlines()
    assert len(lines) == 1 + 4
    assert len(RowFile(tmp_path / "out" / "rows.csv").read()) == 2


def test_a_run_whose_row_was_cut_short_is_repeated(start, make_spec, tmp_path):
    specs = [make_spec(seed=seed) for seed in range(2)]
    start(specs)
    path = tmp_path / "out" / "rows.csv"
    path.write_bytes(path.read_bytes()[:-30])
    assert len(start(specs)) == 1
    assert {row.key for row in RowFile(path).read()} == {spec.key for spec in specs}


def test_runs_that_the_user_stopped_leave_no_row(library, make_spec, tmp_path):
    rows = run(
        [make_spec()],
        tmp_path / "out",
        library=library,
        carry_out=lambda spec, **options: Outcome("stopped", 0.0, 0.0),
    )
    assert rows == []
    assert RowFile(tmp_path / "out" / "rows.csv").read() == []


def test_solutions_of_runs_can_improve_the_library(start, make_spec, tmp_path, library):
    start([make_spec()])
    (file,) = (tmp_path / "out" / "solutions").glob("*.json")
    entry = library.entry("toy")
    library.put(type(entry)(**{**vars(entry), "objective": None, "bound": None}))
    assert improve(library, Solution.load(file)).endswith("(solved)")
