import os
import subprocess
import sys
from pathlib import Path

import pytest

from qpopt import InvalidArgument, generate, solve
from qpopt.methods import find_method, method_names

MODULE = """
import numpy as np
from qpopt.methods import Method

def first_features(incumbent, solver, options):
    incumbent.judge(np.arange(incumbent.instance.n_select))

METHOD = Method("first", "the first features", exact=False, run=first_features)
NOTHING = 3
"""
METADATA = "Metadata-Version: 2.1\nName: another\nVersion: 1\n"
ENTRY_POINTS = """[qpopt.methods]
first = another:METHOD
nothing = another:NOTHING
missing = nowhere:METHOD
"""


@pytest.fixture
def package(tmp_path: Path):
    """Install a package of someone else's into a folder of its own."""
    (tmp_path / "another.py").write_text(MODULE)
    info = tmp_path / "another-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(METADATA)
    (info / "entry_points.txt").write_text(ENTRY_POINTS)
    return tmp_path


def run_beside(package: Path, code: str) -> str:
    search = os.pathsep.join([str(package), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": search},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def test_a_method_of_another_package_is_found(package):
    code = """
import qpopt
from qpopt.methods import method_names
solution = qpopt.solve(qpopt.generate(12, 4, 4, 2), method="first")
print(solution.method, solution.selection.tolist(), "first" in method_names())
for name in ("nothing", "missing"):
    try:
        qpopt.solve(qpopt.generate(12, 4, 4, 2), method=name)
    except qpopt.InvalidArgument as error:
        print(error)
"""
    first, no_method, not_there = run_beside(package, code).splitlines()
    assert first == "first [0, 1, 2, 3] True"
    assert no_method == "The method nothing, another:NOTHING, is no qpopt.methods.Method."
    assert not_there.startswith("The method missing cannot be loaded from nowhere:METHOD")


def test_our_own_methods_say_what_they_are():
    assert set(method_names()) >= {"compact", "paper", "projected", "qcqp", "search"}
    for name in ("compact", "paper", "projected", "qcqp", "search"):
        method = find_method(name)
        assert method.name == name
        assert method.exact == (name in ("compact", "projected", "qcqp"))


def test_auto_depends_on_whether_a_solver_is_named():
    assert find_method("auto").name == "projected"
    assert find_method("auto", "highs").name == "compact"
    with pytest.raises(InvalidArgument, match="leave out solver='highs'"):
        solve(generate(6, 2, 3, 2), method="search", solver="highs")
