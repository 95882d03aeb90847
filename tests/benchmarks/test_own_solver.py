"""The example of the site, as a new user would follow it: a solver in a package of its own."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.library.library import ROOT
from benchmarks.reports.report import facts
from benchmarks.runs.rows import RowFile

PAGE = (ROOT.parent / "docs" / "benchmarks.md").read_text(encoding="utf-8")


def block(language, containing):
    """Return the code block of the page that contains a word."""
    blocks = re.findall(r"^```(\w*)\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    (found,) = (text for word, text in blocks if word == language and containing in text)
    return found


@pytest.fixture
def site(tmp_path):
    """Install the package of the page into a folder of its own."""
    package, site = tmp_path / "package", tmp_path / "site"
    package.mkdir()
    (package / "my_solver.py").write_text(block("python", "class SciPy"))
    (package / "setup.cfg").write_text(block("", "qpopt.solvers ="))
    (package / "pyproject.toml").write_text(block("toml", "[build-system]"))
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index"]
    subprocess.run(
        [*pip, "--no-build-isolation", "--target", str(site), str(package)], check=True, timeout=120
    )
    return site


def test_the_example_is_short_and_can_be_compared(site, tmp_path):
    body = [line for line in block("python", "class SciPy").splitlines() if line.strip()]
    method = [line for line in body if line.startswith("        ")]
    assert len(method) < 10
    variables = {**os.environ, "PYTHONPATH": os.pathsep.join([str(site), str(ROOT.parent)])}
    command = block("", "--solvers scipy,highs").splitlines()[0]
    words = command.replace("--suite small", "--instances uniform-12x6,planted-12x6").split()
    words[0] = sys.executable
    words[words.index("results/mine")] = str(tmp_path / "mine")
    done = subprocess.run(
        [*words, "--jobs", "2"], env=variables, capture_output=True, text=True, timeout=500
    )
    assert done.returncode == 0, done.stderr
    rows = RowFile(tmp_path / "mine" / "rows.csv").read()
    assert {(row.instance, row.solver): row.status for row in rows} == {
        (instance, solver): "optimal"
        for instance in ("uniform-12x6", "planted-12x6")
        for solver in ("scipy", "highs")
    }
    assert all(row.verified for row in rows)
    (own,) = {row.versions.rpartition(" scipy ")[2] for row in rows if row.solver == "scipy"}
    assert own == "my-solver-1.0"
    assert "scipy my-solver-1.0" in dict(facts(rows))["versions"]
    assert all(Path(tmp_path / "mine" / "solutions" / f"{row.key}.json").exists() for row in rows)
