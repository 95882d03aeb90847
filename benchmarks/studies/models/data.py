"""The data sets: each makes, for a seed, the task that all methods start from."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, Subset, TensorDataset

from benchmarks.errors import BenchmarkError
from benchmarks.studies.models.cut import Behind, Views, first_inputs, kept
from benchmarks.studies.models.recipe import Recipe
from benchmarks.studies.models.sources import Sources, unbounded
from benchmarks.studies.models.task import Task, seeded_network
from qpopt_torch import DrawnBirds, finer_maps
from qpopt_torch.network.local_network import local_network

EVALUATED, SPREAD, FORWARD = 64, 16, 8
"""Samples of a batch that is not trained on, of one whose maps are finer, and of one of whole
pictures: what takes much room is soon slower than it need be."""
SHALLOW: dict[str, Any] = {
    "algorithm": "sgd",
    "annealing": "steps",
    "norms": "trained",
    "weight_decay": 5e-4,
    "relu": False,
}


@dataclass(frozen=True)
class Data:
    """A kind of data.

    Parameters
    ----------
    name
        What its rows are called.
    recipe
        Settings, unless others are given.
    task
        Makes the task of a recipe, sources, a seed and a folder.
    """

    name: Callable[[Sources], str]
    recipe: Recipe
    task: Callable[[Recipe, Sources, int, Path], Task]


def digits(recipe: Recipe, sources: Sources, seed: int, folder: Path) -> Task:
    """Return handwritten digits of 8 × 8, and a small network trained on them."""
    images, labels = _sklearn("datasets").load_digits(return_X_y=True)
    x = torch.tensor(images, dtype=torch.float32).reshape(-1, 1, 8, 8) / 8 - 1
    halves: dict[str, Any] = {"test_size": 0.3, "stratify": labels, "random_state": 0}
    split = _sklearn("model_selection").train_test_split(range(len(x)), **halves)
    train, test = (TensorDataset(x[part], torch.tensor(labels[part])) for part in split)
    parts = _parts(train, labels[split[0]], test, sources)
    network = seeded_network(partial(_digit_network, int(labels.max()) + 1), seed)
    return _trained(network, parts, recipe, seed, sources.within(folder))


def drawn(recipe: Recipe, sources: Sources, seed: int, folder: Path) -> Task:
    """Return drawn birds with species of their own for every seed, and a small network."""
    kind: dict[str, Any] = {"seed": seed, "pairs": 1.0}
    birds = DrawnBirds(occlusion=0.1, **kind)
    others = DrawnBirds(n_per_species=25, split="test", **kind)
    labels = np.repeat(np.arange(birds.n_species), birds.n_per_species)
    parts = _parts(birds, labels, others, sources)
    network = seeded_network(partial(local_network, birds.n_species), seed)
    folder = sources.within(folder)
    return _trained(network, parts, recipe, seed, folder, attributes=birds.attributes)


def images(recipe: Recipe, sources: Sources, seed: int, folder: Path) -> Task:
    """Return the images of a folder, and a network that was given, all of it trained."""
    train, plain = (sources.images("train", augment=augment) for augment in (True, False))
    labels = np.array([label for _, label in plain.files])
    parts = _parts(plain, labels, sources.images("test"), sources, train)
    kinds: dict[str, Any] = {"attributes": sources.known_attributes(plain.class_names)}
    x = first_inputs(DataLoader(plain, 2))
    network = sources.built(len(plain.class_names), x, seed)
    if recipe.unbounded:
        unbounded(network, x)
    if sources.from_layer is None:
        network = finer_maps(network, x, recipe.finer) if recipe.finer else network
        return _trained(network, parts, recipe, seed, sources.within(folder), **kinds)
    return _behind(network, sources, recipe, seed, folder, **kinds)


def features(recipe: Recipe, sources: Sources, seed: int, folder: Path) -> Task:
    """Return stored features of a network that is not at hand, and a linear layer on them."""
    values, labels, is_train, names = sources.stored_features()
    own, held = (np.flatnonzero(is_train)[part] for part in sources.held_out(labels[is_train]))
    judging = held if len(held) else np.flatnonzero(~is_train)
    train, test = (TensorDataset(values[part], labels[part]) for part in (own, judging))
    n_classes = int(labels.max()) + 1
    network = seeded_network(lambda: nn.Sequential(nn.Linear(values.shape[1], n_classes)), seed)
    kinds = {"frozen": True, "attributes": sources.known_attributes(names)}
    folder = sources.within(folder)
    return _trained(network, (train, train, test), recipe, seed, folder, **kinds)


DATA: Mapping[str, Data] = {
    "digits": Data(
        lambda _: "digits",
        Recipe(
            n_select=16,
            n_per_class=4,
            dense_lr=2e-2,
            head_lr=5e-2,
            lr=1.28e-2,
            beta=0.784,
            **SHALLOW,
        ),
        digits,
    ),
    "drawn": Data(
        lambda _: "drawn birds",
        Recipe(
            n_select=20,
            dense_epochs=14,
            dense_lr=0.1,
            head_lr=0.1,
            dense_beta=0.25,
            epochs=14,
            lr=1.28e-2,
            beta=0.2,
            **SHALLOW,
        ),
        drawn,
    ),
    "images": Data(
        lambda sources: "" if sources.folder is None else sources.folder.name, Recipe(), images
    ),
    "features": Data(
        lambda given: _named(given.features),
        Recipe(
            bias="none",
            probe_epochs=20,
            dense_epochs=0,
            dense_lr=0.0,
            epochs=30,
            lr=1e-3,
            smoothing=0.1,
            batch_size=128,
        ),
        features,
    ),
}
"""By their names on the command line; a further one is one function and one entry."""

Parts = tuple[Iterable[Any], Iterable[Any], Iterable[Any]]


def _digit_network(n_classes: int) -> nn.Module:
    layers: list[nn.Module] = []
    for before, after in ((1, 16), (16, 32), (32, 64)):
        convolution = nn.Conv2d(before, after, 3, padding=1, bias=False)
        layers += [convolution, nn.BatchNorm2d(after), nn.ReLU()]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, n_classes))


def _parts(
    plain: Dataset[Any],
    labels: Any,
    test: Dataset[Any],
    sources: Sources,
    train: Dataset[Any] | None = None,
) -> tuple[Dataset[Any], Dataset[Any], Dataset[Any]]:
    """Return samples to train on, the same as they are, and those to judge models by."""
    train = plain if train is None else train
    own, held = sources.held_out(labels)
    if not len(held):
        return train, plain, test
    return Subset(train, own.tolist()), Subset(plain, own.tolist()), Subset(plain, held.tolist())


def _sklearn(name: str) -> Any:
    """Return a module of scikit-learn, which not everybody has."""
    try:
        return importlib.import_module(f"sklearn.{name}")
    except ImportError:
        raise BenchmarkError("The digits come with scikit-learn: pip install it.") from None


def _named(path: Path | None) -> str:
    return "nothing" if path is None else path.stem


def _as_is(data: Dataset[Any]) -> DataLoader[Any]:
    return DataLoader(data, EVALUATED)


def _trained(
    network: nn.Module,
    parts: tuple[Dataset[Any], Dataset[Any], Dataset[Any]],
    recipe: Recipe,
    seed: int,
    folder: Path,
    **kinds: Any,
) -> Task:
    """Return the task of data that networks read directly."""
    train, plain, test = parts
    shuffled = DataLoader(train, recipe.batch_size, shuffle=True)
    loaders = shuffled, _as_is(plain), _as_is(test)
    return Task(network, *loaders, recipe, seed, folder, **kinds).begun()


def _behind(
    network: nn.Module, sources: Sources, recipe: Recipe, seed: int, folder: Path, **kinds: Any
) -> Task:
    """Return the task of what lies behind a cut, whose data are activations of the first layers."""
    plain = DataLoader(sources.images("train"), FORWARD)
    x = first_inputs(plain)
    assert sources.from_layer is not None
    behind: Any = Behind(network, x, sources.from_layer)
    place = folder / "activations"
    folder = sources.within(folder)
    n_classes = len(sources.images("train").class_names)

    def view(name: str, loader: DataLoader[Any], number: int, *, mirrored: bool = False) -> Any:
        return kept(behind, loader, place / f"{name}.f16", n_classes, number, mirrored=mirrored)

    views = [view("plain", plain, 0)]
    if recipe.views > 1:
        views.append(view("mirrored", plain, 0, mirrored=True))
    for number in range(2, recipe.views):
        changed = DataLoader(sources.images("train", augment=True), FORWARD)
        views.append(view(f"changed{number - 1}", changed, number))
    own, held = sources.held_out(views[0].labels[0])
    if len(held):
        judging = Views(views[:1], held)
    else:
        test = view("test", DataLoader(sources.images("test"), FORWARD), 0)
        judging = Views([test], np.arange(len(test)))
    if recipe.finer:
        reaching, _ = judging[[0, 1]]
        behind = finer_maps(behind, reaching.float(), recipe.finer)
        behind.split_grids(reaching.float())
    loaders = (
        Views(views, own).loader(recipe.batch_size, shuffle=True),
        Views(views[:1], own).loader(SPREAD, shuffle=False),
        judging.loader(SPREAD, shuffle=False),
    )
    return Task(behind, *loaders, recipe, seed, folder, **kinds).begun()
