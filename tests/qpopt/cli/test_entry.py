"""Signals that come while a command is still being imported."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from qpopt.cli.entry import start

SLOW = """
import sys, time
try:
    print("loading", flush=True)
    time.sleep(60)
except BaseException:
    pass  # as packages do that try to import another
def main():
    return 0
"""
START = "import sys; from qpopt.cli.entry import start; sys.exit(start('slow', 'qpopt'))"


def interrupted(command, folder, number):
    """Start a command, send it a signal as soon as it says so, and return how it ended."""
    environment = {**os.environ, "PYTHONPATH": f"{folder}:{os.environ.get('PYTHONPATH', '')}"}
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, env=environment, **streams) as process:
        assert process.stdout.readline() == "loading\n"
        time.sleep(0.01)
        process.send_signal(number)
        _, said = process.communicate(timeout=60)
    return process.returncode, said


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_import_that_swallows_everything_does_not_swallow_a_signal(tmp_path, number):
    (tmp_path / "slow.py").write_text(SLOW, encoding="utf-8")
    command = [sys.executable, "-c", START]
    assert interrupted(command, tmp_path, number) == (130, "qpopt: interrupted\n")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize(
    ("package", "name", "large"),
    [("qpopt", "qpopt", "typer"), ("qpopt_torch", "qpopt-torch", "torch")],
)
def test_commands_end_quietly_while_they_are_loaded(tmp_path, package, name, large, number):
    """A package in the place of a large one lasts until the signal comes."""
    (tmp_path / f"{large}.py").write_text(SLOW, encoding="utf-8")
    command = [sys.executable, "-m", package, "--help"]
    assert interrupted(command, tmp_path, number) == (130, f"{name}: interrupted\n")


def test_a_process_that_is_deaf_to_a_signal_stays_deaf(tmp_path):
    (tmp_path / "slow.py").write_text(SLOW.replace("60", "0.5"), encoding="utf-8")
    deaf = f"import signal; signal.signal(signal.SIGINT, signal.SIG_IGN); {START}"
    assert interrupted([sys.executable, "-c", deaf], tmp_path, signal.SIGINT) == (0, "")


def test_afterwards_signals_do_what_they_did(tmp_path, monkeypatch):
    from_before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    (tmp_path / "quick_command.py").write_text("def main():\n    return 7\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    assert start("quick_command", "qpopt") == 7
    assert [signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM)] == from_before
