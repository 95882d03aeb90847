"""Tables for people: what the command line shows of instances and solutions."""

from __future__ import annotations

import numpy as np
from rich.table import Table
from rich.text import Text

from qpopt.instance import Instance
from qpopt.verify import Verification

HISTOGRAM_BINS = 12
HISTOGRAM_WIDTH = 40


def overview(instance: Instance) -> Table:
    """Return the sizes of an instance, its redundancy, its bias and where it comes from."""
    n_pairs = instance.n_features * (instance.n_features - 1) // 2
    _, redundancies = instance.redundant_pairs()
    epsilon = instance.provenance.get("epsilon")
    table = _two_columns(instance.name or "instance")
    table.add_row("classes", f"{instance.n_classes:,}")
    table.add_row("features", f"{instance.n_features:,}")
    table.add_row("select", f"{instance.n_select:,}")
    table.add_row("per class", f"{instance.n_per_class:,}")
    if instance.include or instance.exclude:
        table.add_row("include / exclude", f"{len(instance.include)} / {len(instance.exclude)}")
    table.add_row("ε", "not recorded" if epsilon is None else f"{epsilon:.6g}")
    table.add_row(
        "redundant pairs",
        f"{len(redundancies):,} of {n_pairs:,} ({_percent(len(redundancies), n_pairs)})",
    )
    if len(redundancies):
        table.add_row("redundancy", f"{redundancies.min():.4g} … {redundancies.max():.4g}")
    table.add_row("similarity", f"{instance.A.min():.4g} … {instance.A.max():.4g}")
    table.add_row("bias", f"{instance.b.min():.4g} … {instance.b.max():.4g}")
    for key in ("structure", "seed"):
        if key in instance.provenance:
            table.add_row(key, str(instance.provenance[key]))
    table.add_row("fingerprint", instance.fingerprint)
    return table


def similarity_histogram(instance: Instance) -> Table:
    """Return how the entries of A are distributed, as bars."""
    counts, edges = np.histogram(instance.A, bins=HISTOGRAM_BINS)
    table = Table(title="similarity of all classes and features", title_justify="left", box=None)
    table.add_column("from", justify="right")
    table.add_column("to", justify="right")
    table.add_column("entries", justify="right")
    table.add_column("")
    for count, low, high in zip(counts, edges[:-1], edges[1:], strict=True):
        bar = "█" * int(np.ceil(HISTOGRAM_WIDTH * count / counts.max()))
        table.add_row(f"{low:.3g}", f"{high:.3g}", f"{count:,}", bar)
    return table


def verification(outcome: Verification) -> Table | Text:
    """Return the violations of a solution, or a line that says that there are none."""
    value = "" if outcome.objective is None else f" (objective {outcome.objective:.10g})"
    if outcome.ok:
        return Text(f"verified: no violation{value}")
    table = Table(title=f"{len(outcome.violations)} violations{value}", title_justify="left")
    table.add_column("check")
    table.add_column("what is wrong", overflow="fold")
    for code, message in outcome.violations:
        table.add_row(code, message)
    return table


def _two_columns(title: str) -> Table:
    table = Table(title=title, title_justify="left", show_header=False, box=None)
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    return table


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / max(whole, 1):.1f} %"
