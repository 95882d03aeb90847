"""What every solver is to qpopt: a name, what it can take, and one method.

A solver of your own is a subclass of `Solver` with a `name` and a method `solve(model, request)`,
announced by its package as an entry point::

    [options.entry_points]
    qpopt.solvers =
        mine = my_package:MySolver
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from qpopt.control.limits import Limits
from qpopt.models.compiled import CompiledModel, Rows
from qpopt.problem.solution import Status

Floats = NDArray[np.float64]

Lazy = Callable[[Floats], Rows | None]
"""Given a solution, return the constraints that it breaks, or None where it breaks none."""

OnProgress = Callable[[Floats | None, float | None], None]
"""Told of a new solution, a new bound, or both, while the solver runs."""


@dataclass(frozen=True)
class Supports:
    """What a solver can take.

    Parameters
    ----------
    quadratic_objective, quadratic_constraints
        Products of integer variables, convex or not.
    lazy_callback
        Constraints that are added while the solver runs.
    warm_start
        A solution to start from.
    """

    quadratic_objective: bool = False
    quadratic_constraints: bool = False
    lazy_callback: bool = False
    warm_start: bool = False


class LicenceLimits(NamedTuple):
    """The largest model that a licence allows."""

    variables: int
    rows: int
    quadratic_variables: int


@dataclass(frozen=True)
class Availability:
    """Whether a solver can be used here.

    Parameters
    ----------
    installed
        Whether its package is there.
    version
        The version of the package; empty where it is not installed.
    licensed
        Whether it may be used without limits.
    limits
        What a limited licence allows; None where there is no limit.
    problem
        Why it cannot be used although it is installed; empty where it can.
    """

    installed: bool
    version: str = ""
    licensed: bool = True
    limits: LicenceLimits | None = None
    problem: str = ""

    @property
    def usable(self) -> bool:
        """Whether at least small models can be solved."""
        return self.installed and not self.problem


class SolverInfo(NamedTuple):
    """All that can be said of a solver before it is used."""

    availability: Availability
    supports: Supports
    install: str


@dataclass(frozen=True, eq=False)
class SolverRequest:
    """What a solver is asked for.

    Parameters
    ----------
    limits
        Seconds, gap, seed and threads.
    start
        A feasible solution to start from.
    lazy
        Checks every new solution; given only where `supports.lazy_callback` is set.
    on_progress
        Told of new solutions and bounds.
    """

    limits: Limits = field(default_factory=Limits)
    start: Floats | None = None
    lazy: Lazy | None = None
    on_progress: OnProgress | None = None


@dataclass(frozen=True, eq=False)
class SolverResult:
    """What a solver found.

    Parameters
    ----------
    status
        `optimal` within the gap, `feasible`, `infeasible`, `no_solution` or `interrupted`.
    x
        The best solution found, or None.
    objective
        Its value in the model, or None.
    bound
        A number that no solution of the model exceeds, or None.
    lazy_added
        How many lazy constraints were added on the way.
    """

    status: Status
    x: Floats | None = None
    objective: float | None = None
    bound: float | None = None
    lazy_added: int = 0


class Solver(ABC):
    """One solver. It knows compiled models and nothing of features or classes."""

    name: ClassVar[str]
    supports: ClassVar[Supports] = Supports()
    install: ClassVar[str] = ""
    """The command that installs the solver, for error messages."""

    def availability(self) -> Availability:
        """Tell whether the solver can be used here."""
        return Availability(installed=True)

    @abstractmethod
    def solve(self, model: CompiledModel, request: SolverRequest) -> SolverResult:
        """Maximise a model.

        Parameters
        ----------
        model
            The model; it fits what the solver supports and its limits.
        request
            The limits, the start, and whom to tell. A solver may ignore what it cannot do, but
            not the time limit.

        Returns
        -------
        SolverResult
            With status `interrupted` after Ctrl-C, and the best solution found until then.
        """
