"""What every solver is to qpopt: a name, what it can take, and one method.

A solver of your own is a subclass of `Solver` with a `name` and a method `solve(model, request)`,
announced by its package as an entry point::

    [options.entry_points]
    qpopt.solvers =
        mine = my_package:MySolver
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import inf
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from qpopt.control.limits import Limits
from qpopt.models.compiled import CompiledModel, Rows
from qpopt.problem.solution import Status
from qpopt.problem.tolerances import outward
from qpopt.solvers.availability import Availability, LicenceLimits, installed_version, load

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


def tell_nobody(x: Floats | None, bound: float | None) -> None:
    """Keep a solution or a bound to oneself."""


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
    size
        What the terms of the objective add up to: what the tolerances of a bound are relative to.
    """

    limits: Limits = field(default_factory=Limits)
    start: Floats | None = None
    lazy: Lazy | None = None
    on_progress: OnProgress = tell_nobody
    size: float = 1.0


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
    package: ClassVar[str] = ""
    """The package that it needs, as pip knows it; empty for none."""
    module: ClassVar[str] = ""
    """The module of that package to load."""
    statuses: ClassVar[Mapping[Any, Status]] = {}
    """What the solver's own words for an end mean; what is not listed proves nothing."""

    def availability(self) -> Availability:
        """Tell whether the solver can be used here."""
        if not self.package:
            return Availability(installed=True)
        version = installed_version(self.package, self.module)
        return Availability(bool(version), version, self.licence)

    def licence(self) -> LicenceLimits | None:
        """Load the solver and return what its licence allows; None for everything.

        Raises
        ------
        SolverFailure
            If it cannot be loaded or used.
        """
        load(self.module)
        return None

    def ending(
        self,
        ended: Any,
        model: CompiledModel,
        x: Floats | None,
        bound: float | None,
        *,
        interrupted: bool,
        lazy_added: int = 0,
    ) -> SolverResult:
        """Return what a run found.

        Parameters
        ----------
        ended
            How the solver says that it ended, a key of `statuses` where that proves something.
        model, x, bound
            The model, the best solution found and the bound.
        interrupted
            Whether the run was stopped by Ctrl-C.
        lazy_added
            How many lazy constraints were added on the way.
        """
        status = self.statuses.get(ended)
        if status is Status.INFEASIBLE:
            return SolverResult(status)
        if status is None or x is None:
            status = Status.NO_SOLUTION if x is None else Status.FEASIBLE
            status = Status.INTERRUPTED if interrupted else status
        return SolverResult(status, x, None if x is None else model.value(x), bound, lazy_added)

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


def safe_bound(value: float, infinity: float = inf, size: float = 1.0) -> float | None:
    """Return the bound that a solver tells, moved outward by its tolerances; None for no bound."""
    return outward(value, size) if abs(value) < infinity else None
