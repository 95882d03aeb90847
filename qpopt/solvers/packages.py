"""Finding out whether a solver's package is there, apart from whether it can be loaded."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from types import ModuleType

from qpopt.errors import SolverFailure
from qpopt.solvers.base import Availability


def package_availability(package: str, module: str) -> Availability:
    """Tell whether a package is installed and its module can be loaded.

    Parameters
    ----------
    package
        The name that pip knows.
    module
        The module to load.
    """
    try:
        installed = version(package)
    except PackageNotFoundError:
        return Availability(installed=False)
    try:
        load(module)
    except SolverFailure as error:
        return Availability(installed=True, version=installed, problem=str(error))
    return Availability(installed=True, version=installed)


def load(module: str) -> ModuleType:
    """Import a solver's module.

    highspy and ortools each bring a library called libhighs, and a process can hold only one of
    them. ortools refers to it without needing it for CP-SAT, highspy does need it. So highspy's
    must come first, and ortools must be loaded without looking up every function in advance.

    Raises
    ------
    SolverFailure
        If the module is there but cannot be loaded.
    """
    try:
        if not module.startswith("ortools"):
            return import_module(module)
        if "ortools" not in sys.modules:
            _load_if_present("highspy")
        with _lazy_binding():
            return import_module(module)
    except ImportError as error:
        advice = ""
        if module == "highspy" and "ortools" in sys.modules:
            advice = " It cannot be loaded after ortools: import highspy before ortools."
        raise SolverFailure(f"{module} cannot be loaded: {error}.{advice}") from error


def _load_if_present(module: str) -> None:
    try:
        import_module(module)
    except ModuleNotFoundError:
        return


@contextmanager
def _lazy_binding() -> Iterator[None]:
    if not hasattr(sys, "setdlopenflags"):  # Windows binds every library to its own copy
        yield
        return
    flags = sys.getdlopenflags()
    sys.setdlopenflags(os.RTLD_LAZY)
    try:
        yield
    finally:
        sys.setdlopenflags(flags)
