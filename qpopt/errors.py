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
