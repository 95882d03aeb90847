"""Tables of results: mean ± deviation over seeds, as Markdown and as a page with radar plots."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, stdev

from benchmarks.reports.page import render, write
from benchmarks.reports.plots import radar_plot
from benchmarks.studies.models.results import Result, ResultFile

COLUMNS = {
    "accuracy": ("accuracy %", 1),
    "sid5": ("SID@5 %", 1),
    "class_independence": ("Class-Ind. %", 1),
    "contrastiveness": ("Contrast. %", 1),
    "structural_grounding": ("Str. Grounding %", 1),
    "correlation": ("Correlation %", 1),
    "pairs": ("contrastive pairs", 0),
    "features": ("features", 0),
    "per_class": ("a class", 1),
}
"""The figures of a method, what their columns are called, and their digits."""
MINUTES = ("CPU min", 1)
LESS = ("correlation",)
"""Figures of which less is better."""
DRAWN = (
    "accuracy",
    "sid5",
    "class_independence",
    "contrastiveness",
    "structural_grounding",
    "correlation",
)
"""The axes of a radar plot."""


@dataclass(frozen=True)
class Comparison:
    """All results of one data set with one recipe.

    Parameters
    ----------
    title, facts
        What it is about, and under which circumstances.
    lines
        Its table, headings first.
    radar
        A plot of the same figures as SVG; empty where there is nothing to compare.
    """

    title: str
    facts: list[tuple[str, str]]
    lines: list[list[str]]
    radar: str

    @property
    def markdown(self) -> str:
        """The table as Markdown."""
        heading, *rest = self.lines
        rule = ["---"] + ["--:"] * (len(heading) - 1)
        return "\n".join(f"| {' | '.join(line)} |" for line in (heading, rule, *rest))


def comparisons(results: Sequence[Result]) -> list[Comparison]:
    """Return a table for every data set and recipe, in the order in which they were run."""
    keys = dict.fromkeys((r.data, r.judged_by, r.recipe) for r in results)
    return [
        _comparison([r for r in results if (r.data, r.judged_by, r.recipe) == key]) for key in keys
    ]


def write_tables(out: Path) -> list[Comparison]:
    """Write `models.md` and `models.html` into a results folder and return what is in them."""
    found = comparisons(ResultFile(out).read())
    write(out / "models.md", render("models.md.j2", {"comparisons": found}))
    write(out / "models.html", render("models.html.j2", {"comparisons": found}))
    return found


def _comparison(results: Sequence[Result]) -> Comparison:
    methods = dict.fromkeys(result.method for result in results)
    lines = [["method", *(title for title, _ in COLUMNS.values()), MINUTES[0]]]
    means: dict[str, dict[str, float]] = {}
    for method in methods:
        own = [result for result in results if result.method == method]
        cells = []
        for key, (_, digits) in COLUMNS.items():
            values = [v for r in own if (v := r.figures.get(key)) is not None]
            cells.append(cell(values, digits))
            if values and key in DRAWN:
                means.setdefault(method, {})[key] = fmean(values)
        lines.append([method, *cells, cell([result.minutes for result in own], MINUTES[1])])
    first = results[0]
    return Comparison(first.data, _facts(results), lines, _radar(means))


def cell(values: Sequence[float], digits: int) -> str:
    """Return the mean of some values, and their deviation where there are several."""
    if not values:
        return "–"
    mean = f"{fmean(values):.{digits}f}"
    return mean if len(values) == 1 else f"{mean} ± {stdev(values):.{digits}f}"


def _facts(results: Sequence[Result]) -> list[tuple[str, str]]:
    seeds = sorted({result.seed for result in results})
    days = sorted({result.finished[:10] for result in results})
    return [
        ("judged by", results[0].judged_by),
        ("seeds", ", ".join(map(str, seeds))),
        ("commit", ", ".join(dict.fromkeys(result.commit for result in results))),
        ("date", days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"),
        ("settings", results[0].recipe.strip("{}").replace('"', "")),
    ]


def _radar(means: dict[str, dict[str, float]]) -> str:
    keys = [key for key in DRAWN if all(key in values for values in means.values())]
    if len(means) < 2 or len(keys) < 3:
        return ""
    axes = [COLUMNS[key][0].removesuffix(" %") for key in keys]
    series = {method: [values[key] for key in keys] for method, values in means.items()}
    return radar_plot(axes, series, [key in LESS for key in keys])
