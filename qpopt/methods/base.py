"""What a method is: a name, what it proves, the models it may hand to a solver, and a function.

A method of your own is a `Method`, announced by its package as an entry point::

    [options.entry_points]
    qpopt.methods =
        mine = my_package:METHOD
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, TypeVar

from qpopt.control.incumbent import Incumbent
from qpopt.errors import InvalidArgument
from qpopt.models.compiled import Size
from qpopt.problem.instance import Instance
from qpopt.solvers.base import Solver

SomeOptions = TypeVar("SomeOptions", bound="Options")

PREFERENCE = ("gurobi", "highs", "cpsat", "scip")
"""The order in which solvers are tried unless a method has reasons for another."""


def option(default: Any, check: Callable[[str, Any], object], meaning: str) -> Any:
    """Declare a field of `Options`.

    Parameters
    ----------
    default
        Its value where none is given.
    check
        Called with name and value; raises where the value cannot be used.
    meaning
        What it does, in a sentence for people.
    """
    return field(default=default, metadata={"check": check, "meaning": meaning})


@dataclass(frozen=True)
class Options:
    """What a user may choose for a method; each method has its own fields.

    Raises
    ------
    InvalidArgument
        Naming the option, its value and what is expected.
    InvalidFile
        If an option names a file that cannot be written.
    """

    def __post_init__(self) -> None:
        for one in fields(self):
            value = getattr(self, one.name)
            if value is not None:
                one.metadata["check"](one.name, value)

    @classmethod
    def of(cls: type[SomeOptions], given: Options | Mapping[str, Any] | None) -> SomeOptions:
        """Return options given as such or by name; None stands for the default of each.

        Raises
        ------
        InvalidArgument
            Naming an unknown option and the known ones.
        """
        if isinstance(given, cls):
            return given
        if given is not None and not isinstance(given, Mapping):
            raise InvalidArgument(
                f"options must be a {cls.__name__} or a mapping of names to values, not {given!r}."
            )
        known = [one.name for one in fields(cls)]
        values = dict(given or {})
        for name in values:
            if name not in known:
                raise InvalidArgument(
                    f"There is no option {name!r} for this method; known are "
                    f"{', '.join(known) or 'none'}."
                )
        return cls(**{name: value for name, value in values.items() if value is not None})


@dataclass(frozen=True)
class Method:
    """One way to solve an instance.

    Parameters
    ----------
    name
        What `solve(method=…)` takes.
    summary
        One line for people.
    exact
        Whether it proves its answer optimal, given time.
    run
        The method itself: it offers solutions and bounds to the incumbent, which has instance,
        limits and start, and lets Ctrl-C pass. It gets None for a solver where `sizes` is None.
    options
        The class of its options.
    sizes
        The sizes of the models that it could hand to a solver for an instance, best first; None
        for a method that needs no solver.
    preference
        The order in which `solver="auto"` looks for a solver.
    demands
        The demands that it takes, by the names in `Demands.stated`; it is not run with others.
    """

    name: str
    summary: str
    exact: bool
    run: Callable[[Incumbent, Solver | None, Any], None]
    options: type[Options] = Options
    sizes: Callable[[Instance], list[Size]] | None = None
    preference: tuple[str, ...] = PREFERENCE
    demands: frozenset[str] = frozenset()
