"""The settings of the trainings, with the published schedule as defaults."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import cos, pi
from typing import Any, ClassVar, Literal

from torch.optim import SGD, AdamW, Optimizer

from qpopt_torch.errors import TrainingError, shown
from qpopt_torch.training.params import GroundingParams, TrialParams, check_settings

Amp = Literal["auto", "off", "bfloat16", "float16"]

STAGE_RATE = 0.9
"""Factor of the learning rate from one stage to the next."""
COLD = 0.01
"""Factor of the learning rate at which a warm-up begins."""


def leak(settings: Schedule | AdapterTraining, epoch: float) -> float:
    """Return what is left of a feature below its mean after some epochs; at last nothing."""
    leaking = settings.leaking if isinstance(settings, (FineTuning, AdapterTraining)) else 0.0
    return max(0.0, 1.0 - epoch / (leaking * settings.epochs)) if leaking else 0.0


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """What all trainings by stochastic gradient descent share.

    Parameters
    ----------
    epochs
        Passes over the data.
    algorithm
        `sgd` or `adamw`.
    momentum, weight_decay
        Of the optimiser; AdamW has no momentum.
    annealing
        `steps`, or `cosine` down to 0 over all epochs.
    decay, decay_every
        In steps, the learning rate is multiplied by `decay` every `decay_every` epochs.
    warmup
        Epochs in which the learning rate rises to what it would be: an assignment that has little
        to do with the features asks for large steps, which can switch them off for good.
    norms
        `frozen` leaves the statistics of batch norms as they are, and uses them while training.
    grids
        Of a model with finer maps, `one` trains in each step one of the coarse maps that are
        interleaved in them, which is drawn: nearly as good, at the cost of the coarse maps.
    smoothing
        Label smoothing.
    beta
        Weight of the feature diversity loss; `auto` takes the published 0.196, and 0.0245 for
        transformers. On coarse maps 0.8 to 2 make features far more diverse, for a point or two of
        accuracy: choose it on validation data.
    amp
        Precision of the forward pass; `auto` takes bfloat16 or float16 on a GPU.
    accumulate
        How many batches make one step, where memory has no room for a large batch. Their gradients
        are those of the large batch but for what looks at all its samples: batch norms.
    seed
        Fixes everything random; every epoch has its own stream, so a resumed training ends the
        same.
    """

    automatic: ClassVar[tuple[str, ...]] = ("beta",)

    epochs: int
    momentum: float
    weight_decay: float = 5e-4
    algorithm: Literal["sgd", "adamw"] = "sgd"
    annealing: Literal["steps", "cosine"] = "steps"
    decay: float = 0.4
    decay_every: int
    warmup: float = 0.0
    norms: Literal["trained", "frozen"] = "trained"
    grids: Literal["all", "one"] = "all"
    smoothing: float = 0.0
    beta: float | Literal["auto"] = "auto"
    amp: Amp = "auto"
    accumulate: int = 1
    seed: int = 0

    def __post_init__(self) -> None:
        check_settings(self, epochs=0, decay_every=1, accumulate=1)

    def rate(self, epoch: float) -> float:
        """Return the factor of the learning rate after some epochs."""
        warm = COLD + (1 - COLD) * epoch / self.warmup if epoch < self.warmup else 1.0
        if self.annealing == "cosine":
            return warm * 0.5 * (1 + cos(pi * epoch / self.epochs))
        return warm * float(self.decay ** (epoch // self.decay_every))

    def optimizer(self, groups: Iterable[dict[str, Any]]) -> Optimizer:
        """Return the optimiser of some groups of parameters."""
        if self.algorithm == "adamw":
            return AdamW(groups, weight_decay=self.weight_decay)
        return SGD(groups, momentum=self.momentum, weight_decay=self.weight_decay)


@dataclass(frozen=True, kw_only=True)
class FineTuning(Schedule):
    """Fine-tuning of a sparse classifier, network and all, towards its fixed assignment.

    Parameters
    ----------
    lr
        Learning rate; `auto` tries a few for some steps and takes the best.
    trials
        Which ones `auto` tries, and for how long.
    grounding
        The feature grounding loss, which keeps features off in classes that they do not serve;
        None leaves it out.
    stages
        Lengths of stages, which add up to `epochs`, where there is more than one. Each begins with
        a new optimiser, at 0.9 times the rate at which the one before began.
    leaking
        Of a head with `relu`, the share of the epochs in which features below their mean still
        count, less and less: what is off from the beginning hardly learns to be on.
    """

    automatic: ClassVar[tuple[str, ...]] = ("beta", "lr")

    epochs: int = 40
    lr: float | Literal["auto"] = "auto"
    trials: TrialParams = TrialParams()
    momentum: float = 0.95
    decay_every: int = 10
    grounding: GroundingParams | None = None
    stages: tuple[int, ...] | None = None
    leaking: float = 0.0

    @classmethod
    def grounded(cls, **changes: Any) -> FineTuning:
        """Return the published schedule with the grounding loss: 70 epochs in four stages."""
        published = {"epochs": 70, "stages": (10, 10, 10, 40), "lr": 1e-4}
        return cls(**{**published, "grounding": GroundingParams(), **changes})

    def stage(self, epoch: float) -> tuple[int, float]:
        """Return the stage that an epoch lies in, and how many epochs of it are over."""
        number, start = 0, 0
        for length in (self.stages or ())[:-1]:
            if epoch < start + length:
                break
            number, start = number + 1, start + length
        return number, epoch - start

    def rate(self, epoch: float) -> float:
        """Return the factor of the learning rate after some epochs."""
        number, own = self.stage(epoch)
        return STAGE_RATE**number * super().rate(own)

    def grounding_weight(self, epoch: float) -> float:
        """Return what the feature grounding loss weighs in an epoch."""
        if self.grounding is None or self.stage(epoch)[1] >= self.grounding.epochs:
            return 0.0
        return self.grounding.weight


@dataclass(frozen=True, kw_only=True)
class PartialTraining(FineTuning):
    """Fine-tuning of the last layers, from activations that are computed once.

    The network up to a cut runs once for every view of every sample. What it gives is kept in a
    file, and everything behind the cut is trained as in full fine-tuning.

    Parameters
    ----------
    from_layer
        The first layer that is trained, by its name. `auto` takes the earliest one whose
        activations fit into `max_bytes` and behind which at most a quarter of the work lies.
    views
        How often each sample is kept: as it is, mirrored, and further ones as the loader gives
        them, which should then change them at random. An epoch sees each sample once, in a view
        that is drawn.
    max_bytes
        Size that the file must not exceed. Every number takes two bytes.
    batch_size
        How many samples go into a step.
    """

    from_layer: str = "auto"
    views: int = 2
    max_bytes: float = 2e9
    batch_size: int = 64
    epochs: int = 12
    lr: float | Literal["auto"] = 5e-4
    weight_decay: float = 0.05
    algorithm: Literal["sgd", "adamw"] = "adamw"
    annealing: Literal["steps", "cosine"] = "cosine"
    norms: Literal["trained", "frozen"] = "frozen"

    def __post_init__(self) -> None:
        check_settings(self, epochs=0, decay_every=1, views=1, batch_size=1, accumulate=1)


@dataclass(frozen=True, kw_only=True)
class DenseTraining(Schedule):
    """Training of the dense model, before anything is selected.

    Parameters
    ----------
    lr, head_lr
        Learning rates of all that comes before the head, and of the head.
    dropout
        Chance that a feature is left out in front of the head.
    """

    epochs: int = 150
    lr: float = 5e-3
    head_lr: float = 1e-2
    momentum: float = 0.9
    decay_every: int = 30
    dropout: float = 0.2


@dataclass(frozen=True, kw_only=True)
class AdapterTraining:
    """Training of an adapter between a frozen network and the fixed assignment.

    Parameters
    ----------
    kind
        `linear`, or `mlp` for one hidden ReLU layer beside it; then maps pool only roughly.
    relu
        Whether a feature of an `mlp` below its mean counts as that mean: it is on or off.
    leaking
        As in `FineTuning`.
    sparsity
        Weight of the mean feature, in standard units: features are off where they need not be on.
    hidden
        Width of the hidden layer.
    epochs, batch_size
        Passes over the features, and how many go into a step.
    lr, weight_decay
        Of the AdamW optimiser; the rate falls to 0 along a cosine.
    smoothing
        Label smoothing.
    noise
        Chance that a feature of the network is left out while training.
    seed
        Fixes everything random.
    """

    amp: ClassVar[Amp] = "off"
    accumulate: ClassVar[int] = 1
    automatic: ClassVar[tuple[str, ...]] = ()

    kind: Literal["linear", "mlp"] = "mlp"
    relu: bool = True
    leaking: float = 0.7
    sparsity: float = 0.03
    hidden: int = 1024
    epochs: int = 30
    batch_size: int = 128
    lr: float = 1e-3
    weight_decay: float = 1.0
    smoothing: float = 0.1
    noise: float = 0.6
    seed: int = 0

    def __post_init__(self) -> None:
        check_settings(self, hidden=1, epochs=0, batch_size=1)

    def rate(self, epoch: float) -> float:
        """Return the factor of the learning rate after some epochs."""
        return 0.5 * (1 + cos(pi * epoch / self.epochs))

    def optimizer(self, groups: Iterable[dict[str, Any]]) -> Optimizer:
        """Return the optimiser of some groups of parameters."""
        return AdamW(groups, weight_decay=self.weight_decay)


def require_settings(settings: Any, *kinds: type) -> None:
    """Raise TrainingError unless settings are of a training that they are given to."""
    if not isinstance(settings, kinds):
        wanted = " or ".join(f"{kind.__name__}(…)" for kind in kinds)
        raise TrainingError(f"settings must be {wanted}, not {shown(settings)}.")


TrainingLike = FineTuning | AdapterTraining | Literal["full", "last", "frozen"] | None
"""Settings of a training of a sparse classifier, a word for their defaults, or None for none."""


def training_settings(training: TrainingLike) -> FineTuning | AdapterTraining | None:
    """Return the settings that are meant."""
    if training is None or isinstance(training, (FineTuning, AdapterTraining)):
        return training
    words = {"full": FineTuning, "last": PartialTraining, "frozen": AdapterTraining}
    if isinstance(training, str) and training in words:
        made: FineTuning | AdapterTraining = words[training]()
        return made
    raise TrainingError(
        "training must be FineTuning(…), PartialTraining(…), AdapterTraining(…), "
        f"{', '.join(words)} or None, not {shown(training)}."
    )
