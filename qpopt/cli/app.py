"""The `qpopt` command."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from qpopt import Bound, Certificate, Instance, InvalidArgument, Solution, Status, __version__
from qpopt.cli import tables
from qpopt.cli.runner import CHECK_FAILED, INTERRUPTED, run
from qpopt.control.limits import TIME_LIMIT
from qpopt.export.write import FORMULATIONS
from qpopt.io.archive import with_header
from qpopt.io.atomic import check_writable
from qpopt.methods.registry import find_method, method_names
from qpopt.methods.solve import available_solvers
from qpopt.methods.solve import solve as solve_instance
from qpopt.proofs.bound import KINDS
from qpopt.proofs.bound import bound as prove_bound
from qpopt.proofs.certify import certify as certify_solution
from qpopt.solvers.registry import solver_names
from qpopt.synthetic import STRUCTURES
from qpopt.synthetic import generate as generate_instance
from qpopt.verification.solution_check import verify as verify_solution

app = typer.Typer(
    name="qpopt",
    help="Choose a few features and give every class the same small number of them, optimally.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
# Names and messages are shown as they are: nothing in them is markup.
console = Console(markup=False, emoji=False, highlight=False)

PROVABLE = "semidefinite"
"""The kind of bound that has a certificate."""

InstanceFile = Annotated[Path, typer.Argument(metavar="FILE", help="An instance (.npz).")]
SolutionFile = Annotated[Path, typer.Argument(metavar="SOLUTION", help="A solution (.json).")]


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


@app.command()
def generate(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Where to save the instance.")],
    n_features: Annotated[int, typer.Option(help="Features to choose from.")] = 256,
    n_classes: Annotated[int, typer.Option(help="Classes.")] = 50,
    n_select: Annotated[int, typer.Option(help="Features to select.")] = 20,
    n_per_class: Annotated[int, typer.Option(help="Features for every class.")] = 5,
    structure: Annotated[str, typer.Option(help=f"One of {', '.join(STRUCTURES)}.")] = "attributes",
    seed: Annotated[int, typer.Option(min=0, help="The same seed, the same instance.")] = 0,
) -> None:
    """Make a synthetic instance and save it."""
    instance = generate_instance(
        n_features, n_classes, n_select, n_per_class, structure=structure, seed=seed
    )
    instance.save(file)
    console.print(f"{instance!r} saved to {file}")


@app.command()
def info(file: InstanceFile) -> None:
    """Describe an instance: sizes, redundancy and similarity."""
    instance = Instance.load(file)
    console.print(tables.overview(instance))
    console.print(tables.similarity_histogram(instance))


@app.command()
def verify(
    file: InstanceFile,
    solution: SolutionFile,
    certificate: Annotated[
        Path | None, typer.Option(metavar="CERTIFICATE", help="Also check this proof (.npz).")
    ] = None,
) -> None:
    """Check a solution by recomputing what it claims; a bound is checked against a certificate."""
    instance, claimed = Instance.load(file), Solution.load(solution)
    proof = None if certificate is None else Certificate.load(certificate)
    verification = verify_solution(instance, claimed, certificate=proof)
    console.print(tables.verification(verification))
    if not verification:
        raise typer.Exit(CHECK_FAILED)


@app.command()
def bound(
    file: InstanceFile,
    time_limit: Annotated[float, typer.Option(min=0, help="Seconds.")] = TIME_LIMIT,
    kind: Annotated[
        str | None, typer.Option(help=f"One of {', '.join(KINDS)}; with a certificate {PROVABLE}.")
    ] = None,
    certificate: Annotated[
        Path | None, typer.Option(metavar="CERTIFICATE", help="Where to save the proof.")
    ] = None,
) -> None:
    """Prove an upper bound on the objective of every solution."""
    chosen = _kind(kind, certificate)
    _check_outputs(file, certificate)
    found = prove_bound(Instance.load(file), time_limit=time_limit, kind=chosen, progress=True)
    console.print(f"bound {found.value:.6f} ({found.kind}, {found.seconds:.1f} s)")
    _save_certificate(found, certificate)
    if found.interrupted:
        raise typer.Exit(INTERRUPTED)


@app.command()
def certify(
    file: InstanceFile,
    solution: SolutionFile,
    time_limit: Annotated[float, typer.Option(min=0, help="Seconds.")] = TIME_LIMIT,
    kind: Annotated[
        str | None, typer.Option(help=f"One of {', '.join(KINDS)}; with a certificate {PROVABLE}.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="SOLUTION", help="Where to save the solution with its bound."),
    ] = None,
    certificate: Annotated[
        Path | None, typer.Option(metavar="CERTIFICATE", help="Where to save the proof.")
    ] = None,
) -> None:
    """Prove how good a solution is, whatever found it."""
    instance = Instance.load(file)
    chosen = _kind(kind, certificate)
    _check_outputs(file, out, certificate)
    certified, found = certify_solution(
        instance, Solution.load(solution), time_limit=time_limit, kind=chosen, progress=True
    )
    proven = found.certificate.bound if found.certificate is not None else -inf
    if certificate is not None and certified.bound is not None and proven > certified.bound:
        # What is saved beside a proof claims what that proof shows, not what another one might.
        certified = replace(certified, status=Status.FEASIBLE, bound=proven)
    console.print(tables.solution(instance, certified))
    if out is not None:
        certified.save(out)
        console.print(f"saved to {out}")
    _save_certificate(found, certificate)
    if found.interrupted:
        raise typer.Exit(INTERRUPTED)


def _check_outputs(instance_file: Path, *outputs: Path | None) -> None:
    """Raise before the work if its results could not be saved or would replace one another."""
    check_writable(*outputs)
    taken: set[Path] = set()
    for path in outputs:
        if path is None:
            continue
        if path.resolve() == instance_file.resolve():
            raise InvalidArgument(f"{path} is the instance itself; save under another name.")
        if path.resolve() in taken:
            raise InvalidArgument(f"{path} is named twice; every result needs a file of its own.")
        taken.add(path.resolve())


def _kind(kind: str | None, certificate: Path | None) -> str:
    """Return the kind of bound to prove: with a certificate, the one that has it."""
    if certificate is None:
        return kind or "best"
    if kind not in (None, PROVABLE):
        raise InvalidArgument(f"Only a bound of the kind {PROVABLE} has a certificate.")
    return PROVABLE


def _save_certificate(found: Bound, path: Path | None) -> None:
    if path is None:
        return
    if found.certificate is None:
        console.print("there is no certificate to save: the time was too short to begin one")
        return
    found.certificate.save(path)
    console.print(f"certificate saved to {path}")


@app.command()
def solve(
    file: InstanceFile,
    method: Annotated[str, typer.Option(help=f"auto, {', '.join(method_names())}.")] = "auto",
    solver: Annotated[str, typer.Option(help=f"auto, {', '.join(solver_names())}.")] = "auto",
    time_limit: Annotated[float, typer.Option(min=0, help="Seconds.")] = TIME_LIMIT,
    gap: Annotated[float, typer.Option(min=0, help="Stop at this relative gap.")] = 1e-4,
    seed: Annotated[int, typer.Option(min=0, help="Seed of everything random.")] = 0,
    threads: Annotated[int | None, typer.Option(min=1, help="Threads to use.")] = None,
    option: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="An option of the method; may be repeated."),
    ] = None,
    start: Annotated[
        Path | None, typer.Option(metavar="SOLUTION", help="A solution to start from.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="SOLUTION", help="Where to save the solution.")
    ] = None,
    classes: Annotated[bool, typer.Option("--classes", help="Show what each class got.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the solution as JSON.")] = False,
) -> None:
    """Solve an instance; Ctrl-C ends with the best solution so far."""
    instance = Instance.load(file)
    options = _method_options(option or [])
    named = (options.get(name) for name in ("certificate", "checkpoint"))
    _check_outputs(file, out, *(Path(path) for path in named if isinstance(path, str)))
    solution = solve_instance(
        instance,
        method=method,
        solver=solver,
        time_limit=time_limit,
        gap=gap,
        seed=seed,
        threads=threads,
        start=None if start is None else Solution.load(start),
        progress=True,
        options=options,
    )
    if out is not None and solution.found:
        solution.save(out)
    if as_json:
        print(json.dumps(with_header("solution", solution.to_dict()), indent=1))
    else:
        console.print(tables.solution(instance, solution))
        if classes and solution.found:
            console.print(tables.class_sets(instance, solution))
        if out is not None and solution.found:
            console.print(f"saved to {out}")
    if solution.status is Status.INTERRUPTED:
        raise typer.Exit(INTERRUPTED)
    if not solution.found:
        raise typer.Exit(CHECK_FAILED)


def _method_options(given: list[str]) -> dict[str, Any]:
    """Read options such as `search_steps=0`; what is no JSON value, such as a path, is a string."""
    options: dict[str, Any] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals:
            raise InvalidArgument(f"--option takes NAME=VALUE, not {text!r}.")
        try:
            options[name] = json.loads(value)
        except ValueError:
            options[name] = value
    return options


@app.command()
def export(
    file: InstanceFile,
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


@app.command()
def methods() -> None:
    """List the methods: what each of them is, and its options."""
    console.print(tables.methods(find_method(name) for name in method_names()))


@app.command()
def solvers() -> None:
    """List the solvers: which are installed, what they may do here and what they can take."""
    console.print(tables.solvers(available_solvers()))
