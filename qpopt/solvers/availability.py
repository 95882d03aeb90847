"""Whether a solver is installed, can be loaded and is licensed: three questions, three answers."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

from qpopt.errors import SolverFailure


class LicenceLimits(NamedTuple):
    """The largest model that a licence allows."""

    variables: int
    rows: int
    quadratic_variables: int


@dataclass(frozen=True)
class Availability:
    """Whether a solver can be used here; it is loaded only when a question needs that.

    Parameters
    ----------
    installed
        Whether its package is there.
    version
        The version of the package; empty where it is not installed or not known.
    licence
        Loads the solver and gives what its licence allows, None for everything; raises
        SolverFailure where the solver cannot be used.
    """

    installed: bool
    version: str = ""
    licence: Callable[[], LicenceLimits | None] = lambda: None

    @cached_property
    def _answer(self) -> tuple[str, LicenceLimits | None]:
        try:
            return "", self.licence() if self.installed else None
        except SolverFailure as error:
            return str(error), None

    @property
    def problem(self) -> str:
        """Why it cannot be used although it is installed; empty where it can."""
        return self._answer[0]

    @property
    def limits(self) -> LicenceLimits | None:
        """What a limited licence allows; None where there is no limit."""
        return self._answer[1]

    @property
    def licensed(self) -> bool:
        """Whether it may be used without limits."""
        return self._answer == ("", None)

    @property
    def usable(self) -> bool:
        """Whether at least small models can be solved."""
        return self.installed and not self.problem


def installed_version(package: str, module: str) -> str:
    """Return the version of an installed package, or nothing; no part of it is loaded.

    Parameters
    ----------
    package
        The name that pip knows.
    module
        A module of it.
    """
    if find_spec(module.partition(".")[0]) is None:
        return ""
    try:
        return version(package)
    except PackageNotFoundError:
        return "unknown"


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
            with suppress(ModuleNotFoundError):
                import_module("highspy")
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
