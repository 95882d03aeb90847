"""Telling how things stand where there is no terminal: lines of the package logger."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from time import perf_counter
from typing import Any, ParamSpec, TypeVar

from qpopt.control import Event, OnEvent, Phase
from qpopt.control.progress import live_line, on_terminal
from qpopt_torch.data import distributed as ranks

logger = logging.getLogger("qpopt")

BETWEEN = 10.0
"""Seconds between two lines of a solve."""
EPOCHS_BETWEEN = 1.0
"""Seconds between two lines of epochs, which may be short."""

P = ParamSpec("P")
T = TypeVar("T")


def spoken(function: Callable[P, T]) -> Callable[P, T]:
    """Let the lines of a function be seen, unless its `progress` is something else than True."""

    @wraps(function)
    def speaking(*args: P.args, **keywords: P.kwargs) -> T:
        with lines(keywords.get("progress", True) is True):
            return function(*args, **keywords)

    return speaking


@contextmanager
def lines(shown: bool = True) -> Iterator[None]:
    """Show what the package logger says at INFO, where there is no terminal.

    Whoever has set a level for the logger, or handlers, gets them as they are: a handler is there
    only where nobody else would show the lines, and only for the block.
    """
    if not shown or logger.level != logging.NOTSET or on_terminal() or not ranks.is_first():
        yield
        return
    own = None if _handled() else logging.StreamHandler()
    if own is not None:
        own.setFormatter(logging.Formatter("%(message)s"))
        logger.addHandler(own)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.setLevel(logging.NOTSET)
        if own is not None:
            logger.removeHandler(own)


def _handled() -> bool:
    """Whether somebody shows what the logger says at INFO."""
    at: logging.Logger | None = logger
    while at is not None:
        if any(handler.level <= logging.INFO for handler in at.handlers):
            return True
        at = at.parent if at.propagate else None
    return False


class SolveLines:
    """Writes a line on a solve now and then, in place of the live line of a terminal."""

    def __init__(self) -> None:
        self._last = 0.0

    def __call__(self, event: Event) -> None:
        """Write how things stand, unless a line was written just now."""
        seconds = event.point.seconds
        if event.phase is Phase.COMPILE:
            logger.info("solving: %s", event.note)
        if seconds - self._last >= BETWEEN:
            self._last = seconds
            logger.info("solving: %s", live_line(event, seconds).strip())


def solve_progress(progress: bool | OnEvent) -> bool | OnEvent:
    """Return what a solve tells: lines where there is no terminal for a live one."""
    return SolveLines() if progress is True and not on_terminal() else progress


class EpochLines:
    """Writes a line for every epoch: its figures, and how long the rest takes.

    Parameters
    ----------
    epochs
        How many there are.
    """

    def __init__(self, epochs: int) -> None:
        self.epochs = epochs
        self._began = self._last = perf_counter()
        self._first: int | None = None

    def __call__(self, record: dict[str, float]) -> None:
        """Write the line of an epoch; where they are short, only of some and of the last."""
        now, done = perf_counter(), int(record["epoch"])
        if self._first is None:
            self._first = done - 1
        if now - self._last < EPOCHS_BETWEEN and done < self.epochs:
            return
        self._last = now
        parts = [f"loss {record['loss']:.3f}", f"accuracy {100 * record['accuracy']:.1f} %"]
        if (validated := record.get("val_accuracy")) is not None:
            parts.append(f"validation {100 * validated:.1f} %")
        if done < self.epochs:
            left = (now - self._began) / (done - self._first) * (self.epochs - done)
            parts.append(f"about {left:.0f} s left")
        logger.info("epoch %d of %d: %s", done, self.epochs, ", ".join(parts))


class Stage:
    """The time that a stage takes."""

    def __init__(self) -> None:
        self._began = perf_counter()

    def done(self, what: str, *figures: Any) -> None:
        """Write what a stage gave, and begin the next."""
        now = perf_counter()
        logger.info(f"{what}, %.1f s", *figures, now - self._began)
        self._began = now
