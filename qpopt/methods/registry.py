"""The methods by name, from the entry points of installed packages, ours among them."""

from __future__ import annotations

from importlib.metadata import entry_points

from qpopt.errors import InvalidArgument
from qpopt.methods.base import Method

AUTO = "projected"
"""What `method="auto"` stands for."""
AUTO_WITH_SOLVER = "compact"
"""What it stands for where a solver is named: the best method that hands a model to one."""

GROUP = "qpopt.methods"


def method_names() -> list[str]:
    """Return the names of all methods."""
    return sorted({entry.name for entry in entry_points(group=GROUP)})


def find_method(name: str, solver: str = "auto") -> Method:
    """Return the method of that name; "auto" stands for the best one that qpopt has.

    Parameters
    ----------
    name
        "auto" or the name of a method.
    solver
        "auto" or the name of the solver that it is to use.

    Raises
    ------
    InvalidArgument
        If there is no such method, it cannot be loaded, or it uses no solver although one is named.
    """
    if name == "auto":
        name = AUTO if solver == "auto" else AUTO_WITH_SOLVER
    found = [entry for entry in entry_points(group=GROUP) if entry.name == name]
    if not found:
        raise InvalidArgument(
            f"There is no method called {name!r}; known are auto, {', '.join(method_names())}."
        )
    try:
        method = found[0].load()
    except Exception as error:
        raise InvalidArgument(
            f"The method {name} cannot be loaded from {found[0].value}: {error!r}."
        ) from error
    if not isinstance(method, Method):
        raise InvalidArgument(f"The method {name}, {found[0].value}, is no qpopt.methods.Method.")
    if solver != "auto" and method.sizes is None:
        raise InvalidArgument(
            f"The method {name} hands no model to a solver; leave out solver={solver!r}."
        )
    return method
