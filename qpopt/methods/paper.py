"""The published scheme: a relaxed model, tightened from round to round until nothing is violated.

First only the sum over all classes is prescribed, and that none of them is empty. While a class is
short, the classes ever short must find their features within Γ, the features ever selected. Then,
with uniqueness as well, classes ever equal must differ within Γ. It ends when nothing is violated
and one more solve, with the Γ that has grown meanwhile, changes no assignment. What it finds is
feasible; no bound of it is a bound of the problem. As the first rounds hardly know a rule for
single classes but decide what Γ holds, the result lies below the optimum: far below on instances of
a dozen features, 364.8 to 366.1 by solver where `search` finds 376.5 on `generate(64, 20, 10, 3)`.
At the size of real networks about 1 % is to be expected: 0.5 % was published. Pairs of classes are
part of every round, as are forbidden and required assignments.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from math import inf
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from qpopt.control.events import Phase
from qpopt.control.incumbent import Incumbent
from qpopt.control.judging import best_of_selection
from qpopt.errors import SolverLimit
from qpopt.methods.base import Method, Options, option
from qpopt.methods.compact import objective_form
from qpopt.methods.paper_repair import distinct_by_swaps
from qpopt.models.duplicate_cuts import equal_classes
from qpopt.models.paper import PAPER_TAKES, Tightening, compile_paper, paper_sizes
from qpopt.models.warm_start import start_vector
from qpopt.problem import validation
from qpopt.problem.demands.fulfilment import misfit
from qpopt.problem.objective import best_assignment
from qpopt.problem.solution import Candidate, Status
from qpopt.solvers.base import Solver, SolverRequest
from qpopt.solvers.choice import keep_quadratic
from qpopt.solvers.lazy_constraints import solve_for


@dataclass(frozen=True)
class PaperOptions(Options):
    """Options of the method `paper`."""

    max_rounds: int = option(
        100, partial(validation.whole_number, least=1), "The largest number of solves."
    )
    round_time_limit: float = option(
        inf,
        partial(validation.number, least=0.0, most=inf),
        "Seconds for each solve, beside the time limit for all of them.",
    )
    objective: str = objective_form()


def run(incumbent: Incumbent, solver: Solver | None, options: PaperOptions) -> None:
    """Follow the published scheme; what Γ lacks after the first rounds can hardly come in later."""
    assert solver is not None
    keep_quadratic(solver, paper_sizes(incumbent.instance), options.objective)
    _Rounds(incumbent, solver, options).run()


class _Rounds:
    """The rounds of one solve and what they have in common."""

    def __init__(self, incumbent: Incumbent, solver: Solver, options: PaperOptions) -> None:
        self.instance = incumbent.instance
        self.options = options
        self.solver = solver
        self.incumbent = incumbent
        self.tightening = Tightening()
        self.unique = False
        self.log: list[dict[str, float | int | str]] = []
        incumbent.details["rounds"] = self.log
        incumbent.details["finished"] = False

    def run(self) -> None:
        start = self.incumbent.best or self._hint()
        before: NDArray[np.bool_] | None = None
        while len(self.log) < self.options.max_rounds and not self.incumbent.clock.over:
            found = self._solve(start)
            if found is None and self._widened():
                continue
            if found is None:
                return
            selection, used = found
            short = np.flatnonzero(used.sum(axis=1) < self.instance.n_per_class).tolist()
            self.unique = self.unique or not short
            start = self._next_start(selection)
            groups = equal_classes(used) if self.unique else []
            equal = [pair for classes in groups for pair in combinations(classes, 2)]
            self.log[-1] |= {"short": len(short), "equal": len(equal)}
            known = self.tightening
            self.tightening = Tightening(
                features=tuple(sorted({*known.features, *selection.tolist()})),
                short=tuple(sorted({*known.short, *short})),
                equal=tuple(sorted({*known.equal, *equal})),
            )
            if self.unique and not short and not equal:
                start = Candidate(selection, used[:, selection])
                self.incumbent.offer(start)
                settled = before is not None and np.array_equal(used, before)
                if settled or not self.tightening.changes(known):
                    self.incumbent.details["finished"] = True
                    return
            before = used

    def _solve(self, start: Candidate | None) -> tuple[NDArray[np.int64], NDArray[np.bool_]] | None:
        """Solve the model of this round; None where there is nothing to go on with."""
        began = perf_counter()
        tightening, incumbent = self.tightening, self.incumbent
        incumbent.enter(
            Phase.BUILD,
            f"round {len(self.log) + 1}: {len(tightening.features)} features in Γ, "
            f"{len(tightening.short)} classes short, {len(tightening.equal)} pairs equal",
        )
        try:
            sizes = paper_sizes(self.instance, tightening)
            quadratic = keep_quadratic(self.solver, sizes, self.options.objective)
        except SolverLimit as error:
            # The model has grown beyond the licence; what the rounds so far gave is kept.
            incumbent.details["stopped"] = str(error)
            return None
        model = compile_paper(self.instance, tightening, quadratic=quadratic)
        x = None
        if start is not None and self.solver.supports.warm_start:
            x = start_vector(self.instance, model, start, tightening)
        incumbent.enter(Phase.MIP, f"round {len(self.log) + 1}")
        limits = incumbent.clock.share(most=self.options.round_time_limit)
        request = SolverRequest(limits, start=x)
        if self._relaxes():
            result = solve_for(incumbent, self.solver, model, request)
        else:
            result = self.solver.solve(model, request)
            incumbent.interrupted = result.status is Status.INTERRUPTED
        made: dict[str, float | int | str] = {
            "seconds": perf_counter() - began,
            "status": result.status.value,
            "uniqueness": int(self.unique),
            "gamma": len(tightening.features),
            "c_sparse": len(tightening.short),
            "c_duplicates": len(tightening.equal),
        }
        self.log.append(made)
        if result.x is None or result.objective is None:
            return None
        self.log[-1]["objective"] = incumbent.scaling.back(result.objective)
        selection = np.flatnonzero(model.block("s", result.x) > 0.5)
        used: NDArray[np.bool_] = model.block("w", result.x) > 0.5
        if incumbent.interrupted:
            self._next_start(selection)
            return None
        return selection, used

    def _relaxes(self) -> bool:
        """Tell whether every solution meets the present model: not where Γ bars demands."""
        within = len(self.tightening.features) in (0, self.instance.n_features)
        return within or not self.instance.demands

    def _widened(self) -> bool:
        """Take all features into Γ where the demands cannot be met within it; tell if done."""
        if not self.log or self.log[-1]["status"] != Status.INFEASIBLE.value or self._relaxes():
            return False
        every = tuple(range(self.instance.n_features))
        self.tightening = replace(self.tightening, features=every)
        return True

    def _next_start(self, selection: NDArray[np.int64]) -> Candidate | None:
        """Give every class its best features; the incumbent gets it with duplicates removed."""
        if self.instance.demands:
            return self._demanded(selection)
        best = best_assignment(self.instance.A, selection, self.instance.n_per_class)
        distinct = distinct_by_swaps(self.instance.A, selection, best)
        self.incumbent.offer(Candidate(selection, distinct))
        return Candidate(selection, distinct if self.unique else best)

    def _demanded(self, selection: NDArray[np.int64]) -> Candidate | None:
        """Give the classes of a selection good features that meet all demands, if there are any."""
        clock = self.incumbent.clock
        found, _ = best_of_selection(self.instance, selection, -inf, 0.0, clock)
        if found is not None:
            self.incumbent.offer(found)
        return found

    def _hint(self) -> Candidate | None:
        """Return the hint of the instance, each class with its best features, where it fits."""
        selection = np.array(self.instance.hint, dtype=np.int64)
        if misfit(self.instance, selection):
            return None
        if self.instance.demands:
            return self._demanded(np.sort(selection))
        best = best_assignment(self.instance.A, selection, self.instance.n_per_class)
        return Candidate(selection, best)


METHOD = Method(
    "paper",
    "the published scheme, round by round: feasible, without a bound",
    exact=False,
    run=run,
    options=PaperOptions,
    sizes=paper_sizes,
    demands=PAPER_TAKES,
)
