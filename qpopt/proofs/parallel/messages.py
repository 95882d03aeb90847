"""What the processes of a parallel tree tell one another, and how it goes through a pipe."""

from __future__ import annotations

import pickle
import struct
from collections.abc import Callable
from typing import Any, BinaryIO, NamedTuple

from qpopt.problem.solution import Candidate
from qpopt.problem.subproblem import Part
from qpopt.relaxations.semidefinite import SemidefiniteRelaxation

LENGTH = struct.Struct("<Q")


class Task(NamedTuple):
    """A part to look at.

    Parameters
    ----------
    part
        The part.
    start
        The iterate that it goes on from; None where there is none.
    objective
        The Z of the best solution known.
    seconds
        How much time is left; None for no limit.
    most_selections
        Parts with fewer selections may be enumerated.
    """

    part: Part
    start: SemidefiniteRelaxation | None
    objective: float
    seconds: float | None
    most_selections: int


class Answer(NamedTuple):
    """What has come of a part.

    Parameters
    ----------
    left
        The parts that are left of it, each with its iterate.
    best
        A better solution, if one was found.
    most_selections
        As in the task, from now on.
    """

    left: list[tuple[Part, SemidefiniteRelaxation | None]]
    best: Candidate | None
    most_selections: int


def send(pipe: BinaryIO, message: Any) -> None:
    """Write one message."""
    data = pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)
    pipe.write(LENGTH.pack(len(data)))
    pipe.write(data)
    pipe.flush()


def receive(pipe: BinaryIO) -> Any:
    """Read one message, from a process of our own.

    Raises
    ------
    EOFError
        If the other side is gone.
    """
    (length,) = LENGTH.unpack(_exactly(pipe.read, LENGTH.size))
    return pickle.loads(_exactly(pipe.read, length))


def _exactly(read: Callable[[int], bytes], count: int) -> bytes:
    data = read(count)
    if len(data) < count:
        raise EOFError
    return data
