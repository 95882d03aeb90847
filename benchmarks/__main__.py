"""The command line of the benchmarks: `python -m benchmarks NAME`."""

from __future__ import annotations

import typer

from benchmarks import build, certify, epsilon, search

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)
app.command("build")(build.main)
app.command("certify")(certify.main)
app.command("epsilon")(epsilon.main)
app.command("search")(search.main)


@app.callback()
def _benchmarks() -> None:
    """Measure qpopt. Every comparison is made within one run."""


if __name__ == "__main__":
    app()
