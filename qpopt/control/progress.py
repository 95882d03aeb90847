"""The live line of a solve, and the bar of a loop."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import ClassVar

from rich.console import Console
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.text import Text

from qpopt.control.events import Event, OnEvent, Phase
from qpopt.errors import InvalidArgument
from qpopt.problem.solution import TracePoint


def on_terminal() -> bool:
    """Whether there is a terminal, where live lines and bars are shown."""
    return Console(stderr=True).is_terminal


@contextmanager
def following(progress: bool | OnEvent) -> Iterator[OnEvent | None]:
    """Give whom to tell of a run: nobody, a live line, or a function that the caller has.

    Raises
    ------
    InvalidArgument
        If `progress` is neither a truth value nor a function.
    """
    if callable(progress):
        yield progress
    elif progress is True:
        with LiveLine() as line:
            yield line
    elif progress is False:
        yield None
    else:
        raise InvalidArgument(f"progress must be True, False or a function, not {progress!r}.")


class LiveLine:
    """A line on the terminal that follows a solve; it shows nothing where there is no terminal.

    Use it as a context manager and call it with every event.

    Parameters
    ----------
    console
        Where to show the line; the error stream by default.
    """

    def __init__(self, console: Console | None = None) -> None:
        console = console or Console(stderr=True)
        self._began = perf_counter()
        self._event = Event(Phase.START, TracePoint(0.0, None, None))
        self._live: Live | None = None
        if console.is_terminal:
            self._live = Live(
                self, console=console, refresh_per_second=4, transient=True, redirect_stdout=False
            )

    def __enter__(self) -> LiveLine:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(self, *ended: object) -> None:
        if self._live is not None:
            self._live.stop()

    def __call__(self, event: Event) -> None:
        """Show what is known now."""
        self._event = event
        self._began = perf_counter() - event.point.seconds

    def __rich__(self) -> Text:
        return Text(live_line(self._event, perf_counter() - self._began), no_wrap=True)


def live_line(event: Event, seconds: float) -> str:
    """Write the line for one moment of a solve."""
    point = event.point
    parts = [f"{seconds:7.1f} s"]
    if point.objective is not None:
        parts.append(f"objective {point.objective:.6g}")
    if point.bound is not None:
        parts.append(f"bound {point.bound:.6g}")
    if point.gap is not None:
        parts.append(f"gap {100 * point.gap:.2f} %")
    if event.note:
        parts.append(event.note)
    return "  ".join(parts)


class Bar:
    """A bar on the terminal that follows a loop; it shows nothing where there is no terminal.

    Use it as a context manager and call `advance` after every step. A terminal has room for one
    bar: one inside another shows nothing.

    Parameters
    ----------
    title
        What is going on.
    total
        Number of steps; None where it is not known.
    done
        Steps that were taken before.
    progress
        Whether to show anything at all.
    console
        Where to show the bar; the error stream by default.
    """

    _on_screen: ClassVar[bool] = False

    def __init__(
        self,
        title: str,
        total: int | None = None,
        *,
        done: int = 0,
        progress: bool = True,
        console: Console | None = None,
    ) -> None:
        self._live: Progress | None = None
        console = console or Console(stderr=True)
        if progress and console.is_terminal:
            self._live = Progress(
                TextColumn("{task.description}", markup=False),
                BarColumn(),
                MofNCompleteColumn(),
                TimeRemainingColumn(),
                TextColumn("{task.fields[note]}", markup=False),
                console=console,
                transient=True,
                redirect_stdout=False,
            )
            self._task = self._live.add_task(title, total=total, completed=done, note="")

    def __enter__(self) -> Bar:
        if Bar._on_screen:
            self._live = None
        if self._live is not None:
            Bar._on_screen = True
            self._live.start()
        return self

    def __exit__(self, *ended: object) -> None:
        if self._live is not None:
            Bar._on_screen = False
            self._live.stop()

    def advance(self, note: str = "") -> None:
        """Take one step, and say how things stand."""
        if self._live is not None:
            self._live.update(self._task, advance=1, note=note)
