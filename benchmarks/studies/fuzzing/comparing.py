"""What of an answer is wrong where the optimum is known, in words."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np

from qpopt import (
    Certificate,
    Instance,
    QpoptError,
    Solution,
    available_solvers,
    bound,
    check_certificate,
    solve,
    verify,
)
from qpopt.methods.registry import find_method

CLAIMED = 1.1e-3
"""A solution that is called optimal is no further from the optimum than this, relative to it."""
LOST = 1e-5
"""Nor than this, relative to the largest terms."""

KINDS = ("best", "semidefinite", "cliques", "thresholds")
PROOFS: tuple[dict[str, Any], ...] = ({}, {"enumerate": False, "search_seconds": 0.0})
"""Options of `projected` with which the certificate is checked as well."""


class Way(NamedTuple):
    """A way to solve an instance."""

    method: str
    solver: str
    options: dict[str, Any]

    def __str__(self) -> str:
        return f"{self.method} with {self.solver} {self.options}"


def ways(instance: Instance) -> list[Way]:
    """Return every method that takes the demands, with every solver, without and with help."""
    return [
        way
        for way in _ways()
        if find_method(way.method).demands.issuperset(instance.demands.stated)
    ]


def _ways() -> Iterator[Way]:
    yield Way("projected", "auto", {})
    yield Way("projected", "auto", {"enumerate": False, "hand_over": False, "search_seconds": 0.0})
    yield Way("projected", "auto", {"enumerate": False, "search_seconds": 0.0})
    yield Way("search", "auto", {})
    for name, info in available_solvers().items():
        if info.availability.usable:
            yield Way("compact", name, {"search_steps": 0})
            yield Way("paper", name, {})
            if info.supports.quadratic_constraints:
                yield Way("qcqp", name, {"search_steps": 0})


def wrong_solve(instance: Instance, best: float | None, way: Way) -> Iterator[str]:
    """Solve in one way, and yield what does not agree with the optimum."""
    try:
        solution = solve(
            instance, method=way.method, solver=way.solver, options=way.options, threads=1
        )
    except QpoptError as error:
        yield f"{way}: {type(error).__name__}: {error}"
        return
    for text in _wrong_solution(instance, best, solution):
        yield f"{way}: {text}"
    proves = way.method not in ("search", "paper")
    if proves and solution.status not in ("optimal", "infeasible"):
        yield f"{way}: ends {solution.status}"


def _wrong_solution(instance: Instance, best: float | None, solution: Solution) -> Iterator[str]:
    if solution.selection is None:
        if best is not None and solution.status == "infeasible":
            yield f"is called infeasible, the optimum is {best!r}"
        elif best is not None:
            yield f"ends {solution.status} without a solution, the optimum is {best!r}"
        return
    if not (verification := verify(instance, solution)):
        yield str(verification)
    if best is None:
        yield f"ends {solution.status} with a solution, where there is none"
        return
    objective = -inf if solution.objective is None else solution.objective
    lost = rounding(instance)
    if objective > best + lost:
        yield f"objective {objective!r} above the optimum {best!r}"
    if solution.bound is not None and solution.bound < best - lost:
        yield f"bound {solution.bound!r} below the optimum {best!r}"
    largest = lost / np.finfo(float).eps
    if solution.status == "optimal" and best - objective > CLAIMED * abs(best) + LOST * largest:
        yield f"{objective!r} is called optimal, the optimum is {best!r}"


def wrong_proof(instance: Instance, best: float, options: dict[str, Any]) -> Iterator[str]:
    """Solve for a certificate, and yield what is wrong with what it shows."""
    who = f"certificate of {options}"
    with TemporaryDirectory() as folder:
        path = Path(folder) / "proof.npz"
        try:
            solution = solve(instance, options={**options, "certificate": path})
            verification = verify(instance, solution, certificate=Certificate.load(path))
        except QpoptError as error:
            yield f"{who}: {type(error).__name__}: {error}"
            return
    if not verification.bound_proven:
        yield f"{who}: {verification}"
    if verification.shown is not None and verification.shown < best - rounding(instance):
        yield f"{who}: {verification.shown!r} below the optimum {best!r}"


def wrong_bound(instance: Instance, best: float | None, kind: str) -> Iterator[str]:
    """Bound in one way, and yield a bound or a certificate that the optimum contradicts."""
    try:
        found = bound(instance, kind=kind, time_limit=2.0)
        proven = found.value
        if found.certificate is not None:
            proven = min(proven, check_certificate(instance, found.certificate))
    except QpoptError as error:
        yield f"bound {kind}: {type(error).__name__}: {error}"
        return
    if best is not None and proven < best - rounding(instance):
        yield f"bound {kind}: {proven!r} below the optimum {best!r}"


def rounding(instance: Instance) -> float:
    """Return the last digit of the largest terms that Z may have."""
    _, gamma = instance.demands.negative or (0, 1.0)
    largest = max(1.0, gamma) * np.abs(instance.A).max(axis=1)
    budget = instance.demands.budget
    sizes = budget if isinstance(budget, tuple) else instance.n_per_class
    if budget is not None and not isinstance(budget, tuple):
        sizes = instance.n_select
    similarity = float((np.asarray(sizes) * largest).sum())
    bias = instance.n_select * float(np.abs(instance.b).max())
    return float(np.finfo(float).eps) * (similarity + bias)
