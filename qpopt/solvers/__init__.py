"""The solvers, one file each, driven through the arrays of a compiled model."""

from qpopt.solvers.base import (
    Availability,
    Limits,
    Solver,
    SolverInfo,
    SolverResult,
    SolverSettings,
    Supports,
)
from qpopt.solvers.registry import find_solver, solver_names

__all__ = [
    "Availability",
    "Limits",
    "Solver",
    "SolverInfo",
    "SolverResult",
    "SolverSettings",
    "Supports",
    "find_solver",
    "solver_names",
]
