"""The data that levels and sets are measured on: for training, for calibration, and for the test.

Nothing of the calibration and the test is seen in training. Of some classes, the last ones, none is
where foreign samples are to be told from known ones.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

from benchmarks.errors import BenchmarkError
from benchmarks.studies.models.cut import Behind, first_inputs, kept
from benchmarks.studies.models.probe import fit_probe
from benchmarks.studies.models.sources import Sources, unbounded
from qpopt_torch import (
    DenseTraining,
    DrawnBirds,
    FineTuning,
    GroundingParams,
    SparseClassifier,
    find_head,
    finer_maps,
    sparsify,
    train_dense,
)
from qpopt_torch.network.local_network import local_network
from qpopt_torch.training.features import extract

Pair = tuple[Tensor, Tensor]

FORWARD, EVALUATED = 8, 32
"""Whole pictures of a batch, and samples of one that is not trained on."""
LEAKING = 0.7
"""The share of a training in which features of a head with ReLU still leak."""
KNOWN_SHARE = 0.8
"""The share of the classes of a folder that training shows where the others are to be told."""


@dataclass(frozen=True, eq=False)
class Study:
    """Data, a network and how both are trained.

    Parameters
    ----------
    train, calibration, test
        Inputs and labels; the last two are as large as each other.
    network
        Makes an untrained network for so many classes.
    dense, tuning
        The trainings.
    counts
        `n_select` and `n_per_class`.
    similarity
        How similar classes are; None if it is not known.
    n_known
        How many classes, the first ones, are shown in training where the others are to be told.
    probe_epochs
        Epochs in which the head of the dense network is trained alone, before all of it.
    """

    train: Pair
    calibration: Pair
    test: Pair
    network: Callable[[int], nn.Module]
    dense: DenseTraining
    tuning: FineTuning
    counts: dict[str, Any]
    similarity: NDArray[np.float64] | None
    n_known: int
    probe_epochs: int = 0

    def known(self) -> Study:
        """Return the same of the known classes alone."""
        parts = [_of(pair, lambda y: y < self.n_known) for pair in (self.train, self.calibration)]
        return replace(self, train=parts[0], calibration=parts[1])

    def trained(self, seed: int) -> nn.Module:
        """Return a trained dense network."""
        torch.manual_seed(seed)
        model = self.network(int(self.train[1].max()) + 1)
        if self.probe_epochs:
            head = find_head(model.eval(), self.train[0][:2])
            received = extract(model, batches_of(self.train), head, progress=False)
            linear: Any = model.get_submodule(head.name)
            fit_probe(linear, *received, epochs=self.probe_epochs, seed=seed)
        train_dense(model, batches_of(self.train, True), self.dense, progress=False)
        return model

    def sparse(self, model: nn.Module, seed: int, relu: bool, grounded: bool) -> SparseClassifier:
        """Return a sparse classifier of a dense network."""
        grounding = GroundingParams(epochs=round(0.75 * self.tuning.epochs)) if grounded else None
        return sparsify(
            model,
            batches_of(self.train, True),
            **self.counts,
            head={"relu": relu},
            statistics_loader=batches_of(self.train),
            training=replace(self.tuning, grounding=grounding),
            solve={"time_limit": 20, "gap": 0.004, "seed": seed},
            progress=False,
        )


def digits(seed: int, sources: Sources, folder: Path) -> Study:
    """Return the handwritten digits of scikit-learn; 8 and 9 are those to be told."""
    images, labels = load_digits(return_X_y=True)
    order = np.random.default_rng(seed).permutation(len(labels))
    x = torch.tensor(images[order], dtype=torch.float32).reshape(-1, 1, 8, 8) / 8 - 1
    y = torch.tensor(labels[order])
    means = np.stack([images[labels == c].mean(axis=0) for c in range(10)])

    def network(n_classes: int) -> nn.Module:
        layers: list[nn.Module] = []
        for before, after in ((1, 16), (16, 32), (32, 64)):
            convolution = nn.Conv2d(before, after, 3, padding=1, bias=False)
            layers += [convolution, nn.BatchNorm2d(after), nn.ReLU()]
        pooled = nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, n_classes)
        return nn.Sequential(*layers, *pooled)

    return Study(
        (x[:1000], y[:1000]),
        (x[1000:1400], y[1000:1400]),
        (x[1400:], y[1400:]),
        network,
        DenseTraining(epochs=12, lr=2e-2, head_lr=5e-2, decay_every=4, seed=seed),
        FineTuning(epochs=12, decay_every=4, leaking=LEAKING, seed=seed),
        {"n_select": 16, "n_per_class": 4},
        cosines(means - means.mean(axis=0)),
        8,
    )


def drawn(seed: int, sources: Sources, folder: Path) -> Study:
    """Return drawn birds, every species with a twin; the last four are those to be told."""
    kind: dict[str, Any] = {"pairs": 1.0, "seed": seed}
    shown = DrawnBirds(n_per_species=80, occlusion=0.1, **kind)
    others = DrawnBirds(n_per_species=40, split="test", **kind)
    attributes = np.asarray(shown.attributes, dtype=np.float64)
    return Study(
        _all(shown),
        *_halves(*_all(others)),
        local_network,
        DenseTraining(
            epochs=14, lr=0.1, head_lr=0.1, decay_every=3, beta=0.25, dropout=0.1, seed=seed
        ),
        FineTuning(epochs=14, decay_every=3, lr=0.0128, beta=0.2, leaking=LEAKING, seed=seed),
        {"n_select": 20, "n_per_class": 5},
        cosines(attributes),
        16,
    )


def images(seed: int, sources: Sources, folder: Path) -> Study:
    """Return the images of a folder and a network of which the last layers are trained.

    Its test images are halved. Every image is kept as what reaches the first layer that is
    trained; those to train on also mirrored. Feature maps are finer by one step.
    """
    if sources.from_layer is None:
        raise BenchmarkError("Images need --from-layer, the first layer that is trained.")
    plain = DataLoader(sources.images("train"), FORWARD)
    names = sources.images("train").class_names
    x = first_inputs(plain)

    def cut(n_classes: int) -> Behind:
        network = sources.built(n_classes, x, seed)
        if any(isinstance(layer, nn.ReLU6) for layer in network.modules()):
            unbounded(network, x)
        return Behind(network, x, str(sources.from_layer))

    whole = cut(len(names))

    def reaching(name: str, part: str, mirrored: bool) -> Pair:
        loader = DataLoader(sources.images(part), FORWARD)
        path = folder / "activations" / f"{name}.f16"
        found = kept(whole, loader, path, len(names), 0, mirrored=mirrored)
        values = torch.from_numpy(found.stored[found.rows[0]]).float()
        return values, torch.from_numpy(found.labels[0].copy())

    views = [reaching("plain", "train", False), reaching("mirrored", "train", True)]
    train = torch.cat([view[0] for view in views]), torch.cat([view[1] for view in views])

    def network(n_classes: int) -> nn.Module:
        behind: Any = finer_maps(cut(n_classes), train[0][:2], 1)
        behind.split_grids(train[0][:2])
        made: nn.Module = behind
        return made

    shared: dict[str, Any] = {"weight_decay": 0.05, "algorithm": "adamw", "annealing": "cosine"}
    shared |= {"norms": "frozen", "amp": "bfloat16", "grids": "one", "seed": seed}
    known = sources.known_attributes(names)
    return Study(
        train,
        *_halves(*reaching("test", "test", False)),
        network,
        # Mirrored images make every epoch one of two passes.
        DenseTraining(epochs=4, lr=5e-4, head_lr=1e-3, decay_every=1, **shared),
        FineTuning(
            epochs=7, lr=1e-3, beta=1.5, smoothing=0.04, leaking=LEAKING, decay_every=1, **shared
        ),
        {"n_select": len(names) // 2, "n_per_class": 5},
        None if known is None else cosines(known),
        round(KNOWN_SHARE * len(names)),
        probe_epochs=20,
    )


STUDIES: Mapping[str, Callable[[int, Sources, Path], Study]] = {
    "digits": digits,
    "birds": drawn,
    "images": images,
}
"""By their names on the command line."""


def batches_of(pair: Pair, shuffle: bool = False) -> DataLoader[Any]:
    """Return batches of inputs and labels."""
    return DataLoader(TensorDataset(*pair), 64 if shuffle else EVALUATED, shuffle=shuffle)


def cosines(rows: NDArray[Any]) -> NDArray[np.float64]:
    """Return how alike rows are."""
    units = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    found: NDArray[np.float64] = units @ units.T
    return found


def _halves(x: Tensor, y: Tensor) -> tuple[Pair, Pair]:
    """Return every other sample, which are of all classes where these come one after the other."""
    first = torch.arange(len(y)) % 2 == 0
    return (x[first], y[first]), (x[~first], y[~first])


def _of(pair: Pair, chosen: Callable[[Tensor], Tensor]) -> Pair:
    mask = chosen(pair[1])
    return pair[0][mask], pair[1][mask]


def _all(data: DrawnBirds) -> Pair:
    samples = [data[i] for i in range(len(data))]
    return torch.stack([x for x, _ in samples]), torch.tensor([y for _, y in samples])
