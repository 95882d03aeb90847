from dataclasses import replace

import pytest

from benchmarks.studies.models.results import Result, ResultFile
from benchmarks.studies.models.tables import cell, comparisons, write_tables

ONE = Result(
    data="birds | few",
    method="dense",
    seed=0,
    judged_by="test",
    recipe='{"beta": 2.0}',
    figures={"accuracy": 80.0, "sid5": 60.0, "contrastiveness": 70.0, "correlation": 30.0},
    minutes=2.0,
    commit="abc",
    finished="2026-01-02T03:04:05+00:00",
)


def with_(**changes):
    figures = ONE.figures | changes.pop("figures", {})
    return replace(ONE, figures=figures, **changes)


def test_a_cell_has_mean_and_deviation():
    assert cell([], 1) == "–"
    assert cell([1.25], 1) == "1.2"
    assert cell([1.0, 3.0], 1) == "2.0 ± 1.4"


def test_every_recipe_has_its_table():
    ours = {"accuracy": 84.0, "pairs": 12.0}
    results = [
        ONE,
        with_(seed=1, figures={"accuracy": 82.0}),
        with_(method="optimised", figures=ours),
        with_(recipe="{}"),
    ]
    first, second = comparisons(results)
    heading, dense, optimised = first.lines
    assert len(heading) == len(dense) == len(optimised)
    assert dense[:3] == ["dense", "81.0 ± 1.4", "60.0 ± 0.0"]
    assert optimised[1] == "84.0"
    assert optimised[heading.index("contrastive pairs")] == "12"
    assert optimised[heading.index("CPU min")] == "2.0"
    assert dict(first.facts)["seeds"] == "0, 1"
    assert dict(first.facts)["settings"] == "beta: 2.0"
    # One method alone compares with nothing.
    assert first.radar.startswith("<svg")
    assert second.radar == ""


def test_the_pages_hold_the_table(tmp_path):
    file = ResultFile(tmp_path)
    for result in (ONE, with_(method="<b>", figures={"accuracy": 84.0})):
        file.append(result)
    (one,) = write_tables(tmp_path)
    assert one.markdown in (tmp_path / "models.md").read_text()
    page = (tmp_path / "models.html").read_text()
    assert "<td>84.0</td>" in page
    assert "<svg" in page
    assert "&lt;b&gt;" in page
    assert "<td><b>" not in page


@pytest.mark.parametrize("column", ["correlation"])
def test_less_of_some_figures_is_better(column):
    """On its axis the smaller value lies farther out: the label ends with it."""
    results = [ONE, with_(method="other", figures={column: 50.0})]
    (one,) = comparisons(results)
    assert "50.0 → 30.0" in one.radar
