"""`qpopt-torch evaluate` and `report`: how good a saved model is, and all of it to read."""

from __future__ import annotations

import json
from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from qpopt_torch.cli import options as common
from qpopt_torch.metrics.evaluate import evaluate


class Layout(Enum):
    """What a report is written as."""

    FILE = "file"
    FOLDER = "folder"


def evaluate_command(
    directory: common.ModelFolder,
    data: common.DataFolder,
    model: common.OwnModel = None,
    as_json: common.AsJson = False,
    batch_size: common.BatchSize = 32,
    workers: common.Workers = 0,
    device: common.Device = "auto",
    quiet: common.Quiet = False,
) -> None:
    """Measure a saved model: accuracy on test/, and how readable its features are on train/."""
    common.start_logging(quiet)
    sparse = common.opened_model(directory, model, device)
    test = common.images(sparse, common.part(data, "test"), batch_size, workers)
    train = None
    if (data / "train").is_dir():
        train = common.images(sparse, data / "train", batch_size, workers)
    metrics = evaluate(sparse, test, train, progress=not quiet)
    if as_json:
        print(json.dumps(metrics.to_dict()))
    else:
        common.console.print(str(metrics), soft_wrap=True)


def report_command(
    directory: common.ModelFolder,
    data: common.DataFolder,
    out: Annotated[
        Path | None, typer.Option(help="The HTML file, or folder; in DIR, called report, without.")
    ] = None,
    layout: Annotated[
        Layout, typer.Option(help="One file, or a folder that is loaded as it is shown.")
    ] = Layout.FILE,
    title: Annotated[str, typer.Option(help="Title of the page.")] = "A sparse classifier",
    model: common.OwnModel = None,
    force: common.Force = False,
    batch_size: common.BatchSize = 32,
    workers: common.Workers = 0,
    device: common.Device = "auto",
    quiet: common.Quiet = False,
) -> None:
    """Write a page in which a person can read a whole saved model."""
    common.start_logging(quiet)
    in_folder = layout is Layout.FOLDER
    path = directory / ("report" if in_folder else "report.html") if out is None else out
    if not in_folder:
        common.check_new(path, force)
    elif path.exists():
        common.check_new(path / "index.html", force)
    sparse = common.opened_model(directory, model, device)
    test = common.images(sparse, common.part(data, "test"), batch_size, workers)
    train = None
    if (data / "train").is_dir():
        train = common.images(sparse, data / "train", batch_size, workers)
    page = sparse.report(
        path, test, train_loader=train, title=title, layout=layout.value, progress=not quiet
    )
    common.console.print(f"written to {page}", soft_wrap=True)
