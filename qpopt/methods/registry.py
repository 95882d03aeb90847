"""The methods by name. Their modules are loaded only when they are wanted."""

from __future__ import annotations

from importlib import import_module

from qpopt.errors import InvalidArgument
from qpopt.methods.base import Method

AUTO = "projected"
"""What `method="auto"` stands for."""

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


def find_method(name: str) -> Method:
    """Return the method of that name; "auto" stands for the best one that qpopt has.

    Raises
    ------
    InvalidArgument
        If there is no such method.
    """
    module = MODULES.get(AUTO if name == "auto" else name)
    if module is None:
        raise InvalidArgument(
            f"There is no method called {name!r}; known are auto, {', '.join(method_names())}."
        )
    method: Method = import_module(module).METHOD
    return method
