"""The live line of a solve: time, objective, bound, gap, and what is going on."""

from __future__ import annotations

from time import perf_counter
from types import TracebackType

from rich.console import Console
from rich.live import Live
from rich.text import Text

from qpopt.problem.solution import TracePoint


class LiveLine:
    """A line on the terminal that follows a solve; it shows nothing where there is no terminal.

    Use it as a context manager and call it with every new trace point.

    Parameters
    ----------
    console
        Where to show the line; the error stream by default.
    """

    def __init__(self, console: Console | None = None) -> None:
        console = console or Console(stderr=True)
        self._began = perf_counter()
        self._point = TracePoint(0.0, None, None)
        self._note = ""
        self._live: Live | None = None
        if console.is_terminal:
            self._live = Live(
                self, console=console, refresh_per_second=4, transient=True, redirect_stdout=False
            )

    def __enter__(self) -> LiveLine:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def __call__(self, point: TracePoint, note: str = "") -> None:
        """Show what is known now."""
        self._point = point
        self._note = note

    def __rich__(self) -> Text:
        return Text(line(self._point, self._note, perf_counter() - self._began), no_wrap=True)


def line(point: TracePoint, note: str, seconds: float) -> str:
    """Write the line for one moment of a solve."""
    parts = [f"{seconds:7.1f} s"]
    if point.objective is not None:
        parts.append(f"objective {point.objective:.6g}")
    if point.bound is not None:
        parts.append(f"bound {point.bound:.6g}")
    if point.objective is not None and point.bound is not None:
        gap = (point.bound - point.objective) / max(abs(point.objective), 1e-10)
        parts.append(f"gap {100 * gap:.2f} %")
    if note:
        parts.append(note)
    return "  ".join(parts)
