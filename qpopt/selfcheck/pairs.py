"""Which pairs of method and solver there are to check."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from qpopt.errors import InvalidArgument, MissingSolver
from qpopt.methods.base import Method
from qpopt.methods.registry import find_method, method_names
from qpopt.problem.instance import Instance
from qpopt.selfcheck.cases import Case
from qpopt.solvers.choice import can_take
from qpopt.solvers.registry import find_solver, require, solver_names

ALONE = {"search_steps": 0}
"""Leaves a solver on its own: the search before it would hide what it does not find."""
CERTIFICATE = "certificate"
"""The option of methods that can write down their proof."""


@dataclass(frozen=True)
class Pair:
    """A method with a solver, or one that needs none.

    Parameters
    ----------
    method, solver
        Their names; the solver is empty where the method hands no model to one.
    exact
        Whether the method proves its answers optimal.
    options
        What the method is told.
    certified
        Whether it is to write a certificate, which is then checked.
    """

    method: str
    solver: str
    exact: bool
    options: Mapping[str, Any] = field(hash=False)
    certified: bool = False

    @property
    def label(self) -> str:
        """What the pair is called."""
        with_solver = f"{self.method} with {self.solver}" if self.solver else self.method
        return f"{with_solver}, certified" if self.certified else with_solver

    def record(self) -> dict[str, Any]:
        """Return the pair as values that JSON can hold."""
        return {**asdict(self), "options": dict(self.options)}


@dataclass(frozen=True)
class Job:
    """A case for a pair.

    Parameters
    ----------
    pair, case
        The two.
    """

    pair: Pair
    case: Case

    def record(self) -> dict[str, Any]:
        """Return the job as values that JSON can hold."""
        files = {"instance": str(self.case.instance_file), "best": str(self.case.best_file)}
        return {"pair": self.pair.record(), "case": self.case.name, **files}

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> Job:
        """Return the job of a record."""
        case = Case(record["case"], Path(record["instance"]), Path(record["best"]))
        return cls(Pair(**record["pair"]), case)


def usable_pairs(
    smallest: Instance, methods: Sequence[str] = (), solvers: Sequence[str] = ()
) -> list[Pair]:
    """Return all pairs that can be used here, or those of the methods and solvers named.

    Parameters
    ----------
    smallest
        An instance; solvers that cannot take a method's model of it, not for its size but for its
        kind, make no pair with the method.
    methods, solvers
        Names; all where there are none. Methods without a solver are left out where solvers are
        named and no method is.

    Raises
    ------
    InvalidArgument, MissingSolver
        If a name is unknown, a solver that is named cannot be used here, or nothing is left.
    """
    able = [require(name) for name in solvers] or [
        find_solver(name) for name in solver_names() if _usable(name)
    ]
    pairs: list[Pair] = []
    for method in (find_method(name) for name in methods or method_names()):
        known = {one.name for one in fields(method.options)}
        options = {name: value for name, value in ALONE.items() if name in known}
        if method.sizes is not None:
            sizes = method.sizes(smallest)
            pairs += [
                Pair(method.name, solver.name, method.exact, options)
                for solver in able
                if any(can_take(solver, size) for size in sizes)
            ]
        elif methods or not solvers:
            pairs += _without_solver(method, options, CERTIFICATE in known)
    if not pairs:
        raise InvalidArgument("None of these methods can work with any of these solvers.")
    return sorted(pairs, key=lambda pair: (not pair.exact, bool(pair.solver), pair.certified))


def _without_solver(method: Method, options: Mapping[str, Any], proves: bool) -> list[Pair]:
    certified = [Pair(method.name, "", method.exact, options, certified=True)]
    return [Pair(method.name, "", method.exact, options), *(certified if proves else [])]


def _usable(name: str) -> bool:
    """Tell whether a solver that nobody asked for can be used; one that is not there is no fault.

    Nor is one that cannot be loaded: `qpopt solvers` says that of each.
    """
    try:
        return require(name) is not None
    except MissingSolver:
        return False
