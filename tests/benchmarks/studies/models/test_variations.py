from dataclasses import replace

from benchmarks.studies.models.results import Result
from benchmarks.studies.models.tables import comparisons
from benchmarks.studies.models.variations import differing, split

ONE = Result(
    data="birds",
    method="dense",
    seed=0,
    judged_by="test",
    recipe='{"beta": 2.0}',
    figures={"accuracy": 80.0},
    minutes=2.0,
    commit="abc",
    finished="2026-01-02T03:04:05+00:00",
)
OURS = replace(ONE, method="optimised", figures=ONE.figures | {"solve": 1.25, "gap": 0.5})


def varied(n, **changes):
    return replace(OURS, recipe=f'{{"beta": 2.0, "n_select": {n}}}', **changes)


def test_recipes_with_nothing_but_ours_are_compared_with_each_other():
    rival = replace(ONE, method="SLDD")
    results = [ONE, OURS, rival, varied(20), varied(50), varied(50, seed=1), varied(20, data="x")]
    compared, groups = split(results)
    # One recipe alone has nothing to be compared with; the first one compares methods.
    assert compared == [ONE, OURS, rival, results[-1]]
    assert groups == [results[3:6]]
    names, shared = differing(groups[0])
    assert (names, shared) == (["n_select"], {"beta": 2.0})


def test_the_table_names_what_differs():
    first, second = comparisons(
        [varied(20), varied(50), varied(50, seed=1), replace(ONE, data="y")]
    )
    assert first.title == "y"
    heading, *rows = second.lines
    assert heading[0] == "n_select"
    assert [row[0] for row in rows] == ["20", "50"]
    assert rows[0][heading.index("solve s")] == "1.2"
    assert rows[1][heading.index("accuracy %")] == "80.0 ± 0.0"
    assert dict(second.facts)["settings"] == "beta: 2.0"
    assert second.radar == ""
