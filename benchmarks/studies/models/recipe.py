"""How everything of one data set is trained, the same for all methods."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from benchmarks.errors import BenchmarkError
from qpopt_torch import AdapterTraining, DenseTraining, FineTuning, GroundingParams


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """Sizes, and settings of the trainings.

    Parameters
    ----------
    n_select, n_per_class
        Features of a sparse model, and of each of its classes.
    time_limit, gap
        Seconds and gap at which the optimisation may end.
    similarity, bias, redundancy
        What makes a feature fit a class, and wanted for its own sake, and what two alike ones
        cost, as in `prepare`.
    probe_epochs
        Epochs in which the head of the dense network is trained alone, before all of it.
    dense_epochs, dense_lr, head_lr, dense_beta, dense_smoothing
        Of the dense network; with the rate 0 it stays as it is, but for its head.
    epochs, lr, warmup, beta, smoothing
        Of every sparse model.
    weight_decay, algorithm, annealing, norms, amp
        Of both, as in `FineTuning`.
    unbounded
        Whether a ReLU6 that gives the feature maps becomes a ReLU.
    relu, leaking
        Whether features below their mean count as 0, and the share of the training in which they
        still count somewhat.
    grounding
        Weight of the feature grounding loss.
    finer
        How many halvings of the maps are left out; the trainings then work on one grid at a time.
    batch_size, views
        Samples of a step, and how often each is kept where the first layers are not trained.
    hidden, noise, sparsity
        Of the adapter, where the network is frozen.
    """

    n_select: int = 50
    n_per_class: int = 5
    time_limit: float = 30.0
    gap: float = 0.004
    similarity: str = "pearson"
    bias: str = "locality"
    redundancy: float = 1.0
    probe_epochs: int = 0
    dense_epochs: int = 12
    dense_lr: float = 5e-4
    head_lr: float = 5e-3
    dense_beta: float = 0.196
    dense_smoothing: float = 0.0
    epochs: int = 12
    lr: float = 5e-4
    warmup: float = 0.0
    beta: float = 2.0
    smoothing: float = 0.0
    weight_decay: float = 0.05
    algorithm: str = "adamw"
    annealing: str = "cosine"
    norms: str = "frozen"
    amp: str = "auto"
    unbounded: bool = False
    relu: bool = True
    leaking: float = 0.7
    grounding: float = 0.0
    finer: int = 0
    batch_size: int = 64
    views: int = 2
    hidden: int = 1024
    noise: float = 0.6
    sparsity: float = 0.03

    def changed(self, options: Mapping[str, Any]) -> Recipe:
        """Return the recipe with other values.

        Raises
        ------
        BenchmarkError
            If there is no such value, or it is of another kind.
        """
        known = {field.name: getattr(self, field.name) for field in fields(self)}
        for name, value in options.items():
            if name not in known:
                raise BenchmarkError(f"There is no option {name!r}; there are {', '.join(known)}.")
            kinds = (int, float) if isinstance(known[name], float) else (type(known[name]),)
            if not isinstance(value, kinds) or isinstance(value, bool) != (kinds == (bool,)):
                raise BenchmarkError(f"{name} must be like {known[name]!r}, not {value!r}.")
        return replace(self, **options)

    @classmethod
    def of(cls, text: str) -> Recipe:
        """Return the recipe of a text."""
        return cls(**json.loads(text))

    @property
    def text(self) -> str:
        """All values, as text that is the same for the same ones."""
        return json.dumps(asdict(self), sort_keys=True)

    @property
    def before(self) -> str:
        """The values on which the dense network depends, as text."""
        names = ("finer", "views", "batch_size", "unbounded", "probe_epochs")
        shared = {name: getattr(self, name) for name in names}
        return json.dumps(shared | asdict(self.dense(0)), sort_keys=True)

    def dense(self, seed: int) -> DenseTraining:
        """Return the training of the dense network."""
        return DenseTraining(
            epochs=self.dense_epochs,
            lr=self.dense_lr,
            head_lr=self.head_lr,
            beta=self.dense_beta,
            smoothing=self.dense_smoothing,
            decay_every=max(1, self.dense_epochs // 4),
            **self._shared(seed),
        )

    def sparse(self, seed: int) -> FineTuning:
        """Return the training of a sparse model."""
        return FineTuning(
            epochs=self.epochs,
            lr=self.lr,
            warmup=self.warmup,
            beta=self.beta,
            smoothing=self.smoothing,
            decay_every=max(1, self.epochs // 4),
            leaking=self.leaking if self.relu else 0.0,
            grounding=GroundingParams(weight=self.grounding) if self.grounding else None,
            **self._shared(seed),
        )

    def adapter(self, seed: int) -> AdapterTraining:
        """Return the training of an adapter."""
        return AdapterTraining(
            epochs=self.epochs,
            lr=self.lr,
            hidden=self.hidden,
            noise=self.noise,
            sparsity=self.sparsity,
            smoothing=self.smoothing,
            relu=self.relu,
            leaking=self.leaking if self.relu else 0.0,
            batch_size=self.batch_size,
            seed=seed,
        )

    def _shared(self, seed: int) -> dict[str, Any]:
        names = ("weight_decay", "algorithm", "annealing", "norms", "amp")
        shared = {name: getattr(self, name) for name in names}
        return shared | {"grids": "one" if self.finer else "all", "seed": seed}
