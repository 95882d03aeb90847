"""The methods by name. Their modules are loaded only when they are wanted."""

from __future__ import annotations

from importlib import import_module

from qpopt.errors import InvalidArgument
from qpopt.methods.base import Method

AUTO = "projected"
"""What `method="auto"` stands for."""
AUTO_WITH_SOLVER = "compact"
"""What it stands for where a solver is named: the best method that hands a model to one."""

MODULES = {
    "projected": "qpopt.methods.projected",
    "compact": "qpopt.methods.compact",
    "qcqp": "qpopt.methods.qcqp",
    "paper": "qpopt.methods.paper",
    "search": "qpopt.methods.search",
}


def method_names() -> list[str]:
    """Return the names of all methods."""
    return list(MODULES)


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
        If there is no such method, or it uses no solver although one is named.
    """
    if name == "auto":
        name = AUTO if solver == "auto" else AUTO_WITH_SOLVER
    if name not in MODULES:
        raise InvalidArgument(
            f"There is no method called {name!r}; known are auto, {', '.join(method_names())}."
        )
    method: Method = import_module(MODULES[name]).METHOD
    if solver != "auto" and method.sizes is None:
        raise InvalidArgument(
            f"The method {name} hands no model to a solver; leave out solver={solver!r}."
        )
    return method
