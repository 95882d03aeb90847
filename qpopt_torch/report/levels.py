"""What the page says of levels and sets, as plain values."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from qpopt_torch.evidence.gather import Evidence
from qpopt_torch.explain import Sample
from qpopt_torch.sparse.classifier import SparseClassifier
from qpopt_torch.sparse.sets.answers import Answers
from qpopt_torch.sparse.sets.coverage import Coverage
from qpopt_torch.sparse.sets.depths import Depths, blocks, deepest_levels
from qpopt_torch.sparse.sets.level_shares import LevelShares
from qpopt_torch.sparse.sets.predictor import Predictor
from qpopt_torch.sparse.sets.quantiles import fewest

LEAST, MOST = 50, 99
"""Between what, in percent, a reader chooses how sure a set should be."""


class DecisionLevels:
    """Levels and sets of single decisions.

    Parameters
    ----------
    model
        The model.
    """

    def __init__(self, model: SparseClassifier) -> None:
        self.assignment, self.predictor = model.assignment, model.predictor
        self.wanted, self.limits = _limits(self.predictor)

    def of_decision(self, sample: Sample) -> dict[str, Any]:
        """Return the active features of the prediction, how long other classes last, and its sets.

        Of a set only its classes are said, each with the least of what a reader may want for which
        it is among them.
        """
        c = sample.prediction
        depths = Depths.of([sample.values], self.assignment, [c])
        lasting = depths.lasting[0]
        found: dict[str, Any] = {
            "order": depths.order[0, c, : int(depths.active[0])].tolist(),
            "lasting": [[int(d), int(lasting[d])] for d in np.flatnonzero(lasting) if d != c],
        }
        if self.predictor is not None and self.wanted:
            scores = self.predictor.calibration.score(self._answers(sample.values[None]))[0]
            inside = scores <= self.limits  # rises with what is wanted
            first = np.array(self.wanted)[inside.argmax(axis=0)]
            kept = np.flatnonzero(inside.any(axis=0))
            found["sets"] = [[int(d), int(first[d])] for d in kept if d != c]
        return found

    def _answers(self, values: NDArray[Any]) -> Answers:
        added = values.astype(np.float64)
        return Answers(added @ self.assignment.T.astype(np.float64), added, self.assignment)


class LevelPage(DecisionLevels):
    """Levels and sets of a model, for the overview and for every decision.

    Parameters
    ----------
    model
        The model; how often its levels hold the true class is taken from the samples of the page
        where it was not calibrated.
    decisions
        The samples of the page.
    """

    def __init__(self, model: SparseClassifier, decisions: Evidence) -> None:
        super().__init__(model)
        self.calibrated = model.level_shares is not None
        known = decisions.values, self.assignment, decisions.predictions
        found = model.level_shares
        self.shares = found or LevelShares.of(*deepest_levels(*known, decisions.labels))
        left = np.zeros(len(self.shares.hits))
        for rows in blocks(len(decisions.values), self.assignment):
            depths = Depths.of(known[0][rows], self.assignment, known[2][rows])
            left += [depths.possible(level).sum() for level in range(len(left))]
        self.left = left / len(decisions.values)

    def rows(self) -> list[dict[str, float]]:
        """Return, for every level, how often it holds the true class and what it leaves."""
        rows = []
        for level, share in enumerate(self.shares.shares):
            low, high = self.shares.interval(level)
            row = {"share": 100 * share, "low": 100 * low, "high": 100 * high}
            rows.append({**row, "left": float(self.left[level])})
        return rows

    def coverage(self, decisions: Evidence) -> Coverage | None:
        """Return what the sets of the model are worth on the samples of the page, if it has any."""
        if self.predictor is None:
            return None
        mask = self.predictor.sets_of(self._answers(decisions.values)).mask
        return Coverage.of(mask, decisions.labels, 1 - self.predictor.alpha)

    def to_dict(self) -> dict[str, Any]:
        """Return what all decisions share, under `levels` and `sets`."""
        rows = self.rows()
        shares = [[round(row[key], 1) for key in ("share", "low", "high")] for row in rows]
        levels = {"shares": shares, "n": self.shares.n_samples}
        if self.predictor is None or not self.wanted:
            return {"levels": levels, "sets": None}
        known = self.predictor.calibration
        sets = {"wanted": round(100 * (1 - known.alpha)), "byClass": known.by_class}
        sets |= {"least": self.wanted[0], "most": self.wanted[-1]}
        sets["n"] = len(known.scores) + known.n_first
        return {"levels": levels, "sets": sets}


def _limits(predictor: Predictor | None) -> tuple[list[int], NDArray[np.float64]]:
    """Return what a reader may want, in percent, and for each the largest score of every class."""
    if predictor is None:
        return [], np.empty((0, 0))
    known = predictor.calibration
    counts = np.bincount(known.labels) if known.by_class else [len(known.scores)]
    wanted = [w for w in range(LEAST, MOST + 1) if max(counts) >= fewest(1 - w / 100)]
    return wanted, np.array([known.quantiles(1 - w / 100) for w in wanted])
