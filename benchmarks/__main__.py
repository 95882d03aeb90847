"""The command line of the benchmarks: `python -m benchmarks NAME`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from benchmarks.errors import BenchmarkError
from benchmarks.library.curation import add_file
from benchmarks.library.curation import improve as improve_library
from benchmarks.library.exhaustive import prove as prove_solution
from benchmarks.library.family import build as build_family
from benchmarks.library.library import Library
from benchmarks.library.refresh import refresh as refresh_library
from benchmarks.reports.report import write_report
from benchmarks.runs.run import ROWS
from benchmarks.runs.run import run as run_specs
from benchmarks.runs.specs import configurations, plan
from benchmarks.studies import build, epsilon, fuzz, many_classes, programme, scaling, search
from benchmarks.studies import gaps as certify
from benchmarks.studies.networks.commands import app as networks
from qpopt import Certificate, Solution
from qpopt.cli.runner import CHECK_FAILED
from qpopt.cli.runner import run as run_app

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)
app.command("certify")(certify.main)
for study in (build, epsilon, fuzz, programme, scaling, search):
    app.command(study.__name__.rpartition(".")[2])(study.main)
app.command("classes")(many_classes.main)
app.add_typer(networks)
console = Console()


@app.callback()
def _benchmarks() -> None:
    """Measure qpopt. Every comparison is made within one run."""


@app.command("list")
def show_list(
    suite: Annotated[
        str, typer.Option(help="tiny, small, medium, large, demands or several.")
    ] = "",
) -> None:
    """Show the instances of the library and what is known of them."""
    library = Library()
    entries = library.select(_words(suite)) if suite else list(library.entries.values())
    table = Table(
        box=None,
        padding=(0, 1, 0, 0),
        pad_edge=False,
        caption="* the bound was recomputed from a certificate",
        caption_justify="left",
    )
    headings = ("instance", "suite", "feats×classes", "select", "dense", "best known", "gap %")
    for heading in headings:
        table.add_column(heading, no_wrap=True)
    for entry in entries:
        gap = "open" if entry.gap is None else f"{100 * entry.gap:.4f}"
        table.add_row(
            entry.name,
            entry.size,
            f"{entry.n_features}×{entry.n_classes}",
            f"{entry.n_select}/{entry.n_per_class}",
            f"{100 * entry.density:.0f} %",
            "" if entry.objective is None else f"{entry.objective:.6f}",
            ("solved" if entry.status == "solved" else gap) + "*" * entry.certified,
        )
    console.print(table)


@app.command()
def family() -> None:
    """Add the members of the family that the library does not have yet."""
    for entry in build_family(Library()):
        typer.echo(f"added {entry.name} ({entry.size})")


@app.command()
def refresh() -> None:
    """Make the family anew after a change of how instances are made, keeping the solutions."""
    for entry in refresh_library(Library()):
        typer.echo(f"{entry.name}: {entry.objective!r}")


@app.command()
def add(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="An instance (.npz).")],
    name: Annotated[str, typer.Option(help="Its name in the library.")],
    size: Annotated[str, typer.Option("--class", help="tiny, small, medium or large.")],
) -> None:
    """Copy an instance into the library."""
    entry = add_file(Library(), file, name=name, size=size)
    typer.echo(f"added {entry.name} ({entry.size})")


@app.command()
def improve(
    files: Annotated[list[Path], typer.Argument(metavar="FILE…", help="Solutions (.json).")],
) -> None:
    """Verify solutions and take them into the library where they are better than the best known.

    A file of the same name that ends with .npz is the certificate of the bound, and is checked. The
    exit code is 1 when there was nothing better among them.
    """
    library = Library()
    better = 0
    for file in files:
        proof = file.with_suffix(".npz")
        certificate = Certificate.load(proof) if proof.exists() else None
        try:
            typer.echo(improve_library(library, Solution.load(file), certificate))
            better += 1
        except BenchmarkError as error:
            typer.echo(f"{file}: {error}")
    if not better:
        raise typer.Exit(CHECK_FAILED)


@app.command()
def prove(
    names: Annotated[list[str], typer.Argument(metavar="NAME…", help="Small instances.")],
) -> None:
    """Prove instances without any solver, by trying every selection, and record it."""
    library = Library()
    for name in names:
        best = library.best(name)
        if best is None:
            raise BenchmarkError(f"{name} needs some solution first; see improve.")
        proven = prove_solution(library.instance(name), best)
        typer.echo(improve_library(library, proven))


@app.command()
def run(
    suite: Annotated[
        str, typer.Option(help="tiny, small, medium, large, demands or several.")
    ] = "",
    instances: Annotated[str, typer.Option(help="Names of further instances.")] = "",
    methods: Annotated[str, typer.Option(help="Names of methods, or all.")] = "all",
    solvers: Annotated[str, typer.Option(help="Names of solvers, or all installed.")] = "all",
    warm: Annotated[bool, typer.Option(help="Give solvers the solution of a search.")] = False,
    certified: Annotated[bool, typer.Option(help="Let methods prove what they can.")] = False,
    time_limit: Annotated[float, typer.Option(min=0.1, help="Seconds for each run.")] = 60.0,
    gap: Annotated[float, typer.Option(min=0.0, max=1e-3, help="The gap to prove.")] = 1e-4,
    seeds: Annotated[int, typer.Option(min=1, help="How many seeds.")] = 1,
    threads: Annotated[int, typer.Option(min=1, help="Threads of each run.")] = 1,
    memory_limit: Annotated[float, typer.Option(min=100, help="Megabytes of each run.")] = 8000.0,
    grace: Annotated[float, typer.Option(help="Seconds beyond the limit before a run ends.")] = 10,
    jobs: Annotated[int, typer.Option(min=1, help="Runs at a time on this machine.")] = 1,
    scheduler: Annotated[str | None, typer.Option(help="Address of a dask scheduler.")] = None,
    out: Annotated[Path, typer.Option(help="The results folder.")] = Path("results"),
    rerun: Annotated[bool, typer.Option(help="Repeat runs that the folder has.")] = False,
) -> None:
    """Run methods and solvers on instances; started again, it goes on where it stopped.

    Several names are separated by commas.
    """
    library = Library()
    entries = library.select(_words(suite), _words(instances))
    if not entries:
        raise BenchmarkError("There is nothing to run: name a --suite or some --instances.")
    specs = plan(
        entries,
        configurations(_words(methods), _words(solvers)),
        warm=warm,
        seeds=seeds,
        threads=threads,
        time_limit=time_limit,
        gap=gap,
        memory_limit=memory_limit,
        certified=certified,
    )
    rows = run_specs(
        specs,
        out,
        library=library,
        jobs=jobs,
        grace=grace,
        scheduler=scheduler,
        rerun=rerun,
        progress=True,
    )
    typer.echo(
        f"{len(rows)} runs carried out, {len(specs) - len(rows)} were there; "
        f"the rows are in {out / ROWS}.",
    )


@app.command()
def report(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="The results folder.")],
) -> None:
    """Write tables and plots of a results folder, as Markdown and as one HTML file."""
    markdown, html = write_report(folder)
    typer.echo(f"{markdown} and {html} written.")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    again = "interrupted; start it again to go on"
    return run_app(app, "benchmarks", arguments, interrupted=again)


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


if __name__ == "__main__":
    sys.exit(main())
