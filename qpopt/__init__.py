"""Optimal selection and assignment of a few readable features for any trained classifier.

An `Instance` states the problem, `prepare` makes one from raw correlations, `generate` makes
synthetic ones, `solve` gives a `Solution`, `verify` checks it independently, and `bound` proves
how good it is.
"""

from importlib import import_module

from qpopt._version import __version__

# A name is loaded at its first use. Type checkers, who cannot follow that, read `__init__.pyi`.
_MODULES = {
    "Average": "problem.constraints",
    "Bound": "proofs.bound",
    "Certificate": "proofs.certificate",
    "InfeasibleInstance": "errors",
    "Instance": "problem.instance",
    "InvalidArgument": "errors",
    "InvalidCertificate": "errors",
    "InvalidFile": "errors",
    "InvalidInstance": "errors",
    "InvalidSolution": "errors",
    "InvalidStart": "errors",
    "MissingSolver": "errors",
    "Objective": "problem.objective",
    "QpoptError": "errors",
    "Solution": "problem.solution",
    "SolverFailure": "errors",
    "SolverLimit": "errors",
    "Status": "problem.solution",
    "TracePoint": "problem.solution",
    "UnsupportedModel": "errors",
    "Verification": "verification.solution_check",
    "Violation": "verification.demand_check",
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

__all__ = ["__version__", *_MODULES]


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
