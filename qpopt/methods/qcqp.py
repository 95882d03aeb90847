"""The quadratic form as it stands, for solvers that take products in constraints."""

from __future__ import annotations

from dataclasses import dataclass

from qpopt.control.events import Phase
from qpopt.control.incumbent import Incumbent
from qpopt.methods.base import Method, Options
from qpopt.methods.initial_solution import search_first, search_steps
from qpopt.models.qcqp import QCQP_TAKES, compile_qcqp, qcqp_sizes
from qpopt.solvers.base import Solver
from qpopt.solvers.lazy_constraints import solve_lazily


@dataclass(frozen=True)
class QcqpOptions(Options):
    """Options of the method `qcqp`."""

    search_steps: int = search_steps()


def run_qcqp(incumbent: Incumbent, solver: Solver | None, options: QcqpOptions) -> None:
    """Solve the complete quadratic model in one go."""
    assert solver is not None
    search_first(incumbent, options.search_steps)
    incumbent.enter(Phase.BUILD, "building the model")
    solve_lazily(compile_qcqp(incumbent.instance), solver, incumbent)


METHOD = Method(
    "qcqp",
    "the quadratic form of the definition, in one piece: exact, for small instances",
    exact=True,
    run=run_qcqp,
    options=QcqpOptions,
    sizes=qcqp_sizes,
    demands=QCQP_TAKES,
)
