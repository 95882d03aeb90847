"""fuzz: small random instances of every kind and size, each solved in every way and by brute force.

The brute force shares nothing with qpopt. A disagreement is a wrong objective, a bound below the
optimum, a false `optimal` or `infeasible`, a solution that does not verify, or an error.
"""

from __future__ import annotations

import secrets
import time
from typing import Annotated, NamedTuple

import typer

from benchmarks.studies.fuzzing.comparing import (
    KINDS,
    PROOFS,
    ways,
    wrong_bound,
    wrong_proof,
    wrong_solve,
)
from benchmarks.studies.fuzzing.drawing import draw
from benchmarks.studies.fuzzing.exhaustive import optimum
from qpopt.cli.runner import CHECK_FAILED


class Tally(NamedTuple):
    """How much was compared, and what disagreed."""

    instances: int
    demanding: int
    solves: int
    bounds: int
    certificates: int
    disagreements: tuple[str, ...]

    def __str__(self) -> str:
        return (
            f"{self.instances} instances ({self.demanding} with demands), {self.solves} solves, "
            f"{self.bounds} bounds, {self.certificates} certificates of whole proofs, "
            f"{len(self.disagreements)} disagreements"
        )


def main(
    minutes: Annotated[float, typer.Option(min=0, help="How long to go on.")] = 5.0,
    seed: Annotated[int | None, typer.Option(min=0, help="A seed to repeat a run with.")] = None,
) -> None:
    """Compare every method and solver with brute force; the exit code is 1 on a disagreement."""
    began = secrets.randbits(32) if seed is None else seed
    typer.echo(f"seed {began}")
    tally = fuzz(began, 60 * minutes)
    typer.echo(str(tally))
    if tally.disagreements:
        raise typer.Exit(CHECK_FAILED)


def fuzz(seed: int, seconds: float, first: int = 0) -> Tally:
    """Compare at least one instance, then as many as fit into the time.

    Parameters
    ----------
    seed
        What the instances are drawn from.
    seconds
        The time.
    first
        The number of the first instance, to look at one again.
    """
    until = time.monotonic() + seconds
    tally = Tally(0, 0, 0, 0, 0, ())
    while not tally.instances or time.monotonic() < until:
        tally = _one_more(tally, seed, first + tally.instances)
    return tally


def _one_more(tally: Tally, seed: int, number: int) -> Tally:
    instance = draw(seed, number)
    best = optimum(instance)
    runs = ways(instance)
    # There is no certificate with demands.
    proofs = () if instance.demands or best is None else PROOFS
    wrong = [text for way in runs for text in wrong_solve(instance, best, way)]
    wrong += [text for kind in KINDS for text in wrong_bound(instance, best, kind)]
    if best is not None:
        wrong += [text for more in proofs for text in wrong_proof(instance, best, more)]
    for text in wrong:
        typer.echo(f"instance {number} of seed {seed}, {instance!r}: {text}")
    return Tally(
        tally.instances + 1,
        tally.demanding + bool(instance.demands),
        tally.solves + len(runs) + len(proofs),
        tally.bounds + len(KINDS),
        tally.certificates + len(proofs),
        (*tally.disagreements, *wrong),
    )
