"""The report of a results folder: Markdown with plots beside it, and one self-contained HTML."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.errors import BenchmarkError
from benchmarks.reports import plots
from benchmarks.reports.page import render, write
from benchmarks.reports.statistics import (
    Summary,
    by_config,
    is_proven,
    is_solved,
    mean_gap_over_time,
    performance_profile,
    profile_seconds,
    run_seconds,
    summaries,
    with_common_best,
)
from benchmarks.runs.rows import Row, RowFile
from benchmarks.runs.run import ROWS

MOMENTS = 60
FIRST_MOMENT = 0.01

LIMITATIONS = (
    "Objectives are recomputed by an independent check. A bound is proven only where it was "
    "recomputed from a certificate; every other one is the word of the solver. A bound below a "
    "known solution makes a run wrong.",
    "Seconds are those for building the model and solving it. Starting Python, imports, "
    "compilation and loading the instance are not among them; the wall seconds in the rows have "
    "them all.",
    "A run that is not solved within its limit is charged the limit, whatever the reason: time, a "
    "refusal, a wrong answer or a crash. Methods without a proof are never solved; compare them by "
    "gap and primal integral.",
    "The primal integral and the gap over time follow what runs report while they run; a run whose "
    "result is not verified counts as if it had found nothing.",
    "Runs that share a machine slow each other down; for figures to publish use one job and a "
    "quiet machine.",
    "The size-limited licence of a commercial solver shows as refused runs.",
)


class Cell(NamedTuple):
    """What the table of instances says of one configuration on one instance."""

    text: str
    kind: str


@dataclass(frozen=True)
class Line:
    """One line of the table of instances: its name, its best known, a cell a configuration."""

    instance: str
    best_known: str
    cells: list[Cell]


def write_report(out: Path) -> tuple[Path, Path]:
    """Write `report.md`, `report.html` and `plots/*.svg` into a results folder.

    Parameters
    ----------
    out
        The folder that `python -m benchmarks run` filled.

    Returns
    -------
    tuple
        The Markdown file and the HTML file.

    Raises
    ------
    BenchmarkError
        If there are no rows, or jinja2 or matplotlib is missing.
    """
    rows = with_common_best(RowFile(out / ROWS).read())
    if not rows:
        raise BenchmarkError(f"{out} holds no rows; run python -m benchmarks run first.")
    content = report_content(rows, out / "traces")
    (out / "plots").mkdir(exist_ok=True)
    for name, svg in content["plots"].items():
        write(out / "plots" / f"{name}.svg", svg)
    markdown, html = out / "report.md", out / "report.html"
    write(markdown, render("report.md.j2", content))
    write(html, render("report.html.j2", content))
    return markdown, html


def report_content(rows: Sequence[Row], traces: Path) -> dict[str, Any]:
    """Return everything that the templates show."""
    order = [summary.config for summary in summaries(rows)]
    limit = max(row.time_limit for row in rows)
    moments = [FIRST_MOMENT * (limit / FIRST_MOMENT) ** (i / (MOMENTS - 1)) for i in range(MOMENTS)]
    groups = by_config(rows)
    gaps = {
        config: mean_gap_over_time(
            [run_trace(row, traces) for row in groups[config]],
            [row.best_known for row in groups[config]],
            moments,
        )
        for config in order
    }
    profiles = performance_profile(profile_seconds(rows))
    return {
        "summary": [_summary_cells(summary) for summary in summaries(rows)],
        "configs": order,
        "lines": instance_lines(rows, order),
        "problems": [row for row in rows if row.status in ("wrong", "error", "crash")],
        "plots": {
            "profile": plots.profile_plot({config: profiles[config] for config in order}),
            "gap": plots.gap_plot(gaps, moments),
            "integral": plots.integral_plot(
                {summary.config: summary.primal_integral for summary in summaries(rows)}
            ),
        },
        "facts": facts(rows),
        "limitations": LIMITATIONS,
    }


def run_trace(row: Row, traces: Path) -> list[tuple[float, float]]:
    """Return seconds and objective of each improvement of a run; nothing if it is not verified."""
    path = traces / f"{row.key}.jsonl"
    if row.objective is None:
        return []
    points = []
    if path.is_file():
        for line in path.read_text(encoding="utf-8").splitlines():
            seconds, objective, _ = json.loads(line)
            if objective is not None:
                points.append((float(seconds), min(float(objective), row.objective)))
    return [*points, (run_seconds(row), row.objective)]


def instance_lines(rows: Sequence[Row], configs: Sequence[str]) -> list[Line]:
    """Return the table of instances: seconds if solved, else gap to best known and proven gap."""
    lines = []
    for instance in dict.fromkeys(row.instance for row in rows):
        mine = [row for row in rows if row.instance == instance]
        best = mine[0].best_known
        cells = [_cell([row for row in mine if row.config == config]) for config in configs]
        lines.append(Line(instance, "" if best is None else f"{best:.4f}", cells))
    return lines


def facts(rows: Sequence[Row]) -> list[tuple[str, str]]:
    """Return machine, versions and settings, each with all values that occur in the rows."""
    versions = {word for row in rows for word in _pairs(row.versions)}
    return [
        ("machine", _all(f"{row.processor} ({row.system}), host {row.host}" for row in rows)),
        ("versions", ", ".join(sorted(versions))),
        ("commit", _all(row.commit for row in rows)),
        ("time limit", _all(f"{row.time_limit:g} s" for row in rows)),
        ("gap to prove", _all(f"{row.gap_limit:g}" for row in rows)),
        ("threads", _all(str(row.threads) for row in rows)),
        ("memory limit", _all(f"{row.memory_limit:g} MB" for row in rows)),
        ("seeds", _all(str(row.seed) for row in rows)),
        ("instances", str(len({row.instance for row in rows}))),
        ("runs", str(len(rows))),
        ("finished", f"{min(r.finished for r in rows)} – {max(r.finished for r in rows)}"),
    ]


def _summary_cells(summary: Summary) -> list[str]:
    return [
        summary.config,
        str(summary.runs),
        str(summary.verified),
        str(summary.solved),
        str(summary.refused),
        str(summary.failed),
        f"{summary.proven} of {summary.bounds}" if summary.bounds else "–",
        f"{summary.seconds:.2f}",
        "–" if summary.gap is None else f"{100 * summary.gap:.3f}",
        f"{summary.primal_integral:.3f}",
        f"{summary.memory:.0f}",
    ]


def _cell(rows: Sequence[Row]) -> Cell:
    """Summarise the seeds of one configuration on one instance."""
    if not rows:
        return Cell("", "none")
    if all(map(is_solved, rows)):
        seconds = f"{sum(map(run_seconds, rows)) / len(rows):.2f} s"
        return Cell(seconds + " ✓" * all(map(is_proven, rows)), "solved")
    if bad := [row.status for row in rows if row.verified is not True]:
        return Cell(bad[0].replace("_", " "), "failed")
    gaps = [row.gap_to_best for row in rows if row.gap_to_best is not None]
    if not gaps:
        return Cell("feasible", "open")
    gap = 100 * sum(gaps) / len(gaps)
    text = f"{0.0 if abs(gap) < 5e-4 else gap:.3f} %"
    proven = [row.gap for row in rows if row.gap is not None]
    if len(proven) == len(rows):
        text += f" / {100 * sum(proven) / len(proven):.1f} %" + " ✓" * all(map(is_proven, rows))
    return Cell(text, "open")


def _pairs(versions: str) -> list[str]:
    words = versions.split()
    return [f"{name} {version}" for name, version in zip(words[::2], words[1::2], strict=False)]


def _all(values: Any) -> str:
    return ", ".join(dict.fromkeys(values))
