"""The `qpopt-torch` command."""

from __future__ import annotations

from collections.abc import Sequence

import typer

from qpopt.cli.runner import run
from qpopt_torch.cli.sparsifying import sparsify_command

app = typer.Typer(
    name="qpopt-torch", no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False
)


@app.callback()
def overview() -> None:
    """Turn trained networks into sparse ones that can be read."""


app.command("sparsify")(sparsify_command)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    return run(app, "qpopt-torch", arguments, interrupted="interrupted; call it again to continue")
