"""What a method is told: the limits, the start, and whom to tell of its progress."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from qpopt.errors import InvalidArgument
from qpopt.io.archive import check_writable
from qpopt.problem import arguments as _arguments
from qpopt.problem.solution import TracePoint

FORMS = ("auto", "quadratic", "linear")
"""What the option `objective` may be."""

Report = Callable[[TracePoint, str], None]
"""Told of every better objective or bound, and in a few words of what is going on."""


def _writable(label: str, value: Any) -> None:
    check_writable(_arguments.path(label, value))


_SECONDS = partial(_arguments.number, least=0.0)
_COUNT = partial(_arguments.whole_number, least=0)

OPTIONS: Mapping[str, Callable[[str, Any], object]] = {
    "callbacks": _arguments.yes_or_no,
    "certificate": _writable,
    "checkpoint": _writable,
    "enumerate": _arguments.yes_or_no,
    "hand_over": _arguments.yes_or_no,
    "max_rounds": partial(_arguments.whole_number, least=1),
    "objective": partial(_arguments.one_of, known=FORMS),
    "round_time_limit": _SECONDS,
    "search_seconds": _SECONDS,
    "search_steps": _COUNT,
    "step_limit": _COUNT,
    "target": _arguments.number,
}
"""Every option of every method, and the check of its value."""


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
        """Return an option of the method; None, like no option at all, stands for its default."""
        value = self.options.get(name)
        return default if value is None else value

    def check_options(self, *known: str) -> None:
        """Raise if the method does not know an option or cannot use its value.

        Raises
        ------
        InvalidArgument
            Naming the unknown option and the known ones, or the option, its value and what is
            expected.
        InvalidFile
            If an option names a file that cannot be written.
        """
        for name, value in self.options.items():
            if name not in known:
                raise InvalidArgument(
                    f"There is no option {name!r} for this method; known are "
                    f"{', '.join(known) or 'none'}."
                )
            if value is not None:
                OPTIONS[name](name, value)
