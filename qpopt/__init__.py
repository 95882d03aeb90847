"""Optimal selection and assignment of a few readable features for any trained classifier.

An `Instance` states the problem, `prepare` makes one from raw correlations, `generate` makes
synthetic ones, `solve` gives a `Solution`, `verify` checks it independently, and `bound` proves
how good it is.
"""

from qpopt._version import __version__
from qpopt.bounds import Bound, Certificate, bound
from qpopt.certificate import check_certificate
from qpopt.certify import certify
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
from qpopt.generate import generate
from qpopt.instance import Instance
from qpopt.objective import Objective
from qpopt.prepare import prepare, redundancy
from qpopt.solution import Solution, Status, TracePoint
from qpopt.solve import available_solvers, solve
from qpopt.verify import Verification, Violation, verify

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
    "generate",
    "prepare",
    "redundancy",
    "solve",
    "verify",
]
