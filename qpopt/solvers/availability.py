"""Finding out whether a solver's package is there, apart from whether it can be loaded."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
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

    highspy and ortools each bring a library of the name libhighs.so.1, of different versions, and
    whoever comes second is given the one that is already there. ortools refers to it without
    needing it for CP-SAT, highspy does need its own. So highspy comes first where that can be
    chosen, and ortools is then loaded without looking up every function in advance. Where ortools
    is there already, highspy's library is loaded beside the other one.

    Raises
    ------
    SolverFailure
        If the module is there but cannot be loaded.
    """
    try:
        if module == "highspy":
            return _load_highspy()
        if not module.startswith("ortools"):
            return import_module(module)
        if "ortools" not in sys.modules:
            _load_if_present("highspy")
        with _lazy_binding() if "highspy" in sys.modules else nullcontext():
            return import_module(module)
    except (ImportError, OSError) as error:
        advice = ""
        if module == "highspy" and "ortools" in sys.modules:
            advice = " It cannot be loaded after ortools: import highspy before ortools."
        raise SolverFailure(f"{module} cannot be loaded: {error}.{advice}") from error


def _load_highspy() -> ModuleType:
    """Import highspy, where need be with its own library in front of that of ortools."""
    if "ortools" in sys.modules and "highspy" not in sys.modules and sys.platform == "linux":
        spec = find_spec("highspy")
        for folder in (spec and spec.submodule_search_locations) or ():
            for library in Path(folder).glob("libhighs.so.?"):
                # A full path is not taken for the library of the same name that is there, and what
                # is global is found first when highspy looks for its functions. ortools has found
                # all of its own by now.
                ctypes.CDLL(str(library), mode=os.RTLD_GLOBAL | os.RTLD_NOW)
    return import_module("highspy")


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
