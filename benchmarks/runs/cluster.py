"""Carrying out many runs on the workers of a dask.distributed cluster.

Every worker needs a checkout of the same version. Start the workers with one thread each
(`dask worker ADDRESS --nthreads 1`), so that a worker carries out one run at a time. When a worker
is lost, the scheduler gives its runs to others; a run is written down only once, here, when its
outcome has come back.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any

from benchmarks.errors import BenchmarkError
from benchmarks.runs.execute import Outcome
from benchmarks.runs.local import Execute
from benchmarks.runs.specs import RunSpec

CONNECT_SECONDS = 10


def connect(address: str) -> Any:
    """Return a client of the dask scheduler at an address.

    Raises
    ------
    BenchmarkError
        If dask.distributed is not installed, or nobody answers at the address.
    """
    try:
        from distributed import Client
    except ImportError:
        raise BenchmarkError(
            "A cluster needs dask.distributed: pip install 'qpopt[cluster]'"
        ) from None
    try:
        return Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError) as error:
        raise BenchmarkError(f"There is no dask scheduler at {address}: {error}.") from None


def run_on_cluster(
    specs: Sequence[RunSpec], execute: Execute, client: Any
) -> Generator[tuple[RunSpec, Outcome], None, None]:
    """Yield every run with its outcome, as they come back from the cluster.

    A run whose workers were lost again and again comes back as a crash. Leaving the loop early, or
    Ctrl-C, cancels what has not been started.

    Parameters
    ----------
    specs
        The runs.
    execute
        Carries out one run, on a worker.
    client
        What `connect` returned.
    """
    from distributed import as_completed

    # Not pure: the same run, repeated on purpose, is to be carried out again.
    futures = {client.submit(execute, spec, pure=False): spec for spec in specs}
    try:
        for future in as_completed(list(futures), loop=client.loop):
            yield futures[future], _outcome(future)
    finally:
        client.cancel(list(futures), force=True)


def _outcome(future: Any) -> Outcome:
    error = future.exception()
    if error is not None:
        return Outcome("crash", 0.0, 0.0, log=f"{type(error).__name__}: {error}")
    outcome: Outcome = future.result()
    return outcome
