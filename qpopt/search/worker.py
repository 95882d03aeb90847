"""A worker: tabu searches from one start after another, recombining what they find."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.random import SeedSequence
from numpy.typing import NDArray

from qpopt.control.incumbent import Incumbent
from qpopt.kernels.greedy_fill import fill
from qpopt.kernels.tabu import tabu_search
from qpopt.search.budget import Budget
from qpopt.search.integer_instance import IntegerInstance
from qpopt.search.population import Population
from qpopt.search.swap_state import new_state
from qpopt.search.tabu_memory import NEVER, forget, new_auction, new_memory

PATIENCE_PER_FEATURE = 6
"""Steps without improvement, per selected feature, after which a tabu search ends."""
MOST_FAILURES = 30
"""New starts in a row that gave no new elite selection, after which the population is dropped."""
RAISES_PER_GAP = 32
"""How fine the auction for sets is: least raises in the mean cost of a class's second best set."""
WORK_PER_CALL = 1e9
"""Size of a compiled call: about a tenth of a second, so that limits and interruptions are seen."""


@dataclass
class Settings:
    """Settings of the tabu search that the instance's size decides."""

    patience: int
    steps_per_call: int
    hold: tuple[int, int]


def settings(problem: IntegerInstance, n_select: int) -> Settings:
    """Derive the settings from the size of the problem."""
    n_classes, n_features = problem.A.shape
    k = problem.n_per_class
    touched = min(n_classes, 2 * n_classes * (k + 2) / n_select)
    work = n_features * (n_select + touched * (k + 3)) + 6000 * n_classes
    return Settings(
        max(PATIENCE_PER_FEATURE * n_select, 200),
        max(1, int(WORK_PER_CALL / work)),
        (max(n_select // 20, 1), max(n_select // 40, 1)),
    )


class Worker:
    """One thread of the search.

    Parameters
    ----------
    problem, unit
        The instance in whole units, and the size of a unit.
    incumbent
        Judges selections and keeps the best one, shared with other workers.
    budget
        When to stop, shared likewise.
    seed
        Where chance comes from.
    starts
        Selections to begin with.
    sharing
        Whether there are other workers, whose best solution is worth recombining.
    """

    def __init__(
        self,
        problem: IntegerInstance,
        unit: float,
        incumbent: Incumbent,
        budget: Budget,
        seed: SeedSequence,
        starts: Sequence[NDArray[np.int64]],
        *,
        sharing: bool = False,
    ) -> None:
        n_features = problem.A.shape[1]
        self.n_select = incumbent.instance.n_select
        self.problem = problem
        self.unit = unit
        self.incumbent = incumbent
        self.budget = budget
        self.rng = np.random.default_rng(seed)
        self.starts = list(starts)
        self.sharing = sharing
        self.settings = settings(problem, self.n_select)
        kernel_seed = int(self.rng.integers(2**63))
        self.memory = new_memory(n_features, self.n_select, kernel_seed, self.settings.hold)
        self.auction = new_auction(problem)
        self.fixed = np.flatnonzero(problem.fixed)
        self.population = Population(self.rng, frozenset(self.fixed.tolist()))
        self.slack = 0.0

    def run(self) -> None:
        """Search until a limit is reached."""
        while not self.budget.done:
            if self.population.failures >= MOST_FAILURES:
                self.population.clear()
            self.climb(self.next_start())

    def next_start(self) -> NDArray[np.int64]:
        """Return a given start, a random one, or one made from elite selections."""
        if self.starts:
            return self.starts.pop(0)
        if self.sharing:
            self._adopt()
        if not self.population.full:
            n_random = int(self.rng.integers(self.n_select + 1))
            return self._filled(self._random_part(n_random), self.problem.allowed, 4)
        if self.rng.random() < 0.7:
            common, either = self.population.recombine()
            among = np.zeros_like(self.problem.allowed)
            among[either] = True
            return self._filled(common, among, 3)
        return self._filled(self.population.disturb(), self.problem.allowed, 4)

    def _adopt(self) -> None:
        """Take the incumbent in if another worker's is better than all members."""
        members, best = self.population.members, self.incumbent.best
        if members and best is not None and self.incumbent.objective > members[0][0]:
            self.population.add(self.incumbent.judge(best.selection), best.selection)

    def climb(self, start: NDArray[np.int64]) -> None:
        """Run one tabu search and judge the best selections it met."""
        state = new_state(self.problem, start)
        k = self.problem.n_per_class
        gaps = state.top_value[:, k - 1].astype(np.int64) - state.top_value[:, k]
        self.auction.step[0] = max(int(gaps.mean()) // RAISES_PER_GAP, 1)
        forget(self.memory)
        while not self.budget.done:
            allotted = self.budget.allot(self.settings.steps_per_call)
            made = tabu_search(
                self.problem, state, self.memory, self.auction, allotted, self.settings.patience
            )
            self.budget.made(made, allotted)
            if made < allotted:
                break
            if self.memory.kept.max() * self.unit > self.incumbent.objective:
                self.incumbent.judge(self.memory.kept_selected[self.memory.kept.argmax()])
        self._judge_kept()

    def _judge_kept(self) -> None:
        """Judge what the tabu search kept exactly, as long as it could be a new best."""
        best: tuple[float, NDArray[np.int64]] | None = None
        for i in np.argsort(-self.memory.kept, kind="stable"):
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
