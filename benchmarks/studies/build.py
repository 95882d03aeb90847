"""What it costs to build the compact model: through Pyomo, as qpopt does, and as bare arrays."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Annotated, Any, NamedTuple

import numpy as np
import typer
from rich.console import Console
from rich.table import Table
from scipy import sparse

from benchmarks.runs.processes import alone
from qpopt import Instance, available_solvers, generate
from qpopt.control import Limits
from qpopt.models.compact import compact_sizes, compile_compact
from qpopt.models.compiled import Block, CompiledModel, Kind, Rows
from qpopt.solvers import SolverRequest, find_solver
from qpopt.solvers.choice import can_take, within_limits

SIZES = ((512, 50), (1024, 100), (2048, 200))
SOLVER_SECONDS = 1.0
"""Time limit of the solver, which only has to have received the model."""


class Cost(NamedTuple):
    """Seconds of wall time, and the peak memory of the process, with its instance, in GB."""

    seconds: float
    memory: float


def main(
    largest: Annotated[int, typer.Option(help="Leave out sizes with more features.")] = 2048,
    solvers: Annotated[bool, typer.Option(help="Also hand the models to the solvers.")] = True,
    seed: Annotated[int, typer.Option(help="Seed of the instances.")] = 0,
) -> None:
    """Measure building and compiling `compact`, and handing it to every solver."""
    building = Table("features × classes", "route", "variables", "seconds", "GB", "× time", "× GB")
    reaching = Table("features × classes", "solver", "seconds with building", "GB")
    for n_features, n_classes in SIZES:
        if n_features > largest:
            continue
        sizes = (n_features, n_classes, seed)
        label = f"{n_features} × {n_classes}"
        instance = _instance(*sizes)
        variables = f"{compact_sizes(instance)[-1].variables:,}"
        arrays = Cost(*alone(_seconds, direct_arrays, sizes))
        pyomo = Cost(*alone(_seconds, _build_pyomo, sizes))
        _add(building, label, "arrays", variables, arrays, arrays)
        _add(building, label, "Pyomo", variables, pyomo, arrays)
        for name, info in available_solvers().items() if solvers else ():
            if info.availability.usable and _form(instance, name) is not None:
                cost = Cost(*alone(_seconds, _reach, sizes, name))
                reaching.add_row(label, name, f"{cost.seconds:.1f}", f"{cost.memory:.2f}")
    console = Console()
    console.print(building)
    if solvers:
        console.print(reaching)


def direct_arrays(instance: Instance) -> CompiledModel:
    """Build the linear compact form without a modelling language, row by row as Pyomo would."""
    n, c = instance.n_features, instance.n_classes
    pairs, redundancies = instance.redundant_pairs()
    m, linked = len(pairs), n * c
    n_variables = n + linked + m
    w = n + np.arange(linked)
    y = n + linked + np.arange(m)
    charge = 1 + np.arange(m)
    link = 1 + m + np.arange(linked)
    per_class = 1 + m + linked + np.repeat(np.arange(c), n)
    rows = np.concatenate([np.zeros(n, np.int64), charge, charge, charge, link, link, per_class])
    columns = np.concatenate(
        [np.arange(n), y, pairs[:, 0], pairs[:, 1], w, np.tile(np.arange(n), c), w]
    )
    values = np.concatenate(
        [np.ones(n), -np.ones(m), np.ones(2 * m + linked), -np.ones(linked), np.ones(linked)]
    )
    matrix = sparse.csr_array((values, (rows, columns)), shape=(1 + m + linked + c, n_variables))
    count, classes = np.array([instance.n_select]), np.full(c, float(instance.n_per_class))
    lower = np.concatenate([count, np.full(m + linked, -np.inf), classes])
    upper = np.concatenate([count, np.ones(m), np.zeros(linked), classes])
    low, high = np.zeros(n_variables), np.ones(n_variables)
    low[list(instance.included)] = 1.0
    high[list(instance.excluded)] = 0.0
    kinds = np.full(n_variables, Kind.INTEGER, dtype=np.int8)
    kinds[n + linked :] = Kind.IMPLIED
    return CompiledModel(
        c=np.concatenate([instance.b, instance.A.ravel(), -redundancies]),
        constant=0.0,
        rows=Rows(matrix, lower, upper),
        lower=low,
        upper=high,
        kinds=kinds,
        blocks={"s": Block(0, (n,)), "w": Block(n, (c, n)), "y": Block(n + linked, (m,))},
    )


def _instance(n_features: int, n_classes: int, seed: int) -> Instance:
    """Make an instance in which every fifth pair is redundant, as in real ones."""
    raw = generate(n_features, n_classes, 50, 5, seed=seed, epsilon=None)
    threshold = np.quantile(raw.R[np.triu_indices(n_features, 1)], 0.8)
    R = np.where(threshold <= raw.R, raw.R, 0.0)
    return Instance(raw.A, R, raw.b, 50, 5)


def _build_pyomo(instance: Instance) -> CompiledModel:
    return compile_compact(instance, quadratic=False)


def _form(instance: Instance, name: str) -> bool | None:
    """Return whether redundancy stays quadratic for a solver, or None where neither form fits."""
    for quadratic, size in zip((True, False), compact_sizes(instance), strict=True):
        if can_take(find_solver(name), size) and within_limits(find_solver(name), size):
            return quadratic
    return None


def _reach(instance: Instance, name: str) -> None:
    model = compile_compact(instance, quadratic=bool(_form(instance, name)))
    find_solver(name).solve(model, SolverRequest(Limits(SOLVER_SECONDS)))


def _seconds(work: Callable[..., Any], sizes: tuple[int, int, int], *more: Any) -> float:
    """Return how long something takes that starts from an instance."""
    instance = _instance(*sizes)
    began = time.perf_counter()
    work(instance, *more)
    return time.perf_counter() - began


def _add(table: Table, label: str, route: str, variables: str, cost: Cost, first: Cost) -> None:
    table.add_row(
        label,
        route,
        variables,
        f"{cost.seconds:.2f}",
        f"{cost.memory:.2f}",
        f"{cost.seconds / first.seconds:.1f}",
        f"{cost.memory / first.memory:.1f}",
    )
