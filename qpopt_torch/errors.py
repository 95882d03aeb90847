"""The exceptions that qpopt_torch raises; they derive from qpopt.QpoptError like all others."""

from pickle import UnpicklingError
from struct import error as StructError

from qpopt import QpoptError

UNREADABLE = (
    OSError,
    EOFError,
    RuntimeError,
    ValueError,
    TypeError,
    LookupError,
    AttributeError,
    UnpicklingError,
    StructError,
)
"""What torch.load raises on a file that torch.save did not write, depending on its bytes."""


class ModelError(QpoptError, ValueError):
    """The model cannot be used: no head matches, its output is strange, or it does not fit."""


class LoaderError(QpoptError, ValueError):
    """The batches cannot be used: none, of the wrong form, or with labels out of range."""


class TrainingError(QpoptError, ValueError):
    """A setting of a training, or a checkpoint to resume from, is wrong."""
