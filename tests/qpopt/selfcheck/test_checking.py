"""A selfcheck from the outside: broken solvers of another package, each named as what it is."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from xml.etree import ElementTree

import pytest

from qpopt import Instance, InvalidArgument, MissingSolver, Solution, SolverFailure, __version__
from qpopt.selfcheck import watching
from qpopt.selfcheck.cases import bundled
from qpopt.selfcheck.checking import _Run, selfcheck
from qpopt.selfcheck.faults import Fault, Finding
from qpopt.selfcheck.judging import DISAGREED, Verdict
from qpopt.selfcheck.pairs import Job, Pair
from tests.qpopt.cli.command_line import run
from tests.qpopt.selfcheck.plugins import install

FAULTS = {
    "infeasible": "infeasible point",
    "wrong": "wrong objective",
    "low": "bound below the optimum",
    "early": '"optimal" too early',
    "crashing": "crash",
    "raising": "error",
}
CASES = ("alike-8x3", "steered-12x6")


def solver_options(names):
    return [word for name in names for word in ("--solver", name)]


def test_every_broken_solver_is_named_as_what_it_is(tmp_path, monkeypatch, capsys):
    install(tmp_path, monkeypatch, "sound", *FAULTS)
    out, junit = tmp_path / "kept", tmp_path / "junit.xml"
    code, text, _ = run(
        capsys,
        "selfcheck",
        *("--method", "compact", *solver_options(["sound", *FAULTS])),
        *("--instance", CASES[0], "--instance", CASES[1]),
        *("--out", out, "--junit", junit, "--seed", 3, "--json"),
    )
    assert code == 1
    report = json.loads(text)
    assert (report["format"], report["ok"], report["seed"]) == ("qpopt-selfcheck", False, 3)
    assert report["machine"]["packages"]["qpopt"] == __version__
    pairs = {pair["solver"]: pair for pair in report["pairs"]}
    assert (pairs["sound"]["agreed"], pairs["sound"]["faults"]) == (2, [])
    assert pairs["sound"]["worst_deviation"] == pytest.approx(0, abs=1e-6)
    assert {name: pairs[name]["faults"] for name in FAULTS} == {
        name: [fault] for name, fault in FAULTS.items()
    }
    # Whoever answers goes on; a process that is gone ends its pair.
    assert pairs["low"]["disagreed"] == 2
    assert (pairs["crashing"]["disagreed"], pairs["crashing"]["not_run"]) == (1, 1)
    assert "SIGSEGV" in pairs["crashing"]["verdicts"][0]["message"]
    assert "a pivot is 0" in pairs["raising"]["verdicts"][0]["message"]

    suites = {suite.get("name"): suite for suite in ElementTree.parse(junit).getroot()}
    assert suites["compact with sound"].get("failures") == "0"
    assert suites["compact with crashing"].get("skipped") == "1"
    failure = suites["compact with early"].find("testcase/failure")
    assert failure.get("type") == '"optimal" too early'

    kept = out / "compact-with-low-on-alike-8x3"
    verdict = pairs["low"]["verdicts"][0]
    assert verdict["kept"] == str(kept)
    assert Solution.load(kept / "optimum.json").fingerprint == (
        Instance.load(kept / "instance.npz").fingerprint
    )
    answers = json.loads((kept / "answers.json").read_text())["answers"]
    assert answers[0]["bound"] < answers[0]["objective"]
    again = subprocess.run(
        [sys.executable, kept / "repeat.py"], capture_output=True, text=True, timeout=300
    )
    assert again.returncode == 1
    assert again.stdout.endswith(f"bound below the optimum: {verdict['message']}\n")


def test_what_hangs_or_grows_is_ended_and_named(tmp_path, monkeypatch):
    install(tmp_path, monkeypatch, "greedy", "hanging")
    monkeypatch.setattr(watching, "CASE_SECONDS", 1.0)
    monkeypatch.setattr(watching, "OVERDUE", 4.0)
    report = selfcheck(["compact"], ["greedy", "hanging"], CASES, out=tmp_path, memory_limit=700.0)
    assert {result.pair.solver: result.faults for result in report.results} == {
        "greedy": ["out of memory"],
        "hanging": ["hang"],
    }
    assert not report.ok
    assert sorted(path.name for path in tmp_path.glob("compact*")) == sorted(
        f"compact-with-{name}-on-alike-8x3" for name in ("greedy", "hanging")
    )


def test_what_the_methods_themselves_say(tmp_path, capsys):
    """One of each kind: exact, with a certificate, without a proof, with a solver."""
    names = ("projected", "paper")
    code, text, _ = run(
        capsys,
        "selfcheck",
        *(word for name in names for word in ("--method", name)),
        *("--solver", "highs", "--instance", "steered-12x6", "--out", tmp_path),
    )
    assert code == 0
    labels = [line.split("  ")[0].strip() for line in text.splitlines()]
    assert labels[1:4] == ["projected", "projected, certified", "paper with highs"]
    assert f"qpopt {__version__}, numpy" in text
    assert "BLAS: " in text
    assert list(tmp_path.iterdir()) == []


def test_arguments_are_checked_before_anything_is_solved(tmp_path, capsys):
    with pytest.raises(MissingSolver, match="no solver called 'glpk'"):
        selfcheck(solvers=["glpk"])
    with pytest.raises(InvalidArgument, match="minutes"):
        selfcheck(minutes=-1.0)
    blocked = tmp_path / "file"
    blocked.touch()
    code, _, error = run(capsys, "selfcheck", "--out", blocked)
    assert code == 2
    assert "is a file; name a folder" in error


def test_a_package_that_breaks_as_it_is_loaded_is_said(tmp_path, monkeypatch):
    install(tmp_path, monkeypatch, "sound")
    (tmp_path / "broken_solvers.py").write_text("import os\nprint('gone')\nos._exit(7)\n")
    with pytest.raises(SolverFailure, match=r"cannot even be listed.*exit code 7.* gone"):
        selfcheck(["compact"])


def test_what_takes_long_between_two_jobs_is_not_blamed(tmp_path, monkeypatch):
    """Where a machine is busy, loading a package takes longer than a case may."""
    monkeypatch.setattr("qpopt.control.processes.sys.executable", "/bin/true")
    watched = watching.Watched(tmp_path, {}, 1e6)
    watched._process.wait()
    steps = [["ready", 0], ["begin", 0], ["end", 0]]
    patience = []
    for n in range(1, 4):
        text = "".join(json.dumps(step) + "\n" for step in steps[:n])
        (tmp_path / "steps.jsonl").write_text(text)
        watched._follow()
        patience.append(watched._until - time.monotonic())
    assert watched.ended == [0]
    least = watching.START_SECONDS - 60
    assert [seconds > least for seconds in patience] == [True, False, True]


def test_who_waits_for_a_processor_is_not_said_to_hang(tmp_path, monkeypatch):
    """Unless it has been working all that long, or does nothing."""
    monkeypatch.setattr("qpopt.control.processes.sys.executable", "/bin/true")
    watched = watching.Watched(tmp_path, {}, 1e6)
    watched._process.wait()
    worked = iter([10.0, 30.0, 30.5, 31.5, watching.START_SECONDS])
    monkeypatch.setattr(watching, "processor_seconds", lambda pid: next(worked))
    waits = [watched._waits_for_a_processor() for _ in range(5)]
    assert waits == [True, True, False, True, False]
    watched.job = 0
    monkeypatch.setattr(watching, "processor_seconds", lambda pid: 100.0)
    assert not watched._waits_for_a_processor()


def test_who_breaks_down_between_two_jobs_is_told_by_the_next_one(tmp_path):
    """And what is kept of it is that of the next one, not of the first."""
    pair, other = Pair("search", "", False, {}), Pair("projected", "", True, {})
    first, second = bundled(CASES)
    checking = _Run(tmp_path, [first, second], 0, tmp_path / "kept", 1e6, None)
    jobs = [Job(pair, first), Job(other, second)]
    checking.verdicts[jobs[0]] = Verdict(first.name, "agreed")
    (tmp_path / "0.answer.json").write_text("what the first one said")

    class Gone:
        job, log, folder = None, "", tmp_path

    left = checking._go_on(jobs, Gone(), Finding(Fault.CRASH, "the process ended."))
    assert left == []
    assert checking.verdicts[jobs[1]].outcome == DISAGREED
    assert "what the first one said" not in "".join(
        file.read_text(errors="replace") for file in (tmp_path / "kept").rglob("*.json")
    )


def test_ctrl_c_leaves_what_there_is_and_no_process(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    started = []

    class Interrupted(watching.Watched):
        def __init__(self, *arguments):
            super().__init__(*arguments)
            started.append(self._process)

        def over(self):
            raise KeyboardInterrupt

    monkeypatch.setattr("qpopt.selfcheck.checking.Watched", Interrupted)
    report = selfcheck(["search"], instances=CASES)
    assert report.interrupted
    assert not report.ok
    assert [process.poll() is None for process in started] == [False]


@pytest.mark.slow
def test_all_pairs_agree_in_a_minute(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "qpopt", "selfcheck", "--json", "--out", str(tmp_path)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])},
    )
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["ok"]
    assert all(pair["agreed"] for pair in report["pairs"] if pair["method"] != "qcqp")
