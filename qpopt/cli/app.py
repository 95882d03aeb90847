"""The `qpopt` command."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from qpopt._version import __version__
from qpopt.cli.checking import selfcheck
from qpopt.cli.instances import demand, export, generate, info
from qpopt.cli.proving import bound, certify, verify
from qpopt.cli.runner import run
from qpopt.cli.solving import methods, solve, solvers

app = typer.Typer(
    name="qpopt",
    help="Choose a few features and give every class the same small number of them, optimally.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
for command in (
    generate,
    info,
    demand,
    solve,
    bound,
    certify,
    verify,
    export,
    methods,
    solvers,
    selfcheck,
):
    app.command()(command)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    return run(app, "qpopt", arguments)


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"qpopt {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Take the options that come before a command."""
