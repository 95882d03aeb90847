"""The solvers, one file each, driven through the arrays of a compiled model."""

from qpopt.solvers.availability import Availability, LicenceLimits
from qpopt.solvers.base import Solver, SolverInfo, SolverRequest, SolverResult, Supports
from qpopt.solvers.registry import find_solver, solver_names, solver_version

__all__ = [
    "Availability",
    "LicenceLimits",
    "Solver",
    "SolverInfo",
    "SolverRequest",
    "SolverResult",
    "Supports",
    "find_solver",
    "solver_names",
    "solver_version",
]
