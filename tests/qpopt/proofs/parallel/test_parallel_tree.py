"""Branching in several processes, against brute force."""

from __future__ import annotations

import os
import signal
import sys

import numpy as np
import pytest

from qpopt import Status, generate, solve
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
    monkeypatch.setattr(parallel_tree, "CHILD", (sys.executable, "-c", ""))
    incumbent, tree = tree_of(instance)
    tree.run(lambda: False)
    assert tree.parts == ()
    assert incumbent.objective == pytest.approx(brute_force(instance).objective)


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
