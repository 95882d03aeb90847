import shutil
from html.parser import HTMLParser

import pytest

from benchmarks.errors import BenchmarkError
from benchmarks.reports.report import facts, instance_lines, run_trace, write_report
from benchmarks.runs.rows import RowFile


class Page(HTMLParser):
    """Collects the cells of all tables, and everything that a page would load."""

    def __init__(self):
        super().__init__()
        self.rows, self.loads, self.tags = [], [], []
        self._cell = None

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        names = ("src", "href", "xlink:href")
        self.loads += [value for name, value in attributes if name in names]
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")
            self._cell = True

    def handle_endtag(self, tag):
        if tag in ("td", "th"):
            self._cell = None

    def handle_data(self, data):
        if self._cell:
            self.rows[-1][-1] += data


@pytest.fixture
def folder(tmp_path, hand_made):
    shutil.copy(hand_made, tmp_path / "rows.csv")
    return tmp_path


def parsed(path):
    page = Page()
    page.feed(path.read_text(encoding="utf-8"))
    return page


def test_html_shows_the_figures_of_the_rows(folder):
    _, html = write_report(folder)
    page = parsed(html)
    rows = {row[0]: row[1:] for row in page.rows}
    seconds = (20 * 40 * 110) ** (1 / 3) - 10
    assert " ".join(rows["compact + highs"]) == f"3 3 2 0 0 0 of 3 {seconds:.2f} 3.333 12.000 500"
    assert " ".join(rows["compact + scip"][:5]) == "3 1 1 1 1"
    assert rows["one"] == ["200.0000", "10.00 s", "5.00 s", "1.000 %"]
    assert rows["two"] == ["100.0000", "30.00 s", "wrong", "0.000 %"]
    assert rows["three"] == ["50.0000", "10.000 % / 33.3 %", "refused", "timeout"]


def test_html_is_one_self_contained_file(folder):
    page = parsed(write_report(folder)[1])
    assert all(load.startswith("#") for load in page.loads)
    assert page.tags.count("svg") == 3
    assert "script" not in page.tags


def test_html_escapes_what_runs_say(folder, make_row):
    rows = RowFile(folder / "rows.csv")
    with rows.writing():
        rows.append(make_row(status="crash", verified=None, message="<script>alert(1)</script>"))
    text = write_report(folder)[1].read_text()
    assert "<script>" not in text
    assert "&lt;script&gt;alert(1)" in text


def test_markdown_has_the_tables_and_its_plots(folder):
    markdown, _ = write_report(folder)
    text = markdown.read_text(encoding="utf-8")
    assert "| one | 200.0000 | 10.00 s | 5.00 s | 1.000 % |" in text
    assert "- two, compact + scip, seed 0: wrong. objective: the objective is said to be" in text
    for name in ("profile", "gap", "integral"):
        assert f"(plots/{name}.svg)" in text
        assert (folder / "plots" / f"{name}.svg").read_text().startswith("<svg")


def test_the_same_rows_give_the_same_report(folder):
    first = [path.read_bytes() for path in write_report(folder)]
    assert first == [path.read_bytes() for path in write_report(folder)]


def test_a_folder_without_rows_is_refused(tmp_path):
    with pytest.raises(BenchmarkError, match="holds no rows"):
        write_report(tmp_path)


def test_facts_name_every_value_that_occurs(make_row):
    rows = [make_row(key="a", time_limit=5.0), make_row(key="b", host="there", time_limit=60.0)]
    found = dict(facts(rows))
    assert found["machine"].count("some processor") == 2
    assert "host there" in found["machine"]
    assert found["time limit"] == "5 s, 60 s"
    assert found["versions"] == "highs 2.0, qpopt 1.0"


def test_cells_take_the_mean_over_seeds(make_row):
    solved = [make_row(seed=s, solve_seconds=float(s), build_seconds=0.0) for s in (1, 3)]
    open_ones = [
        make_row(seed=s, solver="scip", status="feasible", gap_to_best=g, gap=2 * g)
        for s, g in ((0, 0.01), (1, 0.03))
    ]
    (line,) = instance_lines([*solved, *open_ones], ["compact + highs", "compact + scip", "x"])
    assert [cell.text for cell in line.cells] == ["2.00 s", "2.000 % / 4.0 %", ""]


def test_a_trace_never_exceeds_the_verified_result(tmp_path, make_row):
    row = make_row(key="k", objective=100.0, build_seconds=1.0, solve_seconds=4.0)
    (tmp_path / "k.jsonl").write_text("[0.5, null, 300.0]\n[1.0, 90.0, null]\n[2.0, 170.0, 300]\n")
    assert run_trace(row, tmp_path) == [(1.0, 90.0), (2.0, 100.0), (5.0, 100.0)]
    assert run_trace(make_row(key="k", objective=None), tmp_path) == []
    assert run_trace(make_row(key="other"), tmp_path) == [(2.0, 100.0)]
