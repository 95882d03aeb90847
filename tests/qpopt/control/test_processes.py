"""Processes that are started, watched and ended."""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import psutil

from qpopt.control.processes import (
    THREAD_VARIABLES,
    command,
    end,
    pinned,
    processor_seconds,
    resident_megabytes,
)


def test_a_process_ends_with_its_parent(tmp_path):
    """A parent that is killed cannot end what it began; that has to notice."""
    code = (
        "import os, subprocess, sys\n"
        "child = 'import time; from qpopt.control.processes import end_with_parent;"
        " end_with_parent(); print(1, flush=True); time.sleep(600)'\n"
        "process = subprocess.Popen([sys.executable, '-c', child], stdout=subprocess.PIPE)\n"
        "process.stdout.readline()\n"
        "print(process.pid, flush=True)\n"
        "process.wait()\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    assert parent.stdout is not None
    with parent.stdout:
        child = psutil.Process(int(parent.stdout.readline()))
        os.kill(parent.pid, signal.SIGKILL)
        parent.wait()
    for _ in range(200):
        if not child.is_running() or child.status() == psutil.STATUS_ZOMBIE:
            break
        time.sleep(0.05)
    else:
        child.kill()
        raise AssertionError("the process outlived its parent")


def test_threads_are_pinned_and_the_rest_of_the_environment_stays(monkeypatch):
    monkeypatch.setenv("QPOPT_OTHER", "kept")
    variables = pinned(3)
    assert variables["QPOPT_OTHER"] == "kept"
    assert {variables[name] for name in THREAD_VARIABLES} == {"3"}


def test_memory_is_what_is_resident():
    before = resident_megabytes(os.getpid())
    held = np.ones(25_000_000)  # 200 MB
    assert 190 < resident_megabytes(os.getpid()) - before < 260
    assert len(held) == 25_000_000
    assert resident_megabytes(2**22 + 1) == 0.0


def test_a_process_is_ended_with_what_it_began():
    code = "import subprocess; print(subprocess.Popen(['sleep', '600']).pid, flush=True); input()"
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    with process.stdout, process.stdin:
        grandchild = psutil.Process(int(process.stdout.readline()))
        end(process)
    assert process.returncode == -signal.SIGKILL
    for _ in range(100):
        if not grandchild.is_running() or grandchild.status() == psutil.STATUS_ZOMBIE:
            return
        time.sleep(0.05)
    raise AssertionError("what a process began outlived it")


def test_a_module_is_run_with_the_path_of_this_process(tmp_path, monkeypatch):
    (tmp_path / "found").mkdir()
    (tmp_path / "found" / "only_here.py").write_text(
        "import sys, json\nif __name__ == '__main__':\n    print(json.dumps(sys.argv[1:]))\n"
    )
    (tmp_path / "json.py").write_text("raise SystemExit('imported from the present folder')\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path / "found"), *filter(None, sys.path)])
    arguments = ["a b", "--c='d'"]
    done = subprocess.run(command("only_here", *arguments), capture_output=True, check=False)
    assert done.stderr == b""
    assert json.loads(done.stdout) == arguments


def test_what_the_environment_names_is_found_as_well(tmp_path, monkeypatch):
    (tmp_path / "only_there.py").write_text("print('found')\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    done = subprocess.run(command("only_there"), capture_output=True, text=True, check=False)
    assert done.stdout == "found\n"


def test_the_time_that_processors_work_is_told():
    before = processor_seconds(os.getpid())
    until = time.process_time() + 0.1
    while time.process_time() < until:
        pass
    worked = processor_seconds(os.getpid()) - before
    assert 0.05 < worked < 1.0
    assert processor_seconds(2**31 - 1) == 0.0
