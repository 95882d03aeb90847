"""The broken solvers as an installed package, which processes find, too."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import qpopt
from tests.qpopt.selfcheck import broken_solvers

ROOT = Path(qpopt.__file__).parents[1]


def install(site, monkeypatch, *names):
    """Put a package onto the path that announces some of the solvers."""
    shutil.copy(broken_solvers.__file__, site / "broken_solvers.py")
    info = site / "broken_solvers-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: broken-solvers\nVersion: 1.0\n")
    lines = (f"{name} = broken_solvers:{name.title()}" for name in names)
    (info / "entry_points.txt").write_text("[qpopt.solvers]\n" + "\n".join(lines) + "\n")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(site), str(ROOT)]))
