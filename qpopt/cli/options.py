"""What several commands take, and where they write."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from qpopt.errors import InvalidArgument
from qpopt.io.atomic import check_writable
from qpopt.problem.constraints import ARGUMENTS
from qpopt.problem.instance import Instance
from qpopt.proofs.bound import KINDS

# Names and messages are shown as they are: nothing in them is markup.
console = Console(markup=False, emoji=False, highlight=False)

NOT_CERTIFIED = "cliques"
"""The kind of bound that has no certificate."""

InstanceFile = Annotated[Path, typer.Argument(metavar="FILE", help="An instance (.npz).")]
SolutionFile = Annotated[Path, typer.Argument(metavar="SOLUTION", help="A solution (.json).")]
SolutionOut = Annotated[
    Path | None, typer.Option("--out", metavar="SOLUTION", help="Where to save the solution.")
]
CertificateOut = Annotated[
    Path | None,
    typer.Option("--certificate", metavar="CERTIFICATE", help="Where to save the proof."),
]
TimeLimit = Annotated[float, typer.Option(min=0, help="Seconds.")]
Seed = Annotated[int, typer.Option(min=0, help="Seed of everything random.")]
BoundKind = Annotated[
    str | None, typer.Option(help=f"One of {', '.join(KINDS)}; {NOT_CERTIFIED} has no certificate.")
]


def check_outputs(instance_file: Path, *outputs: Path | None) -> None:
    """Raise before the work if its results could not be saved or would replace one another."""
    check_writable(*outputs)
    taken: set[str] = set()
    for path in filter(None, outputs):
        place = os.path.realpath(path)  # which, unlike `resolve`, takes links that lead in circles
        if place == os.path.realpath(instance_file):
            raise InvalidArgument(f"{path} is the instance itself; save under another name.")
        if place in taken:
            raise InvalidArgument(f"{path} is named twice; every result needs a file of its own.")
        taken.add(place)


Demands = Annotated[
    list[str] | None,
    typer.Option(
        "--demand",
        metavar="NAME=VALUE",
        help="What is wanted beyond the counts, as forbidden=[[3,12]], required=[[0,7]], "
        "classes_per_feature=[5,40], pairs=[[0,1]], rho=0.5, max_shared=3, "
        'budget={"least":2,"most":8} or negative=[2,1.0]; may be repeated.',
    ),
]


def demanding(instance: Instance, given: list[str] | None) -> Instance:
    """Return an instance with the demands of a command line in place of those it has."""
    if not given:
        return instance
    demands = named_values(given, "--demand")
    if unknown := sorted(set(demands) - set(ARGUMENTS)):
        raise InvalidArgument(
            f"There is no demand {unknown[0]!r}; known are {', '.join(ARGUMENTS)}."
        )
    return instance.with_demands(**demands)


def named_values(given: list[str], label: str = "--option") -> dict[str, Any]:
    """Read options such as `search_steps=0`; what is no JSON value, such as a path, is a string."""
    options: dict[str, Any] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals:
            raise InvalidArgument(f"{label} takes NAME=VALUE, not {text!r}.")
        try:
            options[name] = json.loads(value)
        except ValueError:
            options[name] = value
    return options
