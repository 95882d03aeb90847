"""Scores: how implausible every class is for a sample; small for what may be.

A score has to be fixed before the samples that calibrate it are seen. `lac` and `aps` have nothing
to fix; `raps` and `levels` take what they need from the first half of the calibration samples.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qpopt_torch.errors import ModelError
from qpopt_torch.sparse.sets.answers import Answers
from qpopt_torch.sparse.sets.depths import blocks
from qpopt_torch.sparse.sets.quantiles import quantile, rank

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]

PENALTIES = (0.001, 0.01, 0.1, 0.2, 0.5)
"""Penalties of a rank that `raps` chooses from, those of its authors."""


class Score(ABC):
    """A score, with what it has fixed.

    Attributes
    ----------
    name
        What it is called.
    halved
        Whether it needs samples of its own, before those that calibrate it.
    """

    name: ClassVar[str]
    halved: ClassVar[bool] = False

    @classmethod
    def fixed(cls, first: Answers, labels: Whole, alpha: float) -> Score:
        """Return the score, with all that it takes from its own samples."""
        return cls()

    @abstractmethod
    def __call__(self, answers: Answers) -> Floats:
        """Return how implausible every class is, samples × classes."""

    def to_dict(self) -> dict[str, Any]:
        """Return what is fixed."""
        return {}


class Lac(Score):
    """One minus the softmax of a class; also called THR."""

    name = "lac"

    def __call__(self, answers: Answers) -> Floats:
        """Return how implausible every class is, samples × classes."""
        return 1 - answers.probabilities


class Aps(Score):
    """The softmax of all classes that are at least as probable, added up.

    Nothing is drawn by chance, so a sample has the same set every time; it holds the true class a
    little more often than asked.
    """

    name = "aps"

    def __call__(self, answers: Answers) -> Floats:
        """Return how implausible every class is, samples × classes."""
        return _at_least_as_probable(answers.probabilities)[0]


@dataclass(frozen=True)
class Raps(Score):
    """`aps`, and a penalty for every rank beyond one.

    Its samples choose the rank, the (1 − α)-quantile of that of the true class, and from
    `PENALTIES` the one with the smallest sets.

    Parameters
    ----------
    penalty
        For every rank.
    free_ranks
        How many ranks have none.
    """

    penalty: float
    free_ranks: int

    name: ClassVar[str] = "raps"
    halved: ClassVar[bool] = True

    @classmethod
    def fixed(cls, first: Answers, labels: Whole, alpha: float) -> Score:
        """Return the score, with all that it takes from its own samples."""
        rows = np.arange(len(labels))
        ranks = _at_least_as_probable(first.probabilities)[1][rows, labels]
        free = int(np.quantile(ranks, min(1.0, max(0.0, 1 - alpha)), method="higher"))

        def size(score: Raps) -> float:
            values = score(first)
            return float((values <= quantile(values[rows, labels], alpha)).sum(axis=1).mean())

        return min((cls(penalty, free) for penalty in PENALTIES), key=size)

    def __call__(self, answers: Answers) -> Floats:
        """Return how implausible every class is, samples × classes."""
        sums, ranks = _at_least_as_probable(answers.probabilities)
        scores: Floats = sums + self.penalty * np.maximum(ranks - self.free_ranks, 0)
        return scores

    def to_dict(self) -> dict[str, Any]:
        """Return what is fixed."""
        return asdict(self)


@dataclass(frozen=True)
class Levels(Score):
    """By the levels of the explanation: first inside one level by activation, then level by level.

    Its samples choose the level n, the deepest but the last that holds the true class often enough.
    With F_i the features of class c by falling activation, j of them shared with the predicted
    class, and p active,

        s = max(0, min(n, p) − j) + 1 / (1 + g),  g = Σ_{i = n+1 … j} f̃(F_i) + f̃(F_{j+1}),

    where what is below 0 counts as 0. j of the predicted class are all levels.

    Parameters
    ----------
    level
        The level n.
    """

    level: int

    name: ClassVar[str] = "levels"
    halved: ClassVar[bool] = True

    @classmethod
    def fixed(cls, first: Answers, labels: Whole, alpha: float) -> Score:
        """Return the score, with all that it takes from its own samples."""
        deepest, n_levels = first.deepest(labels)
        needed = rank(len(labels), alpha)
        return cls(
            max((n for n in range(1, n_levels) if (deepest >= n).sum() >= needed), default=0)
        )

    def __call__(self, answers: Answers) -> Floats:
        """Return how implausible every class is, samples × classes."""
        scores = np.empty(answers.logits.shape)
        for rows in blocks(len(answers), answers.assignment):
            scores[rows] = self._scores(answers[rows])
        return scores

    def _scores(self, answers: Answers) -> Floats:
        depths = answers.depths()
        shared = depths.shared
        active = np.maximum(depths.values, 0.0)
        # sums[…, i] adds up the i most active features.
        sums = np.concatenate([np.zeros_like(active[..., :1]), active.cumsum(axis=2)], axis=2)

        def first(counts: Whole) -> Floats:
            taken: Floats = np.take_along_axis(sums, counts[..., None], axis=2)[..., 0]
            return taken

        until = np.minimum(shared + 1, depths.n_levels)
        # The features n + 1 … j, and the next; where j < n, the next alone.
        start = np.minimum(np.minimum(self.level, shared), until)
        gained = first(until) - first(start)
        missing = np.maximum(0, np.minimum(self.level, depths.active)[:, None] - shared)
        scores: Floats = missing + 1 / (1 + gained)
        return scores

    def to_dict(self) -> dict[str, Any]:
        """Return what is fixed."""
        return asdict(self)


SCORES: Mapping[str, type[Score]] = {kind.name: kind for kind in (Levels, Lac, Aps, Raps)}
"""The scores by their names."""


def score_from(name: str, values: Mapping[str, Any]) -> Score:
    """Rebuild a score from its name and what it has fixed.

    Raises
    ------
    ModelError
        If there is none such.
    """
    kinds: dict[str, tuple[type, ...]] = {"penalty": (float, int), "free_ranks": (int,)}
    kinds["level"] = (int,)
    if name in SCORES:
        wanted = {"raps": {"penalty", "free_ranks"}, "levels": {"level"}}.get(name, set())
        fine = set(values) == wanted and all(
            type(value) in kinds[key] and value >= 0 for key, value in values.items()
        )
        if fine:
            made: Any = SCORES[name]
            score: Score = made(**values)
            return score
    raise ModelError(f"there is no score {name!r} with {dict(values)!r}.")


def _at_least_as_probable(shares: ArrayLike) -> tuple[Floats, Whole]:
    """Return the sum and the number of the shares that are at least as large as each one."""
    values = np.asarray(shares, dtype=np.float64)
    place = np.argsort(-values, axis=1, kind="stable")
    falling = np.take_along_axis(values, place, axis=1)
    # Equal ones count together: all have the sum and the number of the last of them.
    last = np.ones(falling.shape, dtype=bool)
    last[:, :-1] = falling[:, :-1] != falling[:, 1:]
    sums = np.where(last, falling.cumsum(axis=1), np.inf)
    counts = np.where(last, np.arange(1, falling.shape[1] + 1), np.iinfo(np.int64).max)
    sums, counts = (
        np.minimum.accumulate(each[:, ::-1], axis=1)[:, ::-1] for each in (sums, counts)
    )
    back = np.argsort(place, axis=1, kind="stable")
    return np.take_along_axis(sums, back, axis=1), np.take_along_axis(counts, back, axis=1)
