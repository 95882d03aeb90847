"""fuzz: small random instances of every kind and size, each solved in every way and by brute force.

The brute force shares nothing with qpopt. A disagreement is a wrong objective, a bound below the
optimum, a false `optimal` or `infeasible`, a solution that does not verify, or an error. Every
second instance has demands, every fourth one alike classes that want the same few features.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator
from contextlib import suppress
from itertools import combinations
from math import comb, fsum
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, NamedTuple

import numpy as np
import typer
from scipy.optimize import linear_sum_assignment

from benchmarks.studies import demanded
from qpopt import (
    Certificate,
    InfeasibleInstance,
    Instance,
    QpoptError,
    available_solvers,
    bound,
    check_certificate,
    solve,
    verify,
)
from qpopt.cli.runner import CHECK_FAILED
from qpopt.methods.registry import find_method

CLAIMED = 1.1e-3
"""A solution that is called optimal is no further from the optimum than this, relative to it."""
LOST = 1e-5
"""Nor than this, relative to the largest terms."""

SCALES = (1.0, 1.0, 1e-300, 1e-30, 1e-12, 1e-9, 1e-7, 1e-6, 1e-3, 1e3, 1e9, 1e30, 1e80)
SHIFTS = (0.0, 0.0, 0.0, 1e3, 1e9, 1e12)
KINDS = ("best", "semidefinite", "cliques", "thresholds")
PROOFS: tuple[dict[str, Any], ...] = ({}, {"enumerate": False, "search_seconds": 0.0})
"""Options of `projected` with which the certificate is checked as well."""


class Tally(NamedTuple):
    """How much was compared, and what disagreed; of instances with demands some are refused."""

    instances: int = 0
    solves: int = 0
    bounds: int = 0
    disagreements: tuple[str, ...] = ()
    demanding: int = 0
    refused: int = 0

    def __add__(self, other: tuple[Any, ...]) -> Tally:
        return Tally(*(mine + yours for mine, yours in zip(self, other, strict=True)))


def main(
    minutes: Annotated[float, typer.Option(min=0, help="How long to go on.")] = 5.0,
    seed: Annotated[int | None, typer.Option(min=0, help="A seed to repeat a run with.")] = None,
) -> None:
    """Compare every method and solver with brute force; the exit code is 1 on a disagreement."""
    began = secrets.randbits(32) if seed is None else seed
    typer.echo(f"seed {began}")
    tally = fuzz(began, 60 * minutes)
    typer.echo(
        f"{tally.instances} instances, {tally.demanding} with demands, of which {tally.refused} "
        f"were refused, {tally.solves} solves, {tally.bounds} bounds, "
        f"{len(tally.disagreements)} disagreements"
    )
    if tally.disagreements:
        raise typer.Exit(CHECK_FAILED)


def fuzz(seed: int, seconds: float) -> Tally:
    """Compare at least two instances, one with demands, then as many as fit into the time.

    Ctrl-C ends it with what has been compared until then.
    """
    until = time.monotonic() + seconds
    tally = Tally()
    with suppress(KeyboardInterrupt):
        while tally.instances < 2 or time.monotonic() < until:
            number = tally.instances
            rng = np.random.default_rng([seed, number])
            if number % 2:
                part = _compared_with_demands(rng)
            else:
                part = _compared(_crowded(rng) if number % 4 else _instance(rng))
            for text in part.disagreements:
                typer.echo(f"instance {number} of seed {seed}, {text}")
            tally += part
    return tally


def _compared(instance: Instance) -> Tally:
    """Compare an instance without demands."""
    best = optimum(instance)
    runs = list(_runs())
    wrong = [text for run in runs for text in _wrong_solve(instance, best, *run)]
    wrong += [text for kind in KINDS for text in _wrong_bound(instance, best, kind)]
    wrong += [text for more in PROOFS for text in _wrong_proof(instance, best, more)]
    told = tuple(f"{instance!r}: {text}" for text in wrong)
    return Tally(1, len(runs) + len(PROOFS), len(KINDS), told)


def _compared_with_demands(rng: np.random.Generator) -> Tally:
    """Compare an instance with demands, by every method that takes them."""
    given = demanded.drawn(rng)
    best = demanded.optimum(given)
    try:
        instance = given.instance()
    except InfeasibleInstance as error:
        told: tuple[str, ...] = ()
        if best is not None:
            told = (f"optimum {best!r}: refused: {error}",)
        return Tally(1, 0, 0, told, 1, 1)
    optimum = -np.inf if best is None else best
    runs = [
        run for run in _runs() if find_method(run[0]).demands.issuperset(instance.demands.stated)
    ]
    wrong = [text for run in runs for text in _wrong_solve(instance, optimum, *run)]
    wrong += [text for kind in KINDS for text in _wrong_bound(instance, optimum, kind)]
    wrong += _wrong_proof(instance, optimum, {})
    told = tuple(f"{instance!r}: {text}" for text in wrong)
    return Tally(1, len(runs) + 1, len(KINDS), told, 1)


def optimum(instance: Instance) -> float:
    """Return the largest Z by trying every selection."""
    fixed = set(instance.included)
    free = [d for d in range(instance.n_features) if d not in {*fixed, *instance.excluded}]
    best = -np.inf
    for rest in combinations(free, instance.n_select - len(fixed)):
        selection = sorted([*fixed, *rest])
        sets = list(combinations(selection, instance.n_per_class))
        # Classes differ by what they have in common only, so that large constants cost no digits.
        A = instance.A - instance.A[:, selection].min(axis=1, keepdims=True)
        gains = np.array([[A[c, list(one)].sum() for one in sets] for c in range(len(A))])
        size = float(np.abs(gains).max()) or 1.0
        _, chosen = linear_sum_assignment(gains / size, maximize=True)
        terms = [instance.A[c, d] for c, j in enumerate(chosen) for d in sets[j]]
        terms += [-instance.R[d, e] for d, e in combinations(selection, 2)]
        best = max(best, fsum([*terms, *instance.b[selection]]))
    return float(best)


def _runs() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Return every method, with every solver that it can use, without and with help."""
    yield "projected", "auto", {}
    yield "projected", "auto", {"enumerate": False, "hand_over": False, "search_seconds": 0.0}
    yield "projected", "auto", {"enumerate": False, "search_seconds": 0.0}
    yield "search", "auto", {}
    for name, info in available_solvers().items():
        if info.availability.usable:
            yield "compact", name, {"search_steps": 0}
            yield "paper", name, {}
            if info.supports.quadratic_constraints:
                yield "qcqp", name, {"search_steps": 0}


