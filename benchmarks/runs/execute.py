"""Executing a run: a fresh process, watched and measured from outside.

The process gets a session of its own and pinned threads. When it takes too long or too much memory
it is ended together with everything that it started. Whatever happens, there is an outcome.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import psutil

from benchmarks.library.library import ROOT
from benchmarks.runs.machine import machine
from benchmarks.runs.processes import end, memory
from benchmarks.runs.specs import RunSpec
from qpopt.control.processes import end_group, pinned

CHILD = (sys.executable, "-m", "benchmarks.runs.child")
POLL_SECONDS = 0.05
MEGABYTE = 1e6
LOG_CHARACTERS = 2000
PROOF = "proof.npz"
"""The file for a certificate."""
READY = "ready"
"""The file by which a process tells that its time begins."""
PREPARE_SECONDS = 600.0
"""How long a process may take until then; on a fresh checkout much is compiled once."""


@dataclass(frozen=True)
class Outcome:
    """What came of a run, as seen from outside, and what the process claimed.

    Parameters
    ----------
    ended
        `exit` when the process ended by itself with code 0, `crash` when with another, `timeout`
        or `memory` when it was ended for going beyond the limits, `stopped` when the user stopped.
    wall_seconds
        From the start of the process to its end.
    peak_memory
        Megabytes that the process and its children had resident at most.
    claims
        What the process wrote down; see `benchmarks.runs.child`.
    solution
        The text of its solution file; empty where there is none.
    certificate
        The content of its certificate file; empty where there is none.
    trace
        Points [seconds, objective, bound].
    log
        The end of what it printed.
    machine
        Host, processor and operating system.
    """

    ended: str
    wall_seconds: float
    peak_memory: float
    claims: dict[str, Any] = field(default_factory=dict)
    solution: str = ""
    certificate: bytes = b""
    trace: list[list[float | None]] = field(default_factory=list)
    log: str = ""
    machine: dict[str, str] = field(default_factory=dict)


def execute(
    spec: RunSpec,
    *,
    grace: float = 10.0,
    library: str = "",
    command: Sequence[str] = CHILD,
    stop: threading.Event | None = None,
) -> Outcome:
    """Carry out a run in a fresh process.

    Parameters
    ----------
    spec
        The run.
    grace
        Seconds beyond the time limit before the process is ended. Its time begins when it has
        loaded the instance and warmed up.
    library
        The folder of the library; that of the benchmarks by default.
    command
        The program that gets the folder of the run as its last argument.
    stop
        Ends the run when set.
    """
    with tempfile.TemporaryDirectory(prefix="qpopt-run-") as name:
        folder = Path(name)
        content = {"spec": asdict(spec), "library": library}
        (folder / "spec.json").write_text(json.dumps(content), encoding="utf-8")
        with (folder / "log.txt").open("wb") as log:
            began = time.perf_counter()
            process = subprocess.Popen(
                [*command, name],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=environment(spec.threads),
                start_new_session=True,
            )
            ended, peak = _watch(process, spec, _Deadline(folder / READY, spec, grace), stop)
            wall = time.perf_counter() - began
        return Outcome(
            ended=ended,
            wall_seconds=wall,
            peak_memory=peak / MEGABYTE,
            claims=_claims(folder / "claims.json"),
            solution=_text(folder / "solution.json"),
            certificate=_content(folder / PROOF),
            trace=_trace(folder / "trace.jsonl"),
            log=_text(folder / "log.txt")[-LOG_CHARACTERS:],
            machine=machine(),
        )


def environment(threads: int) -> dict[str, str]:
    """Return the environment of a run: threads pinned, the benchmarks to be found."""
    variables = pinned(threads)
    paths = [str(ROOT.parent), variables.get("PYTHONPATH", "")]
    variables["PYTHONPATH"] = os.pathsep.join(path for path in paths if path)
    return variables


class _Deadline:
    """When a run has to be over: its time begins when the process says that it is ready."""

    def __init__(self, ready: Path, spec: RunSpec, grace: float) -> None:
        self._ready = ready
        self._seconds = spec.time_limit + grace
        self._moment = time.perf_counter() + PREPARE_SECONDS
        self._begun = False

    def passed(self) -> bool:
        now = time.perf_counter()
        if not self._begun and self._ready.exists():
            self._begun, self._moment = True, now + self._seconds
        return now > self._moment


def _watch(
    process: subprocess.Popen[bytes],
    spec: RunSpec,
    deadline: _Deadline,
    stop: threading.Event | None,
) -> tuple[str, float]:
    """Wait for a process, measuring its memory; return how it ended and its peak in bytes."""
    peak = 0.0
    reason = ""
    watched = psutil.Process(process.pid)
    while True:
        if process.poll() is not None:
            break
        if not reason:
            peak = max(peak, memory(watched))
            if stop is not None and stop.is_set():
                reason = "stopped"
            elif deadline.passed():
                reason = "timeout"
            elif peak > spec.memory_limit * MEGABYTE:
                reason = "memory"
            if reason:
                end(watched)
        time.sleep(POLL_SECONDS)
    end_group(process.pid)
    return reason or ("exit" if process.returncode == 0 else "crash"), peak


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""


def _content(path: Path) -> bytes:
    return path.read_bytes() if path.is_file() else b""


def _claims(path: Path) -> dict[str, Any]:
    """Return what a process wrote down; nothing where it did not get that far."""
    try:
        claims = json.loads(_text(path) or "{}")
    except json.JSONDecodeError:
        return {}
    return claims if isinstance(claims, dict) else {}


def _trace(path: Path) -> list[list[float | None]]:
    """Return the points of a trace; the last line of a killed process may be incomplete."""
    points = []
    for line in _text(path).splitlines():
        with suppress(json.JSONDecodeError):
            points.append(json.loads(line))
    return points
