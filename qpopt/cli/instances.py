"""Commands that make, describe and write instances."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from qpopt import synthetic
from qpopt.cli import options, tables
from qpopt.cli.options import console
from qpopt.export.write import FORMULATIONS
from qpopt.io.atomic import check_writable
from qpopt.problem.instance import Instance


def generate(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Where to save the instance.")],
    n_features: Annotated[int, typer.Option(help="Features to choose from.")] = 256,
    n_classes: Annotated[int, typer.Option(help="Classes.")] = 50,
    n_select: Annotated[int, typer.Option(help="Features to select.")] = 20,
    n_per_class: Annotated[int, typer.Option(help="Features for every class.")] = 5,
    structure: Annotated[
        str, typer.Option(help=f"One of {', '.join(synthetic.STRUCTURES)}.")
    ] = "attributes",
    seed: options.Seed = 0,
) -> None:
    """Make a synthetic instance and save it; the same seed gives the same instance."""
    instance = synthetic.generate(
        n_features, n_classes, n_select, n_per_class, structure=structure, seed=seed
    )
    instance.save(file)
    console.print(f"{instance!r} saved to {file}")


def info(file: options.InstanceFile) -> None:
    """Describe an instance: sizes, redundancy and similarity."""
    instance = Instance.load(file)
    console.print(tables.overview(instance))
    console.print(tables.similarity_histogram(instance))


def demand(
    file: options.InstanceFile,
    out: Annotated[Path, typer.Argument(metavar="OUT", help="Where to save the instance.")],
    demands: options.Demands = None,
) -> None:
    """Write an instance with demands in place of those it has; all other commands respect them."""
    check_writable(out)
    instance = options.demanding(Instance.load(file), demands)
    instance.save(out)
    console.print(f"{instance!r} saved to {out}")


def export(
    file: options.InstanceFile,
    out: Annotated[Path, typer.Argument(metavar="OUT", help="A name in .mps, .lp or .qplib.")],
    formulation: Annotated[
        str, typer.Option(help=f"One of {', '.join(FORMULATIONS)}.")
    ] = "compact",
    uniqueness: Annotated[
        bool, typer.Option(help="Whether compact states that no two classes are alike.")
    ] = True,
) -> None:
    """Write a formulation of an instance for other solvers."""
    Instance.load(file).export(out, formulation=formulation, uniqueness=uniqueness)
    console.print(f"{formulation} saved to {out}")