def _instance(rng: np.random.Generator) -> Instance:
    while True:
        n, m, k = int(rng.integers(2, 10)), int(rng.integers(1, 6)), int(rng.integers(1, 4))
        if k <= m <= n:
            break
    classes = int(rng.integers(1, min(7, comb(m, k)) + 1))
    shape = (classes, n)
    A = (
        rng.uniform(-1, 1, shape),
        rng.uniform(0, 1, shape),
        rng.integers(0, 3, shape).astype(float),
        np.tile(rng.uniform(0, 1, n), (classes, 1)),
        rng.lognormal(0, 3, shape),
        np.zeros(shape),
    )[int(rng.integers(6))]
    R = np.triu(rng.uniform(0, 1, (n, n)) * (rng.random((n, n)) < rng.random()), 1)
    R *= float(rng.choice([0.0, 0.3, 1.0, 30.0]))
    b = rng.uniform(-1, 1, n) * float(rng.choice([0.0, 0.3, 3.0]))
    shift, scale = float(rng.choice(SHIFTS)), float(rng.choice(SCALES))
    A, b = A + shift, b - shift * k * classes / m
    order = rng.permutation(n).tolist()
    n_include = int(rng.integers(0, 2)) if m > 1 else 0
    n_exclude = int(rng.integers(0, 2)) if n > m else 0
    return Instance(
        A * scale, (R + R.T) * scale, b * scale, m, k,
        include=order[:n_include], exclude=order[n - n_exclude :], name=f"×{scale:g} +{shift:g}",
    )  # fmt: skip


