"""Compiling a loop, and keeping it for later processes where there is a place to."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any
from warnings import warn

import numba


def compiled(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Compile a function at its first call; what was compiled is kept for later processes.

    Where no folder can be written to, as in a read-only installation without a home, every process
    compiles anew, and says so once. `options` are those of `numba.njit`.
    """

    def decorate(function: Callable[..., Any]) -> Any:
        try:
            return numba.njit(cache=True, **options)(function)
        except RuntimeError:  # numba has found no place for its cache
            _say_once()
            return numba.njit(**options)(function)

    return decorate


@cache
def _say_once() -> None:
    warn(
        "There is no folder to keep compiled loops in, so every start compiles them anew, which "
        "takes half a minute or more; set NUMBA_CACHE_DIR to a folder that can be written to.",
        stacklevel=4,
    )
