"""Carrying out many runs on this machine, a few at a time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed

from benchmarks.runs.execute import Outcome
from benchmarks.runs.specs import RunSpec

Execute = Callable[..., Outcome]
"""`benchmarks.runs.execute.execute`, or something that takes a run and `stop` as it does."""


def run_here(
    specs: Sequence[RunSpec], execute: Execute, *, jobs: int
) -> Generator[tuple[RunSpec, Outcome], None, None]:
    """Yield every run with its outcome, as they finish.

    Leaving the loop early, or Ctrl-C, ends the runs that are under way.

    Parameters
    ----------
    specs
        The runs, started in this order.
    execute
        Carries out one run.
    jobs
        How many runs at a time.
    """
    stop = threading.Event()
    with ThreadPoolExecutor(jobs) as pool:
        futures = {pool.submit(execute, spec, stop=stop): spec for spec in specs}
        try:
            for future in as_completed(futures):
                yield futures[future], future.result()
        finally:
            stop.set()
            for future in futures:
                future.cancel()


def expected_seconds(
    pending: Sequence[RunSpec], finished: Sequence[tuple[RunSpec, float]], jobs: int
) -> float:
    """Return how long the pending runs will take.

    A run is expected to take as long as the runs of its configuration took on average; as long as
    the average run where there was none; and the time limit before anything has finished.

    Parameters
    ----------
    pending
        Runs that have not finished.
    finished
        Runs that have, with their wall seconds.
    jobs
        How many run at a time.
    """
    by_config: dict[str, list[float]] = {}
    for spec, seconds in finished:
        by_config.setdefault(spec.config, []).append(seconds)
    everything = [seconds for _, seconds in finished]
    total = 0.0
    for spec in pending:
        sample = by_config.get(spec.config) or everything or [spec.time_limit]
        total += sum(sample) / len(sample)
    return total / jobs
