"""Branching in several processes, against brute force."""

from __future__ import annotations

import os
import signal

import numpy as np
import pytest

from qpopt import SolverFailure, Status, generate, solve
from qpopt.control.incumbent import Incumbent
from qpopt.control.limits import Limits
from qpopt.proofs.node import Node
from qpopt.proofs.parallel import parallel_tree
from qpopt.proofs.parallel.parallel_tree import ParallelTree
from tests.brute_force import all_selections, best_class_sets, brute_force, value

BRANCHING = {
    "search_seconds": 0.0, "enumerate": False, "hand_over": False,
    "params": {"before_branching": (1, 9.0), "root": {"worth_removing": 2.0}},
}  # fmt: skip
"""Options that leave a proof to branching."""


@pytest.fixture(scope="module")
def instance():
    """Several parts have to be looked at before it is proven."""
    return generate(14, 5, 5, 2, structure="clustered", seed=2)


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    monkeypatch.setattr(parallel_tree, "ALONE", 0.0)


def tree_of(instance, n_processes=2):
    incumbent = Incumbent(instance, Limits(gap=0.0))
    node = Node(instance, np.arange(instance.n_features), np.zeros(0, dtype=np.int64))
    return incumbent, ParallelTree(incumbent, [node], 0, n_processes)


def test_two_processes_end_at_the_optimum(instance):
    solution = solve(instance, gap=0.0, threads=2, options=BRANCHING)
    assert solution.status is Status.OPTIMAL
    assert solution.objective == pytest.approx(brute_force(instance).objective)
    assert solution.details["nodes"] > 2


def test_a_process_that_dies_loses_nothing(instance):
    incumbent, tree = tree_of(instance)
    killed = []

    def stop():
        if tree.nodes and not killed:
            killed.extend(process.pid for process in tree._processes)
            os.kill(killed[0], signal.SIGKILL)
        return False

    tree.run(stop)
    assert len(killed) == 2
    assert tree.parts == ()
    assert incumbent.objective == pytest.approx(brute_force(instance).objective)
    assert incumbent.bound == pytest.approx(incumbent.objective, rel=1e-9)


def test_without_any_process_it_goes_on_alone(instance, monkeypatch):
    monkeypatch.setattr(parallel_tree, "CHILD", "abc")  # which ends at once
    incumbent, tree = tree_of(instance)
    tree.run(lambda: False)
    assert tree.parts == ()
    assert incumbent.objective == pytest.approx(brute_force(instance).objective)


@pytest.mark.parametrize("what", ["Popen", "Thread"])
def test_where_none_can_be_started_it_goes_on_alone(instance, monkeypatch, what):
    def refuse(*arguments, **options):
        raise BlockingIOError("Resource temporarily unavailable")

    room = parallel_tree.subprocess if what == "Popen" else parallel_tree
    monkeypatch.setattr(room, what, refuse)
    notes = []
    limits = Limits(gap=0.0)
    incumbent = Incumbent(instance, limits, on_event=lambda event: notes.append(event.note))
    node = Node(instance, np.arange(instance.n_features), np.zeros(0, dtype=np.int64))
    ParallelTree(incumbent, [node], 0, 2).run(lambda: False)
    assert incumbent.bound == pytest.approx(brute_force(instance).objective)
    assert "no more processes can be started: Resource temporarily unavailable" in notes


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError, SolverFailure])
def test_what_is_raised_where_an_answer_is_taken_ends_it(instance, monkeypatch, error):
    """In a thread of its own nobody would hear of it, and its part would never come back."""

    def refuse(*arguments):
        raise error("no")

    monkeypatch.setattr(ParallelTree, "_take", refuse)
    _, tree = tree_of(instance)
    before = tree.parts
    with pytest.raises(error, match="no"):
        tree.run(lambda: False)
    assert len(tree.parts) == len(before)


def test_processes_import_from_where_this_one_does(instance, monkeypatch, tmp_path):
    """And not from the present folder, where anything may lie."""
    for name in ("numpy", "pickle", "struct", "threading"):
        (tmp_path / f"{name}.py").write_text("open('imported', 'w')\nraise SystemExit(1)\n")
    monkeypatch.chdir(tmp_path)
    incumbent, tree = tree_of(instance)
    answers = []
    take = ParallelTree._take
    monkeypatch.setattr(
        ParallelTree, "_take", lambda *given: (answers.append(given[1]), take(*given))
    )
    tree.run(lambda: False)
    assert answers
    assert not (tmp_path / "imported").exists()
    assert incumbent.objective == pytest.approx(brute_force(instance).objective)


def test_processes_do_not_hear_ctrl_c_of_the_terminal(instance):
    """It goes to all that belong to the terminal; while they begin they would print tracebacks."""
    _, tree = tree_of(instance)
    groups = []

    def stop():
        groups.extend(os.getpgid(process.pid) for process in tree._processes)
        return bool(groups)

    tree.run(stop)
    assert len(groups) == 2
    assert os.getpgid(0) not in groups


def test_an_interruption_leaves_everything_open(instance, monkeypatch):
    incumbent, tree = tree_of(instance)

    def interrupt():
        if tree.nodes:
            raise KeyboardInterrupt
        return False

    with pytest.raises(KeyboardInterrupt):
        tree.run(interrupt)
    assert tree._processes == []
    for selection in all_selections(instance):
        z = value(instance, selection, best_class_sets(instance, selection))
        if z > incumbent.objective + 1e-9:
            (part,) = [
                part
                for part in tree.parts
                if set(part.included) <= set(selection) <= {*part.included, *part.free}
            ]
            assert part.bound >= z - 1e-9
    monkeypatch.setattr(parallel_tree, "ALONE", 60.0)
    tree.run(lambda: False)
    assert incumbent.objective == pytest.approx(brute_force(instance).objective)


def test_what_is_quickly_done_needs_no_process(instance, monkeypatch):
    monkeypatch.setattr(parallel_tree, "ALONE", 60.0)
    monkeypatch.setattr(ParallelTree, "_begin", None)
    incumbent, tree = tree_of(instance)
    tree.run(lambda: False)
    assert tree.parts == ()
    assert incumbent.bound == pytest.approx(brute_force(instance).objective)
