"""Optimal selection and assignment of a few readable features for any trained classifier.

An `Instance` states the problem, `prepare` makes one from raw correlations, `generate` makes
synthetic ones, `solve` gives a `Solution`, `verify` checks it independently, and `bound` proves
how good it is.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from qpopt._version import __version__

if TYPE_CHECKING:
    from qpopt.errors import (
        InfeasibleInstance,
        InvalidArgument,
        InvalidCertificate,
        InvalidFile,
        InvalidInstance,
        InvalidSolution,
        InvalidStart,
        MissingSolver,
        QpoptError,
        SolverFailure,
        SolverLimit,
        UnsupportedModel,
    )
    from qpopt.methods.solve import available_solvers, check_solve, solve
    from qpopt.preprocessing.prepare import prepare
    from qpopt.preprocessing.redundancy import redundancy
    from qpopt.problem.instance import Instance
    from qpopt.problem.objective import Objective
    from qpopt.problem.solution import Solution, Status, TracePoint
    from qpopt.proofs.bound import Bound, bound
    from qpopt.proofs.certificate import Certificate
    from qpopt.proofs.certify import certify
    from qpopt.synthetic import generate
    from qpopt.verification.certificate_check import check_certificate
    from qpopt.verification.solution_check import Verification, Violation, verify

__all__ = [
    "Bound",
    "Certificate",
    "InfeasibleInstance",
    "Instance",
    "InvalidArgument",
    "InvalidCertificate",
    "InvalidFile",
    "InvalidInstance",
    "InvalidSolution",
    "InvalidStart",
    "MissingSolver",
    "Objective",
    "QpoptError",
    "Solution",
    "SolverFailure",
    "SolverLimit",
    "Status",
    "TracePoint",
    "UnsupportedModel",
    "Verification",
    "Violation",
    "__version__",
    "available_solvers",
    "bound",
    "certify",
    "check_certificate",
    "check_solve",
    "generate",
    "prepare",
    "redundancy",
    "solve",
    "verify",
]

_MODULES = {
    "Bound": "proofs.bound",
    "Certificate": "proofs.certificate",
    "Instance": "problem.instance",
    "Objective": "problem.objective",
    "Solution": "problem.solution",
    "Status": "problem.solution",
    "TracePoint": "problem.solution",
    "Verification": "verification.solution_check",
    "Violation": "verification.solution_check",
    "available_solvers": "methods.solve",
    "bound": "proofs.bound",
    "certify": "proofs.certify",
    "check_certificate": "verification.certificate_check",
    "check_solve": "methods.solve",
    "generate": "synthetic",
    "prepare": "preprocessing.prepare",
    "redundancy": "preprocessing.redundancy",
    "solve": "methods.solve",
    "verify": "verification.solution_check",
}
"""Where a name is loaded from, at its first use; errors are all in one module."""


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_MODULES.get(name, 'errors')}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
