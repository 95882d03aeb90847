"""Worker: a process that is ready, does one job at a time, and may be ended at any moment."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from qpopt import QpoptError
from qpopt.control.processes import command, end_with_parent

OnMessage = Callable[[dict[str, Any]], None]


class Worker:
    """Hands jobs to a process; a new job ends the one before.

    A second process stands by, its imports done, so that ending one costs no time. It takes the
    place of the one that was ended, and the next one is begun with the first message of a job: what
    it imports shall not delay the first answer. They talk in lines of JSON: a job in, messages out,
    of which the last one of a job says `"last": true`.

    Parameters
    ----------
    module
        What is run, as `python -m` names it.
    arguments
        Of the command line.
    on_message
        Is called with every message, in a thread of its own.
    """

    def __init__(self, module: str, arguments: Sequence[str], on_message: OnMessage) -> None:
        self.command = command(module, *arguments)
        self.on_message = on_message
        self.lock = threading.RLock()
        self.closed = False
        self.busy: dict[str, Any] | None = None
        self.threads: list[threading.Thread] = []
        self.active = self._started()
        self.spare: subprocess.Popen[str] | None = self._started()

    def submit(self, job: Mapping[str, Any]) -> None:
        """Do a job now, in place of the one that is being done."""
        with self.lock:
            self._end_job()
            if self.active.poll() is not None:
                self._replace()
            self.busy = dict(job)
            self._send(self.active, job)

    def cancel(self) -> None:
        """End the job that is being done."""
        with self.lock:
            self._end_job()

    def close(self) -> None:
        """End both processes."""
        with self.lock:
            self.closed, self.busy = True, None
            for process in (self.active, self.spare):
                if process is not None:
                    process.kill()
        for thread in self.threads:
            thread.join()

    def _end_job(self) -> None:
        if self.busy is None:
            return
        self.busy = None
        self.active.kill()
        self._replace()

    def _replace(self) -> None:
        """Go on with the process that stands by, unless there is none or it has ended meanwhile."""
        spare, self.spare = self.spare, None
        self.active = self._started() if spare is None or spare.poll() is not None else spare

    def _started(self) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            self.command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            start_new_session=True,  # Ctrl-C is for the server, which ends its processes itself
        )
        thread = threading.Thread(target=self._listen, args=(process,), daemon=True)
        self.threads = [*(one for one in self.threads if one.is_alive()), thread]
        thread.start()
        return process

    def _send(self, process: subprocess.Popen[str], job: Mapping[str, Any]) -> None:
        assert process.stdin is not None
        with contextlib.suppress(OSError):  # it has ended, which `_listen` tells
            process.stdin.write(json.dumps(job) + "\n")
            process.stdin.flush()

    def _listen(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        for line in process.stdout:
            message = json.loads(line)
            with self.lock:
                job = self.busy
                if process is not self.active or job is None or job["id"] != message["id"]:
                    continue
                if message.get("last"):
                    self.busy = None
                if self.spare is None and not self.closed:
                    self.spare = self._started()
            self.on_message(message)
        self._ended(process)

    def _ended(self, process: subprocess.Popen[str]) -> None:
        """Tell that a process ended in the middle of a job, and start another."""
        assert process.stdin is not None
        assert process.stdout is not None
        code = process.wait()
        process.stdout.close()
        with self.lock:
            with contextlib.suppress(BrokenPipeError):  # of a job that nobody took
                process.stdin.close()
            if self.closed or process is not self.active:
                return
            job, self.busy = self.busy, None
            if job is None:  # where it cannot even begin, it is begun anew with the next job only
                return
            self._replace()
        if job is not None:
            said = f"The process that worked on it ended by itself (exit code {code})."
            self.on_message({"id": job["id"], "kind": "failed", "message": said, "last": True})


def serve(work: Callable[[dict[str, Any], OnMessage], None]) -> None:
    """Do the jobs that come in on standard input, until it ends: what a process of `Worker` runs.

    Parameters
    ----------
    work
        Does one job and calls its second argument with every message.
    """
    end_with_parent()
    answers = sys.stdout
    sys.stdout = sys.stderr  # what libraries print is no message
    for line in sys.stdin:
        job = json.loads(line)

        def tell(message: Mapping[str, Any], number: Any = job["id"]) -> None:
            answers.write(json.dumps({"id": number, **message}) + "\n")
            answers.flush()

        try:
            work(job, tell)
            tell({"kind": "done", "last": True})
        except QpoptError as error:
            tell({"kind": "failed", "message": str(error), "last": True})
