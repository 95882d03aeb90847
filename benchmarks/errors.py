"""The error that the benchmarks raise on purpose."""

from __future__ import annotations

from qpopt import QpoptError


class BenchmarkError(QpoptError):
    """The library, a results folder or an argument of the benchmarks is wrong."""
