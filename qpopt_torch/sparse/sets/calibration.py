"""Calibration: what sets of classes rest on, from samples whose features are known."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qpopt_torch.errors import LoaderError, ModelError, shown
from qpopt_torch.sparse.sets.answers import Answers
from qpopt_torch.sparse.sets.quantiles import class_quantiles, fewest, least_evidence, quantile
from qpopt_torch.sparse.sets.scores import SCORES, Score, score_from

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]

logger = logging.getLogger("qpopt")


@dataclass(frozen=True, eq=False)
class Calibration:
    """What a predictor knows of its calibration samples.

    Parameters
    ----------
    score
        The score, with all that it has fixed.
    alpha
        How often a set may miss the true class.
    by_class
        Whether that is promised for every class by itself.
    scores, labels
        The scores of the true classes, and these, of the samples that set the quantile.
    least
        For every class the evidence below which `decide` turns a sample away.
    abstain
        How many samples of a class it may turn away.
    n_first
        How many other samples there were, from which the score fixed something.
    """

    score: Score
    alpha: float
    by_class: bool
    scores: Floats
    labels: Whole
    least: Floats
    abstain: float
    n_first: int

    def quantiles(self, alpha: float) -> Floats:
        """Return for every class the largest score with which it is in a set."""
        n_classes = len(self.least)
        if self.by_class:
            return class_quantiles(self.scores, self.labels, n_classes, alpha)
        return np.full(n_classes, quantile(self.scores, alpha))

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as values that JSON can hold."""
        return {
            "score": self.score.name,
            "fixed": self.score.to_dict(),
            "alpha": self.alpha,
            "by_class": self.by_class,
            "scores": self.scores.tolist(),
            "labels": self.labels.tolist(),
            "least": [None if np.isinf(value) else value for value in self.least.tolist()],
            "abstain": self.abstain,
            "n_first": self.n_first,
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], n_classes: int) -> Calibration:
        """Rebuild it.

        Raises
        ------
        ModelError
            If it cannot be that of a model with so many classes.
        """
        try:
            made = cls(
                score_from(values["score"], values["fixed"]),
                check_share("alpha", values["alpha"]),
                bool(values["by_class"]),
                np.array(values["scores"], dtype=np.float64),
                np.array(values["labels"], dtype=np.int64),
                np.array([-np.inf if v is None else v for v in values["least"]], dtype=np.float64),
                check_share("abstain", values["abstain"]),
                int(values["n_first"]),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise ModelError(f"what is kept of its sets is damaged ({error}).") from error
        fine = made.scores.shape == made.labels.shape and made.scores.ndim == 1
        fine = fine and made.least.shape == (n_classes,) and made.n_first >= 0
        fine = fine and bool(np.isfinite(made.scores).all()) and not np.isnan(made.least).any()
        known = made.labels
        if not fine or not len(known) or known.min() < 0 or known.max() >= n_classes:
            raise ModelError("what is kept of its sets is damaged.")
        return made


def calibrated(
    answers: Answers,
    labels: Whole,
    alpha: float,
    score: str,
    by_class: bool = False,
    abstain: float = 0.1,
    seed: int = 0,
) -> Calibration:
    """Calibrate on samples whose features are known; arguments as in `conformal`."""
    kind = SCORES[score]
    order = np.random.default_rng(seed).permutation(len(labels))
    first, second = order[:0], order
    if kind.halved:
        first, second = order[: len(order) // 2], order[len(order) // 2 :]
    _check_enough(labels, first, second, alpha, by_class, kind)
    fixed = kind.fixed(answers[first], labels[first], alpha)
    scores, own = fixed(answers[second]), labels[second]
    if scores.shape[1] > 1 and np.ptp(scores) == 0:
        logger.warning("All scores of all samples are equal, so every set holds all classes.")
    least = least_evidence(
        answers.evidence[np.arange(len(labels)), labels], labels, scores.shape[1], abstain
    )
    true = scores[np.arange(len(own)), own]
    return Calibration(fixed, alpha, by_class, true, own, least, abstain, len(first))


def check_share(name: str, value: Any) -> float:
    """Return a number between 0 and 1, both excluded, or raise ModelError."""
    number = isinstance(value, Real) and not isinstance(value, bool)
    if not number or not 0 < value < 1:
        raise ModelError(f"{name} must be a number between 0 and 1, not {shown(value)}.")
    return float(value)


def _check_enough(
    labels: Whole, first: Whole, second: Whole, alpha: float, by_class: bool, kind: type[Score]
) -> None:
    """Raise unless some quantile is finite, and what comes before it rests on as many samples."""
    needed, halved = fewest(alpha), kind.halved
    counts = np.bincount(labels[second]) if by_class else [len(second)]
    if max(counts, default=0) >= needed and (not halved or len(first) >= needed):
        return
    if by_class:
        half = ", beside as many to choose the score by" if halved else ""
        raise LoaderError(
            f"alpha={alpha:g} needs at least {needed} calibration samples of a class{half}; the "
            f"most frequent one has {max(counts, default=0)} of {len(second)}."
        )
    half = f" in each of two halves, {2 * needed} in all" if halved else ""
    raise LoaderError(
        f"alpha={alpha:g} needs at least {needed} calibration samples{half}; there are "
        f"{len(labels)}."
    )
