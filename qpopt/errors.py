"""The exceptions that qpopt raises; every one of them derives from QpoptError."""


class QpoptError(Exception):
    """Base class of all errors that qpopt raises on purpose."""


class InvalidInstance(QpoptError, ValueError):
    """The data of an instance, or an argument that describes one, is wrong."""


class InfeasibleInstance(InvalidInstance):
    """The data is well formed, but no solution can exist."""


class InvalidSolution(QpoptError, ValueError):
    """The parts of a solution do not fit together."""


class InvalidFile(QpoptError):
    """A file is missing, damaged, foreign, or written by a newer version."""


class InvalidArgument(QpoptError, ValueError):
    """An argument of a solve is unknown or out of range."""


class InvalidStart(InvalidArgument):
    """A start solution is not feasible for the instance."""


class MissingSolver(QpoptError):
    """A solver is not installed, or no solver of that name is known."""


class SolverLimit(QpoptError):
    """A model is larger than a solver's licence allows."""


class UnsupportedModel(QpoptError):
    """A solver cannot take this kind of model."""


class SolverFailure(QpoptError):
    """A solver broke down or gave an answer that cannot be right."""


class InvalidCertificate(QpoptError, ValueError):
    """A certificate does not prove what it says."""
