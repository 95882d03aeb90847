"""Optimal selection and assignment of a few readable features for any trained classifier.

An `Instance` states the problem, `prepare` makes one from raw correlations, `generate` makes
synthetic ones, `solve` gives a `Solution`, `verify` checks it independently, and `bound` proves
how good it is.
"""

from qpopt._version import __version__
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
from qpopt.methods.solve import available_solvers, solve
from qpopt.preprocessing import prepare, redundancy
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
    "generate",
    "prepare",
    "redundancy",
    "solve",
    "verify",
]
