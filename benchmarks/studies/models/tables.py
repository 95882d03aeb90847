"""Tables of results: mean ± deviation over seeds, as Markdown and as a page with radar plots."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, stdev

from benchmarks.reports.page import render, write
from benchmarks.reports.plots import radar_plot
from benchmarks.studies.models.results import Result, ResultFile
from benchmarks.studies.models.variations import FOUND, differing, split

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
    """Return a table for every data set and recipe, in the order in which they were run.

    Recipes for which only the optimised model was measured share a table at the end.
    """
    compared, varied = split(results)
    keys = dict.fromkeys((r.data, r.judged_by, r.recipe) for r in compared)
    return [
        *(
            _comparison([r for r in compared if (r.data, r.judged_by, r.recipe) == key])
            for key in keys
        ),
        *map(_variation, varied),
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
            values = _values(own, key)
            cells.append(cell(values, digits))
            if values and key in DRAWN:
                means.setdefault(method, {})[key] = fmean(values)
        lines.append([method, *cells, cell([result.minutes for result in own], MINUTES[1])])
    first = results[0]
    return Comparison(first.data, _facts(results), lines, _radar(means))


def _variation(results: Sequence[Result]) -> Comparison:
    """Return the table of recipes that differ in some settings."""
    names, shared = differing(results)
    columns = COLUMNS | FOUND
    lines = [[*names, *(title for title, _ in columns.values()), MINUTES[0]]]
    for recipe in dict.fromkeys(result.recipe for result in results):
        own, settings = [r for r in results if r.recipe == recipe], json.loads(recipe)
        cells = [cell(_values(own, key), digits) for key, (_, digits) in columns.items()]
        minutes = cell([result.minutes for result in own], MINUTES[1])
        lines.append([*(str(settings.get(name, "–")) for name in names), *cells, minutes])
    facts = [*_facts(results)[:-1], ("settings", _text(json.dumps(shared, sort_keys=True)))]
    return Comparison(f"{results[0].data}: optimised, by settings", facts, lines, "")


def _values(results: Sequence[Result], key: str) -> list[float]:
    return [v for result in results if (v := result.figures.get(key)) is not None]


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
        ("settings", _text(results[0].recipe)),
    ]


def _text(recipe: str) -> str:
    return recipe.strip("{}").replace('"', "")


def _radar(means: dict[str, dict[str, float]]) -> str:
    keys = [key for key in DRAWN if all(key in values for values in means.values())]
    if len(means) < 2 or len(keys) < 3:
        return ""
    axes = [COLUMNS[key][0].removesuffix(" %") for key in keys]
    series = {method: [values[key] for key in keys] for method, values in means.items()}
    return radar_plot(axes, series, [key in LESS for key in keys])
