import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from qpopt import Instance, InvalidFile, Solution
from tests.qpopt.cli.command_line import run

FULL = Path("/dev/full")


def test_solve_and_solvers(capsys, tmp_path, toy, toy_best):
    path, out_path = tmp_path / "i.npz", tmp_path / "s.json"
    toy.save(path)
    options = ("--solver", "highs", "--out", out_path, "--classes")
    code, out, _ = run(capsys, "solve", path, *options)
    assert code == 0
    for part in ("optimal", "12.900000", "crow", "1 3", "saved to"):
        assert part in out
    solution = Solution.load(out_path)
    assert solution.class_sets() == toy_best.class_sets()
    code, out, _ = run(capsys, "solve", path, "--solver", "highs", "--start", out_path, "--json")
    assert json.loads(out)["objective"] == pytest.approx(12.9)
    code, out, _ = run(capsys, "methods")
    assert code == 0
    assert "search_seconds" in out
    assert "patience" in out
    code, out, _ = run(capsys, "solvers")
    assert (code, "highs" in out) == (0, True)


def test_options_of_a_method(capsys, tmp_path, toy):
    path = tmp_path / "i.npz"
    toy.save(path)
    given = ("solve", path, "--method", "search", "--json", "--option")
    code, out, _ = run(capsys, *given, "step_limit=0")
    assert (code, json.loads(out)["details"]["steps"]) == (0, 0)
    for option, message in (
        ("target=high", "target must be a finite number, not 'high'."),
        ("step_limit=2.5", "step_limit must be a whole number of at least 0, not 2.5."),
        (
            "steps=1",
            "There is no option 'steps' for this method; known are step_limit, target, patience.",
        ),
        ("target", "--option takes NAME=VALUE, not 'target'."),
    ):
        assert run(capsys, *given, option) == (2, "", f"qpopt: {message}\n")
    code, _, _ = run(capsys, "solve", path, "--option", f"certificate={tmp_path / 'proof.npz'}")
    assert (code, (tmp_path / "proof.npz").exists()) == (0, True)


def test_an_interrupted_solve_keeps_what_it_has(capsys, tmp_path, monkeypatch, toy, toy_best):
    monkeypatch.chdir(tmp_path)
    toy.save("i.npz")
    stopped = replace(toy_best, status="interrupted")
    monkeypatch.setattr("qpopt.cli.solving.solve_instance", lambda *_, **__: stopped)
    assert run(capsys, "solve", "i.npz", "--out", "s.json")[0] == 130
    assert Solution.load("s.json") == stopped
    nothing = Solution(None, None, None, status="interrupted")
    monkeypatch.setattr("qpopt.cli.solving.solve_instance", lambda *_, **__: nothing)
    assert run(capsys, "solve", "i.npz", "--out", "s.json")[0] == 130
    assert Solution.load("s.json") == stopped


def test_a_full_disk_does_not_cost_the_solution(capsys, tmp_path, monkeypatch, toy):
    toy.save(tmp_path / "i.npz")

    def full(self, path):
        raise InvalidFile("Cannot write: No space left on device.")

    monkeypatch.setattr(Solution, "save", full)
    code, out, error = run(capsys, "solve", tmp_path / "i.npz", "--out", tmp_path / "s.json")
    assert (code, "12.900000" in out, "saved" in out) == (2, True, False)
    assert error == "qpopt: Cannot write: No space left on device.\n"


@pytest.mark.skipif(not FULL.exists(), reason="there is no /dev/full")
def test_output_that_is_lost_is_an_error(tmp_path, toy):
    toy.save(tmp_path / "i.npz")
    command = [sys.executable, "-m", "qpopt", "solve", str(tmp_path / "i.npz"), "--json"]
    with FULL.open("w") as full:
        ended = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)
    assert ended.returncode == 2
    assert ended.stderr == "qpopt: cannot write the output: No space left on device\n"


def test_sigterm_ends_a_solve_like_ctrl_c(capsys, tmp_path, monkeypatch, toy, toy_best):
    toy.save(tmp_path / "i.npz")

    def ended(*_, **__):
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGTERM)
        return replace(toy_best, status="interrupted")

    before = signal.getsignal(signal.SIGTERM)
    monkeypatch.setattr("qpopt.cli.solving.solve_instance", ended)
    assert run(capsys, "solve", tmp_path / "i.npz")[0] == 130
    assert signal.getsignal(signal.SIGTERM) is before


def test_idealised_pairs(capsys, tmp_path, toy):
    path, named, number = (tmp_path / f"{name}.npz" for name in ("i", "named", "number"))
    toy.save(path)
    run(capsys, "demand", path, named, "--demand", "pairs=[[0,1]]")
    run(capsys, "demand", named, number, "--demand", "pairs=1")
    out = tmp_path / "solution.json"
    assert run(capsys, "solve", named, "--idealise", "--time-limit", "5", "--out", out)[0] == 0
    assert run(capsys, "verify", number, out)[0] == 0
    code, _, err = run(capsys, "solve", path, "--idealise")
    assert (code, "it has none" in err) == (2, True)


def test_demands(capsys, tmp_path, toy):
    path, wished = tmp_path / "i.npz", tmp_path / "wished.npz"
    toy.save(path)
    wish = ("--demand", "forbidden=[[0,1]]", "--demand", "classes_per_feature=[1,2]")
    code, out, _ = run(capsys, "demand", path, wished, *wish)
    assert (code, "1 forbidden" in out) == (0, True)
    assert (
        Instance.load(wished).demands
        == toy.with_demands(forbidden=[(0, 1)], classes_per_feature=(1, 2)).demands
    )
    solved = [
        json.loads(run(capsys, "solve", *given, "--solver", "highs", "--json")[1])
        for given in ((wished,), (path, *wish))
    ]
    assert solved[0]["class_sets"] == solved[1]["class_sets"]
    assert 1 not in solved[0]["class_sets"][0]
    code, out, _ = run(capsys, "info", wished)
    assert "1 forbidden, 1 to 2 classes per feature" in out
    code, _, err = run(capsys, "solve", path, "--demand", "forbid=[[0,0]]")
    assert "no demand 'forbid'; known are forbidden, required" in " ".join(err.split())
    code, _, err = run(capsys, "demand", path, wished, "--demand", "forbidden")
    assert "--demand takes NAME=VALUE" in " ".join(err.split())
