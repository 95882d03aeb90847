"""Commands that solve, and that say with what."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from qpopt.cli import options, tables
from qpopt.cli.options import console
from qpopt.cli.runner import CHECK_FAILED, INTERRUPTED
from qpopt.control.limits import GAP, TIME_LIMIT
from qpopt.io.archive import with_header
from qpopt.methods.registry import find_method, method_names
from qpopt.methods.solve import available_solvers
from qpopt.methods.solve import solve as solve_instance
from qpopt.problem.instance import Instance
from qpopt.problem.solution import Solution, Status
from qpopt.solvers.registry import solver_names


def solve(
    file: options.InstanceFile,
    method: Annotated[str, typer.Option(help=f"auto, {', '.join(method_names())}.")] = "auto",
    solver: Annotated[str, typer.Option(help=f"auto, {', '.join(solver_names())}.")] = "auto",
    time_limit: options.TimeLimit = TIME_LIMIT,
    gap: Annotated[float, typer.Option(min=0, help="Stop at this relative gap.")] = GAP,
    seed: options.Seed = 0,
    threads: Annotated[int | None, typer.Option(min=1, help="Threads to use.")] = None,
    option: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="An option of the method; may be repeated."),
    ] = None,
    demand: options.Demands = None,
    idealise: Annotated[
        bool, typer.Option("--idealise", help="Afterwards, keep as many pairs, but the best ones.")
    ] = False,
    start: Annotated[
        Path | None, typer.Option(metavar="SOLUTION", help="A solution to start from.")
    ] = None,
    out: options.SolutionOut = None,
    classes: Annotated[bool, typer.Option("--classes", help="Show what each class got.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the solution as JSON.")] = False,
) -> None:
    """Solve an instance; Ctrl-C ends with the best solution so far.

    A solution with demands is one of another instance: `qpopt demand` writes that to a file.
    """
    instance = options.demanding(Instance.load(file), demand)
    chosen = options.named_values(option or [])
    named = (chosen.get(name) for name in ("certificate", "checkpoint"))
    options.check_outputs(file, out, *(Path(path) for path in named if isinstance(path, str)))
    solution = solve_instance(
        instance,
        method=method,
        solver=solver,
        time_limit=time_limit,
        gap=gap,
        seed=seed,
        threads=threads,
        start=None if start is None else Solution.load(start),
        idealise=idealise,
        progress=True,
        options=chosen,
    )
    if as_json:
        print(json.dumps(with_header("solution", solution.to_dict()), indent=1))
    else:
        console.print(tables.solution(instance, solution))
        if classes and solution.found:
            console.print(tables.class_sets(instance, solution))
    # Last: where the disk is full, the solution has been shown.
    if out is not None and solution.found:
        solution.save(out)
        if not as_json:
            console.print(f"saved to {out}")
    if solution.status is Status.INTERRUPTED:
        raise typer.Exit(INTERRUPTED)
    if not solution.found:
        raise typer.Exit(CHECK_FAILED)


def methods() -> None:
    """List the methods: what each of them is, and its options."""
    console.print(tables.methods(find_method(name) for name in method_names()))


def solvers() -> None:
    """List the solvers: which are installed, what they may do here and what they can take."""
    console.print(tables.solvers(available_solvers()))
