"""What a run is: an instance, a method, a solver, a seed, and the limits."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from itertools import product

import numpy as np

from benchmarks.errors import BenchmarkError
from benchmarks.library.entries import Entry
from qpopt import Instance, available_solvers
from qpopt.methods import find_method, method_names
from qpopt.solvers import find_solver
from qpopt.solvers.choice import can_take

NO_SOLVER = "none"
"""Stands for the solver where a method needs none."""

SEARCH_STEPS = "search_steps"
"""The option of methods that begin with a search: 0 leaves their solver on its own."""

CERTIFICATE = "certificate"
"""The option of methods that can save a proof of their bound: the path to save it to."""


@dataclass(frozen=True)
class RunSpec:
    """One run, completely described: everything that could change its outcome.

    Parameters
    ----------
    instance, fingerprint
        The instance by name, and what it must turn out to be.
    method, solver
        What solves it.
    warm
        Whether a method that can do so starts from the solution of a search; otherwise its solver
        is on its own.
    seed, threads
        Handed to `qpopt.solve`.
    time_limit
        Seconds that the run is told to take at most.
    gap
        The gap at which the run may stop.
    memory_limit
        Megabytes of the process and its children, above which the run is ended.
    certified
        Whether a method that can do so leaves a certificate of its bound, to be checked.
    """

    instance: str
    fingerprint: str
    method: str
    solver: str
    warm: bool
    seed: int
    threads: int
    time_limit: float
    gap: float
    memory_limit: float
    certified: bool = False

    @property
    def key(self) -> str:
        """A name for the run, the same whenever the run is the same."""
        content = json.dumps(asdict(self), sort_keys=True)
        digest = hashlib.sha256(content.encode()).hexdigest()[:12]
        return f"{self.instance}-{self.method}-{self.solver}-s{self.seed}-{digest}"

    @property
    def options(self) -> dict[str, int]:
        """Options of the method: none, or those of a cold start."""
        return {} if self.warm or not starts_warm(self.method) else {SEARCH_STEPS: 0}

    @property
    def config(self) -> str:
        """What is compared: method, solver, whether it starts warm, and leaves a certificate."""
        return configuration(self.method, self.solver, warm=self.warm, certified=self.certified)


def configuration(method: str, solver: str, *, warm: bool, certified: bool) -> str:
    """Return how a method with a solver is called in tables and plots."""
    name = method if solver == NO_SOLVER else f"{method} + {solver}"
    return name + ", warm" * warm + ", certified" * certified


def starts_warm(method: str) -> bool:
    """Tell whether a method has the option to begin with a search."""
    return _has_option(method, SEARCH_STEPS)


def gives_certificates(method: str) -> bool:
    """Tell whether a method has the option to save a certificate."""
    return _has_option(method, CERTIFICATE)


def plan(
    entries: Sequence[Entry],
    configs: Sequence[tuple[str, str]],
    *,
    warm: bool,
    seeds: int,
    threads: int,
    time_limit: float,
    gap: float,
    memory_limit: float,
    certified: bool = False,
) -> list[RunSpec]:
    """Return the runs of a benchmark, all configurations of an instance together.

    Parameters
    ----------
    entries
        The instances.
    configs
        Pairs of method and solver.
    warm
        Whether methods that can do so start from the solution of a search.
    seeds
        How many seeds, counted from 0.
    threads, time_limit, gap, memory_limit
        The same for every run.
    certified
        Whether methods that can do so leave a certificate.
    """
    return [
        RunSpec(
            instance=entry.name,
            fingerprint=entry.fingerprint,
            method=method,
            solver=solver,
            warm=warm and starts_warm(method),
            seed=seed,
            threads=threads,
            time_limit=time_limit,
            gap=gap,
            memory_limit=memory_limit,
            certified=certified and gives_certificates(method),
        )
        for entry, seed, (method, solver) in product(entries, range(seeds), configs)
    ]


def configurations(methods: Iterable[str], solvers: Iterable[str]) -> list[tuple[str, str]]:
    """Return the pairs of method and solver that fit together.

    Parameters
    ----------
    methods
        Names of methods, or `all`.
    solvers
        Names of solvers, or `all` for those that can be used here.

    Raises
    ------
    BenchmarkError
        If a name is unknown, a solver cannot be used here, or nothing fits together.
    """
    known = available_solvers()
    usable = [name for name, info in known.items() if info.availability.usable]
    wanted_methods = _expand("method", methods, method_names(), method_names())
    wanted_solvers = _expand("solver", solvers, list(known), usable)
    for name in wanted_solvers:
        if name not in usable:
            problem = known[name].availability.problem or "it is not installed"
            raise BenchmarkError(f"The solver {name} cannot be used here: {problem}.")
    pairs: list[tuple[str, str]] = []
    for method in wanted_methods:
        if find_method(method).sizes is None:
            pairs.append((method, NO_SOLVER))
        else:
            pairs += [(method, name) for name in wanted_solvers if _fits(method, name)]
    if not pairs:
        raise BenchmarkError("None of these methods can work with any of these solvers.")
    return pairs


def toy_instance() -> Instance:
    """Return the smallest instance in which classes, features and redundancy all occur."""
    R = np.zeros((5, 5))
    R[0, 1] = R[1, 0] = 1.0
    return Instance(np.eye(3, 5), R, np.zeros(5), 4, 2)


def _has_option(method: str, name: str) -> bool:
    return any(one.name == name for one in fields(find_method(method).options))


def _fits(method: str, solver: str) -> bool:
    """Whether a solver takes the kind of model of a method; its limits show only when it runs."""
    sizes = find_method(method).sizes
    toy = toy_instance()
    return sizes is None or any(can_take(find_solver(solver), size) for size in sizes(toy))


def _expand(noun: str, given: Iterable[str], known: list[str], everything: list[str]) -> list[str]:
    names: list[str] = []
    for name in given:
        if name != "all" and name not in known:
            raise BenchmarkError(
                f"There is no {noun} called {name!r}; known are all, {', '.join(known)}."
            )
        names += everything if name == "all" else [name]
    return list(dict.fromkeys(names))
