"""Tables for people: what the command line shows of instances and solutions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields

import numpy as np
from rich.table import Table
from rich.text import Text

from qpopt.methods.base import Method
from qpopt.problem.instance import Instance
from qpopt.problem.solution import Solution
from qpopt.solvers.base import SolverInfo, Supports
from qpopt.verification.solution_check import Verification

HISTOGRAM_BINS = 12
HISTOGRAM_WIDTH = 40
SAME = 1e-9


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
    if "epsilon" in instance.provenance:
        table.add_row("ε", f"{epsilon:.6g}" if isinstance(epsilon, float) else str(epsilon))
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
    # Scaled to about 1, and in one bin if all entries are about the same.
    scale = float(np.abs(instance.A).max()) or 1.0
    entries = instance.A / scale
    varied = float(np.ptp(entries)) > SAME
    counts, edges = np.histogram(entries, bins=HISTOGRAM_BINS if varied else 1)
    table = Table(title="similarity of all classes and features", title_justify="left", box=None)
    table.add_column("from", justify="right")
    table.add_column("to", justify="right")
    table.add_column("entries", justify="right")
    table.add_column("")
    for count, low, high in zip(counts, edges[:-1], edges[1:], strict=True):
        bar = "█" * int(np.ceil(HISTOGRAM_WIDTH * count / counts.max()))
        table.add_row(f"{scale * low:.3g}", f"{scale * high:.3g}", f"{count:,}", bar)
    return table


def verification(outcome: Verification) -> Table | Text:
    """Return the violations of a solution, or a line that says that there are none."""
    value = "" if outcome.objective is None else f" (objective {outcome.objective:.10g})"
    if outcome.ok:
        return Text(f"verified: no violation{value}\n{outcome.about_bound}".rstrip())
    table = Table(title=f"{len(outcome.violations)} violations{value}", title_justify="left")
    table.add_column("check")
    table.add_column("what is wrong", overflow="fold")
    for code, message in outcome.violations:
        table.add_row(code, message)
    return table


def solution(instance: Instance, found: Solution) -> Table:
    """Return how a solve ended, with the parts of the objective."""
    table = _two_columns(instance.name or "solution")
    table.add_row("status", str(found.status))
    if found.selection is not None:
        parts = instance.objective(found.selection, found.assignment)
        table.add_row("objective", f"{parts.total:.6f}")
        table.add_row("  similarity", f"{parts.similarity:.6f}")
        table.add_row("  redundancy", f"{-parts.redundancy:.6f}")
        table.add_row("  bias", f"{parts.bias:.6f}")
    table.add_row("bound", "none" if found.bound is None else f"{found.bound:.6f}")
    if found.gap is not None:
        table.add_row("gap", f"{100 * found.gap:.4f} %")
    table.add_row("method", " with ".join(part for part in (found.method, found.solver) if part))
    table.add_row("seconds", f"{found.seconds:.2f}")
    if found.selection is not None:
        names = (instance.feature_name(d) for d in found.selection.tolist())
        table.add_row("selection", " ".join(names))
    return table


def class_sets(instance: Instance, found: Solution) -> Table:
    """Return what each class got."""
    table = Table("class", "features")
    for c, features in enumerate(found.class_sets()):
        table.add_row(instance.class_name(c), " ".join(map(instance.feature_name, features)))
    return table


def methods(known: Iterable[Method]) -> Table:
    """Return what each method is and what options it has, with their defaults."""
    table = Table("method", "summary and options", show_lines=True)
    for method in known:
        lines = [method.summary]
        for one in fields(method.options):
            simple = isinstance(one.default, str | bool | int | float)
            default = f" = {one.default}" if simple else ""
            lines.append(f"{one.name}{default}: {one.metadata['meaning']}")
        table.add_row(method.name, "\n".join(lines))
    return table


def solvers(available: Mapping[str, SolverInfo]) -> Table:
    """Return which solvers can be used here and what they can take."""
    table = Table("solver", "version", "may be used", "can take")
    for name, (availability, supports, install) in available.items():
        if not availability.installed:
            table.add_row(name, "not installed", install, _abilities(supports))
            continue
        use = availability.problem or "without limits"
        if availability.limits is not None and not availability.problem:
            limits = availability.limits
            use = (
                f"up to {limits.variables:,} variables and {limits.rows:,} constraints; "
                f"{limits.quadratic_variables:,} variables with products"
            )
        table.add_row(name, availability.version, use, _abilities(supports))
    return table


def _abilities(supports: Supports) -> str:
    words = {
        "quadratic objective": supports.quadratic_objective,
        "quadratic constraints": supports.quadratic_constraints,
        "lazy constraints": supports.lazy_callback,
        "warm start": supports.warm_start,
    }
    return ", ".join(word for word, able in words.items() if able)


def _two_columns(title: str) -> Table:
    table = Table(title=title, title_justify="left", show_header=False, box=None)
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    return table


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / max(whole, 1):.1f} %"
