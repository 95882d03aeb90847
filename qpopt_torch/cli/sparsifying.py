"""`qpopt-torch sparsify`: from a folder of images to a sparse model."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.table import Table

from qpopt import QpoptError
from qpopt.control.limits import TIME_LIMIT
from qpopt_torch.cli import options as common
from qpopt_torch.cli.configuration import ConfigFile
from qpopt_torch.cli.networks import image_loaders, network_for
from qpopt_torch.data.telling import Stage
from qpopt_torch.metrics.summary import METRICS
from qpopt_torch.pipeline.arguments import checked_options, checked_wishes
from qpopt_torch.pipeline.sparsify import sparsify
from qpopt_torch.sparse.classifier import SparseClassifier
from qpopt_torch.sparse.storage import made_folder
from qpopt_torch.training.dense import train_dense
from qpopt_torch.training.settings import (
    AdapterTraining,
    DenseTraining,
    FineTuning,
    PartialTraining,
)

TrainingKind = Literal["full", "last", "frozen", "none"]
REPORT = "report.html"


def sparsify_command(
    model: common.ModelName,
    data: common.DataFolder,
    out: Annotated[Path, typer.Option(help="Folder for the result; an existing one is resumed.")],
    config: ConfigFile = None,
    n_select: Annotated[
        int,
        typer.Option(
            min=1,
            help="Features to keep: well below the number of classes, so that each serves several; "
            "a feature of one class alone explains nothing.",
        ),
    ] = 50,
    n_per_class: Annotated[int, typer.Option(min=1, help="Features of every class.")] = 5,
    weights: Annotated[Path | None, typer.Option(help="Weights of the trained model.")] = None,
    pretrained: Annotated[
        bool, typer.Option("--pretrained", help="Weights that timm or torchvision has for it.")
    ] = False,
    dense_epochs: Annotated[int, typer.Option(min=0, help="Train the dense model first.")] = 0,
    epochs: Annotated[int | None, typer.Option(min=0, help="Epochs of the training.")] = None,
    lr: Annotated[
        float | None, typer.Option(min=0, help="Learning rate; found by trial without.")
    ] = None,
    training: Annotated[
        TrainingKind, typer.Option(help="All layers, the last ones, only an adapter, or nothing.")
    ] = "full",
    adapter: Annotated[str | None, typer.Option(help="linear or mlp, for frozen training.")] = None,
    amp: Annotated[
        str | None, typer.Option(help="Precision of the training: auto, off, bfloat16, float16.")
    ] = None,
    include: Annotated[list[str], typer.Option(help="Features to select, as 3 or 3,8.")] = [],  # noqa: B006
    exclude: Annotated[list[str], typer.Option(help="Features not to select.")] = [],  # noqa: B006
    similarity: Annotated[str, typer.Option(help="pearson or auroc.")] = "pearson",
    bias: Annotated[str, typer.Option(help="locality, center, published or none.")] = "locality",
    head: Annotated[str | None, typer.Option(help="Name of the head, if not found.")] = None,
    feature_layer: Annotated[str | None, typer.Option(help="Name of the feature layer.")] = None,
    finer_maps: Annotated[
        int, typer.Option(help="Halvings of the feature maps to leave out: finer maps, slower.")
    ] = 0,
    dilate: Annotated[
        bool, typer.Option(help="Finer maps hold the old values; without, train them.")
    ] = True,
    size: common.ImageSize = 224,
    mean: Annotated[str | None, typer.Option(help="Mean of the channels, as 0.5,0.5,0.5.")] = None,
    std: Annotated[str | None, typer.Option(help="Deviation of the channels.")] = None,
    batch_size: common.BatchSize = 32,
    workers: common.Workers = 0,
    method: Annotated[str, typer.Option(help="Method of the solve.")] = "auto",
    solver: Annotated[str, typer.Option(help="Solver of the method: highs, gurobi, …")] = "auto",
    time_limit: Annotated[float, typer.Option(min=0, help="Seconds for the solve.")] = TIME_LIMIT,
    device: common.Device = "auto",
    seed: Annotated[int, typer.Option(min=0, help="Seed of everything random.")] = 0,
    report: Annotated[bool, typer.Option(help="Write report.html into the folder.")] = True,
    quiet: common.Quiet = False,
) -> None:
    """Keep a few features of a trained network and give every class its own few of them."""
    common.start_logging(quiet)
    place = common.device_of(device)
    settings = settings_of(training, epochs=epochs, lr=lr, kind=adapter, amp=amp, seed=seed)
    wishes = {
        "include": common.numbers(include, "--include"),
        "exclude": common.numbers(exclude, "--exclude"),
    }
    train, plain, test = image_loaders(data, size, batch_size, workers, mean, std)
    names = train.dataset.class_names  # type: ignore[attr-defined]
    network = network_for(model, len(names), weights, pretrained).to(place)
    where: dict[str, Any] = {"head": head, "feature_layer": feature_layer}
    if finer_maps:
        where["finer_maps"] = {"stages": finer_maps, "dilate": dilate}
    prepare = {"bias": bias, "similarity": similarity}
    solve = {"method": method, "solver": solver, "time_limit": time_limit, "seed": seed}
    if dense_epochs:
        # What sparsify would refuse after it is refused before it.
        checked_options(network, prepare, solve, where)
        checked_wishes(n_select, n_per_class, **wishes)
        schedule = DenseTraining(epochs=dense_epochs, seed=seed)
        checkpoint = made_folder(out) / "dense.pt"
        stage = Stage()
        train_dense(network, train, schedule, head=where, checkpoint=checkpoint, progress=not quiet)
        stage.done("dense network trained, %d epochs", dense_epochs)
        where.pop("finer_maps", None)  # the network has them now
    sparse = sparsify(
        network,
        train,
        n_select=n_select,
        n_per_class=n_per_class,
        val_loader=test,
        statistics_loader=plain,
        training=settings,
        **wishes,
        head=where,
        prepare=prepare,
        solve=solve,
        class_names=names,
        out=out,
        progress=not quiet,
    )
    if report:
        sparse.report(out / REPORT, test, train_loader=plain, progress=not quiet)
    common.console.print(summary(sparse))
    shown = f"; open {out / REPORT}" if report else ""
    common.console.print(f"saved in {out}{shown}", soft_wrap=True)


def _sizes(sparse: SparseClassifier) -> str:
    """Return how many features a class has."""
    sizes = (sparse.assignment != 0).sum(axis=1)
    return f"{sizes.min()}" if sizes.min() == sizes.max() else f"{sizes.min()} to {sizes.max()}"


def summary(sparse: SparseClassifier) -> Table:
    """Return what was measured of the dense and of the sparse model, side by side."""
    dense, after = (sparse.metrics[name].percent() for name in ("dense", "sparse"))
    table = Table("", "dense", "sparse")
    rows: dict[str, tuple[Any, Any]] = {
        "features": (sparse.head.n_features, len(sparse.selection)),
        "features per class": (sparse.head.n_features, _sizes(sparse)),
    }
    for key, value in after.items():
        if value is not None:
            other = dense[key]
            shown = "–" if other is None else f"{other:.1f} %"
            rows[METRICS[key].title] = (shown, f"{value:.1f} %")
    if sparse.solution is not None and sparse.solution.gap is not None:
        rows["gap of the solve"] = ("", f"{100 * sparse.solution.gap:.2f} %")
    for title, values in rows.items():
        table.add_row(title, *map(str, values))
    return table


def settings_of(training: TrainingKind, /, **options: Any) -> FineTuning | AdapterTraining | None:
    """Return the settings of the training; an option that it does not have is an error."""
    given = {key: value for key, value in options.items() if value is not None}
    kinds = {"full": FineTuning, "last": PartialTraining, "frozen": AdapterTraining}
    settings = kinds.get(training)
    known = ["seed"] if settings is None else [field.name for field in fields(settings)]
    if unknown := [key for key in given if key not in known]:
        option = "adapter" if unknown[0] == "kind" else unknown[0]
        raise QpoptError(f"--{option} does not go with --training {training}.")
    return None if settings is None else settings(**given)
