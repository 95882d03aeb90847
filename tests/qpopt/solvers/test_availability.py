from __future__ import annotations

import subprocess
import sys

import pytest

from qpopt.errors import SolverFailure
from qpopt.solvers.availability import load, package_availability
from tests.installed import INFOS


def test_a_package_that_is_not_there():
    assert not package_availability("no-such-solver", "no_such_solver").installed


def test_a_package_that_cannot_be_loaded_is_installed_but_not_usable():
    availability = package_availability("numpy", "numpy.no_such_module")
    assert availability.installed
    assert not availability.usable
    assert "numpy.no_such_module cannot be loaded" in availability.problem


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
