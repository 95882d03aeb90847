"""The first section of the report: how good the model is, and where it comes from."""

from __future__ import annotations

import re
from collections.abc import Mapping
from math import isfinite
from typing import Any

import numpy as np

from qpopt import __version__
from qpopt.preprocessing import sharing_advice
from qpopt_torch.evidence.gather import Evidence
from qpopt_torch.metrics.summary import METRICS, Metrics
from qpopt_torch.sparse.classifier import SparseClassifier

GUESS = re.compile(r"\? \(r \d+\.\d\d\)")
"""How a name ends that is a guess."""


def metric_rows(metrics: Metrics, dense: Metrics | None) -> list[dict[str, Any]]:
    """Return title, meaning, direction and values in percent of every metric that is known."""
    others = {} if dense is None else dense.percent()
    return [
        {
            "title": METRICS[key].title,
            "meaning": METRICS[key].meaning,
            "better": METRICS[key].better(),
            "value": value,
            "dense": others.get(key),
        }
        for key, value in metrics.percent().items()
        if value is not None
    ]


def sharing(model: SparseClassifier) -> dict[str, Any]:
    """Return how many classes a feature serves, how many serve one at most, and advice.

    And whether the classes are distinct: only the solver promises it, not any assignment.
    """
    n_classes, n_select = model.assignment.shape
    served = (model.assignment != 0).sum(axis=0)
    distinct = len(np.unique(model.assignment, axis=0)) == n_classes
    n_single = int((served <= 1).sum())
    advice = sharing_advice(n_classes, n_select, served.sum() / n_classes, n_single)
    return {
        "mean": float(served.mean()),
        "single": n_single,
        "distinct": distinct,
        "advice": advice,
    }


def averages(gallery: Evidence) -> dict[str, Any]:
    """Return between what the averages of the features lie, and over how many samples."""
    means = gallery.tally.sums.sum(axis=0) / gallery.tally.n_samples
    return {
        "n_samples": gallery.tally.n_samples,
        # Without the sign of a zero that is shown as −0.00.
        "least": round(float(means.min()), 2) + 0.0,
        "largest": round(float(means.max()), 2) + 0.0,
    }


def nothing_below(gallery: Evidence) -> bool:
    """Return whether no feature ever is below 0, so that what would be counts as 0."""
    return bool((np.abs(gallery.floors) < 0.005).all())


def guess(gallery: Evidence) -> str | None:
    """Return a name that `name_features` guessed from attributes, if there is one."""
    return next((name for name in gallery.names.features if GUESS.search(name)), None)


def solve_rows(model: SparseClassifier) -> list[tuple[str, str]]:
    """Return what is known of the solve behind the model."""
    solution = model.solution
    if solution is None or solution.objective is None:
        return []
    bound, gap, seed = solution.bound, solution.gap, solution.seed
    rows = {
        "Objective": f"{solution.objective:.4f}",
        "Proven bound": "none" if bound is None else f"{bound:.4f}",
        "Gap": "" if gap is None else f"{100 * gap:.2f} %",
        "Status": str(solution.status),
        "Method": " with ".join(part for part in (solution.method, solution.solver) if part),
        "Time": f"{solution.seconds:.1f} s",
        "Seed": "" if seed is None else str(seed),
    }
    return [(title, value) for title, value in rows.items() if value]


def trace_points(model: SparseClassifier) -> list[list[float | None]]:
    """Return seconds, objective and bound over the solve; None for what is not known."""
    trace = () if model.solution is None else model.solution.trace
    return [[v if v is not None and isfinite(v) else None for v in point] for point in trace]


def setting_rows(
    model: SparseClassifier, settings: Mapping[str, Any] | None
) -> list[tuple[str, str]]:
    """Return the settings of the model, and those that the user adds."""
    head = model.sparse_head
    per_class = sorted(set((model.assignment != 0).sum(axis=1).tolist()))
    rows = [
        ("Architecture", type(model.network).__name__),
        ("Classes", str(model.head.n_classes)),
        ("Features to choose from", str(model.head.n_features)),
        ("n_select", str(len(model.selection))),
        ("n_per_class", " to ".join(map(str, (per_class[0], per_class[-1])[: len(per_class)]))),
        ("Feature layer", model.head.layer or "none"),
    ]
    if head.adapter is not None:
        hidden = head.adapter.hidden
        path = f"{hidden} hidden units" if hidden else "linear"
        rows.append(("Adapter", path + (", with ReLU" if head.adapter.relu else "")))
    if head.relu:
        rows.append(("Features below their mean", "count as 0"))
    rows += [(str(key), str(value)) for key, value in (settings or {}).items()]
    rows.append(("qpopt", __version__))
    return rows
