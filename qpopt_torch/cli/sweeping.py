"""`qpopt-torch sweep`: how accuracy falls as a model becomes more compact."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from qpopt_torch.cli import options as common
from qpopt_torch.cli.networks import image_loaders, network_for
from qpopt_torch.pipeline.sweep import TIME_LIMIT, sweep


def sweep_command(
    model: common.ModelName,
    data: common.DataFolder,
    n_select: Annotated[
        list[str], typer.Option(help="Numbers of features, with commas or one by one.")
    ],
    n_per_class: Annotated[list[str], typer.Option(help="Numbers of features of a class.")],
    out: Annotated[
        Path | None, typer.Option(help="Folder for the points; an existing one is continued.")
    ] = None,
    weights: Annotated[Path | None, typer.Option(help="Weights of the trained model.")] = None,
    pretrained: Annotated[
        bool, typer.Option("--pretrained", help="Weights of its package.")
    ] = False,
    adapter: Annotated[bool, typer.Option(help="Train an adapter for every point.")] = True,
    size: common.ImageSize = 224,
    mean: Annotated[str | None, typer.Option(help="Mean of the channels, as 0.5,0.5,0.5.")] = None,
    std: Annotated[str | None, typer.Option(help="Deviation of the channels.")] = None,
    batch_size: common.BatchSize = 32,
    workers: common.Workers = 0,
    time_limit: Annotated[float, typer.Option(min=0, help="Seconds for a solve.")] = TIME_LIMIT,
    seed: Annotated[int, typer.Option(min=0, help="Seed of everything random.")] = 0,
    device: common.Device = "auto",
    quiet: common.Quiet = False,
) -> None:
    """Sparsify a network for all combinations of counts, on its frozen features."""
    common.start_logging(quiet)
    counts = (common.numbers(n_select, "--n-select"), common.numbers(n_per_class, "--n-per-class"))
    place = common.device_of(device)
    _, train, test = image_loaders(data, size, batch_size, workers, mean, std)
    names = train.dataset.class_names  # type: ignore[attr-defined]
    network = network_for(model, len(names), weights, pretrained).to(place)
    found = sweep(
        network,
        train,
        n_select=counts[0],
        n_per_class=counts[1],
        val_loader=test,
        training="frozen" if adapter else None,
        solve={"time_limit": time_limit, "seed": seed},
        class_names=names,
        out=out,
        progress=not quiet,
    )
    common.console.print(str(found))
