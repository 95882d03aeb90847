"""A worker: tabu searches from one start after another, recombining what they find."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.random import SeedSequence
from numpy.typing import NDArray

from qpopt.control.incumbent import Incumbent
from qpopt.kernels.greedy_fill import fill
from qpopt.kernels.tabu import tabu_search
from qpopt.search.budget import Budget
from qpopt.search.integer_instance import IntegerInstance
from qpopt.search.population import Population, PopulationParams
from qpopt.search.search_view import SearchView
from qpopt.search.swap_state import new_state
from qpopt.search.tabu_memory import NEVER, TabuParams, forget, new_auction, new_memory

WORK_PER_CALL = 1e9
"""Size of a compiled call: about a tenth of a second, so that limits and interruptions are seen."""


@dataclass(frozen=True)
class SearchParams:
    """How the search goes on.

    Parameters
    ----------
    most_selections
        Up to so many selections all of them are tried.
    patience_per_feature, least_patience
        Steps without improvement after which a tabu search ends: so many per selected feature, and
        the fewest.
    most_failures
        New starts in a row that gave no new elite selection, after which the population is dropped.
    raises_per_gap
        How fine the auction is: least raises in the mean cost of a class's second best set.
    recombined
        Share of the starts that recombine two elite selections; the others disturb one.
    breadth, breadth_of_recombined
        Of how many best features one is drawn when a selection is completed.
    most_slow
        How many of the best selections of a tabu search are judged where that takes long.
    tabu, population
        Those of the tabu search and of the elite selections.
    """

    most_selections: int = 5000
    patience_per_feature: int = 6
    least_patience: int = 200
    most_failures: int = 30
    raises_per_gap: int = 32
    recombined: float = 0.7
    breadth: int = 4
    breadth_of_recombined: int = 3
    most_slow: int = 2
    tabu: TabuParams = TabuParams()
    population: PopulationParams = PopulationParams()


class Worker:
    """One thread of the search.

    Parameters
    ----------
    view
        The instance in whole units.
    incumbent
        Judges selections and keeps the best one, shared with other workers.
    budget
        When to stop, shared likewise.
    seed
        Where chance comes from.
    params
        How to search.
    sharing
        Whether there are other workers, whose best solution is worth recombining.

    Attributes
    ----------
    starts
        Selections to begin with.
    """

    def __init__(
        self,
        view: SearchView,
        incumbent: Incumbent,
        budget: Budget,
        seed: SeedSequence,
        params: SearchParams,
        *,
        sharing: bool = False,
    ) -> None:
        n_select = self.n_select = view.n_select
        self.view = view
        self.problem, self.unit = problem, _ = view.current
        self.incumbent = incumbent
        self.budget = budget
        self.rng = np.random.default_rng(seed)
        self.params = params
        self.starts: list[NDArray[np.int64]] = []
        self.sharing = sharing
        self.patience = max(params.patience_per_feature * n_select, params.least_patience)
        self.steps_per_call = _steps_per_call(problem, n_select)
        kernel_seed = int(self.rng.integers(2**63))
        self.memory = new_memory(problem.A.shape[1], n_select, kernel_seed, params.tabu)
        self.auction = new_auction(problem)
        self.fixed = np.flatnonzero(problem.fixed)
        fixed = frozenset(self.fixed.tolist())
        self.population = Population(self.rng, fixed, params.population)
        self.slack = 0.0

    def run(self) -> None:
        """Search until a limit is reached."""
        while not self.budget.done:
            if self.population.failures >= self.params.most_failures:
                self.population.clear()
            self.view.renew()
            self.problem, self.unit = self.view.current
            self.climb(self.next_start())

    def next_start(self) -> NDArray[np.int64]:
        """Return a given start, a random one, or one made from elite selections."""
        if self.starts:
            return self.starts.pop(0)
        if self.sharing:
            self._adopt()
        allowed, params = self.problem.allowed, self.params
        if not self.population.full:
            n_random = int(self.rng.integers(self.n_select + 1))
            return self._filled(self._random_part(n_random), allowed, params.breadth)
        if self.rng.random() < params.recombined:
            common, either = self.population.recombine()
            among = np.zeros_like(allowed)
            among[either] = True
            return self._filled(common, among, params.breadth_of_recombined)
        return self._filled(self.population.disturb(), allowed, params.breadth)

    def _adopt(self) -> None:
        """Take the incumbent in if another worker's is better than all members."""
        members, best = self.population.members, self.incumbent.best
        if members and best is not None and self.incumbent.objective > members[0][0]:
            objective = self.incumbent.judge(best.selection)
            self.population.add(objective, self.view.columns(best.selection))

    def climb(self, start: NDArray[np.int64]) -> None:
        """Run one tabu search and judge the best selections it met."""
        state = new_state(self.problem, start)
        k = self.problem.n_per_class
        gaps = state.top_value[:, k - 1].astype(np.int64) - state.top_value[:, k]
        self.auction.step[0] = max(int(gaps.mean()) // self.params.raises_per_gap, 1)
        forget(self.memory)
        while not self.budget.done:
            allotted = self.budget.allot(self.steps_per_call)
            made = tabu_search(
                self.problem, state, self.memory, self.auction, allotted, self.patience
            )
            self.budget.made(made, allotted)
            if self.memory.idle[0] >= self.patience:
                break
            better = self.memory.kept.max() * self.unit > self.incumbent.objective
            if better and not self.view.slow_to_judge:
                self.incumbent.judge(self.memory.kept_selected[self.memory.kept.argmax()])
        self._judge_kept()

    def _judge_kept(self) -> None:
        """Judge what the tabu search kept exactly, as long as it could be a new best."""
        best: tuple[float, NDArray[np.int64]] | None = None
        order = np.argsort(-self.memory.kept, kind="stable")
        if self.view.slow_to_judge:
            order = order[: self.params.most_slow]
        for i in order:
            if self.memory.kept[i] == NEVER:
                break
            estimate = float(self.memory.kept[i]) * self.unit
            hopeless = estimate + self.slack < self.incumbent.objective
            if best is not None and (hopeless or self.budget.out_of_time):
                break
            selection = self.memory.kept_selected[i].copy()
            objective = self.incumbent.judge(selection)
            self.slack = max(self.slack, 1.5 * (objective - estimate))
            if best is None or objective > best[0]:
                best = objective, selection
        if best is not None:
            self.population.add(*best)

    def _random_part(self, size: int) -> NDArray[np.int64]:
        """Draw `size` features, among them all that must be included."""
        free = np.flatnonzero(self.problem.allowed & ~self.problem.fixed)
        n_free = max(size - len(self.fixed), 0)
        return np.concatenate([self.fixed, self.rng.choice(free, n_free, replace=False)])

    def _filled(
        self, part: NDArray[np.int64], among: NDArray[np.bool_], breadth: int
    ) -> NDArray[np.int64]:
        """Complete a part of a selection with features of a mask."""
        selected = np.zeros(self.n_select, np.int64)
        selected[: len(part)] = part
        fill(self.problem, selected, len(part), among, breadth, self.memory.random)
        return selected


def _steps_per_call(problem: IntegerInstance, n_select: int) -> int:
    """Return how many steps of the tabu search make up a compiled call."""
    n_classes, n_features = problem.A.shape
    k = problem.n_per_class
    touched = min(n_classes, 2 * n_classes * (k + 2) / n_select)
    work = n_features * (n_select + touched * (k + 3)) + 6000 * n_classes
    return max(1, int(WORK_PER_CALL / work))
