"""A task in a process of its own, watched: one that hangs, grows or dies is an outcome, too."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from qpopt.control.processes import (
    command,
    end,
    pinned,
    processor_seconds,
    resident_megabytes,
)
from qpopt.selfcheck.cases import Case
from qpopt.selfcheck.faults import Fault, Finding
from qpopt.selfcheck.pairs import Job
from qpopt.selfcheck.witness import OVERDUE

CHILD = "qpopt.selfcheck.child"
CASE_SECONDS = 5.0
"""The time limit of a case: with most pairs, a tenth of it is enough."""
MEMORY_LIMIT = 4000.0
"""Megabytes that a process may use; with the largest case, they use some 400."""
POLL_SECONDS = 0.05
"""Between two looks at a process."""
START_SECONDS = 300.0
"""How long a process may take until it begins: where nothing is compiled yet, all of that. On a
machine with much else to do this is time of a processor, not of the clock."""
LEAST_WORK = 1.0
"""Whoever has not had a processor for so many of these seconds does not wait for one: it hangs."""
LOG_CHARACTERS = 2000


class Watched:
    """A process at work on the task in its folder.

    Parameters
    ----------
    folder
        An empty folder for it.
    task
        What it is to do; see `qpopt.selfcheck.child`.
    memory_limit
        Megabytes above which it is ended.
    """

    def __init__(self, folder: Path, task: Mapping[str, Any], memory_limit: float) -> None:
        self.folder = folder
        self.job: int | None = None
        self.ended: list[int] = []
        self.finding: Finding | None = None
        self._memory_limit = memory_limit
        self._read = 0
        self._until = time.monotonic() + START_SECONDS
        self._worked_before = self._worked_last = 0.0
        (folder / "task.json").write_text(json.dumps(task), encoding="utf-8")
        with (folder / "log.txt").open("wb") as log:
            self._process = subprocess.Popen(
                command(CHILD, str(folder)),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=pinned(1),
                start_new_session=True,
            )

    @property
    def log(self) -> str:
        """The end of what the process printed."""
        text = (self.folder / "log.txt").read_text(encoding="utf-8", errors="replace")
        return text[-LOG_CHARACTERS:].strip()

    def wait(self) -> None:
        """Wait until the process has ended, and end it where the waiting ends before."""
        try:
            while not self.over():
                time.sleep(POLL_SECONDS)
        finally:
            self.end()

    def over(self) -> bool:
        """Look after the process; tell whether it has ended, and then `finding` says if badly."""
        code = self._process.poll()
        self._follow()
        if code is not None:
            end(self._process)
            if code or self.job is not None:
                self.finding = Finding(Fault.CRASH, f"the process {_ending(code)}.")
            return True
        resident = resident_megabytes(self._process.pid)
        if resident > self._memory_limit:
            message = f"it took {resident:.0f} MB; {self._memory_limit:.0f} are allowed."
            self.finding = Finding(Fault.MEMORY, message)
        elif time.monotonic() > self._until and not self._waits_for_a_processor():
            what = f"no answer {OVERDUE:.0f} s after its time limit of {CASE_SECONDS:.1f} s."
            what = what if self.job is not None else f"it did not go on for {START_SECONDS:.0f} s."
            self.finding = Finding(Fault.HANG, what)
        if self.finding is None:
            return False
        end(self._process)
        return True

    def end(self) -> None:
        """End the process, whatever it does."""
        end(self._process)

    def _waits_for_a_processor(self) -> bool:
        """Tell whether it is the machine that is slow; then there is more time."""
        worked = processor_seconds(self._process.pid)
        recently, since = worked - self._worked_last, worked - self._worked_before
        if self.job is not None or recently < LEAST_WORK or since >= START_SECONDS:
            return False
        self._worked_last = worked
        self._until = time.monotonic() + START_SECONDS
        return True

    def _follow(self) -> None:
        """Take in what the process has begun and ended; the moment counts from when it is seen."""
        steps = self.folder / "steps.jsonl"
        lines = steps.read_text(encoding="utf-8").splitlines() if steps.exists() else []
        for line in lines[self._read :]:
            with suppress(json.JSONDecodeError):  # a line that is still being written
                what, job = json.loads(line)
                self._read += 1
                if what == "end":
                    self.ended.append(job)
                self.job = job if what == "begin" else None
                # Between two jobs packages are loaded, which may take long where much else runs.
                seconds = START_SECONDS if self.job is None else CASE_SECONDS + OVERDUE
                self._until = time.monotonic() + seconds
                self._worked_before = self._worked_last = processor_seconds(self._process.pid)


def _ending(code: int) -> str:
    """Say how a process ended that did not come to its end."""
    if code >= 0:
        return f"ended with exit code {code} in the middle of it"
    with suppress(ValueError):
        return f"was ended by {signal.Signals(-code).name}"
    return f"was ended by signal {-code}"


def listing(smallest: Case, methods: Sequence[str], solvers: Sequence[str]) -> dict[str, Any]:
    """Return the task to tell which pairs can be used, having compiled everything."""
    return {
        "smallest": str(smallest.instance_file),
        "methods": list(methods),
        "solvers": list(solvers),
    }


def solving(jobs: Sequence[Job], seconds: float, seed: int) -> dict[str, Any]:
    """Return the task to do jobs, one after the other while there is time."""
    records = [job.record() for job in jobs]
    return {"jobs": records, "seconds": seconds, "time_limit": CASE_SECONDS, "seed": seed}
