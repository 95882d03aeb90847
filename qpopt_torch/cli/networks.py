"""Networks and images as commands are given them: by name, with weights, from a folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from torch import nn
from torch.utils.data import DataLoader

from qpopt import QpoptError
from qpopt_torch.cli import options as common
from qpopt_torch.data.image_folder import ImageFolder
from qpopt_torch.data.preprocessing import MEAN, STD
from qpopt_torch.network.builders import build, load_fitting, pretrained_model


def network_for(name: str, n_classes: int, weights: Path | None, pretrained: bool) -> nn.Module:
    """Build a network for a number of classes, with its weights; say so where its head is new."""
    if pretrained and weights is not None:
        raise QpoptError("--pretrained and --weights are two sources of weights; give one.")
    if pretrained:
        network, new = pretrained_model(name, n_classes)
    else:
        network, new = build(name, n_classes), ()
        if weights is not None:
            new = load_fitting(network, weights)
    if new:
        common.console.print(
            f"The weights are of another number of classes than the data, which has {n_classes}: "
            f"{', '.join(new)} is new. Features are chosen without it; --dense-epochs trains it.",
            soft_wrap=True,
        )
    return network


def image_loaders(
    data: Path,
    size: int,
    batch_size: int,
    workers: int,
    mean: str | None = None,
    std: str | None = None,
) -> tuple[common.Loader, common.Loader, common.Loader]:
    """Return batches to train on, the same images as they are, and test batches."""
    colours: dict[str, Any] = {
        "mean": common.channels(mean, "--mean", MEAN),
        "std": common.channels(std, "--std", STD),
    }
    train = ImageFolder(data / "train", size, augment=True, **colours)
    plain, test = (ImageFolder(data / part, size, **colours) for part in ("train", "test"))
    if test.class_names != train.class_names:
        other = sorted(set(test.class_names) ^ set(train.class_names))
        raise QpoptError(f"train/ and test/ have different classes, for example {other[0]}.")
    return (
        DataLoader(train, batch_size, shuffle=True, num_workers=workers),
        DataLoader(plain, batch_size, num_workers=workers),
        DataLoader(test, batch_size, num_workers=workers),
    )
