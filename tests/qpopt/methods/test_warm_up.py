import subprocess
from functools import cache

import pytest

from qpopt import generate
from qpopt.control.processes import command
from qpopt.methods import warm_up


def test_ctrl_c_is_passed_on(monkeypatch):
    def interrupted(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(warm_up, "search", interrupted)
    with pytest.raises(KeyboardInterrupt):
        warm_up.compile_loops.__wrapped__()


def test_no_solve_compiles_anything_of_its_own():
    """It would take from the time limit, where that is short all of it."""
    done = subprocess.run(
        command("tests.qpopt.methods.compiling"), capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "[]\n"), done.stderr


def test_getting_ready_is_told_where_it_was_not_done(monkeypatch):
    monkeypatch.setattr(warm_up, "compile_loops", cache(lambda: None))
    told = []
    for _ in range(2):
        warm_up.get_ready(generate(8, 4, 5, 2), told.append)
    assert [event.note for event in told] == [warm_up.COMPILING]
