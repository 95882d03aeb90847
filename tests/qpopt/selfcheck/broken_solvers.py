"""Solvers of another package, each broken in one way; beside them one that is sound.

They know nothing of each other and find their answers with HiGHS.
"""

from __future__ import annotations

import os
import signal
import time
from dataclasses import replace

import numpy as np

from qpopt import Status
from qpopt.solvers import Solver, SolverResult
from qpopt.solvers.highs_ import Highs


class Sound(Solver):
    name = "sound"

    def solve(self, model, request):
        return Highs().solve(model, request)


class Infeasible(Solver):
    """Leaves out a feature that a class has."""

    name = "infeasible"

    def solve(self, model, request):
        result = Highs().solve(model, request)
        x = result.x.copy()
        x[np.flatnonzero(np.rint(x))[-1]] = 0.0
        return replace(result, x=x, objective=model.value(x))


class Wrong(Solver):
    """Says that its point is worth more than it is."""

    name = "wrong"

    def solve(self, model, request):
        result = Highs().solve(model, request)
        return replace(result, objective=result.objective + 1.0)


class Low(Solver):
    """Tells a bound that its own point exceeds."""

    name = "low"

    def solve(self, model, request):
        result = Highs().solve(model, request)
        return replace(result, status=Status.FEASIBLE, bound=result.objective - 1.0)


class Early(Solver):
    """Calls the worst solution optimal."""

    name = "early"

    def solve(self, model, request):
        upside_down = replace(model, c=-model.c, constant=-model.constant)
        x = Highs().solve(upside_down, replace(request, on_progress=lambda x, bound: None)).x
        value = model.value(x)
        return SolverResult(Status.OPTIMAL, x, value, value)


class Denying(Solver):
    """Says that there is no solution."""

    name = "denying"

    def solve(self, model, request):
        return SolverResult(Status.INFEASIBLE)


class Hanging(Solver):
    """Never comes back."""

    name = "hanging"

    def solve(self, model, request):
        while True:
            time.sleep(1.0)


class Crashing(Solver):
    """Takes the process with it."""

    name = "crashing"

    def solve(self, model, request):
        os.kill(os.getpid(), signal.SIGSEGV)
        raise AssertionError


class Raising(Solver):
    """Raises an error of its own."""

    name = "raising"

    def solve(self, model, request):
        raise ZeroDivisionError("a pivot is 0")


class Greedy(Solver):
    """Takes memory without end."""

    name = "greedy"

    def solve(self, model, request):
        taken = []
        while True:
            taken.append(np.ones(10_000_000))
            time.sleep(0.02)
