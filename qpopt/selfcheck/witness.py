"""A witness of every answer that a solver gives, for `solve` itself does not believe them.

What a solver returns is repaired and recomputed on its way to a Solution, so that much of what may
be wrong with it no longer shows there. Here it is looked at as it comes: whether the point fits the
model, whether its value is what is said, and whether the bound, and the word `optimal`, hold
against the point that the optimal solution is in this model. Nothing here is shared with the code
that solves: value and constraints are computed anew.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qpopt.models.compiled import CompiledModel, Kind, Products, Rows
from qpopt.models.warm_start import start_vector
from qpopt.problem.instance import Instance
from qpopt.problem.solution import Candidate, Status
from qpopt.selfcheck.faults import Fault, Finding
from qpopt.solvers.base import Solver, SolverRequest, SolverResult

Floats = NDArray[np.float64]

FEASIBLE = 1e-5
"""By how much a point may break a constraint, relative to the terms of it, or to 1."""
CLOSE = 1e-5
"""By how much a value or a bound may be off, relative to the terms of the objective."""
OVERDUE = 8.0
"""Seconds after its time limit from which on a solver, or a whole solve, hangs."""


class Witness:
    """Stands before a solver, hands everything on, and notes what is wrong with it.

    Parameters
    ----------
    solver
        The solver; its method `solve` is replaced for all who ask the registry for it.
    instance, best
        The instance as solvers see it, and an optimal solution of it.
    """

    def __init__(self, solver: Solver, instance: Instance, best: Candidate) -> None:
        self.instance, self.best = instance, best
        self.findings: list[Finding] = []
        self.answers: list[dict[str, Any]] = []
        self._solver = solver
        self._solve: Callable[[CompiledModel, SolverRequest], SolverResult] = solver.solve
        vars(solver)["solve"] = self.solve

    def leave(self) -> None:
        """Give the solver its own method back."""
        del vars(self._solver)["solve"]

    def solve(self, model: CompiledModel, request: SolverRequest) -> SolverResult:
        """Let the solver solve, and look at what it says on the way and in the end."""
        known = _known(model, self.instance, self.best)

        def on_progress(x: Floats | None, bound: float | None) -> None:
            # Before it goes on: whoever is told may refuse it with an error.
            self.findings += _bound_findings(model, bound, known, "on the way ")
            request.on_progress(x, bound)

        began = time.perf_counter()
        result = self._solve(model, replace(request, on_progress=on_progress))
        seconds = time.perf_counter() - began
        self.answers.append(_record(model, result, seconds))
        limit = request.limits.time_limit
        if limit is not None and seconds > limit + OVERDUE:
            message = f"it took {seconds:.1f} s where it was given {limit:.1f} s."
            self.findings.append(Finding(Fault.HANG, message))
        self.findings += _findings(model, request, result, known)
        return result


def _findings(
    model: CompiledModel, request: SolverRequest, result: SolverResult, known: Floats | None
) -> Iterator[Finding]:
    """Return all that is wrong with an answer; `known` is a feasible point of the model."""
    if result.status is Status.INFEASIBLE and known is not None:
        yield Finding(Fault.CALLED_INFEASIBLE, "the model is called infeasible; it has solutions.")
    x = result.x
    if x is not None:
        broken = _broken(model, x, request)
        if broken:
            yield Finding(Fault.INFEASIBLE_POINT, broken)
            return
        value, slack = value_and_slack(model, x)
        if result.objective is not None and not abs(result.objective - value) <= slack:
            message = f"the objective is said to be {result.objective!r}; it is {value!r}."
            yield Finding(Fault.WRONG_OBJECTIVE, message)
        yield from _bound_findings(model, result.bound, x, "")
    if result.status is Status.OPTIMAL and x is None:
        yield Finding(Fault.CONTRADICTION, "the status is optimal, but there is no point.")
    if known is None:
        return
    if result.status is Status.OPTIMAL and x is not None:
        better, more = value_and_slack(model, known)
        allowed = request.limits.gap * abs(better) + slack + more
        if value < better - allowed:
            message = f"{value!r} is called optimal; a point with {better!r} exists."
            yield Finding(Fault.EARLY_OPTIMAL, message)
    yield from _bound_findings(model, result.bound, known, "")


def _bound_findings(
    model: CompiledModel, bound: float | None, x: Floats | None, when: str
) -> Iterator[Finding]:
    """Check a bound against a feasible point."""
    if bound is None or x is None:
        return
    value, slack = value_and_slack(model, x)
    if not bound >= value - slack:
        message = f"{when}{bound!r} is said to be a bound; a point with {value!r} exists."
        yield Finding(Fault.LOW_BOUND, message)


def value_and_slack(model: CompiledModel, x: Floats) -> tuple[float, float]:
    """Return the objective of a model at a point, and how much of it may be rounding."""
    terms = [*(model.c * x).tolist(), model.constant]
    if model.products is not None:
        terms += _product_terms(model.products, x)
    return sum(terms), CLOSE * sum(map(abs, terms))


def _product_terms(products: Products, x: Floats) -> list[float]:
    each = zip(products.first, products.second, products.values, strict=True)
    return [float(value * x[i] * x[j]) for i, j, value in each]


def _broken(model: CompiledModel, x: Floats, request: SolverRequest | None = None) -> str:
    """Return the first thing that a point breaks; nothing where it breaks nothing."""
    if np.shape(x) != (model.n_variables,) or not np.isfinite(x).all():
        return f"it is no list of {model.n_variables} finite values."
    for j in np.flatnonzero((x < model.lower - FEASIBLE) | (x > model.upper + FEASIBLE)).tolist():
        return f"variable {_name(model, j)} is {float(x[j])!r}, not within its bounds."
    whole = (model.kinds == Kind.INTEGER) & (np.abs(x - np.rint(x)) > FEASIBLE)
    for j in np.flatnonzero(whole).tolist():
        return f"variable {_name(model, j)} is {float(x[j])!r}, which is not whole."
    sides = [_side(model.rows, i, x) for i in range(model.rows.n_rows)]
    for row in model.quadratic_rows:
        terms = (row.coefficients * x[row.variables]).tolist()
        sides.append(([*terms, *_product_terms(row.products, x)], row.lower, row.upper))
    for number, (terms, low, high) in enumerate(sides):
        total, slack = sum(terms), FEASIBLE * max(1.0, sum(map(abs, terms)))
        if not low - slack <= total <= high + slack:
            return f"constraint {number} gives {total!r}, not {low!r} to {high!r}."
    if request is not None and request.lazy is not None and request.lazy(x) is not None:
        return "it breaks a constraint that is added on the way."
    return ""


def _side(rows: Rows, i: int, x: Floats) -> tuple[list[float], float, float]:
    """Return the terms of a linear constraint and its two sides."""
    entries = slice(rows.matrix.indptr[i], rows.matrix.indptr[i + 1])
    terms = rows.matrix.data[entries] * x[rows.matrix.indices[entries]]
    return terms.tolist(), float(rows.lower[i]), float(rows.upper[i])


def _known(model: CompiledModel, instance: Instance, best: Candidate) -> Floats | None:
    """Return the point of a model that the optimal solution is, where it is a feasible one.

    Models of a part of the instance have other variables, and the rounds of the published scheme
    forbid what they will.
    """
    shapes = {name: block.shape for name, block in model.blocks.items()}
    whole = shapes.get("w") == instance.A.shape
    if not whole or "p" in shapes or shapes.get("s") != (instance.n_features,):
        return None
    n_pairs = len(instance.redundant_pairs()[1])
    if "y" in shapes and shapes["y"] != (n_pairs,):
        return None
    x = start_vector(instance, model, best)
    return None if _broken(model, x) else x


def _name(model: CompiledModel, j: int) -> str:
    """Return what a variable is called: its block, and where it stands there."""
    for name, block in model.blocks.items():
        if block.start <= j < block.stop:
            place = np.unravel_index(j - block.start, block.shape)
            return f"{name}[{', '.join(str(int(one)) for one in place)}]"
    return str(j)


def _record(model: CompiledModel, result: SolverResult, seconds: float) -> dict[str, Any]:
    """Return an answer as values that JSON can hold, the point by the variables that are not 0."""
    point = None
    if result.x is not None and np.shape(result.x) == (model.n_variables,):
        point = {_name(model, int(j)): float(result.x[j]) for j in np.flatnonzero(result.x)}
    return {
        "status": str(result.status),
        "objective": None if result.objective is None else float(result.objective),
        "bound": None if result.bound is None else float(result.bound),
        "variables": model.n_variables,
        "constraints": model.rows.n_rows + len(model.quadratic_rows),
        "seconds": seconds,
        "point": point,
    }