def _crowded(rng: np.random.Generator) -> Instance:
    """Return an instance whose bounds need groups and families: see `qpopt.cuts.families`."""
    m, k = ((3, 1), (4, 2), (5, 2), (5, 3), (6, 2), (6, 3))[int(rng.integers(6))]
    n, classes = int(rng.integers(m + 2, 13)), int(rng.integers(3, min(8, comb(m, k)) + 1))
    own = float(rng.choice([0.01, 0.1, 0.5, 5.0]))
    A = rng.uniform(0, 1, n) + own * rng.uniform(0, 1, (classes, n))
    R = np.triu(rng.uniform(0, 1, (n, n)) * (rng.random((n, n)) < rng.random()), 1)
    R *= float(rng.choice([0.0, 0.0, 0.05, 0.3]))
    scale = float(rng.choice([1.0, 1e-30, 1e9]))
    return Instance(A * scale, (R + R.T) * scale, np.zeros(n), m, k, name=f"crowded ×{scale:g}")


def _wrong_solve(
    instance: Instance, best: float, method: str, solver: str, options: dict[str, Any]
) -> Iterator[str]:
    who = f"{method} with {solver} {options}"
    try:
        solution = solve(instance, method=method, solver=solver, options=options, threads=1)
    except QpoptError as error:
        yield f"{who}: {type(error).__name__}: {error}"
        return
    verification = verify(instance, solution)
    if not verification:
        yield f"{who}: {verification}"
    if best == -np.inf:
        proves = find_method(method).exact
        if solution.objective is not None or (proves and solution.status != "infeasible"):
            yield f"{who}: {solution.status}, but there is no solution"
        return
    if solution.status == "infeasible":
        yield f"{who}: infeasible, but the optimum is {best!r}"
        return
    objective = -np.inf if solution.objective is None else solution.objective
    rounding = _rounding(instance)
    if objective > best + rounding:
        yield f"{who}: objective {objective!r} above the optimum {best!r}"
    if solution.bound is not None and solution.bound < best - rounding:
        yield f"{who}: bound {solution.bound!r} below the optimum {best!r}"
    largest = rounding / np.finfo(float).eps
    if solution.status == "optimal" and best - objective > CLAIMED * abs(best) + LOST * largest:
        yield f"{who}: {objective!r} is called optimal, the optimum is {best!r}"


def _wrong_proof(instance: Instance, best: float, options: dict[str, Any]) -> Iterator[str]:
    who = f"certificate of {options}"
    with TemporaryDirectory() as folder:
        path = Path(folder) / "proof.npz"
        try:
            solution = solve(instance, options={**options, "certificate": path})
            if solution.status == "infeasible" and best == -np.inf:
                return
            verification = verify(instance, solution, certificate=Certificate.load(path))
        except QpoptError as error:
            yield f"{who}: {type(error).__name__}: {error}"
            return
    # What selections are worth under demands is not looked at by the check: that is a claim.
    if not (verification if instance.demands else verification.bound_proven):
        yield f"{who}: {verification}"
    if verification.shown is not None and verification.shown < best - _rounding(instance):
        yield f"{who}: {verification.shown!r} below the optimum {best!r}"


def _wrong_bound(instance: Instance, best: float, kind: str) -> Iterator[str]:
    try:
        found = bound(instance, kind=kind, time_limit=2.0)
        proven = found.value
        if found.certificate is not None:
            proven = min(proven, check_certificate(instance, found.certificate))
    except QpoptError as error:
        yield f"bound {kind}: {type(error).__name__}: {error}"
        return
    if proven < best - _rounding(instance):
        yield f"bound {kind}: {proven!r} below the optimum {best!r}"


def _rounding(instance: Instance) -> float:
    """Return the last digit of the largest terms that Z may have."""
    most = float(instance.budgets.most.max()) * max(1.0, instance.gamma)
    similarity = most * float(np.abs(instance.A).max(axis=1).sum())
    bias = instance.n_select * float(np.abs(instance.b).max())
    return float(np.finfo(float).eps) * (similarity + bias)
