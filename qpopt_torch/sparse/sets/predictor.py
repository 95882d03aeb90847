"""conformal: sets of classes that hold the true one with a promised probability."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from qpopt_torch.data.batches import to_model
from qpopt_torch.errors import LoaderError, ModelError, shown
from qpopt_torch.network.observation import run
from qpopt_torch.sparse.sets.answers import Answers, answers_in, answers_of
from qpopt_torch.sparse.sets.coverage import Coverage
from qpopt_torch.sparse.sets.quantiles import (
    class_quantiles,
    coverage_range,
    fewest,
    least_evidence,
    quantile,
)
from qpopt_torch.sparse.sets.scores import SCORES, Score, score_from

if TYPE_CHECKING:
    from qpopt_torch.sparse.classifier import SparseClassifier

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]

logger = logging.getLogger("qpopt")


@dataclass(frozen=True, eq=False)
class ClassSets:
    """Sets of classes, one for every sample; none is empty.

    Parameters
    ----------
    sets
        For every sample the numbers of the classes, the most plausible first; the first one is the
        prediction.
    mask
        The same as a boolean array, samples × classes.
    """

    sets: list[tuple[int, ...]]
    mask: NDArray[np.bool_] = field(repr=False)


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


class Predictor:
    """Answers with a set of classes that holds the true one with a promised probability.

    Made by `conformal`, kept with the model as its `predictor`, saved and loaded with it.

    Parameters
    ----------
    model
        The sparse classifier.
    calibration
        What is known of the calibration samples.
    """

    def __init__(self, model: SparseClassifier, calibration: Calibration) -> None:
        self.model, self.calibration = model, calibration
        self.limits = calibration.quantiles(calibration.alpha)

    @property
    def alpha(self) -> float:
        """How often a set may miss the true class."""
        return self.calibration.alpha

    @property
    def always(self) -> tuple[int, ...]:
        """The classes that are in every set, since they have too few calibration samples."""
        return tuple(np.flatnonzero(np.isinf(self.limits)).tolist())

    @property
    def coverage_range(self) -> tuple[float, float]:
        """Between what the true coverage lies for 90 % of all calibration sets, without ties."""
        return coverage_range(len(self.calibration.scores), self.alpha)

    def __repr__(self) -> str:
        known = self.calibration
        first = f"{known.n_first} + " if known.score.halved else ""
        return (
            f"Predictor(score={known.score.name!r}, alpha={known.alpha:g}, calibrated on "
            f"{first}{len(known.scores)} samples)"
        )

    def __call__(self, x: Tensor) -> ClassSets:
        """Return a set of classes for every input of a batch."""
        return self.sets_of(self._answers(x))

    def decide(self, x: Tensor) -> list[int | None]:
        """Return the class of every input of a batch, or None for "none of these".

        That is the answer where the features of the predicted class add up to less than they do
        for all but a few of its own samples. Of a class that the model knows, at most a share
        `abstain` is turned away though rightly recognised; nothing is promised of foreign inputs.
        """
        answers = self._answers(x)
        away = self._turned_away(answers)
        return [None if out else c for c, out in zip(answers.predicted.tolist(), away, strict=True)]

    def evaluate(
        self,
        loader: Iterable[Any],
        similarity: ArrayLike | None = None,
        *,
        progress: bool = True,
    ) -> Coverage:
        """Measure the sets on other samples than those of the calibration.

        Parameters
        ----------
        loader
            Batches of inputs and labels.
        similarity
            How similar classes are, classes × classes, for the set coherence: any numbers, such as
            the cosine of their attributes.
        progress
            Whether to show a progress bar on a terminal.
        """
        answers, labels = answers_of(self.model, loader, title="sets", progress=progress)
        away = float(np.mean(self._turned_away(answers)))
        mask = self.sets_of(answers).mask
        return Coverage.of(mask, labels, 1 - self.alpha, similarity, turned_away=away)

    def sets_of(self, answers: Answers) -> ClassSets:
        """Return the sets of samples whose features are known."""
        scores, predicted = self.calibration.score(answers), answers.predicted
        mask = scores <= self.limits
        mask[np.arange(len(predicted)), predicted] = True
        # By score; equal ones by their logits.
        order = np.lexsort((-answers.logits, scores), axis=1)
        sets = []
        for row, inside, first in zip(order, mask, predicted.tolist(), strict=True):
            others = (int(c) for c in row if inside[c] and c != first)
            sets.append((first, *others))
        return ClassSets(sets, mask)

    def _answers(self, x: Tensor) -> Answers:
        with self.model.observe() as seen:
            run(self.model, to_model(x, self.model), 0)
        return answers_in(self.model, seen)

    def _turned_away(self, answers: Answers) -> NDArray[np.bool_]:
        predicted = answers.predicted
        evidence = answers.evidence[np.arange(len(predicted)), predicted]
        away: NDArray[np.bool_] = evidence < self.calibration.least[predicted]
        return away


def conformal(
    sparse: SparseClassifier,
    calibration_loader: Iterable[Any],
    alpha: float = 0.1,
    score: Literal["levels", "lac", "aps", "raps"] = "levels",
    *,
    by_class: bool = False,
    abstain: float | None = None,
    seed: int = 0,
    progress: bool = True,
) -> Predictor:
    """Calibrate sets of classes that hold the true one with probability 1 − α at least.

    The promise is of split conformal prediction: it holds if the calibration samples took no part
    in training and come from where later samples come from, whatever the model is worth.

    Parameters
    ----------
    sparse
        A sparse classifier; the predictor becomes its `predictor`.
    calibration_loader
        Batches of inputs and labels.
    alpha
        How often a set may miss the true class.
    score
        What orders the classes: `levels` goes by the features of the explanation, `lac`, `aps` and
        `raps` by the softmax. `levels` and `raps` need one half of the samples for themselves.
    by_class
        Whether the promise is made for every class by itself. A class with too few samples then is
        in every set.
    abstain
        The share of samples of a class that `Predictor.decide` may turn away; α by default.
    seed
        Of the split in halves.
    progress
        Whether to show a progress bar on a terminal.

    Raises
    ------
    LoaderError
        If there are too few samples; it says how many are needed.
    ModelError
        If an argument cannot be, or the model gives numbers that are not finite.

    Examples
    --------
    >>> import torch
    >>> from torch import nn
    >>> import qpopt_torch
    >>> model = nn.Sequential(nn.Linear(9, 12), nn.ReLU(), nn.Linear(12, 4))
    >>> loader = [(torch.randn(40, 9), torch.arange(40) % 4)]
    >>> sparse = qpopt_torch.sparsify(
    ...     model, loader, n_select=4, n_per_class=2, training=None, progress=False
    ... )
    >>> others = [(torch.randn(60, 9), torch.arange(60) % 4)]
    >>> predictor = qpopt_torch.conformal(sparse, others, alpha=0.2, score="lac")
    >>> predictor
    Predictor(score='lac', alpha=0.2, calibrated on 60 samples)
    >>> predictor(torch.randn(5, 9)).mask.shape
    (5, 4)
    """
    alpha = check_share("alpha", alpha)
    abstain = alpha if abstain is None else check_share("abstain", abstain)
    if not isinstance(score, str) or score not in SCORES:
        raise ModelError(f"score must be one of {', '.join(SCORES)}, not {shown(score)}.")
    if isinstance(seed, bool) or not isinstance(seed, Integral) or seed < 0:
        raise ModelError(f"seed must be a whole number of at least 0, not {shown(seed)}.")
    answers, labels = answers_of(sparse, calibration_loader, title="calibrate", progress=progress)
    found = calibrated(answers, labels, alpha, score, by_class, abstain, seed)
    predictor = Predictor(sparse, found)
    sparse.keep_calibration(predictor=predictor)
    return predictor


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
