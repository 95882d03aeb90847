"""The command that checks an installation."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from qpopt.cli import options, tables
from qpopt.cli.options import console
from qpopt.cli.runner import CHECK_FAILED, INTERRUPTED
from qpopt.errors import InvalidFile
from qpopt.io.atomic import check_writable
from qpopt.selfcheck import checking
from qpopt.selfcheck.cases import TELLING

Names = list[str] | None


def selfcheck(
    method: Annotated[
        Names, typer.Option(metavar="NAME", help="Only this method; may be repeated.")
    ] = None,
    solver: Annotated[
        Names, typer.Option(metavar="NAME", help="Only this solver; may be repeated.")
    ] = None,
    instance: Annotated[
        Names,
        typer.Option(
            metavar="NAME",
            help=f"Only this of the {len(TELLING)} bundled instances; may be repeated.",
        ),
    ] = None,
    minutes: Annotated[float, typer.Option(min=0, help="How long to go on.")] = 1.0,
    seed: options.Seed = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
    junit: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Where to save a JUnit report.")
    ] = None,
    out: Annotated[
        Path, typer.Option(metavar="FOLDER", help="Where to keep what disagrees.")
    ] = Path(checking.OUT),
) -> None:
    """Check every method and solver that is usable here against proven optima.

    The exit code is 1 where an answer disagrees; what is right but not proven in time is counted.
    """
    check_writable(junit)
    if out.exists() and not out.is_dir():
        raise InvalidFile(f"{out} is a file; name a folder for what disagrees.")
    with Console(stderr=True).status("looking for solvers; the first time, compiling") as status:
        report = checking.selfcheck(
            method or (),
            solver or (),
            instance or (),
            minutes=minutes,
            seed=seed,
            out=out,
            on_verdict=lambda pair, verdict: status.update(f"{pair.label}, {verdict.case}"),
        )
    if as_json:
        print(json.dumps(report.to_dict(), indent=1))
    else:
        console.print(tables.selfcheck(report))
        for line in (*report.disagreements(), *report.circumstances()):
            console.print(line, soft_wrap=True)
    if junit is not None:
        report.save_junit(junit)
    if report.interrupted:
        raise typer.Exit(INTERRUPTED)
    if not report.ok:
        raise typer.Exit(CHECK_FAILED)
