"""The exceptions that qpopt_torch raises; they derive from qpopt.QpoptError like all others."""

from collections.abc import Callable, Iterable, Mapping
from inspect import signature
from os import PathLike
from pathlib import Path
from pickle import UnpicklingError
from struct import error as StructError
from typing import Any

from qpopt import InvalidArgument, QpoptError

UNREADABLE = (
    *(OSError, EOFError, RuntimeError, ValueError, TypeError),
    *(LookupError, AttributeError, UnpicklingError, StructError),
)
"""What torch.load raises on a file that torch.save did not write, depending on its bytes."""
SHOWN = 60
"""Characters of a wrong value that an error shows."""


def reason(error: BaseException) -> str:
    """Return in a few words why a file cannot be read, without the advice of torch."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    if isinstance(error, UnpicklingError):
        return "it is not what torch.save writes, or holds more than tensors"
    first = str(error).partition("\n")[0].partition(". ")[0].rstrip(".")
    return first or type(error).__name__


def shown(value: Any) -> str:
    """Return a value as an error shows it: as it is where that is short, else by its type."""
    text = repr(value)
    return text if len(text) <= SHOWN and "\n" not in text else f"a {type(value).__name__}"


class ModelError(QpoptError, ValueError):
    """The model cannot be used: no head matches, its output is strange, or it does not fit."""


class LoaderError(QpoptError, ValueError):
    """The batches cannot be used: of the wrong form, or with labels out of range."""


class EmptyLoader(LoaderError):
    """There is no batch."""


class TrainingError(QpoptError, ValueError):
    """A setting of a training, or a checkpoint to resume from, is wrong."""


class RankLost(QpoptError, RuntimeError):
    """Another process of the group has ended."""


def require_sparse(model: Any, name: str) -> None:
    """Raise ModelError unless what a function of this name was given is a sparse classifier."""
    if not hasattr(model, "sparse_head"):
        raise ModelError(f"{name} takes a SparseClassifier, not {shown(model)}.")


def path_of(path: Any, what: str = "A file") -> Path:
    """Return the path of a file or a directory; nothing else is taken for one."""
    if not isinstance(path, str | PathLike):
        raise InvalidArgument(f"{what} is named by its path, not {shown(path)}.")
    return Path(path)


def check_keywords(
    name: str,
    given: Mapping[str, Any],
    *functions: Callable[..., Any],
    without: Iterable[str] = (),
    also: Iterable[str] = (),
) -> None:
    """Raise InvalidArgument unless all keys of an argument are keywords of one of the functions.

    Keywords in `without` are not meant: they are given in another way. Those in `also` are handed
    on by one of the functions, so its signature does not show them.
    """
    known = {
        key
        for function in functions
        for key, parameter in signature(function).parameters.items()
        if parameter.kind is parameter.KEYWORD_ONLY
    }
    known = known.union(also).difference(without)
    if unknown := [key for key in given if key not in known]:
        raise InvalidArgument(
            f"{name} has the unknown key {unknown[0]!r}; it may have {', '.join(sorted(known))}."
        )
