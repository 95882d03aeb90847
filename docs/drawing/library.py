"""The table of instances, from the index of the library: it is never older than the site."""

from __future__ import annotations

from benchmarks.library.entries import SIZES, Entry
from benchmarks.library.library import Library

HEAD = """| instance | classes × features | select, per class | best known | proven bound | gap |
|---|---|---|--:|--:|--:|
"""


def table() -> str:
    """Return every instance with what is known of it, as Markdown."""
    return HEAD + "\n".join(map(row, Library().select(SIZES)))


def row(entry: Entry) -> str:
    """Return an instance with its best solution and bound."""
    counts = f"{entry.n_classes:,} × {entry.n_features:,} | {entry.n_select}, {entry.n_per_class}"
    best, bound = (
        "–" if value is None else f"{value:.4f}" for value in (entry.objective, entry.bound)
    )
    gap = (
        "–"
        if entry.gap is None
        else "solved"
        if entry.status == "solved"
        else f"{100 * entry.gap:.2f} %"
    )
    return f"| {entry.name} | {counts} | {best} | {bound} | {gap} |"
