"""evaluate: every metric of a model, in one pass over each loader."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

import torch
from numpy.typing import ArrayLike
from torch import Tensor, nn

from qpopt_torch.data.batches import batches, begin, require_rereadable
from qpopt_torch.data.drawn_birds import DrawnBirds
from qpopt_torch.data.unpacking import unpacked
from qpopt_torch.errors import LoaderError, ModelError, shown
from qpopt_torch.metrics.alignment import birds_of
from qpopt_torch.metrics.explanations.deletion import OwnDrop, deletion_test
from qpopt_torch.metrics.grounding import cosines
from qpopt_torch.metrics.summary import METRICS, Metrics
from qpopt_torch.network.head_finder import HeadLike, head_of, split_unpack
from qpopt_torch.network.observation import Features, observe, run, unwrap
from qpopt_torch.sparse.classifier import SparseClassifier
from qpopt_torch.sparse.sparse_head import SparseHead
from qpopt_torch.statistics.precision import Precision, autocasting, checked_precision

PRESENT = 0.5
"""An attribute counts as present in a class when more than this share of people saw it."""


def evaluate(
    model: nn.Module,
    loader: Iterable[Any],
    train_loader: Iterable[Any] | None = None,
    attributes: ArrayLike | None = None,
    *,
    similarity: ArrayLike | None = None,
    masks: ArrayLike | None = None,
    n_deletion: int = 0,
    head: HeadLike = None,
    features: bool = True,
    precision: Precision = "auto",
    progress: bool = True,
) -> Metrics:
    """Measure how good and how readable a model is, dense or sparse.

    Parameters
    ----------
    model, head, precision, progress
        As in `collect`.
    loader
        Batches of inputs and labels. Accuracy, SID@5 and diversity@5 are measured on them.
    train_loader
        Training batches, on which the other metrics are measured; without it, those of `loader`.
    attributes
        What people say of the classes, classes × attributes, from 0 to 1; without them, what
        drawn birds have if `loader` reads these.
    features
        Whether to measure features, too, which takes long for thousands of them; without it, only
        what depends on decisions is known.
    similarity
        How similar classes are, classes × classes, for the structural grounding in place of the
        cosine of attributes.
    masks
        Where the samples of `loader`, in their order, show what they are of: samples × height ×
        width, from 0 to 1; for plausibility and pointing.
    n_deletion
        With how many samples of `loader` places are blurred to see which features of a sparse
        classifier fall; each takes twice as many passes as a class has features.

    Examples
    --------
    >>> import torch
    >>> from torch import nn
    >>> import qpopt_torch
    >>> model = nn.Sequential(nn.Linear(9, 12), nn.ReLU(), nn.Linear(12, 4))
    >>> loader = [(torch.randn(40, 9), torch.arange(40) % 4)]
    >>> metrics = qpopt_torch.evaluate(model, loader, progress=False)
    >>> metrics.n_samples, 0 <= metrics.accuracy <= 1
    (40, True)
    """
    core = unwrap(model)
    casting = partial(autocasting, checked_precision(precision))
    begun: Iterable[Any] | None = None
    head, unpack = split_unpack(head)
    if isinstance(core, SparseClassifier):
        network, found, unpack = core.network, core.head, unpack or core.unpack
    loader, train_loader = unpacked(loader, unpack), unpacked(train_loader, unpack)
    if not isinstance(core, SparseClassifier):
        x, begun = begin(loader, core)
        network, found = core, head_of(core, x, head)
    module = found.modules(network)[0]
    collection = MetricCollection(
        module, attributes, birds_of(loader), similarity=similarity, masks=masks
    )
    if n_deletion:
        if not isinstance(core, SparseClassifier):
            raise ModelError("Deletion is measured of sparse classifiers; set n_deletion=0.")
        require_rereadable(loader, "The loader", "deletion reads it once more")
        fallen = deletion_test(core, loader, n_deletion, progress=progress)
        collection.metrics["deletion"] = OwnDrop(fallen)
    reading: dict[str, Any] = {"n_classes": found.n_classes, "progress": progress}
    with observe(network, found) as seen:
        plain = batches(loader, core, begun=begun, title="evaluate", **reading)
        for number, (x, labels) in enumerate(plain):
            with casting(x.device):
                run(core, x, number)
            collection.add_decisions(seen, labels)
            if features and train_loader is None:
                collection.add_features(seen, labels)
        if features and train_loader is not None:
            training = batches(train_loader, core, title="training set", **reading)
            for number, (x, labels) in enumerate(training):
                with casting(x.device):
                    run(core, x, number)
                collection.add_features(seen, labels)
    return collection.compute(from_training=features and train_loader is not None)


class MetricCollection:
    """Accumulates every metric of one model.

    Parameters
    ----------
    head
        The last layer. Features that it normalises are measured as it adds them up.
    attributes
        As in `evaluate`.
    birds
        The drawn birds that decisions are about, if they are: their parts are known.
    similarity, masks
        As in `evaluate`.
    """

    def __init__(
        self,
        head: nn.Module,
        attributes: ArrayLike | None = None,
        birds: DrawnBirds | None = None,
        *,
        similarity: ArrayLike | None = None,
        masks: ArrayLike | None = None,
    ) -> None:
        module: Any = head
        self.weights = weights = module.weight.flatten(1).detach().float().cpu()
        self.normalise = head.normalise if isinstance(head, SparseHead) else nn.Identity()
        n_classes, n_features = weights.shape
        arguments: dict[str, tuple[Any, ...]] = {
            "accuracy": (),
            "sid5": (weights,),
            "diversity5": (weights,),
            "class_independence": (n_classes, n_features),
            "contrastiveness": (),
            "correlation": (n_features,),
        }
        self.masks: Tensor | None = None
        self.n_masked = 0
        if isinstance(head, SparseHead):
            arguments["contrastive_pairs"] = (head.assignment.cpu().numpy(),)
        if masks is not None:
            self.masks = _numbers("masks", masks)
            if self.masks.ndim < 3:
                raise LoaderError(
                    "masks must be samples × height × width, not of the shape "
                    f"{tuple(self.masks.shape)}."
                )
            arguments |= {"plausibility": (weights,), "pointing": (weights,)}
        if birds is not None:
            attributes = birds.attributes if attributes is None else attributes
            arguments["part_alignment"] = (birds,)
        if attributes is not None:
            known = _checked(attributes, n_classes)
            self.present = known > PRESENT
            arguments["structural_grounding"] = (weights, cosines(known))
            arguments["feature_alignment"] = (n_features, known.shape[1])
            if isinstance(head, SparseHead):
                arguments["local_alignment"] = (head.assignment.cpu(), self.present)
        if similarity is not None:
            arguments["structural_grounding"] = (weights, _numbers("similarity", similarity))
        kinds: Mapping[str, Any] = METRICS
        self.metrics = {key: kinds[key](*given) for key, given in arguments.items()}
        self.n_feature_samples = 0

    def add_decisions(self, seen: Features, labels: Tensor) -> None:
        """Add a batch to the metrics of decisions."""
        self.metrics["accuracy"].update(seen.logits, labels)
        if seen.maps is not None:
            for key in ("sid5", "diversity5"):
                self.metrics[key].update(seen.maps, seen.logits)
        if "part_alignment" in self.metrics:
            self.metrics["part_alignment"].update(self.normalise(seen.features), labels)
        if self.masks is not None and seen.maps is not None:
            own = self.masks[self.n_masked : self.n_masked + len(labels)]
            self.n_masked += len(labels)
            for key in ("plausibility", "pointing"):
                self.metrics[key].update(seen.maps, seen.logits, own)

    def add_features(self, seen: Features, labels: Tensor) -> None:
        """Add a batch to the metrics of features."""
        self.n_feature_samples += len(labels)
        features = self.normalise(seen.features)
        self.metrics["class_independence"].update(features, labels)
        self.metrics["contrastiveness"].update(features)
        self.metrics["correlation"].update(features)
        if "feature_alignment" in self.metrics:
            self.metrics["feature_alignment"].update(features, self.present[labels.cpu()])
        if "local_alignment" in self.metrics:
            self.metrics["local_alignment"].update(features, labels)

    def compute(self, *, from_training: bool = False) -> Metrics:
        """Return all metrics; `from_training` says that the features were those of training."""
        values: dict[str, Any] = dict.fromkeys(METRICS)
        values |= {key: metric.compute() for key, metric in self.metrics.items()}
        if not self.metrics["sid5"].n_samples:  # there were no maps
            values |= dict.fromkeys(("sid5", "diversity5", "plausibility", "pointing"))
        used = self.weights != 0
        return Metrics(
            **values,
            n_features=int(used.any(dim=0).sum()),
            n_per_class=float(used.sum(dim=1).double().mean()),
            n_samples=self.metrics["accuracy"].n_samples,
            n_train_samples=self.n_feature_samples if from_training else 0,
        )


def _numbers(name: str, values: ArrayLike) -> Tensor:
    try:
        return torch.as_tensor(values).double().cpu()
    except (TypeError, ValueError, RuntimeError):
        raise LoaderError(f"{name} must be numbers, not {shown(values)}.") from None


def _checked(attributes: ArrayLike, n_classes: int) -> Tensor:
    values = _numbers("attributes", attributes)
    if values.ndim != 2 or len(values) != n_classes:
        raise LoaderError(
            f"attributes have the shape {tuple(values.shape)}; they need one row for each of the "
            f"{n_classes} classes."
        )
    if not bool(((values >= 0) & (values <= 1)).all()):
        raise LoaderError("attributes must lie between 0 and 1.")
    return values
