"""The solvers, one file each, driven through the arrays of a compiled model."""

from qpopt.solvers.base import (
    Availability,
    Limits,
    Solver,
    SolverResult,
    Supports,
)
from qpopt.solvers.registry import available_solvers, find_solver, solver_names

__all__ = [
    "Availability",
    "Limits",
    "Solver",
    "SolverResult",
    "Supports",
    "available_solvers",
    "find_solver",
    "solver_names",
]
