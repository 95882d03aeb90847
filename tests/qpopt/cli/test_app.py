import os
import re
import subprocess
import sys
from dataclasses import replace

import pytest

from qpopt import Instance, __version__, generate
from tests.qpopt.cli.command_line import run


def test_version(capsys):
    assert run(capsys, "--version") == (0, f"qpopt {__version__}\n", "")


def test_installed_command():
    code = "import sys; from qpopt.cli.app import main; sys.exit(main())"
    done = subprocess.run([sys.executable, "-c", code, "info"], capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr == "qpopt: Missing argument 'FILE'.\n"


def test_names_are_not_markup(capsys, tmp_path, toy, toy_best):
    odd = Instance(toy.A, toy.R, toy.b, 3, 2, name="[/red] :smile:", provenance={"epsilon": "abc"})
    path = tmp_path / "[red]i.npz"
    odd.save(path)
    code, out, _ = run(capsys, "info", path)
    assert (code, "[/red] :smile:" in out) == (0, True)
    replace(toy_best, fingerprint="[/red]xx").save(tmp_path / "s.json")
    code, out, _ = run(capsys, "verify", path, tmp_path / "s.json")
    assert (code, "[/red]xx" in out) == (1, True)


def test_terminal_without_unicode(tmp_path):
    path = tmp_path / "i.npz"
    generate(30, 6, 8, 3).save(path)
    code = "import sys; from qpopt.cli.app import main; sys.exit(main())"
    done = subprocess.run(
        [sys.executable, "-c", code, "info", str(path)],
        capture_output=True,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
    )
    assert (done.returncode, done.stderr) == (0, b"")


def test_an_interruption_is_one_line(capsys, tmp_path, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("qpopt.synthetic.generate", interrupted)
    assert run(capsys, "generate", tmp_path / "x.npz") == (130, "", "qpopt: interrupted\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["info", "missing.npz"], "missing.npz does not exist"),
        (["verify", "missing.npz", "x.json"], "missing.npz does not exist"),
        (["generate", "x.npz", "--n-features", "3"], "n_select is 20"),
        (["generate", "x.npz", "--n-features", "many"], "--n-features"),
        (["generate", "x.npz", "--structure", "odd"], "structure must be one of"),
        (["generate", "no/such/folder/x.npz"], "Cannot write"),
        (["frobnicate"], "frobnicate"),
        (["generate", "."], "Cannot write"),
        (["solve", "missing.npz"], "missing.npz does not exist"),
        *[
            (["generate", "x.npz", f"--{name}", value], name.replace("-", "[-_]"))
            for name in ("n-features", "n-classes", "n-select", "n-per-class")
            for value in ("0", "-1", "1.5", "")
        ],
        *[
            ([command, "missing.npz", "--time-limit", value], "--time-limit")
            for command in ("solve", "bound")
            for value in ("-1", "many", "")
        ],
        *[
            (["solve", "missing.npz", f"--{name}", value], f"--{name}")
            for name in ("gap", "seed", "threads")
            for value in ("-1", "many")
        ],
        (["solve", "missing.npz", "--threads", "0"], "--threads"),
        (["generate", "x.npz", "--seed", "-1"], "seed"),
        (["certify", "missing.npz", "missing.json"], "missing.npz does not exist"),
        (["export", "missing.npz", "x.lp"], "missing.npz does not exist"),
        (["info", "."], "Cannot read"),
        (["info", "/dev/null"], "is not a qpopt instance"),
    ],
)
def test_bad_use_is_one_line_and_code_2(capsys, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    code, out, err = run(capsys, *arguments)
    assert code == 2
    assert out == ""
    assert re.search(message, err)
    assert len(err.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []
