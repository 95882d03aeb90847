from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from qpopt.errors import SolverFailure
from qpopt.solvers import Availability, LicenceLimits, Solver
from qpopt.solvers.availability import installed_version, load
from tests.installed import INFOS


def test_a_package_that_is_not_there():
    assert installed_version("no-such-solver", "no_such_solver") == ""
    assert not Availability(installed=False).usable


def test_a_package_that_cannot_be_loaded_is_installed_but_not_usable():
    class Broken(Solver):
        package, module = "numpy", "numpy.no_such_module"

        def solve(self, model, request):
            raise NotImplementedError

    availability = Broken().availability()
    assert availability.installed
    assert availability.version == np.__version__
    assert not availability.usable
    assert not availability.licensed
    assert "numpy.no_such_module cannot be loaded" in availability.problem


def test_a_limited_licence_is_usable_but_not_licensed():
    limits = LicenceLimits(10, 20, 5)
    availability = Availability(True, "1", lambda: limits)
    assert availability.usable
    assert not availability.licensed
    assert availability.limits == limits


def test_asking_what_is_installed_loads_no_solver():
    code = """
import sys
from qpopt import available_solvers
for name, info in available_solvers().items():
    print(name, info.availability.installed, info.availability.version, info.install)
loaded = {"gurobipy", "highspy", "ortools", "pyscipopt"} & sys.modules.keys()
assert not loaded, loaded
assert available_solvers()["highs"].availability.usable
assert "highspy" in sys.modules
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert [line.split()[0] for line in done.stdout.splitlines()] == list(INFOS)


def test_loading_what_is_missing_fails_in_words():
    with pytest.raises(SolverFailure, match="no_such_solver cannot be loaded"):
        load("no_such_solver")


@pytest.mark.skipif(
    not (INFOS["highs"].availability.usable and INFOS["cpsat"].availability.usable),
    reason="highspy and ortools are not both installed",
)
@pytest.mark.parametrize(
    "before", ["", "import highspy", "import ortools", "from ortools.sat.python import cp_model"]
)
@pytest.mark.parametrize("order", [("highs", "cpsat"), ("cpsat", "highs")])
def test_highs_and_cpsat_work_in_one_process_in_any_order(before, order):
    """Whatever the user has imported before, HiGHS is highspy's own and not that of ortools."""
    code = f"""
{before}
from importlib.metadata import version
from qpopt import Instance
from qpopt.models.compact import compile_compact
from qpopt.solvers import SolverRequest, find_solver
model = compile_compact(Instance([[1, 5, 2]], [[0] * 3] * 3, [0] * 3, 2, 1), quadratic=False)
for name in {order!r}:
    print(round(find_solver(name).solve(model, SolverRequest()).objective, 6))
import highspy
print(highspy.Highs().version() == version("highspy"))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["5.0", "5.0", "True"]
