"""SCIP: products anywhere; a quadratic objective becomes a constraint on one more variable."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

import numpy as np

from qpopt.models.compiled import CompiledModel, Kind, Products, Rows
from qpopt.problem.solution import Status
from qpopt.solvers.availability import load
from qpopt.solvers.base import (
    Floats,
    Lazy,
    OnProgress,
    Solver,
    SolverRequest,
    SolverResult,
    Supports,
    safe_bound,
)
from qpopt.solvers.solver_thread import SolverThread

AFTER_ALL_OTHERS = -9_000_000
"""Priority with which lazy constraints are looked at only where the stated ones hold."""
LETTERS = {Kind.CONTINUOUS: "C", Kind.INTEGER: "I", Kind.IMPLIED: "M"}


class Scip(Solver):
    """SCIP takes products anywhere, lazy constraints and starts, and uses one thread."""

    name = "scip"
    supports = Supports(
        quadratic_objective=True, quadratic_constraints=True, lazy_callback=True, warm_start=True
    )
    install = "pip install 'qpopt[scip]'"
    package = module = "pyscipopt"
    statuses: ClassVar = {
        "optimal": Status.OPTIMAL,
        "gaplimit": Status.OPTIMAL,
        "infeasible": Status.INFEASIBLE,
        "inforunbd": Status.INFEASIBLE,
    }

    def solve(self, model: CompiledModel, request: SolverRequest) -> SolverResult:
        """Maximise a model; see `Solver.solve`."""
        # In a thread as well: what is raised inside compiled code may come out nowhere.
        building = SolverThread(lambda: None)
        built = building.wait_for(lambda: _build(model, request))
        if building.interrupted:
            raise KeyboardInterrupt
        scip = built.scip
        run = SolverThread(scip.interruptSolve)
        if request.lazy is not None:
            built.check_with(run.guard(request.lazy, None))
        built.report_to(run.guard(request.on_progress, None))
        if request.start is not None:
            built.start_from(request.start)
        run.wait_for(scip.optimizeNogil)
        x = built.values(scip.getBestSol()) if scip.getNSols() else None
        return self.ending(
            scip.getStatus(),
            model,
            x,
            built.bound(),
            interrupted=run.interrupted,
            lazy_added=built.lazy_added,
        )


def _build(model: CompiledModel, request: SolverRequest) -> _Built:
    """Return a model inside SCIP with all limits of a request."""
    pyscipopt = load("pyscipopt")
    scip = pyscipopt.Model()
    scip.hideOutput()
    scip.setParam("limits/gap", request.limits.gap)
    scip.setParam("randomization/randomseedshift", request.limits.seed % 2**31)
    # Ctrl-C is the business of `SolverThread`.
    scip.setParam("misc/catchctrlc", False)
    if request.limits.time_limit is not None:
        scip.setParam("limits/time", request.limits.time_limit)
    return _Built(pyscipopt, scip, model, request.size)


class _Built:
    """A model inside SCIP, its variables, and the extra variable of a quadratic objective."""

    def __init__(self, pyscipopt: Any, scip: Any, model: CompiledModel, size: float) -> None:
        self.pyscipopt = pyscipopt
        self.size = size
        self.scip = scip
        self.model = model
        self.variables = [
            scip.addVar(vtype=LETTERS[Kind(kind)], lb=low, ub=high, obj=gain)
            for kind, low, high, gain in zip(
                model.kinds.tolist(),
                model.lower.tolist(),
                model.upper.tolist(),
                model.c.tolist(),
                strict=True,
            )
        ]
        self.quadratic_value = None
        self.lazy_added = 0
        self.add_rows(model.rows)
        for row in model.quadratic_rows:
            linear = self.linear(row.variables.tolist(), row.coefficients.tolist())
            self.constrain(linear + self.products(row.products), row.lower, row.upper)
        if model.products is not None:
            self.quadratic_value = scip.addVar(lb=None, ub=None, obj=1.0)
            scip.addCons(self.products(model.products) - self.quadratic_value >= 0.0)
        scip.setMaximize()
        scip.addObjoffset(model.constant)

    def linear(self, columns: Iterable[int], weights: Iterable[float]) -> Any:
        return self.pyscipopt.quicksum(
            weight * self.variables[j] for j, weight in zip(columns, weights, strict=True)
        )

    def products(self, products: Products) -> Any:
        return self.pyscipopt.quicksum(
            value * self.variables[i] * self.variables[j]
            for i, j, value in zip(*(part.tolist() for part in products), strict=True)
        )

    def constrain(self, expression: Any, low: float, high: float) -> None:
        if low == high:
            self.scip.addCons(expression == low)
        elif not np.isfinite(low):
            self.scip.addCons(expression <= high)
        elif not np.isfinite(high):
            self.scip.addCons(expression >= low)
        else:
            self.scip.addCons((expression <= high) >= low)

    def add_rows(self, rows: Rows) -> None:
        for columns, weights, low, high in rows.each():
            self.constrain(self.linear(columns, weights), low, high)

    def values(self, solution: Any) -> Floats:
        return np.array([self.scip.getSolVal(solution, variable) for variable in self.variables])

    def start_from(self, x: Floats) -> None:
        solution = self.scip.createOrigSol()
        for variable, value in zip(self.variables, x.tolist(), strict=True):
            self.scip.setSolVal(solution, variable, value)
        if self.quadratic_value is not None and self.model.products is not None:
            self.scip.setSolVal(solution, self.quadratic_value, self.model.products.at(x))
        self.scip.addSol(solution)

    def check_with(self, lazy: Lazy) -> None:
        # What SCIP concludes from the constraints it knows may be wrong for those it does not.
        self.scip.setParam("misc/usesymmetry", 0)
        self.scip.setParam("misc/allowstrongdualreds", False)
        self.scip.setParam("misc/allowweakdualreds", False)
        self.scip.includeConshdlr(
            _lazy_handler(self.pyscipopt, self, lazy),
            "lazy",
            "constraints that are added where a solution breaks them",
            enfopriority=AFTER_ALL_OTHERS,
            chckpriority=AFTER_ALL_OTHERS,
            needscons=False,
        )

    def report_to(self, tell: OnProgress) -> None:
        handler = _event_handler(self.pyscipopt, self, tell)
        self.scip.includeEventhdlr(handler, "progress", "tells of new solutions and bounds")

    def bound(self) -> float | None:
        return safe_bound(self.scip.getDualbound(), self.scip.infinity(), self.size)


def _lazy_handler(pyscipopt: Any, built: _Built, lazy: Lazy) -> Any:
    results = pyscipopt.SCIP_RESULT

    class LazyHandler(pyscipopt.Conshdlr):  # type: ignore[misc]
        """Refuses solutions that break a constraint not stated yet, and states it."""

        def conscheck(self, constraints: Any, solution: Any, *flags: bool) -> dict[str, Any]:
            broken = lazy(built.values(solution))
            return {"result": results.FEASIBLE if broken is None else results.INFEASIBLE}

        def consenfolp(
            self, constraints: Any, n_useful: int, infeasible_anyway: bool, *flags: bool
        ) -> dict[str, Any]:
            broken = None if infeasible_anyway else lazy(built.values(None))
            if broken is None:
                return {"result": results.FEASIBLE}
            built.add_rows(broken)
            built.lazy_added += broken.n_rows
            return {"result": results.CONSADDED}

        consenfops = consenfolp

        def conslock(self, constraint: Any, locktype: int, nlockspos: int, nlocksneg: int) -> None:
            both = nlockspos + nlocksneg
            for variable in built.variables:
                self.model.addVarLocksType(variable, locktype, both, both)

    return LazyHandler()


def _event_handler(pyscipopt: Any, built: _Built, tell: OnProgress) -> Any:
    events = pyscipopt.SCIP_EVENTTYPE

    class Reporter(pyscipopt.Eventhdlr):  # type: ignore[misc]
        """Hands every better solution on, and the bound after every node."""

        def eventinit(self) -> None:
            self.model.catchEvent(events.BESTSOLFOUND, self)
            self.model.catchEvent(events.NODESOLVED, self)

        def eventexit(self) -> None:
            self.model.dropEvent(events.BESTSOLFOUND, self)
            self.model.dropEvent(events.NODESOLVED, self)

        def eventexec(self, event: Any) -> None:
            found = None
            if event.getType() == events.BESTSOLFOUND:
                found = built.values(self.model.getBestSol())
            tell(found, built.bound())

    return Reporter()
