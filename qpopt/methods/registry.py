"""The methods by name, from the entry points of installed packages, ours among them."""

from __future__ import annotations

from qpopt.errors import InvalidArgument
from qpopt.methods.base import Method
from qpopt.problem.constraints import Demands, refuse
from qpopt.solvers.registry import announced_names, find_announced

AUTO = "projected"
"""What `method="auto"` stands for."""
AUTO_WITH_SOLVER = "compact"
"""What it stands for where a solver is named: the best method that hands a model to one."""

GROUP = "qpopt.methods"


def method_names() -> list[str]:
    """Return the names of all methods."""
    return announced_names(GROUP)


def find_method(name: str, solver: str = "auto", demands: Demands = Demands()) -> Method:
    """Return the method of that name; "auto" stands for the best one that qpopt has.

    Parameters
    ----------
    name
        "auto" or the name of a method.
    solver
        "auto" or the name of the solver that it is to use.
    demands
        What it must take; "auto" finds one that does.

    Raises
    ------
    InvalidArgument
        If there is no such method, it cannot be loaded, it uses no solver although one is named, or
        it does not take a demand.
    """
    for label, value in (("method", name), ("solver", solver)):
        if not isinstance(value, str):
            raise InvalidArgument(f"{label} must be auto or a name, not {value!r}.")
    if name == "auto":
        name = AUTO if solver == "auto" else AUTO_WITH_SOLVER
        if not _named(name).demands.issuperset(demands.stated):
            name = AUTO_WITH_SOLVER
    method = _named(name)
    if solver != "auto" and method.sizes is None:
        raise InvalidArgument(
            f"The method {name} hands no model to a solver; leave out solver={solver!r}."
        )
    if not method.demands.issuperset(demands.stated):
        others = {other: _named(other).demands for other in method_names()}
        refuse(demands, f"The method {name}", method.demands, others)
    return method


def _named(name: str) -> Method:
    return find_announced(GROUP, name, Method, InvalidArgument)
