"""What a method is told: the limits, the start, and whom to tell of its progress."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from qpopt.errors import InvalidArgument
from qpopt.solution import TracePoint

Report = Callable[[TracePoint, str], None]
"""Told of every better objective or bound, and in a few words of what is going on."""


class Start(NamedTuple):
    """A feasible solution to start from: sorted features, and classes × selected features."""

    selection: NDArray[np.int64]
    assignment: NDArray[np.bool_]


@dataclass(frozen=True)
class Settings:
    """How a method is to proceed.

    Parameters
    ----------
    time_limit
        Seconds for everything together; None for no limit.
    gap
        Stop when (bound − objective) / |objective| is at most this.
    seed
        Seed of everything random.
    threads
        How many threads to use; None leaves it to the solver.
    start
        A feasible solution to start from.
    report
        Told of the progress.
    options
        What only this method understands.
    """

    time_limit: float | None = None
    gap: float = 1e-4
    seed: int = 0
    threads: int | None = None
    start: Start | None = None
    report: Report | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    def option(self, name: str, default: Any) -> Any:
        """Return an option of the method, or its default."""
        return self.options.get(name, default)

    def check_options(self, *known: str) -> None:
        """Raise if there is an option that the method does not know.

        Raises
        ------
        InvalidArgument
            Naming the unknown option and the known ones.
        """
        for name in self.options:
            if name not in known:
                raise InvalidArgument(
                    f"There is no option {name!r} for this method; known are "
                    f"{', '.join(known) or 'none'}."
                )
