"""What several commands take, and how they open models, images and devices."""

from __future__ import annotations

import logging
import sys
from pathlib import Path
from typing import Annotated, Any

import torch
import typer
from rich.console import Console
from torch.utils.data import DataLoader

from qpopt import InvalidArgument, QpoptError
from qpopt.io import check_writable
from qpopt_torch.data.image_folder import ImageFolder
from qpopt_torch.errors import reason
from qpopt_torch.network.builders import build
from qpopt_torch.pipeline.loading import load
from qpopt_torch.sparse.classifier import SparseClassifier
from qpopt_torch.sparse.storage import CONFIG

# Names and messages are shown as they are: nothing in them is markup.
console = Console(markup=False, emoji=False, highlight=False)

ModelName = Annotated[
    str, typer.Option(help="torchvision:NAME, timm:NAME or package.module:function.")
]
ModelFolder = Annotated[
    Path, typer.Argument(metavar="DIR", help="A folder that sparsify or save wrote.")
]
OwnModel = Annotated[
    str | None,
    typer.Option("--model", help="How the network is built, if its folder does not say so."),
]
DataFolder = Annotated[
    Path, typer.Option(help="Folder with train/ and test/, one folder of images a class.")
]
Device = Annotated[str, typer.Option(help="auto, cpu, cuda, cuda:1, …")]
ImageSize = Annotated[int, typer.Option(min=1, max=2**16, help="Height and width of the images.")]
BatchSize = Annotated[int, typer.Option(min=1, max=10**6, help="Images in a batch.")]
Workers = Annotated[int, typer.Option(min=0, max=1024, help="Processes that read images.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="No progress.")]
Force = Annotated[bool, typer.Option("--force", help="Replace a file that exists.")]
AsJson = Annotated[bool, typer.Option("--json", help="As JSON, for programs.")]

Loader = DataLoader[Any]


def start_logging(quiet: bool) -> None:
    """Let messages of the package go to the error stream."""
    logging.getLogger("qpopt").setLevel(logging.WARNING if quiet else logging.INFO)
    logging.basicConfig(format="%(message)s", stream=sys.stderr)


def device_of(name: str) -> torch.device:
    """Return a device that can be used here; `auto` is the fastest one."""
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(name)
        torch.zeros(1, device=device).item()
    except (RuntimeError, AssertionError, NotImplementedError, ValueError) as error:
        raise QpoptError(f"--device {name} cannot be used here: {reason(error)}.") from error
    return device


def opened_model(folder: Path, name: str | None, device: str) -> SparseClassifier:
    """Load a saved model, built as its folder says or by a name."""
    place = device_of(device)
    if not (folder / CONFIG).is_file():
        raise InvalidArgument(f"{folder} holds no model: there is no {CONFIG}.")
    if name is None:
        return load(folder).to(place)
    # The classes of the fresh network do not matter: its head is replaced.
    return load(folder, build(name, 2)).to(place)


def images(
    model: SparseClassifier, folder: Path, batch_size: int, workers: int
) -> DataLoader[tuple[torch.Tensor, int]]:
    """Return batches of a folder of images, as a saved model takes them."""
    known = model.record.preprocessing
    if known is None:
        raise QpoptError("The folder does not say how an image becomes an input of the model.")
    colours: dict[str, Any] = {"mean": known.mean, "std": known.std}
    found = ImageFolder(folder, known.size, margin=known.margin, **colours)
    names = model.class_names
    if names is not None and found.class_names != names:
        differ = sorted(set(names) ^ set(found.class_names))
        raise QpoptError(
            f"The classes in {folder} are not those of the model"
            + (f", for example {differ[0]}." if differ else ": their order differs.")
        )
    return DataLoader(found, batch_size, num_workers=workers)


def part(data: Path, name: str) -> Path:
    """Return a part of a data folder, or the folder itself where it has no parts."""
    if (data / name).is_dir() or any((data / other).is_dir() for other in ("train", "test")):
        return data / name
    return data


def check_new(path: Path, force: bool) -> None:
    """Raise before the work if a file could not be written, or would replace another."""
    if path.is_dir():
        raise InvalidArgument(f"{path} is a folder; name a file.")
    if path.exists() and not force:
        raise InvalidArgument(f"{path} exists; --force replaces it.")
    check_writable(path)


def numbers(texts: list[str], option: str) -> list[int]:
    """Read whole numbers, given one by one or with commas between them."""
    try:
        return [int(text) for given in texts for text in given.split(",")]
    except ValueError:
        raise InvalidArgument(f"{option} takes whole numbers, not {texts!r}.") from None


def channels(text: str | None, option: str, default: tuple[float, ...]) -> tuple[float, ...]:
    """Read one number a channel, with commas between them."""
    if text is None:
        return default
    try:
        values = tuple(float(value) for value in text.split(","))
    except ValueError:
        values = ()
    if len(values) not in (1, 3):
        raise InvalidArgument(f"{option} takes one number or three, such as 0.5,0.5,0.5.")
    return values * 3 if len(values) == 1 else values
