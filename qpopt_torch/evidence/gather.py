"""Evidence: what one pass over a data set leaves for all explanations."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from qpopt import InvalidArgument
from qpopt_torch.data.batches import batches
from qpopt_torch.data.inputs import Batch
from qpopt_torch.data.unpacking import unpacked
from qpopt_torch.errors import ModelError, shown
from qpopt_torch.evidence.floors import Floors
from qpopt_torch.evidence.names import Names
from qpopt_torch.evidence.pictures import ToImage, heat_limits
from qpopt_torch.evidence.sample import Sample
from qpopt_torch.evidence.showing import Show, checked_show, show_of
from qpopt_torch.evidence.tally import Draw, Tally
from qpopt_torch.evidence.top_samples import TopSamples
from qpopt_torch.evidence.weighing import Weighing
from qpopt_torch.metrics.alignment import birds_of
from qpopt_torch.metrics.birds.parts import part_alignment
from qpopt_torch.metrics.evaluate import MetricCollection
from qpopt_torch.network.observation import Features, run
from qpopt_torch.sparse.classifier import SparseClassifier
from qpopt_torch.statistics.precision import Precision, autocasting, checked_precision

WRONG, RIGHT = "wrong", "right"


@dataclass(frozen=True, kw_only=True)
class EvidenceParams:
    """How many samples are kept to be shown.

    Parameters
    ----------
    per_class, per_feature
        Samples of every class and of every feature.
    per_feature_and_class
        How many samples of a feature may be of one class, so that several classes show it.
    n_decisions
        How many wrong and how many right decisions.
    """

    per_class: int = 4
    per_feature: int = 12
    per_feature_and_class: int = 2
    n_decisions: int = 96


@dataclass(frozen=True, eq=False, repr=False)
class Evidence:
    """The features of every sample of a data set, and the samples that are worth showing.

    Parameters
    ----------
    names
        Names of classes and features.
    assignment
        Boolean, classes × selected features.
    labels, predictions, values
        Of every sample; its values are the selected features in standard units. Of more than
        200,000 samples, those of as many, drawn by chance.
    samples
        What is kept to be shown, by index.
    of_class, of_feature
        The samples with the highest logits of every class, and with the highest values of every
        selected feature, at most two of one class.
    wrong, right
        Wrong decisions with the largest lead over the true class, and right ones by chance.
    floors
        The least value that the network can give a feature, as after ReLU; -inf if there is none.
    tally
        What all samples come to.
    places
        Where in the loader the samples are that have `labels`, `predictions` and `values`.
    weighing
        How the model weighs its features; None where it plainly adds them up.
    """

    names: Names
    assignment: NDArray[np.bool_]
    labels: NDArray[np.int64]
    predictions: NDArray[np.int64]
    values: NDArray[np.float32]
    samples: dict[int, Sample]
    of_class: tuple[tuple[int, ...], ...]
    of_feature: tuple[tuple[int, ...], ...]
    wrong: tuple[int, ...]
    right: tuple[int, ...]
    floors: NDArray[np.float64]
    tally: Tally
    places: NDArray[np.int64]
    weighing: Weighing | None = None

    def __repr__(self) -> str:
        n_classes, n_select = self.assignment.shape
        return (
            f"Evidence({self.tally.n_samples} samples, {len(self.samples)} to be shown, "
            f"{n_classes} classes × {n_select} features)"
        )

    @cached_property
    def signs(self) -> NDArray[np.int8]:
        """What the classes have: 1 for presence, −1 for absence, 0; classes × features."""
        weights = self.assignment if self.weighing is None else self.weighing.weights
        return np.sign(np.asarray(weights, np.float64)).astype(np.int8)

    @cached_property
    def class_means(self) -> NDArray[np.float64]:
        """Mean of the values in every class, classes × n_select; NaN without samples."""
        counts = self.tally.counts.astype(np.float64)
        counts[counts == 0] = np.nan
        means: NDArray[np.float64] = self.tally.sums / counts[:, None]
        return means

    def mean(self, c: int, column: int) -> float | None:
        """Return the mean of a feature in a class; None without samples."""
        value = float(self.class_means[c, column])
        return None if np.isnan(value) else value

    @cached_property
    def heat_range(self) -> NDArray[np.float64] | None:
        """Where the heat maps of every feature begin and end, n_select × 2; None without maps.

        They begin at the feature's median over the shown samples and end near its maximum there, so
        the heat of one feature is comparable between images.
        """
        maps = [sample.maps for sample in self.samples.values() if sample.maps is not None]
        return heat_limits(maps) if maps else None


def standard_units(model: SparseClassifier, seen: Features) -> NDArray[np.float64]:
    """Return the selected features of a batch in standard units."""
    return model.sparse_head.normalise(seen.features.detach().double()).cpu().numpy()


def gather(
    model: SparseClassifier,
    loader: Iterable[Any],
    *,
    class_names: Sequence[str] | None = None,
    to_image: ToImage | None = None,
    show: Show | None = None,
    params: EvidenceParams | None = None,
    decisions: MetricCollection | None = None,
    features: MetricCollection | None = None,
    precision: Precision = "auto",
    progress: bool = True,
) -> Evidence:
    """Look at every sample once and keep what explanations need, in memory of a known size.

    Parameters
    ----------
    model, loader, precision, progress
        As in `collect`.
    class_names
        Names of the classes, in place of those of the model or the data set.
    to_image
        How an input becomes an image: a function, or the mean and deviation of the channels by
        which it was normalised. Without it, those of an `ImageFolder` are used, and otherwise the
        range of every image is stretched.
    show
        The same for any kind of input: what `to_image`, `to_text` or `to_table` returns. Without
        it, what the data set has under this name, or the kind of input decides.
    params
        How many samples are kept.
    decisions, features
        Metrics that are to see the same samples: their decisions, their features.

    Examples
    --------
    >>> import torch
    >>> from torch import nn
    >>> import qpopt_torch
    >>> layers = nn.Conv2d(3, 12, 5, stride=2), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten()
    >>> model = nn.Sequential(*layers, nn.Linear(12, 4))
    >>> birds = qpopt_torch.DrawnBirds(4, 2, size=32, pairs=1.0)
    >>> loader = torch.utils.data.DataLoader(birds, 8)
    >>> sparse = qpopt_torch.sparsify(
    ...     model, loader, n_select=4, n_per_class=2, training=None, progress=False
    ... )
    >>> evidence = qpopt_torch.explain.gather(sparse, loader, progress=False)
    >>> len(evidence.labels), evidence.assignment.shape
    (8, (4, 4))
    """
    names = Names(model, class_names, loader)
    checked_precision(precision)
    _check(params, decisions=decisions, features=features)
    loader = unpacked(loader, model.unpack)
    data = getattr(loader, "dataset", None)
    show = checked_show(to_image, show)
    if show is None:
        show = show_of(data)
    gathering = _Gathering(model, params or EvidenceParams(), show)
    with model.observe() as seen:
        reading = batches(loader, model, model.head.n_classes, title="explain", progress=progress)
        for number, (x, labels) in enumerate(reading):
            with autocasting(precision, x.device):
                run(model, x, number)
            gathering.add(x, labels.cpu(), seen)
            if decisions is not None:
                decisions.add_decisions(seen, labels)
            if features is not None:
                features.add_features(seen, labels)
    evidence = gathering.evidence(names)
    birds = birds_of(loader)
    if birds is not None:
        truth = birds.attributes, birds.attribute_names
        names.recognise(part_alignment(evidence.values, evidence.labels, *truth))
    return evidence


def require_evidence(evidence: Any, name: str, *, sums: bool = True) -> None:
    """Raise unless a function was given what `gather` returns, of a model without weights."""
    if not isinstance(evidence, Evidence):
        raise InvalidArgument(f"{name} takes what gather returns, not {shown(evidence)}.")
    if sums and evidence.weighing is not None and not evidence.weighing.signed:
        raise ModelError(f"{name} adds features up, but this model {evidence.weighing.why}.")


def _check(params: Any, **collections: Any) -> None:
    """Raise unless these are what `gather` takes."""
    if params is not None and not isinstance(params, EvidenceParams):
        raise InvalidArgument(f"params must be EvidenceParams, not {shown(params)}.")
    for name, given in collections.items():
        if given is not None and not isinstance(given, MetricCollection):
            raise InvalidArgument(f"{name} must be a MetricCollection, not {shown(given)}.")


class _Gathering:
    def __init__(self, model: SparseClassifier, params: EvidenceParams, show: Show | None) -> None:
        self.model, self.weighing, self.show = model, Weighing.of(model.sparse_head), show
        self.assignment = model.assignment if self.weighing is None else model.assignment != 0
        self.by_class = TopSamples(params.per_class)
        self.by_feature = TopSamples(params.per_feature, params.per_feature_and_class)
        self.decisions = TopSamples(params.n_decisions)
        self.samples: dict[int, Sample] = {}
        self.tally, self.draw = Tally.empty(*self.assignment.shape), Draw()
        self.floors = Floors(model.sparse_head)
        self.n_seen = 0
        self.chance = np.random.default_rng(0)

    def add(self, x: Batch, labels: Tensor, seen: Features) -> None:
        first, self.n_seen = self.n_seen, self.n_seen + len(labels)
        values = standard_units(self.model, seen)
        sums = values @ self.assignment.T
        logits = sums if self.weighing is None else self.weighing.logits(values)
        predictions = seen.logits.argmax(1).cpu()
        told = labels.numpy(), predictions.numpy(), values.astype(np.float32)
        self.tally.add(*told)
        self.draw.add(*told)
        for column in range(values.shape[1]):
            self.by_feature.offer_all(column, values[:, column], first, labels)
        self.floors.add(seen)
        pairs = zip(labels.tolist(), predictions.tolist(), strict=True)
        for i, (label, prediction) in enumerate(pairs):
            self.by_class.offer(label, logits[i, label], first + i)
            chance, lead = self.chance.random(), logits[i, prediction] - logits[i, label]
            kind, score = (RIGHT, chance) if label == prediction else (WRONG, lead)
            self.decisions.offer(kind, score, first + i)
        self._keep(first, x, labels, values, seen)

    def _keep(
        self, first: int, x: Batch, labels: Tensor, values: NDArray[np.float64], seen: Features
    ) -> None:
        """Take the new samples that are among the top, and let go of those that no longer are."""
        wanted = {*self.by_class, *self.by_feature, *self.decisions}
        for index in self.samples.keys() - wanted:
            del self.samples[index]
        for index in sorted(wanted - self.samples.keys()):
            i = index - first
            label = int(labels[i])
            self.samples[index] = Sample.of(i, label, values, x, seen, self.show, first)

    def evidence(self, names: Names) -> Evidence:
        n_classes, n_select = self.assignment.shape
        drawn = self.draw.drawn()
        return Evidence(
            names,
            self.assignment,
            *(drawn.labels, drawn.predictions, drawn.values),
            dict(sorted(self.samples.items())),
            tuple(self.by_class.of(c) for c in range(n_classes)),
            tuple(self.by_feature.of(column) for column in range(n_select)),
            self.decisions.of(WRONG),
            self.decisions.of(RIGHT),
            self.floors.values(),
            *(self.tally, drawn.places),
            self.weighing,
        )
