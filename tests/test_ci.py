"""What the check of every change runs, with programs that only write down how they were called."""

from __future__ import annotations

import runpy
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TOOLS = ("bash", "dirname", "env")
TOLD = '#!/bin/bash\necho "{name} $* {more}" >> "$TOLD"\n'


@pytest.fixture
def run(tmp_path):
    """Return a function that starts `.ci/run` with some programs, and gives what was called."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for tool in TOOLS:
        (folder / tool).symlink_to(shutil.which(tool))

    def start(*programs, user="0"):
        for name in (*programs, "make"):
            more = "browser=$QPOPT_BROWSER" if name == "make" else ""
            (folder / name).write_text(TOLD.format(name=name, more=more), encoding="utf-8")
            (folder / name).chmod(0o755)
        (folder / "id").write_text(f"#!/bin/bash\necho {user}\n", encoding="utf-8")
        (folder / "id").chmod(0o755)
        told = tmp_path / "told"
        environment = {"PATH": str(folder), "TOLD": str(told)}
        done = subprocess.run(
            [str(folder / "bash"), str(ROOT / ".ci" / "run")], env=environment, capture_output=True
        )
        assert done.returncode == 0, done.stderr
        return told.read_text(encoding="utf-8").splitlines()

    return start


def test_a_browser_that_is_missing_is_installed_by_root_and_required(run):
    update, install, make = run("apt-get")
    assert update.startswith("apt-get update")
    assert install.split()[1] == "install"
    assert "chromium" in install
    assert make.strip() == "make test browser=required"


@pytest.mark.parametrize("user", ["0", "1000"])
def test_one_that_is_there_is_used(run, user):
    (make,) = run("apt-get", "chromium", user=user)
    assert make.strip() == "make test browser=required"


def test_without_root_it_is_required_all_the_same(run):
    (make,) = run("apt-get", user="1000")
    assert make.strip() == "make test browser=required"


def test_how_far_an_installation_is_can_be_told():
    told = runpy.run_path(str(ROOT / ".ci" / "install.py"))
    stage, before = told["stage"], told["installed"]()
    assert stage("", before) == "1 of 3: preparing"
    log = (
        "Obtaining file:///here\nCollecting numpy>=1.26 (from qpopt==1)\n  Downloading numpy.whl\n"
    )
    assert stage(log, before) == "2 of 3: fetching, 2 packages so far, now numpy>=1.26"
    log += "Processing /wheels/torch-2.6-cp311.whl (from qpopt==1)\n"
    assert stage(log, before) == "2 of 3: fetching, 3 packages so far, now torch-2.6-cp311.whl"
    log += "Installing collected packages: numpy, torch, rich\n"
    assert stage(log, before - 2) == "3 of 3: unpacking, 2 of 3 packages"
    assert stage(log, before - 9) == "3 of 3: unpacking, 3 of 3 packages"
