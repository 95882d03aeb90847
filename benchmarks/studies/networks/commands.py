"""The commands of studies that use networks, which import torch when one of them is called."""

from __future__ import annotations

import importlib
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any

import typer
from rich.console import Console

from benchmarks.errors import BenchmarkError
from qpopt.cli.options import named_values

app = typer.Typer()

Folder = Annotated[Path | None, typer.Option(help="Images: train/ and test/ by class.")]
Network = Annotated[
    str | None, typer.Option(help="torchvision:NAME, timm:NAME or package.module:FUNCTION.")
]
Weights = Annotated[Path | None, typer.Option(help="Its weights, if it has none.")]
Size = Annotated[int, typer.Option(min=8, help="Of the images.")]
Mean = Annotated[float, typer.Option(help="Of the colours, from 0 to 1.")]
Std = Annotated[float, typer.Option(min=1e-3, help="Of the colours.")]
Attributes = Annotated[
    Path | None, typer.Option(help="An .npz file of what people say of the classes.")
]
FirstSeed = Annotated[int, typer.Option(min=0, help="The first of them.")]
FromLayer = Annotated[
    str | None, typer.Option(help="The first layer that is trained; all without it.")
]


@app.command()
def meaning(
    seeds: Annotated[int, typer.Option(min=1, help="How many seeds, each with its species.")] = 5,
    out: Annotated[Path, typer.Option(help="The results folder.")] = Path("results/meaning"),
) -> None:
    """Show what the features of models of drawn birds mean, beside controls.

    Every seed trains a network of its own, which takes a few minutes; started again, it goes on
    where it stopped.
    """
    typer.echo(_torch_study("meaning").main(seeds, out))


@app.command()
def levels(
    data: Annotated[str, typer.Option(help="digits, birds (drawn ones) or images.")] = "digits",
    seeds: Annotated[int, typer.Option(min=1, help="How many seeds.")] = 1,
    first_seed: FirstSeed = 0,
    parts: Annotated[str, typer.Option(help="heads, sets, unknown; or several.")] = (
        "heads, sets, unknown"
    ),
    folder: Folder = None,
    network: Network = None,
    weights: Weights = None,
    from_layer: FromLayer = None,
    size: Size = 224,
    mean: Mean = 0.5,
    std: Std = 0.5,
    attributes: Attributes = None,
    out: Annotated[Path, typer.Option(help="The results folder.")] = Path("results/levels"),
) -> None:
    """Compare heads, sets of all scores, and how foreign classes are told: some minutes a seed.

    Started again, it goes on where it stopped.
    """
    given: dict[str, Any] = {
        "folder": folder,
        "network": network,
        "weights": weights,
        "from_layer": from_layer,
        "size": size,
        "mean": mean,
        "std": std,
        "attributes": attributes,
    }
    study = _torch_study("levels.study", "sklearn")
    names = range(first_seed, first_seed + seeds)
    typer.echo(study.main(data, names, _words(parts), given, out, tell=typer.echo))


@app.command()
def studio(
    features: Annotated[int, typer.Option(min=8, help="How many features there are.")] = 2048,
    classes: Annotated[int, typer.Option(min=2, help="How many classes.")] = 200,
    samples: Annotated[
        int, typer.Option(min=2, help="Validation samples, and as many to train on.")
    ] = 6000,
    select: Annotated[int, typer.Option(min=1, help="How many features are selected.")] = 50,
    per_class: Annotated[int, typer.Option(min=1, help="How many every class gets.")] = 5,
    demands: Annotated[int, typer.Option(min=1, help="How many demands are made.")] = 50,
    seed: Annotated[int, typer.Option(min=0, help="Of pictures and demands.")] = 0,
) -> None:
    """Show how long a person waits in the studio for its page, a solution, and an accuracy."""
    sizes = features, classes, samples, select, per_class
    study = _torch_study("networks.studio", "starlette", "uvicorn")
    Console().print(study.main(*sizes, demands, seed, tell=typer.echo))


@app.command()
def scale(
    quick: Annotated[bool, typer.Option(help="Everything small: whether it works.")] = False,
) -> None:
    """Show what ImageNet costs: passes, saving, several processes, reports, and a simulation.

    It takes some ten minutes on two cores, and wants them for itself.
    """
    _torch_study("scale.study").main(quick, Console().print)


@app.command()
def models(
    data: Annotated[str, typer.Option(help="digits, drawn, images or features; or several.")],
    methods: Annotated[str, typer.Option(help="Names of methods, or all.")] = "all",
    seeds: Annotated[int, typer.Option(min=1, help="How many seeds.")] = 3,
    first_seed: FirstSeed = 0,
    folder: Folder = None,
    network: Network = None,
    weights: Weights = None,
    from_layer: FromLayer = None,
    size: Size = 224,
    mean: Mean = 0.5,
    std: Std = 0.5,
    features: Annotated[Path | None, typer.Option(help="An .npz file of features.")] = None,
    attributes: Attributes = None,
    validation: Annotated[
        float, typer.Option(min=0, max=0.5, help="Share of the training held out to judge by.")
    ] = 0.0,
    option: Annotated[
        list[str] | None, typer.Option(metavar="NAME=VALUE", help="A setting of the recipe.")
    ] = None,
    out: Annotated[Path, typer.Option(help="The results folder.")] = Path("results/models"),
) -> None:
    """Compare our models with controls and rivals, on the same data and dense networks.

    Started again, it goes on where it stopped.
    """
    given: dict[str, Any] = {
        "folder": folder,
        "network": network,
        "weights": weights,
        "from_layer": from_layer,
        "size": size,
        "mean": mean,
        "std": std,
        "features": features,
        "attributes": attributes,
        "validation": validation,
    }
    study = _torch_study("models.study")
    names = range(first_seed, first_seed + seeds)
    study.main(
        *(_words(data), _words(methods), names, given, named_values(option or []), out),
        tell=typer.echo,
    )


def _torch_study(name: str, *needed: str) -> ModuleType:
    """Import a study that uses networks: who measures solvers needs none, nor waits for it."""
    missing = [package for package in ("torch", *needed) if find_spec(package) is None]
    if missing:
        raise BenchmarkError(
            f"This study needs {' and '.join(missing)}: pip install '.[all,torch,bench,studio]' "
            "scikit-learn."
        )
    return importlib.import_module(f"benchmarks.studies.{name}")


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]
