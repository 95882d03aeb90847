"""The quadratic form as it stands, for solvers that take products in constraints."""

from __future__ import annotations

from qpopt.control.incumbent import Incumbent
from qpopt.control.settings import Settings
from qpopt.methods.base import Method
from qpopt.methods.initial_solution import search_first
from qpopt.models.compiled import Size
from qpopt.models.qcqp import compile_qcqp, qcqp_size
from qpopt.problem.instance import Instance
from qpopt.problem.solution import Solution
from qpopt.solvers.base import Solver
from qpopt.solvers.choice import check
from qpopt.solvers.lazy_constraints import solve_lazily


def solve_qcqp(instance: Instance, solver: Solver | None, settings: Settings) -> Solution:
    """Solve the complete quadratic model in one go.

    Options
    -------
    search_steps
        Length of the search for a start; 0 for none.
    """
    assert solver is not None
    settings.check_options("search_steps")
    check(solver, qcqp_size(instance))
    incumbent = Incumbent(instance, settings, method="qcqp", solver=solver.name)

    def work() -> None:
        search_first(incumbent)
        incumbent.say("building the model")
        solve_lazily(compile_qcqp(instance), solver, incumbent)

    incumbent.run(work)
    return incumbent.solution()


def _sizes(instance: Instance) -> list[Size]:
    return [qcqp_size(instance)]


METHOD = Method(
    "qcqp",
    "the quadratic form of the definition, in one piece: exact, for small instances",
    exact=True,
    run=solve_qcqp,
    sizes=_sizes,
)
