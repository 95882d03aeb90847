"""Running a solver so that Ctrl-C stops it and errors in callbacks come out of it."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event, Thread
from time import monotonic
from typing import Any, TypeVar

from qpopt.errors import QpoptError, SolverFailure

T = TypeVar("T")

POLL_SECONDS = 0.05
"""How often the waiting thread wakes up to notice Ctrl-C."""


class SolverOverrun(Exception):
    """The solver did not stop in time and goes on in the background."""


class SolverThread:
    """One run of a solver in a thread of its own.

    Python sees Ctrl-C only in its main thread and only between two steps of its own, so the
    solver's long calls must not be made there.

    Parameters
    ----------
    stop
        Asks the solver to end soon; called from another thread than the solver's.
    """

    def __init__(self, stop: Callable[[], None]) -> None:
        self.stop = stop
        self.interrupted = False
        self.abandoned = False
        self.error: BaseException | None = None
        self._thread: Thread | None = None
        self._done = Event()

    @property
    def busy(self) -> bool:
        """Whether the solver has begun and has not ended yet, left behind for whatever reason."""
        begun = self._thread is not None and self._thread.ident is not None
        return begun and not self._done.is_set()

    def guard(self, callback: Callable[..., T], default: T) -> Callable[..., T]:
        """Wrap a callback: its first error ends the solve and is raised by `wait_for`."""

        def guarded(*arguments: Any) -> T:
            if self.error is not None or self.abandoned:
                return default
            try:
                return callback(*arguments)
            except BaseException as error:
                self.error = error
                self.stop()
                return default

        return guarded

    def wait_for(self, work: Callable[[], T], patience: float | None = None) -> T:
        """Do the work in a thread and return its result, also after Ctrl-C.

        Parameters
        ----------
        work
            The call of the solver.
        patience
            Seconds after which a solver that listens neither to its limit nor to `stop` is left
            behind: it goes on in the background until it notices. None to wait for it always.

        Raises
        ------
        SolverFailure
            If the solver raised an error of its own.
        SolverOverrun
            If patience ended.
        KeyboardInterrupt
            If Ctrl-C comes again before the solver has stopped.
        """
        results: list[T] = []

        def run() -> None:
            try:
                results.append(work())
            except BaseException as error:
                self.error = self.error or error
            finally:
                self._done.set()

        thread = self._thread = Thread(target=run, name="qpopt-solver", daemon=True)
        # Not Thread.join: after Ctrl-C it may take a running thread for a finished one.
        # The whole loop is guarded: Ctrl-C may come between two waits as well.
        until = None if patience is None else monotonic() + patience
        waiting = True
        while waiting:
            try:
                if thread.ident is None:
                    thread.start()
                while waiting:
                    waiting = not self._done.wait(POLL_SECONDS)
                    if waiting and until is not None and monotonic() > until:
                        self.abandoned = True
                        self.stop()
                        raise SolverOverrun
            except KeyboardInterrupt:
                self.abandoned = self.interrupted
                self.interrupted = True
                self.stop()
                if self.abandoned:
                    raise
        if self.error is None:
            return results[0]
        if isinstance(self.error, KeyboardInterrupt | QpoptError):
            raise self.error
        raise SolverFailure(
            f"The solver failed: {type(self.error).__name__}: {self.error}"
        ) from self.error
