"""A proof on a cluster against brute force, with workers that come to an end as well."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path

import numpy as np
import pytest
from distributed import LocalCluster

import qpopt
from qpopt import InvalidArgument, SolverFailure, Status, solve, verify
from qpopt.control.events import Phase
from qpopt.control.incumbent import Incumbent
from qpopt.control.limits import Limits
from qpopt.problem.subproblem import Part, subproblem
from qpopt.proofs.distributed import cluster_tree, worker
from qpopt.proofs.distributed.cluster_tree import ClusterTree
from qpopt.proofs.distributed.connection import connect
from qpopt.proofs.distributed.worker import News, Order, work_on
from qpopt.proofs.resuming.checkpoint import Checkpoint
from tests.brute_force import brute_force

pytestmark = pytest.mark.filterwarnings("ignore")  # of distributed itself, when workers die

PARAMS = {"branch_below": 0, "core": 4, "before_branching": (1, 9.0), "most_patience": 1}
"""So that branching begins at once."""


def options(address, **more):
    return {
        "search_seconds": 0.0,
        "enumerate": False,
        "hand_over": False,
        "params": PARAMS,
        "scheduler": address,
        **more,
    }


def local(**more):
    return LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        dashboard_address=None,
        scheduler_port=0,
        silence_logs=50,
        **more,
    )


@pytest.fixture(scope="module")
def threads():
    """Start two workers in this process."""
    with local(processes=False, protocol="tcp") as cluster:
        yield cluster.scheduler_address


@pytest.fixture
def open_parts():
    """An instance, and its selections in parts, as a proof has them when it branches."""
    instance = qpopt.generate(12, 6, 4, 2, seed=2)
    whole = subproblem(instance)
    d = whole.free[0]
    parts = (
        Part(whole.free[1:], np.array([d]), 1e9),
        Part(whole.free[1:], whole.included, 1e9),
    )
    return instance, parts


def test_ends_at_the_optimum(threads):
    instance = qpopt.generate(14, 6, 5, 2, seed=1)
    solution = solve(instance, time_limit=None, gap=0.0, options=options(threads))
    best = brute_force(instance).objective
    assert solution.status is Status.OPTIMAL
    assert solution.objective == pytest.approx(best, rel=1e-9)
    assert solution.bound == pytest.approx(best, rel=3e-6)
    assert solution.details["nodes"] > 1
    assert verify(instance, solution)


def test_only_open_features_are_sent_and_bounds_are_valid(threads, open_parts):
    instance, parts = open_parts
    incumbent = Incumbent(instance, Limits(None, gap=0.0))
    incumbent.judge(np.arange(4))
    best = brute_force(instance).objective
    with connect(threads) as client:
        tree = ClusterTree(incumbent, parts, 0, client)
        bounds = []

        def stop():
            bounds.append(tree.bound)
            return False

        tree.run(stop)
    assert incumbent.proven
    assert incumbent.objective == pytest.approx(best)
    assert min(bounds) >= best - 1e-9
    assert tree.nodes > 0


def test_an_interruption_leaves_the_parts_that_were_given_away(threads, open_parts):
    instance, parts = open_parts
    incumbent = Incumbent(instance, Limits(None, gap=0.0))
    incumbent.judge(np.arange(4))
    best = brute_force(instance).objective
    with connect(threads) as client:
        tree = ClusterTree(incumbent, parts, 0, client)
        looks = []

        def interrupt():
            looks.append(tree.parts)
            if len(looks) == 2:
                raise KeyboardInterrupt
            return False

        with pytest.raises(KeyboardInterrupt):
            tree.run(interrupt)
        assert tree.bound >= best - 1e-9
        left = tree.parts
        # What is open and what is known hold the optimum: going on from there finds it.
        again = ClusterTree(incumbent, left, 0, client)
        again.run(lambda: False)
    assert incumbent.objective == pytest.approx(best)


def test_a_stopped_proof_goes_on_from_its_checkpoint(threads, tmp_path):
    instance = qpopt.generate(14, 6, 5, 2, seed=1)
    path = tmp_path / "proof.npz"

    def interrupt(event):
        if event.phase is Phase.BRANCH:
            raise KeyboardInterrupt

    first = solve(
        instance,
        time_limit=None,
        gap=0.0,
        options=options(threads, checkpoint=path),
        progress=interrupt,
    )
    assert first.status is Status.INTERRUPTED
    assert Checkpoint.load(path, instance).items
    second = solve(instance, time_limit=None, gap=0.0, options=options(threads, checkpoint=path))
    assert second.objective == pytest.approx(brute_force(instance).objective)
    assert second.status is Status.OPTIMAL


@pytest.mark.slow
def test_a_lost_worker_loses_nothing(monkeypatch):
    """One of two processes is killed while both are at work."""
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[4]))
    instance = qpopt.generate(20, 8, 6, 3, seed=2)
    killed = []
    with local(processes=True) as cluster:
        victim = next(iter(cluster.workers.values())).pid

        def kill(event):
            if event.phase is Phase.BRANCH and "2 at work" in event.note and not killed:
                killed.append(victim)
                threading.Timer(0.1, os.kill, (victim, signal.SIGKILL)).start()

        address = cluster.scheduler_address
        solution = solve(
            instance, time_limit=None, gap=0.0, options=options(address), progress=kill
        )
    assert killed
    assert solution.status is Status.OPTIMAL
    alone = solve(instance, time_limit=None, gap=0.0)
    assert solution.objective == pytest.approx(alone.objective)


def test_a_part_that_is_lost_again_and_again_ends_the_proof(threads, open_parts, monkeypatch):
    instance, parts = open_parts
    incumbent = Incumbent(instance, Limits(None, gap=0.0))
    incumbent.judge(np.arange(4))
    monkeypatch.setattr(cluster_tree, "_result", lambda future: None)
    with connect(threads) as client:
        tree = ClusterTree(incumbent, parts, 0, client)
        with pytest.raises(SolverFailure, match="lost its workers"):
            tree.run(lambda: False)
    assert len(tree.parts) == 2


def test_an_error_of_a_worker_is_told(threads, open_parts, monkeypatch):
    instance, parts = open_parts
    monkeypatch.setattr(worker, "work_on", lambda *arguments: 1 / 0)
    with connect(threads) as client:
        tree = ClusterTree(Incumbent(instance, Limits(None)), parts, 0, client)
        with pytest.raises(SolverFailure, match="ZeroDivisionError"):
            tree.run(lambda: False)


def test_a_worker_hears_of_better_solutions_and_of_the_end(open_parts):
    instance, (part, _) = open_parts
    order = Order("test", part, -np.inf, 60.0, 0)
    found = []

    def report(selection):
        found.append(selection)
        worker.tell("test", 1e8)

    try:
        outcome = work_on(instance, order, report)
        assert len(found) == 1
        assert outcome.parts == ()
        worker.cancel("test")
        assert work_on(instance, order).nodes == 0
    finally:
        worker.forget("test")
    assert worker._news.setdefault("test", News()) == News()


def test_what_cannot_be(tmp_path):
    with pytest.raises(InvalidArgument, match="tcp://HOST"):
        solve(qpopt.generate(8, 3, 3, 2), options={"scheduler": "host"})
    with pytest.raises(InvalidArgument, match="certificate"):
        solve(
            qpopt.generate(8, 3, 3, 2),
            options={"scheduler": "tcp://127.0.0.1:1", "certificate": tmp_path / "proof.npz"},
        )


def test_nobody_there(monkeypatch):
    monkeypatch.setattr("qpopt.proofs.distributed.connection.CONNECT_SECONDS", 0.2)
    with pytest.raises(InvalidArgument, match="no dask scheduler"):
        connect("tcp://127.0.0.1:1")


def test_another_version_is_refused(threads, monkeypatch):
    monkeypatch.setattr("qpopt.proofs.distributed.connection._version", lambda: "0.0.1")
    with pytest.raises(InvalidArgument, match=r"0\.0\.1"):
        connect(threads)
