"""What an installation gives: commands, and the package itself from wherever a script lies."""

from __future__ import annotations

import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

from qpopt import __version__

ROOT = Path(__file__).parents[1]


def output(*words: object, cwd: Path | None = None) -> str:
    """Return what a command prints."""
    done = subprocess.run(
        [str(word) for word in words], capture_output=True, text=True, cwd=cwd, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    ("package", "command"), [("qpopt", "solvers"), ("qpopt_torch", "sparsify")]
)
def test_a_package_is_a_command(package, command):
    assert command in output(sys.executable, "-m", package, "--help")


def test_the_exit_code_of_the_command_is_that_of_the_process():
    done = subprocess.run([sys.executable, "-m", "qpopt", "info"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (2, "qpopt: Missing argument 'FILE'.\n")


def test_beside_a_checkout_the_package_is_imported_and_not_the_folder(tmp_path):
    """A folder called qpopt would be a package too, if an empty one, were it found first."""
    checkout = tmp_path / "qpopt"
    for name in ("qpopt", "qpopt_torch"):
        hidden = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / name, checkout / name, ignore=hidden)
    for name in ("setup.cfg", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, checkout)
    venv.create(tmp_path / "venv", with_pip=False)
    python = tmp_path / "venv" / "bin" / "python"
    packages = sysconfig.get_paths(vars={"base": str(tmp_path / "venv")})["purelib"]
    Path(packages, "dependencies.pth").write_text(sysconfig.get_path("purelib"))
    pip = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-deps"]
    output(*pip, "--no-index", "--no-build-isolation", "--editable", checkout)
    script = tmp_path / "script.py"
    script.write_text("import qpopt\nprint(qpopt.__file__, qpopt.__version__)\n")
    found = output(python, "-E", script, cwd=tmp_path).split()  # whatever PYTHONPATH says
    assert found == [str(checkout / "qpopt" / "__init__.py"), __version__]
