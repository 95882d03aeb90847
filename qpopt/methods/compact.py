"""The compact form with uniqueness cuts: exact, for small and middling instances."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qpopt.control.events import Phase
from qpopt.control.incumbent import Incumbent
from qpopt.methods.base import Method, Options, option
from qpopt.methods.initial_solution import search_first, search_steps
from qpopt.models.compact import COMPACT_TAKES, compact_sizes, compile_compact
from qpopt.models.compiled import Rows
from qpopt.models.demands.lazy_rows import LazyRows
from qpopt.models.duplicate_cuts import duplicate_cuts
from qpopt.problem import validation
from qpopt.solvers.base import Solver
from qpopt.solvers.choice import FORMS, keep_quadratic
from qpopt.solvers.lazy_constraints import Separate, solve_lazily


def objective_form() -> Any:
    """Declare the option that says whether redundancy stays a product."""
    return option(
        "auto",
        lambda label, value: validation.one_of(label, value, FORMS),
        "Whether redundancy stays a product: quadratic, linear, or auto for what the solver takes.",
    )


@dataclass(frozen=True)
class CompactOptions(Options):
    """Options of the method `compact`."""

    objective: str = objective_form()
    callbacks: bool = option(
        True,
        validation.yes_or_no,
        "False to add cuts only between solves, also where the solver takes them on the way.",
    )
    search_steps: int = search_steps()


def run(incumbent: Incumbent, solver: Solver | None, options: CompactOptions) -> None:
    """Solve the compact model, adding cuts where two classes have the same features."""
    assert solver is not None
    quadratic = keep_quadratic(solver, compact_sizes(incumbent.instance), options.objective)
    search_first(incumbent, options.search_steps)
    run_compact(incumbent, solver, quadratic=quadratic, callbacks=options.callbacks)


def run_compact(
    incumbent: Incumbent, solver: Solver, *, quadratic: bool, callbacks: bool = True
) -> None:
    """Build the compact model of the incumbent's instance and solve it.

    `quadratic` keeps redundancy a product; with `callbacks` cuts are added while the solver runs,
    where it can do that.
    """
    instance = incumbent.instance
    separate: Separate
    incumbent.enter(Phase.BUILD, "building the model")
    model = compile_compact(instance, quadratic=quadratic)
    every_round_counts = not (callbacks and solver.supports.lazy_callback)

    def equal_classes(x: NDArray[np.float64]) -> Rows | None:
        k, where, n = instance.n_per_class, model.blocks["w"], model.n_variables
        return duplicate_cuts(model.block("w", x) > 0.5, k, where, n, ahead=every_round_counts)

    separate = equal_classes
    if instance.demands:
        separate = LazyRows(instance, model, ahead=every_round_counts)
    solve_lazily(model, solver, incumbent, separate, callbacks=callbacks)


METHOD = Method(
    "compact",
    "linear constraints, uniqueness by cuts: exact, for instances of some hundred features",
    exact=True,
    run=run,
    options=CompactOptions,
    sizes=compact_sizes,
    demands=COMPACT_TAKES,
)
