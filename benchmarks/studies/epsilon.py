"""How small an ε the clique search finds, and how long it takes, against other ways."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Annotated, Any

import networkx as nx
import numpy as np
import typer
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from benchmarks.library.sources import DATA
from qpopt import generate, redundancy
from qpopt.preprocessing.epsilon import clique_threshold, greedy_threshold_clique

EXACT_NODES = 70
"""Enumerating all maximal cliques finishes in reasonable time up to about this size."""
NETWORKX_NODES = 300

Matrix = NDArray[np.float64]


def main(
    seed: Annotated[int, typer.Option(help="Seed of the search and of the graphs.")] = 0,
) -> None:
    """Compare the ε of the clique search with greedy, networkx and exact ones."""
    table = Table("graph", "size", "method", "ε", "seconds", "× time of search")
    for name, R, size in _graphs(seed):
        n = len(R)
        methods: dict[str, Callable[[Matrix, int], float]] = {
            "search": lambda R, size: clique_threshold(R, size, seed=seed).epsilon,
            "greedy": _greedy,
        }
        if n <= NETWORKX_NODES:
            methods["networkx approximation"] = _by_bisection(_approximate_clique_size)
        if n <= EXACT_NODES:
            methods["exact"] = _by_bisection(_exact_clique_size)
        clique_threshold(R, size, steps=1)  # compile outside the measurement
        first = None
        for label, method in methods.items():
            started = time.perf_counter()
            found = method(R, size)
            seconds = time.perf_counter() - started
            first = first or seconds
            table.add_row(
                name, str(size), label, f"{found:.6f}", f"{seconds:.2f}", f"{seconds / first:.2f}"
            )
        table.add_section()
    Console().print(table)


def _graphs(seed: int) -> Iterator[tuple[str, Matrix, int]]:
    with np.load(DATA / "cub-resnet50.npz") as data:
        R = redundancy(data["A"])
    for size in (20, 50, 100):
        yield "real, 2048 features", R, size
    wide = generate(4096, 200, 50, 5, seed=seed, epsilon=None)
    yield "attributes, 4096 features", wide.R, 50
    for n, size in ((300, 20), (70, 12)):
        yield f"attributes, {n} features", generate(n, 30, size, 5, seed=seed, epsilon=None).R, size


def _greedy(R: Matrix, size: int) -> float:
    everything = np.ones(len(R), dtype=bool)
    clique = greedy_threshold_clique(R, size, ~everything, everything)
    return float(R[np.ix_(clique, clique)].max())


def _by_bisection(clique_size: Callable[[Any], int]) -> Callable[[Matrix, int], float]:
    """Return a method that bisects over the values of R, asking for a clique at each."""

    def smallest(R: Matrix, size: int) -> float:
        values = np.unique(R)
        low, high = 0, len(values) - 1
        while low < high:
            middle = (low + high) // 2
            graph = nx.Graph(np.argwhere(np.triu(values[middle] >= R, 1)).tolist())
            if clique_size(graph) >= size:
                high = middle
            else:
                low = middle + 1
        return float(values[high])

    return smallest


def _approximate_clique_size(graph: Any) -> int:
    return len(nx.approximation.max_clique(graph))


def _exact_clique_size(graph: Any) -> int:
    return max((len(clique) for clique in nx.find_cliques(graph)), default=0)
