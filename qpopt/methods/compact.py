"""The compact form with uniqueness cuts: exact, for small and middling instances."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from qpopt.control.incumbent import Incumbent
from qpopt.control.settings import Settings
from qpopt.methods.base import Method
from qpopt.methods.initial_solution import search_first
from qpopt.models.compact import compact_size, compile_compact, duplicate_cuts
from qpopt.models.compiled import Rows, Size
from qpopt.problem.instance import Instance
from qpopt.problem.solution import Solution
from qpopt.solvers.base import Solver
from qpopt.solvers.forms import keep_quadratic
from qpopt.solvers.lazy_constraints import solve_lazily


def solve_compact(instance: Instance, solver: Solver | None, settings: Settings) -> Solution:
    """Solve the compact model, adding cuts where two classes have the same features.

    Options
    -------
    objective
        "quadratic" or "linear": whether redundancy stays a product; "auto" by default.
    callbacks
        False to add cuts only between solves, also where the solver could take them on the way.
    search_steps
        Length of the search for a start; 0 for none.
    """
    assert solver is not None
    settings.check_options("objective", "callbacks", "search_steps")
    linear, quadratic = (compact_size(instance, quadratic=form) for form in (False, True))
    keep = keep_quadratic(solver, quadratic, linear, settings)
    incumbent = Incumbent(instance, settings, method="compact", solver=solver.name)

    def work() -> None:
        search_first(incumbent)
        run_compact(incumbent, solver, quadratic=keep, callbacks=settings.option("callbacks", True))

    incumbent.run(work)
    return incumbent.solution()


def run_compact(
    incumbent: Incumbent, solver: Solver, *, quadratic: bool, callbacks: bool = True
) -> None:
    """Build the compact model of the incumbent's instance and solve it.

    Parameters
    ----------
    incumbent
        Gets solutions and bounds.
    solver
        A solver that can take the model.
    quadratic
        Whether redundancy stays a product.
    callbacks
        Whether cuts are added while the solver runs, where it can do that.
    """
    instance = incumbent.instance
    incumbent.say("building the model")
    model = compile_compact(instance, quadratic=quadratic)
    every_round_counts = not (callbacks and solver.supports.lazy_callback)

    def separate(x: NDArray[np.float64]) -> Rows | None:
        assignment = model.block("w", x) > 0.5
        return duplicate_cuts(
            assignment,
            instance.n_per_class,
            model.blocks["w"],
            model.n_variables,
            ahead=every_round_counts,
        )

    solve_lazily(model, solver, incumbent, separate, callbacks=callbacks)


def _sizes(instance: Instance) -> list[Size]:
    return [compact_size(instance, quadratic=form) for form in (True, False)]


METHOD = Method(
    "compact",
    "linear constraints, uniqueness by cuts: exact, for instances of some hundred features",
    exact=True,
    run=solve_compact,
    sizes=_sizes,
)
