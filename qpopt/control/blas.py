"""How many threads the linear algebra uses."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController

controller = cache(ThreadpoolController)


def one_blas_thread() -> AbstractContextManager[Any]:
    """Let BLAS work without threads of its own for a while.

    NumPy and SciPy have a BLAS each, whose threads wait busily for more work: where many calls are
    short, or other programs run, two threads take up to ten times as long as one.
    """
    limited: AbstractContextManager[Any] = controller().limit(limits=1, user_api="blas")
    return limited
