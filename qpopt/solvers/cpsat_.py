"""CP-SAT of OR-Tools: integer models whose constraints have whole coefficients.

The objective is scaled to whole numbers. What the rounding can amount to is added to the bound.
"""

from __future__ import annotations

import os
import sys
from math import ceil, floor
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from qpopt.errors import UnsupportedModel
from qpopt.models.compiled import CompiledModel, Kind
from qpopt.problem.solution import Status
from qpopt.solvers.availability import load
from qpopt.solvers.base import OnProgress, Solver, SolverRequest, SolverResult, Supports
from qpopt.solvers.solver_thread import SolverThread

ACCURACY = 1e-7
"""The rounding error of the objective that is aimed at, relative to its largest coefficient."""
LARGEST_EXPONENT = 52
"""The scaled objective never exceeds two to this power, so that a float can hold it exactly."""

PORTFOLIO = 8
"""From this many workers on CP-SAT's own mix of strategies is complete."""
FIRST_WORKERS = ("max_lp", "reduced_costs", "core", "default_lp", "quick_restart")
"""Strategies for fewer workers: the default ones do without a linear relaxation, and without it
hardly any bound is found for models of this kind."""


class CpSat(Solver):
    """CP-SAT takes whole numbers only, no products, and no constraints while it runs."""

    name = "cpsat"
    supports = Supports(warm_start=True)
    install = "pip install 'qpopt[cpsat]'"
    package, module = "ortools", "ortools.sat.python.cp_model"
    statuses: ClassVar = {"OPTIMAL": Status.OPTIMAL, "INFEASIBLE": Status.INFEASIBLE}

    def solve(self, model: CompiledModel, request: SolverRequest) -> SolverResult:
        """Maximise a model; see `Solver.solve`."""
        cp_model = load(self.module)
        scaled = scale_objective(model)
        built, variables = _build(cp_model, model, scaled)
        if request.start is not None:
            start = np.rint(request.start).astype(int).tolist()
            for variable, value in zip(variables, start, strict=True):
                built.add_hint(variable, value)
        solver = cp_model.CpSolver()
        parameters = solver.parameters
        parameters.relative_gap_limit = request.limits.gap
        parameters.random_seed = request.limits.seed % 2**31
        parameters.num_workers = request.limits.threads or os.cpu_count() or 1
        if parameters.num_workers < PORTFOLIO:
            parameters.subsolvers.extend(FIRST_WORKERS)
        if request.limits.time_limit is not None:
            parameters.max_time_in_seconds = request.limits.time_limit
        # Ctrl-C is caught by `SolverThread`; CP-SAT's own handler would take it away from Python.
        parameters.catch_sigint_signal = False
        run = SolverThread(solver.stop_search)
        bounds: list[float] = []
        tell = run.guard(request.on_progress, None)

        def on_bound(bound: float) -> None:
            bounds.append(bound)
            tell(None, scaled.bound(bound))

        solver.best_bound_callback = on_bound
        reporter = _reporter(cp_model, tell, scaled)
        ended = run.wait_for(lambda: solver.solve(built, reporter))
        found = ended in (cp_model.OPTIMAL, cp_model.FEASIBLE)
        x = np.array(solver.response_proto.solution, dtype=np.float64) if found else None
        # Ended before it knew anything, CP-SAT calls 0 its bound: only what it told then counts.
        known = solver.best_objective_bound if found else min(bounds, default=np.inf)
        ended = solver.status_name(ended)
        return self.ending(ended, model, x, scaled.bound(known), interrupted=run.interrupted)


class ScaledObjective(NamedTuple):
    """An objective in whole numbers.

    Parameters
    ----------
    coefficients
        Whole numbers, about `factor` times the true coefficients.
    factor
        A power of two.
    error
        By how much the true objective may exceed the scaled one divided by `factor`.
    constant
        The constant of the true objective.
    """

    coefficients: NDArray[np.int64]
    factor: float
    error: float
    constant: float

    def bound(self, scaled_bound: float) -> float | None:
        """Turn a bound of the scaled objective into one of the true objective."""
        if not np.isfinite(scaled_bound) or abs(scaled_bound) >= 2.0**62:
            return None
        bound = scaled_bound / self.factor + self.constant
        # Adding up the true objective is rounded too, once for every term.
        terms = float(np.abs(self.coefficients).sum()) / self.factor + abs(bound)
        return float(bound + self.error + len(self.coefficients) * np.finfo(float).eps * terms)


def scale_objective(model: CompiledModel) -> ScaledObjective:
    """Choose the smallest power of two that rounds the objective accurately enough."""
    reach = np.maximum(np.abs(model.lower), np.abs(model.upper))
    largest = float(np.abs(model.c).max(initial=0.0))
    total = float(np.abs(model.c) @ reach)
    if largest == 0.0:
        return ScaledObjective(np.zeros(model.n_variables, np.int64), 1.0, 0.0, model.constant)
    highest = min(LARGEST_EXPONENT - int(np.ceil(np.log2(total))), sys.float_info.max_exp - 1)
    exponent = min(highest, int(np.ceil(-np.log2(largest))))
    while True:
        factor = 2.0**exponent
        coefficients = np.rint(model.c * factor)
        error = float(np.abs(model.c - coefficients / factor) @ reach)
        if exponent >= highest or error <= ACCURACY * largest:
            return ScaledObjective(coefficients.astype(np.int64), factor, error, model.constant)
        exponent += 1


def _build(cp_model: Any, model: CompiledModel, scaled: ScaledObjective) -> tuple[Any, list[Any]]:
    coefficients = model.rows.matrix.data
    if (model.kinds == Kind.CONTINUOUS).any():
        raise UnsupportedModel("cpsat takes integer variables only; use highs, scip or gurobi.")
    if not (coefficients == np.rint(coefficients)).all():
        raise UnsupportedModel(
            "cpsat takes constraints with whole coefficients only; use highs, scip or gurobi."
        )
    built = cp_model.CpModel()
    variables = [
        built.new_int_var(int(low), int(high), "")
        for low, high in zip(np.ceil(model.lower), np.floor(model.upper), strict=True)
    ]
    weighted_sum = cp_model.LinearExpr.weighted_sum
    for columns, weights, low, high in model.rows.each():
        row = weighted_sum([variables[j] for j in columns], [int(by) for by in weights])
        # Bounds beyond what 64 bits hold stand for none.
        built.add_linear_constraint(row, ceil(max(low, -(2.0**62))), floor(min(high, 2.0**62)))
    used = np.flatnonzero(scaled.coefficients).tolist()
    built.maximize(weighted_sum([variables[j] for j in used], scaled.coefficients[used].tolist()))
    return built, variables


def _reporter(cp_model: Any, tell: OnProgress, scaled: ScaledObjective) -> Any:
    class Reporter(cp_model.CpSolverSolutionCallback):  # type: ignore[misc]
        """Hands every solution on."""

        def on_solution_callback(self) -> None:
            x = np.array(self.response_proto.solution, dtype=np.float64)
            tell(x, scaled.bound(self.best_objective_bound))

    return Reporter()
