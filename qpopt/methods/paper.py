"""The published scheme: a relaxed model, tightened from round to round until nothing is violated.

First only the sum over all classes is prescribed. While a class is short, the classes ever short
must find their features within Γ, the features ever selected. Then, with uniqueness as well,
classes ever equal must differ within Γ. What it finds is feasible; no bound of it is a bound of
the problem. As the first rounds know no rule for single classes but decide what Γ holds, the
result may be far from the optimum: 331 instead of 376 on `generate(64, 20, 10, 3)`, which is the
best that its Γ of 13 features allows.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from qpopt.control.incumbent import Incumbent
from qpopt.control.settings import Settings, Start
from qpopt.errors import SolverFailure, SolverLimit
from qpopt.methods.base import Method
from qpopt.methods.paper_repair import distinct_by_swaps
from qpopt.models.compact import equal_classes
from qpopt.models.compiled import Size
from qpopt.models.paper import Tightening, compile_paper, paper_size
from qpopt.models.warm_start import start_vector
from qpopt.problem.instance import Instance
from qpopt.problem.objective import best_assignment
from qpopt.problem.solution import Solution, Status
from qpopt.solvers.base import Solver, SolverSettings
from qpopt.solvers.forms import keep_quadratic

MAX_ROUNDS = 100


def solve_paper(instance: Instance, solver: Solver | None, settings: Settings) -> Solution:
    """Follow the published scheme; what Γ lacks after the first rounds can hardly come in later.

    Options
    -------
    max_rounds
        The largest number of solves, 100 by default.
    round_time_limit
        Seconds for each solve, beside the time limit for all of them.
    objective
        "quadratic" or "linear": whether redundancy stays a product; "auto" by default.
    """
    assert solver is not None
    settings.check_options("max_rounds", "round_time_limit", "objective")
    max_rounds = settings.option("max_rounds", MAX_ROUNDS)
    _keep_quadratic(instance, Tightening(), solver, settings)
    incumbent = Incumbent(instance, settings, method="paper", solver=solver.name)
    incumbent.run(lambda: _Rounds(instance, solver, incumbent).run(max_rounds))
    return incumbent.solution()


class _Rounds:
    """The rounds of one solve and what they have in common."""

    def __init__(self, instance: Instance, solver: Solver, incumbent: Incumbent) -> None:
        self.instance = instance
        self.solver = solver
        self.incumbent = incumbent
        self.tightening = Tightening()
        self.unique = False
        self.log: list[dict[str, float | int | str]] = []
        incumbent.details["rounds"] = self.log
        incumbent.details["finished"] = False

    def run(self, max_rounds: int) -> None:
        start = _clique_start(self.instance)
        if self.incumbent.best is not None:
            start = self.incumbent.best
        while len(self.log) < max_rounds and not self.incumbent.out_of_time:
            found = self._solve(start)
            if found is None:
                return
            selection, used = found
            short = np.flatnonzero(used.sum(axis=1) < self.instance.n_per_class).tolist()
            self.unique = self.unique or not short
            start = self._next_start(selection)
            equal = _equal_pairs(used) if self.unique else []
            self.log[-1] |= {"short": len(short), "equal": len(equal)}
            if self.unique and not short and not equal:
                self.incumbent.offer(selection, used[:, selection])
                self.incumbent.details["finished"] = True
                return
            self._tighten(selection, short, equal)

    def _solve(self, start: Start | None) -> tuple[NDArray[np.int64], NDArray[np.bool_]] | None:
        """Solve the model of this round; None where there is nothing to go on with."""
        began = perf_counter()
        tightening, incumbent, settings = self.tightening, self.incumbent, self.incumbent.settings
        incumbent.say(
            f"round {len(self.log) + 1}: {len(tightening.features)} features in Γ, "
            f"{len(tightening.short)} classes short, {len(tightening.equal)} pairs equal"
        )
        try:
            quadratic = _keep_quadratic(self.instance, tightening, self.solver, settings)
        except SolverLimit as error:
            # The model has grown beyond the licence; what the rounds so far gave is kept.
            incumbent.details["stopped"] = str(error)
            return None
        model = compile_paper(self.instance, tightening, quadratic=quadratic)
        x = None
        if start is not None and self.solver.supports.warm_start:
            x = start_vector(self.instance, model, *start, tightening)
        limits = [incumbent.remaining, settings.option("round_time_limit", None)]
        given = [limit for limit in limits if limit is not None]
        result = self.solver.solve(
            model,
            SolverSettings(
                time_limit=min(given) if given else None,
                gap=settings.gap,
                seed=settings.seed,
                threads=settings.threads,
                start=x,
            ),
        )
        if result.status is Status.INFEASIBLE:
            raise SolverFailure(
                f"{self.solver.name} says that the model is infeasible, which cannot be; "
                "try another solver."
            )
        self.log.append(
            {
                "seconds": perf_counter() - began,
                "status": result.status.value,
                "uniqueness": int(self.unique),
                "gamma": len(tightening.features),
                "c_sparse": len(tightening.short),
                "c_duplicates": len(tightening.equal),
            }
        )
        incumbent.interrupted = result.status is Status.INTERRUPTED
        if result.x is None or result.objective is None:
            return None
        self.log[-1]["objective"] = result.objective
        selection = np.flatnonzero(model.block("s", result.x) > 0.5)
        used: NDArray[np.bool_] = model.block("w", result.x) > 0.5
        if incumbent.interrupted:
            self._next_start(selection)
            return None
        return selection, used

    def _next_start(self, selection: NDArray[np.int64]) -> Start:
        """Give every class its best features; the incumbent gets it with duplicates removed."""
        best = best_assignment(self.instance.A, selection, self.instance.n_per_class)
        distinct = distinct_by_swaps(self.instance.A, selection, best)
        self.incumbent.offer(selection, distinct)
        return Start(selection, distinct if self.unique else best)

    def _tighten(
        self, selection: NDArray[np.int64], short: list[int], equal: list[tuple[int, int]]
    ) -> None:
        known = self.tightening
        self.tightening = replace(
            known,
            features=tuple(sorted({*known.features, *selection.tolist()})),
            short=tuple(sorted({*known.short, *short})),
            equal=tuple(sorted({*known.equal, *equal})),
        )


def _equal_pairs(used: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Return all pairs of classes that have the same features."""
    return [pair for classes in equal_classes(used) for pair in combinations(classes, 2)]


def _clique_start(instance: Instance) -> Start | None:
    """Return the selection without redundancy that `prepare` found, where there is one."""
    clique = np.unique(np.asarray(instance.provenance.get("clique", ()), dtype=np.int64))
    if len(clique) != instance.n_select or clique[0] < 0 or clique[-1] >= instance.n_features:
        return None
    if not np.isin(instance.include, clique).all() or np.isin(instance.exclude, clique).any():
        return None
    return Start(clique, best_assignment(instance.A, clique, instance.n_per_class))


def _keep_quadratic(
    instance: Instance, tightening: Tightening, solver: Solver, settings: Settings
) -> bool:
    quadratic, linear = (paper_size(instance, tightening, quadratic=q) for q in (True, False))
    return keep_quadratic(solver, quadratic, linear, settings)


def _sizes(instance: Instance) -> list[Size]:
    return [paper_size(instance, Tightening(), quadratic=form) for form in (True, False)]


METHOD = Method(
    "paper",
    "the published scheme, round by round: feasible, without a bound",
    exact=False,
    run=solve_paper,
    sizes=_sizes,
)
