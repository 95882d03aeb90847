"""Gurobi: everything, but without a licence file only small models."""

from __future__ import annotations

from functools import cache
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from qpopt.errors import SolverFailure
from qpopt.models.compiled import CompiledModel, Kind, Products, Rows
from qpopt.problem.solution import Status
from qpopt.solvers.availability import LicenceLimits, load
from qpopt.solvers.base import Solver, SolverRequest, SolverResult, Supports, safe_bound
from qpopt.solvers.solver_thread import SolverThread

SIZE_LIMITED = LicenceLimits(variables=2000, rows=2000, quadratic_variables=200)
"""What the licence inside the package allows."""
TOO_LARGE = 10010
"""Gurobi's error number for a model beyond a size-limited licence."""
INFINITY = 1e99
"""Bounds from here on are none."""


class Gurobi(Solver):
    """Gurobi takes products anywhere, lazy constraints and starts."""

    name = "gurobi"
    supports = Supports(
        quadratic_objective=True, quadratic_constraints=True, lazy_callback=True, warm_start=True
    )
    install = "pip install 'qpopt[gurobi]'"
    package = module = "gurobipy"
    # GRB.OPTIMAL, GRB.INFEASIBLE and GRB.INF_OR_UNBD
    statuses: ClassVar = {2: Status.OPTIMAL, 3: Status.INFEASIBLE, 4: Status.INFEASIBLE}

    def licence(self) -> LicenceLimits | None:
        """Start Gurobi and return what its licence allows; see `Solver.licence`."""
        return SIZE_LIMITED if _size_limited() else None

    def solve(self, model: CompiledModel, request: SolverRequest) -> SolverResult:
        """Maximise a model; see `Solver.solve`."""
        gurobipy = load("gurobipy")
        with gurobipy.Model(env=_environment()) as built:
            x = _build(gurobipy, built, model)
            built.Params.MIPGap = request.limits.gap
            built.Params.MIPGapAbs = 0.0
            built.Params.Seed = request.limits.seed % 2_000_000_000
            if request.limits.threads is not None:
                built.Params.Threads = request.limits.threads
            if request.limits.time_limit is not None:
                built.Params.TimeLimit = request.limits.time_limit
            if request.start is not None:
                x.Start = request.start
            run = SolverThread(built.terminate)
            built.Params.LazyConstraints = int(request.lazy is not None)
            callback = _Callback(gurobipy, x, request)
            guarded = run.guard(callback, None)
            run.wait_for(lambda: built.optimize(guarded))
            return self.ending(
                built.Status,
                model,
                np.array(x.X) if built.SolCount else None,
                safe_bound(built.ObjBound, INFINITY, request.size),
                interrupted=run.interrupted,
                lazy_added=callback.added,
            )


@cache
def _environment() -> Any:
    """Start Gurobi once, silently."""
    gurobipy = load("gurobipy")
    try:
        environment = gurobipy.Env(empty=True)
        environment.setParam("OutputFlag", 0)
        environment.start()
    except gurobipy.GurobiError as error:
        raise SolverFailure(f"Gurobi cannot be started: {error}.") from error
    return environment


@cache
def _size_limited() -> bool:
    """Find out by a trivial model one variable too large."""
    gurobipy = load("gurobipy")
    with gurobipy.Model(env=_environment()) as trial:
        trial.addMVar(SIZE_LIMITED.variables + 1)
        try:
            trial.optimize()
        except gurobipy.GurobiError as error:
            if error.errno == TOO_LARGE:
                return True
            raise SolverFailure(f"Gurobi cannot be used: {error}.") from error
    return False


def _build(gurobipy: Any, built: Any, model: CompiledModel) -> Any:
    kinds = np.where(model.kinds == Kind.INTEGER, "I", "C")
    x = built.addMVar(model.n_variables, lb=model.lower, ub=model.upper, vtype=kinds)
    _add_rows(built, x, model.rows)
    for row in model.quadratic_rows:
        form = _matrix(row.products, model.n_variables)
        linear = np.zeros(model.n_variables)
        linear[row.variables] = row.coefficients
        if np.isfinite(row.upper):
            built.addMQConstr(form, linear, "<", row.upper, x, x, x)
        if np.isfinite(row.lower):
            built.addMQConstr(form, linear, ">", row.lower, x, x, x)
    form = None if model.products is None else _matrix(model.products, model.n_variables)
    built.setMObjective(form, model.c, model.constant, x, x, x, sense=gurobipy.GRB.MAXIMIZE)
    return x


def _add_rows(built: Any, x: Any, rows: Rows) -> None:
    """Add two-sided rows as equations and inequalities, as Gurobi has them."""
    equal = rows.lower == rows.upper
    for sense, where, side in (
        ("=", equal, rows.upper),
        ("<", ~equal & np.isfinite(rows.upper), rows.upper),
        (">", ~equal & np.isfinite(rows.lower), rows.lower),
    ):
        if where.any():
            built.addMConstr(rows.matrix[where], x, sense, side[where])


def _matrix(products: Products, n: int) -> sparse.csr_array:
    return sparse.csr_array((products.values, (products.first, products.second)), shape=(n, n))


class _Callback:
    """Reports progress and adds lazy constraints."""

    def __init__(self, gurobipy: Any, x: Any, request: SolverRequest) -> None:
        self.codes = gurobipy.GRB
        self.x = x
        self.request = request
        self.added = 0

    def __call__(self, built: Any, where: int) -> None:
        codes, tell, lazy = self.codes.Callback, self.request.on_progress, self.request.lazy
        size = self.request.size
        if where == codes.MIPSOL:
            found = np.array(built.cbGetSolution(self.x))
            tell(found, safe_bound(built.cbGet(codes.MIPSOL_OBJBND), INFINITY, size))
            broken = None if lazy is None else lazy(found)
            if broken is not None:
                self._add(built, broken)
        elif where == codes.MIP:
            tell(None, safe_bound(built.cbGet(codes.MIP_OBJBND), INFINITY, size))

    def _add(self, built: Any, rows: Rows) -> None:
        variables = self.x.tolist()
        for columns, weights, low, high in rows.each():
            row = sum(by * variables[j] for j, by in zip(columns, weights, strict=True))
            if np.isfinite(high):
                built.cbLazy(row, self.codes.LESS_EQUAL, high)
            if np.isfinite(low):
                built.cbLazy(row, self.codes.GREATER_EQUAL, low)
        self.added += rows.n_rows
