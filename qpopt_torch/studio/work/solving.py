"""The process that solves: an answer at once, then a proof while there is time."""

from __future__ import annotations

import sys
from typing import Any

from qpopt import Instance, QpoptError, Solution, generate, solve
from qpopt.control import Event
from qpopt_torch.studio.demands import Demand, Wishes, class_sets, conflict, impossible
from qpopt_torch.studio.work.processes import OnMessage, serve

FIRST_SECONDS = 0.2
"""How long the first search takes: at 2,048 features it finds the best known before it ends."""


def main() -> None:
    """Load the instance, compile what is needed, and solve what is asked."""
    base = Instance.load(sys.argv[1])
    small = generate(12, 4, 4, 2, seed=0)
    for first in (small, small.with_demands(pairs=[(0, 1)])):
        solve(first, method="search", time_limit=1.0)
    serve(lambda job, tell: _answer(base, job, tell))


def _answer(base: Instance, job: dict[str, Any], tell: OnMessage) -> None:
    demands = [Demand.checked(one, base.n_features, base.n_classes) for one in job["demands"]]
    try:
        instance = Wishes.of(base, demands).instance(base)
        found = solve(instance, method="search", time_limit=FIRST_SECONDS, seed=job["seed"])
        if found.selection is None:
            _refuse(base, demands, f"No solution was found ({found.status}).", tell)
            return
        tell(_described(found))
        if job["prove_seconds"] > 0:
            tell(_described(_proved(instance, found, job, tell), ended=True))
        else:
            tell({"kind": "ended", "ended": str(found.status)})
    except QpoptError as error:
        _refuse(base, demands, str(error), tell)


def _proved(instance: Instance, start: Solution, job: dict[str, Any], tell: OnMessage) -> Solution:
    """Go on from a solution, and tell of every better bound."""

    def follow(event: Event) -> None:
        if event.point.bound is not None:
            tell({"kind": "bound", "bound": event.point.bound, "seconds": event.point.seconds})

    limits = {"time_limit": job["prove_seconds"], "gap": job["gap"], "seed": job["seed"]}
    return solve(instance, start=start, progress=follow, **limits)


def _described(solution: Solution, *, ended: bool = False) -> dict[str, Any]:
    assert solution.selection is not None
    return {
        "kind": "solution",
        "selection": solution.selection.tolist(),
        "sets": class_sets(solution.selection.tolist(), solution.assignment),
        "objective": solution.objective,
        "bound": solution.bound,
        "ended": str(solution.status) if ended else "",
    }


def _refuse(base: Instance, demands: list[Demand], message: str, tell: OnMessage) -> None:
    """Tell why there is no answer, and which demands exclude one another."""
    blamed: list[int] = []
    if impossible(base, demands):
        blamed = conflict(demands, lambda some: bool(impossible(base, list(some))))
    tell({"kind": "failed", "message": message, "blamed": blamed})


if __name__ == "__main__":
    main()
