"""conformal: sets of classes that hold the true one with a promised probability."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from numbers import Integral
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from qpopt_torch.data.batches import to_model
from qpopt_torch.data.inputs import whole_batch
from qpopt_torch.errors import ModelError, require_sparse, shown
from qpopt_torch.network.observation import run
from qpopt_torch.sparse.sets.answers import Answers, answers_in, answers_of
from qpopt_torch.sparse.sets.calibration import Calibration, calibrated, check_share
from qpopt_torch.sparse.sets.coverage import Coverage
from qpopt_torch.sparse.sets.quantiles import coverage_range
from qpopt_torch.sparse.sets.scores import SCORES

if TYPE_CHECKING:
    from qpopt_torch.sparse.classifier import SparseClassifier


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
        batch = whole_batch(x, self.model)
        with self.model.observe() as seen:
            run(self.model, to_model(batch, self.model), 0)
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
    require_sparse(sparse, "conformal")
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
