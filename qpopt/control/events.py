"""Event: what is told of anything that takes a while."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import NamedTuple

from qpopt.problem.solution import TracePoint


class Phase(str, Enum):
    """What is going on."""

    COMPILE = "compile"
    START = "start"
    SEARCH = "search"
    ENUMERATION = "enumeration"
    LINEAR = "linear"
    BUILD = "build"
    MIP = "mip"
    ROOT = "root"
    BRANCH = "branch"
    VERIFY = "verify"
    COLLECT = "collect"
    SOLVE = "solve"
    TRAIN = "train"
    EVALUATE = "evaluate"

    def __str__(self) -> str:
        return self.value


class Event(NamedTuple):
    """One moment of a run.

    Parameters
    ----------
    phase
        What is going on, for code.
    point
        Seconds, objective and bound as they are known now.
    note
        What is going on, for people; it may say anything and is never read back.
    """

    phase: Phase
    point: TracePoint
    note: str = ""


OnEvent = Callable[[Event], None]
"""Told of every better objective or bound, and of every phase."""
