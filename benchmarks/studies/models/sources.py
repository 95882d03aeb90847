"""Where data and networks come from, as people name them on the command line."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor, nn

from benchmarks.errors import BenchmarkError
from benchmarks.studies.models.task import seeded_network
from qpopt_torch.data import ImageFolder
from qpopt_torch.network.builders import build, load_weights
from qpopt_torch.network.head_finder import find_head


@dataclass(frozen=True, kw_only=True)
class Sources:
    """What is given on the command line.

    Parameters
    ----------
    folder
        Holds train/ and test/, and each of them one folder of images for every class.
    network, weights
        A network as `build` takes it, and its weights.
    from_layer
        The first layer that is trained; all are without it.
    size, mean, std
        Of the images.
    features
        An .npz file with `features`, `labels` and `is_train`.
    attributes
        An .npz file with `attributes`, classes × attributes, and `class_names`.
    validation
        The share of the training samples that models are judged by in place of the test samples;
        settings are chosen with it.
    """

    folder: Path | None = None
    network: str | None = None
    weights: Path | None = None
    from_layer: str | None = None
    size: int = 224
    mean: float = 0.5
    std: float = 0.5
    features: Path | None = None
    attributes: Path | None = None
    validation: float = 0.0

    def held_out(self, labels: ArrayLike) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the training samples to train on, and those that are held out of every class."""
        classes = np.asarray(labels)
        out = np.zeros(len(classes), dtype=bool)
        chance = np.random.default_rng(0)
        for c in np.unique(classes):
            members = np.flatnonzero(classes == c)
            out[chance.permutation(members)[: round(self.validation * len(members))]] = True
        return np.flatnonzero(~out), np.flatnonzero(out)

    def within(self, folder: Path) -> Path:
        """Return where in a folder that is kept which depends on what is held out."""
        return folder / f"held-out-{self.validation:g}" if self.validation else folder

    def images(self, part: str, *, augment: bool = False) -> ImageFolder:
        """Return the images of a part, somewhat larger where they are cut at random."""
        if self.folder is None:
            raise BenchmarkError("These data are images: name their --folder.")
        colours: dict[str, Any] = {"mean": (self.mean,) * 3, "std": (self.std,) * 3}
        margin = 8 / 7 if augment else 1.0
        return ImageFolder(self.folder / part, self.size, augment=augment, margin=margin, **colours)

    def built(self, n_classes: int, x: Tensor, seed: int) -> nn.Module:
        """Return the network, with a new head where its own knows other classes.

        Parameters
        ----------
        n_classes
            How many classes the data have.
        x
            Inputs of a real batch.
        seed
            Fixes what is random.
        """
        if self.network is None:
            raise BenchmarkError("Images need a --network.")
        network: nn.Module = seeded_network(partial(build, self.network, n_classes), seed)
        if self.weights is not None:
            load_weights(network, self.weights)
        head = find_head(network, x)
        if head.n_classes != n_classes:
            parent, _, name = head.name.rpartition(".")
            new = seeded_network(partial(nn.Linear, head.n_features, n_classes), seed)
            setattr(network.get_submodule(parent), name, new)
        return network.eval()

    def known_attributes(self, class_names: tuple[str, ...]) -> NDArray[Any] | None:
        """Return what people say of the classes, or None."""
        if self.attributes is None:
            return None
        with np.load(self.attributes) as stored:
            row = {readable(name): i for i, name in enumerate(stored["class_names"].tolist())}
            if missing := [name for name in class_names if readable(name) not in row]:
                raise BenchmarkError(f"{self.attributes} has no class {missing[0]!r}.")
            rows = [row[readable(name)] for name in class_names]
            values: NDArray[Any] = stored["attributes"][rows]
        return values

    def stored_features(self) -> tuple[Tensor, Tensor, NDArray[np.bool_], tuple[str, ...]]:
        """Return features, labels, which of them are to train on, and names of the classes."""
        if self.features is None:
            raise BenchmarkError("These data are features: name the file with --features.")
        with np.load(self.features) as stored:
            if missing := {"features", "labels", "is_train"} - set(stored):
                raise BenchmarkError(f"{self.features} lacks {', '.join(sorted(missing))}.")
            names = tuple(stored["class_names"].tolist()) if "class_names" in stored else ()
            values = torch.tensor(stored["features"]).float()
            labels = torch.tensor(stored["labels"]).long()
            return values, labels, stored["is_train"].astype(bool), names


def unbounded(network: nn.Module, x: Tensor) -> None:
    """Let the feature maps of a network grow beyond 6, in place, if a ReLU6 gives them.

    Parameters
    ----------
    network
        The network.
    x
        Inputs of a real batch.

    Raises
    ------
    BenchmarkError
        If no ReLU6 does.
    """
    layer = find_head(network, x).layer or ""
    last = [name for name, _ in network.get_submodule(layer).named_modules()][-1]
    place = f"{layer}.{last}" if last else layer
    if not layer or not isinstance(network.get_submodule(place), nn.ReLU6):
        raise BenchmarkError("unbounded: no ReLU6 gives the feature maps of this network.")
    parent, _, name = place.rpartition(".")
    setattr(network.get_submodule(parent), name, nn.ReLU())


def readable(name: str) -> str:
    """Return the name of a class without the number and the underscores of its folder."""
    number, point, rest = name.partition(".")
    return (rest if point and number.isdigit() else name).replace("_", " ")
