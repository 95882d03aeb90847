"""The progress of a benchmark on the terminal, with the time that is expected to remain."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from benchmarks.runs.local import expected_seconds
from benchmarks.runs.rows import Row
from benchmarks.runs.specs import RunSpec


class RunProgress:
    """A bar that advances run by run.

    Parameters
    ----------
    specs
        The runs to come.
    jobs
        How many are carried out at a time.
    shown
        Whether to show anything; nothing is shown without a terminal either way.
    """

    def __init__(self, specs: Sequence[RunSpec], jobs: int, *, shown: bool) -> None:
        self._pending = {spec.key: spec for spec in specs}
        self._finished: list[tuple[RunSpec, float]] = []
        self._jobs = jobs
        console = Console(stderr=True)
        self._bar = Progress(
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.fields[left]}"),
            TextColumn("{task.description}"),
            console=console,
            disable=not shown or not console.is_terminal,
        )
        self._task = self._bar.add_task("", total=len(specs), left="")

    def __enter__(self) -> RunProgress:
        self._bar.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._bar.stop()

    def finished(self, spec: RunSpec, row: Row) -> None:
        """Advance by one run."""
        self._pending.pop(spec.key, None)
        self._finished.append((spec, row.wall_seconds))
        seconds = expected_seconds(list(self._pending.values()), self._finished, self._jobs)
        left = timedelta(seconds=round(seconds))
        note = f"{spec.instance}, {spec.config}: {row.status}"
        self._bar.update(self._task, advance=1, description=note, left=f"about {left} left")
