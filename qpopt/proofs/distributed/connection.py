"""Connecting to the scheduler of a dask.distributed cluster."""

from __future__ import annotations

from typing import Any

from qpopt._version import __version__
from qpopt.errors import InvalidArgument

CONNECT_SECONDS = 10


def connect(address: str) -> Any:
    """Return a client of the dask scheduler at an address.

    Raises
    ------
    InvalidArgument
        If dask.distributed is not installed, nobody answers at the address, or a worker has
        another version of qpopt, or none.
    """
    try:
        from distributed import Client
    except ImportError:
        raise InvalidArgument(
            "A cluster needs dask.distributed: pip install 'qpopt[cluster]'"
        ) from None
    try:
        client = Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError) as error:
        raise InvalidArgument(f"There is no dask scheduler at {address}: {error}.") from None
    for worker, version in client.run(_version, on_error="return").items():
        if version != __version__:
            client.close()
            raise InvalidArgument(
                f"The worker {worker} has not qpopt {__version__}, as it must, but: {version}."
            )
    return client


def _version() -> str:
    return __version__
