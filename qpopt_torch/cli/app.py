"""The `qpopt-torch` command."""

from __future__ import annotations

import logging
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from torch.utils.data import DataLoader

from qpopt import QpoptError
from qpopt.cli.runner import run
from qpopt_torch.data.image_folder import ImageFolder
from qpopt_torch.metrics.model_accuracy import accuracy
from qpopt_torch.network.builders import build, load_weights
from qpopt_torch.pipeline.sparsify import TIME_LIMIT, sparsify
from qpopt_torch.training.fine_tuning import train_dense
from qpopt_torch.training.settings import AdapterTraining, DenseTraining, FineTuning

app = typer.Typer(
    name="qpopt-torch",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
console = Console(markup=False, emoji=False, highlight=False)


@app.callback()
def overview() -> None:
    """Turn trained networks into sparse ones that can be read."""


@app.command("sparsify")
def sparsify_command(
    model: Annotated[
        str, typer.Option(help="torchvision:NAME, timm:NAME or package.module:function.")
    ],
    data: Annotated[Path, typer.Option(help="Folder with train/ and test/, one folder a class.")],
    out: Annotated[Path, typer.Option(help="Folder for the result; an existing one is resumed.")],
    n_select: Annotated[int, typer.Option(help="Features to keep.")] = 50,
    n_per_class: Annotated[int, typer.Option(help="Features of every class.")] = 5,
    weights: Annotated[Path | None, typer.Option(help="Weights of the trained model.")] = None,
    dense_epochs: Annotated[int, typer.Option(help="Train the dense model first.")] = 0,
    epochs: Annotated[int, typer.Option(help="Epochs of fine-tuning.")] = 40,
    lr: Annotated[float | None, typer.Option(help="Learning rate; found by trial without.")] = None,
    backbone: Annotated[str, typer.Option(help="train, or frozen: only an adapter.")] = "train",
    adapter: Annotated[str, typer.Option(help="linear or mlp, for a frozen backbone.")] = "linear",
    bias: Annotated[str, typer.Option(help="locality, center or none.")] = "locality",
    head: Annotated[str | None, typer.Option(help="Name of the head, if not found.")] = None,
    feature_layer: Annotated[str | None, typer.Option(help="Name of the feature layer.")] = None,
    size: Annotated[int, typer.Option(help="Height and width of the images.")] = 224,
    batch_size: Annotated[int, typer.Option(help="Images in a batch.")] = 32,
    workers: Annotated[int, typer.Option(help="Processes that read images.")] = 0,
    method: Annotated[str, typer.Option(help="Method of the solve.")] = "auto",
    time_limit: Annotated[float, typer.Option(help="Seconds for the solve.")] = TIME_LIMIT,
    device: Annotated[str, typer.Option(help="cpu, cuda, cuda:1, …")] = "cpu",
    seed: Annotated[int, typer.Option(help="Seed of everything random.")] = 0,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress.")] = False,
) -> None:
    """Keep a few features of a trained network and give every class its own few of them."""
    logging.getLogger("qpopt").setLevel(logging.WARNING if quiet else logging.INFO)
    logging.basicConfig(format="%(message)s", stream=sys.stderr)
    train, plain, test = _loaders(data, size, batch_size, workers)
    names = train.dataset.class_names  # type: ignore[attr-defined]
    network = build(model, len(names)).to(device)
    if weights is not None:
        load_weights(network, weights)
    if dense_epochs:
        settings = DenseTraining(epochs=dense_epochs, seed=seed)
        checkpoint = out / "dense.pt"
        train_dense(network, train, settings, checkpoint=checkpoint, progress=not quiet)
    sparse = sparsify(
        network,
        train,
        n_select=n_select,
        n_per_class=n_per_class,
        val_loader=test,
        statistics_loader=plain,
        backbone=backbone,  # type: ignore[arg-type]
        fine_tuning=FineTuning(epochs=epochs, lr="auto" if lr is None else lr, seed=seed),
        adapter=AdapterTraining(kind=adapter, seed=seed),  # type: ignore[arg-type]
        head=head,
        feature_layer=feature_layer,
        bias=bias,
        class_names=names,
        method=method,
        time_limit=time_limit,
        seed=seed,
        out=out,
        progress=not quiet,
    )
    dense, after = (accuracy(m, test, progress=False) for m in (network, sparse))
    console.print(f"dense   {100 * dense:.1f} %")
    console.print(f"sparse  {100 * after:.1f} % with {n_select} features, {n_per_class} per class")
    console.print(f"saved in {out}")


def _loaders(
    data: Path, size: int, batch_size: int, workers: int
) -> tuple[DataLoader[object], DataLoader[object], DataLoader[object]]:
    """Return batches to train on, the same images as they are, and test batches."""
    train, plain, test = (
        ImageFolder(data / "train", size, augment=True),
        ImageFolder(data / "train", size),
        ImageFolder(data / "test", size),
    )
    if test.class_names != train.class_names:
        other = sorted(set(test.class_names) ^ set(train.class_names))
        raise QpoptError(f"train/ and test/ have different classes, for example {other[0]}.")
    return (
        DataLoader(train, batch_size, shuffle=True, num_workers=workers),
        DataLoader(plain, batch_size, num_workers=workers),
        DataLoader(test, batch_size, num_workers=workers),
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    return run(app, "qpopt-torch", arguments, interrupted="interrupted; call it again to continue")
