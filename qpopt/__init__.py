"""Optimal selection and assignment of a few readable features for any trained classifier.

An `Instance` states the problem, `prepare` makes one from raw correlations, `generate` makes
synthetic ones, `verify` checks a `Solution` independently.
"""

from qpopt._version import __version__
from qpopt.errors import (
    InfeasibleInstance,
    InvalidFile,
    InvalidInstance,
    InvalidSolution,
    QpoptError,
)
from qpopt.generate import generate
from qpopt.instance import Instance
from qpopt.objective import Objective
from qpopt.prepare import prepare, redundancy
from qpopt.solution import Solution, Status, TracePoint
from qpopt.verify import Verification, verify

__all__ = [
    "InfeasibleInstance",
    "Instance",
    "InvalidFile",
    "InvalidInstance",
    "InvalidSolution",
    "Objective",
    "QpoptError",
    "Solution",
    "Status",
    "TracePoint",
    "Verification",
    "__version__",
    "generate",
    "prepare",
    "redundancy",
    "verify",
]
