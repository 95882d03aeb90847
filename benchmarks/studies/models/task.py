"""Task: the data, the dense network and the training that all methods start from."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from numpy.typing import NDArray
from safetensors.torch import load, save
from torch import Tensor, nn

from benchmarks.studies.models.probe import fit_probe
from benchmarks.studies.models.recipe import Recipe
from qpopt import Instance, Solution, solve
from qpopt.io import replacing
from qpopt_torch import (
    AdapterTraining,
    FineTuning,
    SparseClassifier,
    Statistics,
    collect,
    find_head,
    fine_tune,
    train_adapter,
    train_dense,
)
from qpopt_torch.data.batches import first_batch
from qpopt_torch.network.head import Head
from qpopt_torch.training.features import extract

BINS = 64
"""Of the histograms that AUROC is computed from."""


@dataclass(frozen=True, eq=False)
class Task:
    """What every method of a data set and a seed starts from.

    Parameters
    ----------
    dense
        The trained network.
    train, plain, test
        Batches to train on, the same samples as they are, and those that a model is judged by.
    recipe
        How sparse models are made.
    seed
        Fixes everything random.
    folder
        Where what is shared is kept: by all methods, and by recipes that agree in what it needs.
    frozen
        Whether the network stays as it is, and only an adapter is trained.
    attributes
        What people say of the classes, if it is known.
    """

    dense: nn.Module
    train: Iterable[Any]
    plain: Iterable[Any]
    test: Iterable[Any]
    recipe: Recipe
    seed: int
    folder: Path
    frozen: bool = False
    attributes: NDArray[Any] | None = None

    def begun(self) -> Task:
        """Train the dense network, once, and return the task."""
        folder = made(self._dense)
        if self.recipe.probe_epochs:
            self._probed(folder / "probe.safetensors")
        if self.recipe.dense_lr > 0:
            settings = self.recipe.dense(self.seed)
            checkpoint = folder / "dense.pt"
            train_dense(self.dense, self.train, settings, checkpoint=checkpoint, progress=False)
        self.dense.eval()
        return self

    def _probed(self, file: Path) -> None:
        """Train the head alone, from what it receives."""
        self.dense.eval()
        head = find_head(self.dense, first_batch(self.plain, self.dense)[0])
        linear = self.dense.get_submodule(head.name)
        assert isinstance(linear, nn.Linear)
        if not file.exists():
            received = extract(self.dense, self.plain, head, progress=False)
            fit_probe(linear, *received, epochs=self.recipe.probe_epochs, seed=self.seed)
            with replacing(file) as stream:
                stream.write(save(linear.state_dict()))
        linear.load_state_dict(load(file.read_bytes()))

    @property
    def _dense(self) -> Path:
        return self.folder / f"dense-{digest(self.recipe.before)}-seed{self.seed}"

    @property
    def own(self) -> Path:
        """The folder of this recipe and seed."""
        return made(self.folder / f"{digest(self.recipe.text)}-seed{self.seed}")

    @cached_property
    def statistics(self) -> Statistics:
        """What is collected of the dense network, once."""
        bins = BINS if self.recipe.similarity == "auroc" else 0
        file = self._dense / f"statistics-{bins}.npz"
        if not file.exists():
            collect(self.dense, self.plain, bins=bins, progress=False).save(file)
        return Statistics.load(file)

    @property
    def head(self) -> Head:
        """The head of the dense network."""
        assert self.statistics.head is not None
        return self.statistics.head

    @cached_property
    def instance(self) -> Instance:
        """The instance that is solved."""
        names = ("n_select", "n_per_class", "similarity", "bias", "redundancy")
        return self.statistics.instance(**{name: getattr(self.recipe, name) for name in names})

    @property
    def training(self) -> FineTuning | AdapterTraining:
        """How a sparse model is trained."""
        return (self.recipe.adapter if self.frozen else self.recipe.sparse)(self.seed)

    @cached_property
    def received(self) -> tuple[Tensor, Tensor]:
        """What the head of the dense network receives for the training samples, and labels."""
        return extract(self.dense, self.plain, self.head, progress=False)

    def solved(self) -> Solution:
        """Return the best selection and assignment that are found."""
        limits: dict[str, Any] = {"time_limit": self.recipe.time_limit, "gap": self.recipe.gap}
        return solve(self.instance, seed=self.seed, progress=False, **limits)

    def tuned(self, solution: Solution, name: str) -> SparseClassifier:
        """Return the trained sparse model of a solution.

        Parameters
        ----------
        solution
            Selection and assignment.
        name
            Of the checkpoint, from which an interrupted training goes on.
        """
        settings = self.training
        relu = self.recipe.relu and not self.frozen
        sparse = SparseClassifier.from_solution(self.dense, solution, self.statistics, relu=relu)
        if isinstance(settings, FineTuning):
            checkpoint = self.own / f"{name}.pt"
            fine_tune(sparse, self.train, settings, checkpoint=checkpoint, progress=False)
        else:
            train_adapter(sparse.sparse_head, *self.received, settings, progress=False)
        return sparse.eval()


def digest(text: str) -> str:
    """Return a few letters that tell texts apart."""
    return hashlib.sha256(text.encode()).hexdigest()[:10]


def made(folder: Path) -> Path:
    """Return a folder, which is there now."""
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def seeded_network(network: Any, seed: int) -> nn.Module:
    """Return what a function makes of random weights, the same for the same seed."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        made: nn.Module = network()
        return made
