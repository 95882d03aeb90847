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
from qpopt.selfcheck.judging import AGREED, DISAGREED, REFUSED, UNPROVEN
from qpopt.selfcheck.report import Report
from qpopt.solvers.base import SolverInfo
from qpopt.verification.solution_check import Verification

HISTOGRAM_BINS = 12
HISTOGRAM_WIDTH = 40
SAME = 1e-9
COUNTS = (AGREED, UNPROVEN, REFUSED, DISAGREED)
ABILITIES = {
    "quadratic_objective": "quadratic objective",
    "quadratic_constraints": "quadratic constraints",
    "lazy_callback": "lazy constraints",
    "warm_start": "warm start",
}


def overview(instance: Instance) -> Table:
    """Return the sizes of an instance, its redundancy, its bias and where it comes from."""
    n_pairs = instance.n_features * (instance.n_features - 1) // 2
    _, redundancies = instance.redundant_pairs()
    share = 100 * len(redundancies) / max(n_pairs, 1)
    origin = instance.provenance
    epsilon = origin.get("epsilon")
    rows = {
        "classes": f"{instance.n_classes:,}",
        "features": f"{instance.n_features:,}",
        "select": f"{instance.n_select:,}",
        "per class": f"{instance.n_per_class:,}",
    }
    if instance.include or instance.exclude:
        rows["include / exclude"] = f"{len(instance.include)} / {len(instance.exclude)}"
    if instance.demands:
        rows["demands"] = str(instance.demands)
    if "epsilon" in origin:
        rows["ε"] = f"{epsilon:.6g}" if isinstance(epsilon, float) else str(epsilon)
    rows["redundant pairs"] = f"{len(redundancies):,} of {n_pairs:,} ({share:.1f} %)"
    ranges = {"redundancy": redundancies, "similarity": instance.A, "bias": instance.b}
    rows |= {key: f"{v.min():.4g} … {v.max():.4g}" for key, v in ranges.items() if v.size}
    rows |= {key: str(origin[key]) for key in ("structure", "seed") if key in origin}
    return _two_columns(instance.name or "instance", {**rows, "fingerprint": instance.fingerprint})


def similarity_histogram(instance: Instance) -> Table:
    """Return how the entries of A are distributed, as bars."""
    # Scaled to about 1, and in one bin if all entries are about the same.
    scale = float(np.abs(instance.A).max()) or 1.0
    entries = instance.A / scale
    varied = float(np.ptp(entries)) > SAME
    counts, edges = np.histogram(entries, bins=HISTOGRAM_BINS if varied else 1)
    table = Table(title="similarity of all classes and features", title_justify="left", box=None)
    for header in ("from", "to", "entries"):
        table.add_column(header, justify="right")
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
    rows = {"status": str(found.status)}
    if conflict := found.details.get("conflict"):
        rows["cannot hold together"] = "\n".join(conflict)
    if found.selection is not None:
        parts = instance.objective(found.selection, found.assignment)
        rows["objective"] = f"{parts.total:.6f}"
        rows["  similarity"] = f"{parts.similarity:.6f}"
        rows["  redundancy"] = f"{-parts.redundancy:.6f}"
        rows["  bias"] = f"{parts.bias:.6f}"
    rows["bound"] = "none" if found.bound is None else f"{found.bound:.6f}"
    if found.gap is not None:
        rows["gap"] = f"{100 * found.gap:.4f} %"
    rows["method"] = " with ".join(filter(None, (found.method, found.solver)))
    rows["seconds"] = f"{found.seconds:.2f}"
    if found.selection is not None:
        rows["selection"] = " ".join(map(instance.feature_name, found.selection.tolist()))
    return _two_columns(instance.name or "solution", rows)


def class_sets(instance: Instance, found: Solution) -> Table:
    """Return what each class got."""
    table = Table("class", "features")
    absent = found.absent_sets()
    for c, features in enumerate(found.class_sets()):
        names = [
            f"not {instance.feature_name(d)}" if d in absent[c] else instance.feature_name(d)
            for d in features
        ]
        table.add_row(instance.class_name(c), " ".join(names))
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
        use = availability.problem or "without limits"
        if limits := availability.limits:
            use = (
                f"up to {limits.variables:,} variables and {limits.rows:,} constraints; "
                f"{limits.quadratic_variables:,} variables with products"
            )
        version = availability.version
        if not availability.installed:
            version, use = "not installed", install
        able = (word for field, word in ABILITIES.items() if getattr(supports, field))
        table.add_row(name, version, use, ", ".join(able))
    return table


def selfcheck(report: Report) -> Table:
    """Return a line for every pair of method and solver."""
    table = Table(box=None)
    table.add_column("pair", no_wrap=True)
    for header in (*COUNTS, "seconds", "worst"):
        table.add_column(header, justify="right")
    for result in report.results:
        worst = result.worst_deviation
        table.add_row(
            result.pair.label,
            *(str(result.count(outcome)) for outcome in COUNTS),
            f"{result.seconds:.1f}",
            "" if worst is None else f"{abs(100 * worst):.2g} %",
        )
    return table


def _two_columns(title: str, rows: Mapping[str, str]) -> Table:
    table = Table(title=title, title_justify="left", show_header=False, box=None)
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    for row in rows.items():
        table.add_row(*row)
    return table
