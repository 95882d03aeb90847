"""`qpopt-torch steer` and `studio`: another selection for a saved model."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any

import typer
from torch.utils.data import DataLoader

from qpopt import InvalidArgument
from qpopt.control.limits import TIME_LIMIT
from qpopt_torch.cli import options as common
from qpopt_torch.cli.sparsifying import TrainingKind, settings_of, summary
from qpopt_torch.data.class_names import class_number
from qpopt_torch.data.image_folder import ImageFolder
from qpopt_torch.errors import ModelError
from qpopt_torch.pipeline.steering import steer
from qpopt_torch.sparse.classifier import SparseClassifier
from qpopt_torch.sparse.storage import CONFIG
from qpopt_torch.studio.launch import open_studio


def steer_command(
    directory: common.ModelFolder,
    data: common.DataFolder,
    out: Annotated[Path, typer.Option(help="Folder for the new model.")],
    include: Annotated[list[str], typer.Option(help="Features to select, as 3 or 3,8.")] = [],  # noqa: B006
    exclude: Annotated[list[str], typer.Option(help="Features not to select.")] = [],  # noqa: B006
    forbid: Annotated[
        list[str],
        typer.Option(metavar="CLASS:FEATURE", help="A class must not use a feature; repeatable."),
    ] = [],  # noqa: B006
    require: Annotated[
        list[str],
        typer.Option(metavar="CLASS:FEATURE", help="A class must use a feature; repeatable."),
    ] = [],  # noqa: B006
    pair: Annotated[
        list[str],
        typer.Option(metavar="CLASS:CLASS", help="Two classes that differ in one feature."),
    ] = [],  # noqa: B006
    n_select: Annotated[int | None, typer.Option(min=1, help="Another number of features.")] = None,
    n_per_class: Annotated[
        int | None, typer.Option(min=1, help="Another number of features of a class.")
    ] = None,
    training: Annotated[
        TrainingKind | None, typer.Option(help="full, last, frozen or none; as before without.")
    ] = None,
    epochs: Annotated[int | None, typer.Option(min=0, help="Epochs of the training.")] = None,
    lr: Annotated[
        float | None, typer.Option(min=0, help="Learning rate; found by trial without.")
    ] = None,
    bias: Annotated[str, typer.Option(help="locality, center, published or none.")] = "locality",
    bias_scale: Annotated[
        float | None, typer.Option(min=0, help="Weight of the bias; 0.316 without.")
    ] = None,
    redundancy: Annotated[
        float | None, typer.Option(min=0, help="Weight of redundancy; 1 without.")
    ] = None,
    time_limit: Annotated[float, typer.Option(min=0, help="Seconds for the solve.")] = TIME_LIMIT,
    seed: Annotated[int, typer.Option(min=0, help="Seed of everything random.")] = 0,
    model: common.OwnModel = None,
    force: common.Force = False,
    batch_size: common.BatchSize = 32,
    workers: common.Workers = 0,
    device: common.Device = "auto",
    quiet: common.Quiet = False,
) -> None:
    """Solve again under other wishes, and train on from the saved weights."""
    common.start_logging(quiet)
    if os.path.realpath(out) == os.path.realpath(directory):
        raise InvalidArgument(f"{out} is the model itself; name another folder for the new one.")
    if (out / CONFIG).exists() and not force:
        raise InvalidArgument(f"{out} holds a model; --force replaces it.")
    wishes = {
        "include": common.numbers(include, "--include"),
        "exclude": common.numbers(exclude, "--exclude"),
    }
    sparse = common.opened_model(directory, model, device)
    demands = {
        "forbidden": [_class_and_feature(sparse, text, "--forbid") for text in forbid],
        "required": [_class_and_feature(sparse, text, "--require") for text in require],
        "pairs": [_two_classes(sparse, text) for text in pair],
    }
    weights = {"bias_scale": bias_scale, "redundancy": redundancy}
    demanded = {name: given for name, given in demands.items() if given}
    weighed = {name: given for name, given in weights.items() if given is not None}
    frozen = sparse.sparse_head.adapter is not None
    kind: TrainingKind = training or ("frozen" if frozen else "full")
    settings = settings_of(kind, epochs=epochs, lr=lr, seed=seed)
    plain = common.images(sparse, data / "train", batch_size, workers)
    test = common.images(sparse, data / "test", batch_size, workers)
    known = sparse.record.preprocessing
    assert known is not None
    augmented: Any = ImageFolder(
        data / "train",
        known.size,
        augment=True,
        margin=known.margin,
        mean=known.mean,
        std=known.std,
    )
    found = steer(
        sparse,
        DataLoader(augmented, batch_size, shuffle=True, num_workers=workers),
        **wishes,
        n_select=n_select,
        n_per_class=n_per_class,
        val_loader=test,
        statistics_loader=plain,
        training=settings,
        prepare={"bias": bias, **weighed, **demanded},
        solve={"time_limit": time_limit, "seed": seed},
        out=out,
        progress=not quiet,
    )
    before, after = set(sparse.selection.tolist()), set(found.selection.tolist())
    gone, new = sorted(before - after), sorted(after - before)
    common.console.print(summary(found))
    common.console.print(
        f"no longer selected: {', '.join(map(str, gone)) or 'none'}", soft_wrap=True
    )
    common.console.print(f"newly selected: {', '.join(map(str, new)) or 'none'}", soft_wrap=True)
    common.console.print(f"saved in {out}", soft_wrap=True)


def _class_and_feature(sparse: SparseClassifier, text: str, option: str) -> tuple[int, int]:
    """Read a class, by number or name, and a feature."""
    name, colon, feature = text.rpartition(":")
    if not colon or not feature.isdecimal():
        raise InvalidArgument(f"{option} takes CLASS:FEATURE, such as 3:12, not {text!r}.")
    return _class(sparse, name), int(feature)


def _two_classes(sparse: SparseClassifier, text: str) -> tuple[int, int]:
    """Read two classes by number or name; names may hold colons themselves."""
    parts = text.split(":")
    for place in range(1, len(parts)):
        names = ":".join(parts[:place]), ":".join(parts[place:])
        try:
            first, second = (_class(sparse, name) for name in names)
        except ModelError:
            continue
        return first, second
    raise InvalidArgument(f"--pair takes two classes, such as 3:7, not {text!r}.")


def _class(sparse: SparseClassifier, name: str) -> int:
    known = sparse.class_names or ()
    given = int(name) if name.isdecimal() and name not in known else name
    return class_number(given, sparse.head.n_classes, known)


def studio_command(
    directory: common.ModelFolder,
    data: common.DataFolder,
    out: Annotated[
        Path | None, typer.Option(help="Folder for what is done; DIR/studio without.")
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 takes a free one.")] = 0,
    browser: Annotated[bool, typer.Option(help="Open a browser.")] = True,
    title: Annotated[str, typer.Option(help="Title of the page.")] = "A sparse classifier",
    model: common.OwnModel = None,
    batch_size: common.BatchSize = 32,
    workers: common.Workers = 0,
    device: common.Device = "auto",
    quiet: common.Quiet = False,
) -> None:
    """Open a saved model in the browser, steer it, and see it solved again in a second."""
    common.start_logging(quiet)
    sparse = common.opened_model(directory, model, device)
    opened = open_studio(
        sparse,
        common.images(sparse, common.part(data, "test"), batch_size, workers),
        instance=directory,
        train_loader=common.images(sparse, common.part(data, "train"), batch_size, workers),
        folder=directory / "studio" if out is None else out,
        port=port,
        browser=browser,
        reading={"progress": not quiet},
        report={"title": title},
        places={"model": str(directory), "data": str(data)},
    )
    common.console.print(f"{opened.address}  (Ctrl-C closes it)", soft_wrap=True)
    opened.wait()
