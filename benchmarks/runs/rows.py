"""The results of runs as rows of one CSV file, appended as they come.

A row is written in one piece and forced to disk. A line that was cut short, because the machine
went down in that moment, is dropped when the file is opened next. A run that was repeated has
several rows; the last one counts.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, get_type_hints

from filelock import FileLock, Timeout

from benchmarks.errors import BenchmarkError
from benchmarks.runs.specs import configuration


@dataclass(frozen=True)
class Row:
    """One run.

    `claimed_status` and `claimed_objective` are what the run said of itself; `status`, `verified`,
    `objective` and `gap` are what the parent made of it. Empty cells are None. A `bound` is the
    run's own word, which can only be refuted; `bound_verified` is what the parent has recomputed
    from a certificate.
    """

    key: str
    instance: str
    fingerprint: str
    size: str
    method: str
    solver: str
    warm: bool
    certified: bool
    versions: str
    seed: int
    threads: int
    time_limit: float
    gap_limit: float
    memory_limit: float
    status: str
    claimed_status: str
    claimed_objective: float | None
    verified: bool | None
    objective: float | None
    bound: float | None
    bound_verified: float | None
    gap: float | None
    best_known: float | None
    gap_to_best: float | None
    load_seconds: float | None
    build_seconds: float | None
    solve_seconds: float | None
    wall_seconds: float
    peak_memory: float
    primal_integral: float
    message: str
    host: str
    processor: str
    system: str
    qpopt_version: str
    commit: str
    finished: str

    @property
    def config(self) -> str:
        """What is compared: method, solver, whether it starts warm, and leaves a certificate."""
        return configuration(self.method, self.solver, warm=self.warm, certified=self.certified)


COLUMNS = [field.name for field in fields(Row)]
TYPES = get_type_hints(Row)


class RowFile:
    """The CSV file of a results folder.

    Parameters
    ----------
    path
        The file; it is made when the first row comes.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Hold the file for one writer, and mend a last line that was cut short.

        Raises
        ------
        BenchmarkError
            If another process is writing to it.
        """
        self.path.parent.mkdir(parents=True, exist_ok=True)
        try:
            lock = FileLock(self.path.with_suffix(".lock")).acquire(blocking=False)
        except Timeout:
            raise BenchmarkError(
                f"Another process is writing to {self.path}; wait for it or use another folder."
            ) from None
        with lock:
            mend(self.path)
            yield

    def append(self, row: Row) -> None:
        """Write one row to the end, in one piece."""
        new = not self.path.exists() or self.path.stat().st_size == 0
        text = (_line(COLUMNS) if new else "") + _line([_cell(v) for v in asdict(row).values()])
        append_text(self.path, text)

    def read(self) -> list[Row]:
        """Return all complete rows, the last one of every run, in the order of their writing.

        Raises
        ------
        BenchmarkError
            If the file has other columns than those of this version, or a bad cell.
        """
        text = complete_text(self.path)
        reader = csv.DictReader(io.StringIO(text))
        if text and reader.fieldnames != COLUMNS:
            raise BenchmarkError(
                f"{self.path} has other columns than this version of the benchmarks writes; use "
                "another folder."
            )
        latest: dict[str, Row] = {}
        for record in reader:
            row = self._row(record)
            latest.pop(row.key, None)
            latest[row.key] = row
        return list(latest.values())

    def _row(self, record: dict[str, str]) -> Row:
        try:
            return Row(**{name: _value(TYPES[name], record[name]) for name in COLUMNS})
        except (KeyError, TypeError, ValueError) as error:
            raise BenchmarkError(
                f"{self.path} has a bad row for {record.get('key')!r}: {error}."
            ) from None


def append_text(path: Path, text: str) -> None:
    """Write whole lines to the end of a file, in one piece, and force them to disk."""
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        content = text.encode()
        while content:
            content = content[os.write(descriptor, content) :]
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def complete_text(path: Path) -> str:
    """Return the lines of a file without one that was cut short; nothing if there is no file."""
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    return text[: text.rfind("\n") + 1]


def mend(path: Path) -> None:
    """Drop a last line that was cut short."""
    if path.exists():
        content = path.read_bytes()
        complete = content.rfind(b"\n") + 1
        if complete < len(content):
            os.truncate(path, complete)


def _line(cells: list[str]) -> str:
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerow(cells)
    return stream.getvalue()


def _cell(value: Any) -> str:
    """Write a value so that `_value` reads the same one; a row stays on one line."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return repr(value)
    return " ".join(str(value).split())


def _value(kind: Any, cell: str) -> Any:
    if kind is str:
        return cell
    if cell == "" and kind in (float | None, bool | None):
        return None
    if kind in (bool, bool | None):
        return {"yes": True, "no": False}[cell]
    return int(cell) if kind is int else float(cell)
