"""`qpopt-torch sparsify`: from a folder of images to a sparse model."""

from __future__ import annotations

import logging
import sys
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any, Literal

import torch
import typer
from rich.console import Console
from torch.utils.data import DataLoader

from qpopt import QpoptError
from qpopt.control.limits import TIME_LIMIT
from qpopt_torch.data.image_folder import ImageFolder
from qpopt_torch.errors import reason
from qpopt_torch.metrics.accuracy import accuracy
from qpopt_torch.network.builders import build, load_weights
from qpopt_torch.pipeline.arguments import checked_options, checked_wishes
from qpopt_torch.pipeline.sparsify import sparsify
from qpopt_torch.sparse.storage import made_folder
from qpopt_torch.training.dense import train_dense
from qpopt_torch.training.settings import (
    AdapterTraining,
    DenseTraining,
    FineTuning,
    PartialTraining,
)

console = Console(markup=False, emoji=False, highlight=False)


TrainingKind = Literal["full", "last", "frozen", "none"]


def sparsify_command(
    model: Annotated[
        str, typer.Option(help="torchvision:NAME, timm:NAME or package.module:function.")
    ],
    data: Annotated[Path, typer.Option(help="Folder with train/ and test/, one folder a class.")],
    out: Annotated[Path, typer.Option(help="Folder for the result; an existing one is resumed.")],
    n_select: Annotated[int, typer.Option(min=1, help="Features to keep.")] = 50,
    n_per_class: Annotated[int, typer.Option(min=1, help="Features of every class.")] = 5,
    weights: Annotated[Path | None, typer.Option(help="Weights of the trained model.")] = None,
    dense_epochs: Annotated[int, typer.Option(min=0, help="Train the dense model first.")] = 0,
    epochs: Annotated[int | None, typer.Option(min=0, help="Epochs of the training.")] = None,
    lr: Annotated[
        float | None, typer.Option(min=0, help="Learning rate; found by trial without.")
    ] = None,
    training: Annotated[
        TrainingKind, typer.Option(help="All layers, the last ones, only an adapter, or nothing.")
    ] = "full",
    adapter: Annotated[str | None, typer.Option(help="linear or mlp, for frozen training.")] = None,
    bias: Annotated[str, typer.Option(help="locality, center, published or none.")] = "locality",
    head: Annotated[str | None, typer.Option(help="Name of the head, if not found.")] = None,
    feature_layer: Annotated[str | None, typer.Option(help="Name of the feature layer.")] = None,
    finer_maps: Annotated[
        int, typer.Option(help="Halvings of the feature maps to leave out: finer maps, slower.")
    ] = 0,
    dilate: Annotated[
        bool, typer.Option(help="Finer maps hold the old values; without, train them.")
    ] = True,
    size: Annotated[int, typer.Option(min=1, help="Height and width of the images.")] = 224,
    batch_size: Annotated[int, typer.Option(min=1, help="Images in a batch.")] = 32,
    workers: Annotated[int, typer.Option(min=0, help="Processes that read images.")] = 0,
    method: Annotated[str, typer.Option(help="Method of the solve.")] = "auto",
    time_limit: Annotated[float, typer.Option(min=0, help="Seconds for the solve.")] = TIME_LIMIT,
    device: Annotated[str, typer.Option(help="cpu, cuda, cuda:1, …")] = "cpu",
    seed: Annotated[int, typer.Option(min=0, help="Seed of everything random.")] = 0,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress.")] = False,
) -> None:
    """Keep a few features of a trained network and give every class its own few of them."""
    logging.getLogger("qpopt").setLevel(logging.WARNING if quiet else logging.INFO)
    logging.basicConfig(format="%(message)s", stream=sys.stderr)
    place = _device(device)
    settings = _settings(training, epochs=epochs, lr=lr, kind=adapter, seed=seed)
    train, plain, test = _loaders(data, size, batch_size, workers)
    names = train.dataset.class_names  # type: ignore[attr-defined]
    network = build(model, len(names)).to(place)
    if weights is not None:
        load_weights(network, weights)
    where: dict[str, Any] = {"head": head, "feature_layer": feature_layer}
    if finer_maps:
        where["finer_maps"] = {"stages": finer_maps, "dilate": dilate}
    prepare = {"bias": bias}
    solve = {"method": method, "time_limit": time_limit, "seed": seed}
    if dense_epochs:
        # What sparsify would refuse after it is refused before it.
        checked_options(network, prepare, solve, where)
        checked_wishes(n_select, n_per_class, (), ())
        schedule = DenseTraining(epochs=dense_epochs, seed=seed)
        checkpoint = made_folder(out) / "dense.pt"
        train_dense(network, train, schedule, head=where, checkpoint=checkpoint, progress=not quiet)
        where.pop("finer_maps", None)  # the network has them now
    sparse = sparsify(
        network,
        train,
        n_select=n_select,
        n_per_class=n_per_class,
        val_loader=test,
        statistics_loader=plain,
        training=settings,
        head=where,
        prepare=prepare,
        solve=solve,
        class_names=names,
        out=out,
        progress=not quiet,
    )
    dense, after = (accuracy(m, test, progress=False) for m in (network, sparse))
    console.print(f"dense   {100 * dense:.1f} %")
    console.print(f"sparse  {100 * after:.1f} % with {n_select} features, {n_per_class} per class")
    console.print(f"saved in {out}")


def _device(name: str) -> torch.device:
    """Return a device that can be used here."""
    try:
        device = torch.device(name)
        torch.zeros(1, device=device).item()
    except (RuntimeError, AssertionError, NotImplementedError, ValueError) as error:
        raise QpoptError(f"--device {name} cannot be used here: {reason(error)}.") from error
    return device


def _settings(training: TrainingKind, /, **options: Any) -> FineTuning | AdapterTraining | None:
    """Return the settings of the training; an option that it does not have is an error."""
    given = {key: value for key, value in options.items() if value is not None}
    kinds = {"full": FineTuning, "last": PartialTraining, "frozen": AdapterTraining}
    settings = kinds.get(training)
    known = ["seed"] if settings is None else [field.name for field in fields(settings)]
    if unknown := [key for key in given if key not in known]:
        option = "adapter" if unknown[0] == "kind" else unknown[0]
        raise QpoptError(f"--{option} does not go with --training {training}.")
    return None if settings is None else settings(**given)


def _loaders(
    data: Path, size: int, batch_size: int, workers: int
) -> tuple[DataLoader[object], DataLoader[object], DataLoader[object]]:
    """Return batches to train on, the same images as they are, and test batches."""
    train = ImageFolder(data / "train", size, augment=True)
    plain, test = (ImageFolder(data / part, size) for part in ("train", "test"))
    if test.class_names != train.class_names:
        other = sorted(set(test.class_names) ^ set(train.class_names))
        raise QpoptError(f"train/ and test/ have different classes, for example {other[0]}.")
    return (
        DataLoader(train, batch_size, shuffle=True, num_workers=workers),
        DataLoader(plain, batch_size, num_workers=workers),
        DataLoader(test, batch_size, num_workers=workers),
    )
