"""The projected method against brute force."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import qpopt
from qpopt import Certificate, InvalidFile, Status, check_certificate, solve, verify
from qpopt.problem.subproblem import Part
from qpopt.proofs.params import Patience, ProofParams
from qpopt.proofs.phases.small_parts import Enumeration
from qpopt.proofs.resuming.checkpoint import Checkpoint
from qpopt.proofs.root import RootBound
from qpopt.verification.certificate_check import End
from tests.awkward import awkward_instances
from tests.brute_force import brute_force


@settings(max_examples=60)
@given(awkward_instances(), st.sampled_from([0.0, 0.01]), st.booleans())
def test_ends_at_the_optimum(instance, search_seconds, enumerates):
    options = {"search_seconds": search_seconds, "enumerate": enumerates, "hand_over": False}
    solution = solve(instance, method="projected", gap=0.0, options=options)
    best = brute_force(instance).objective
    assert solution.status is Status.OPTIMAL
    assert solution.objective == pytest.approx(best, rel=1e-9, abs=1e-9)
    # Within 2.5e-6 of the optimum, or of 1, a bound counts as met.
    assert solution.bound == pytest.approx(best, rel=3e-6, abs=3e-6)
    assert verify(instance, solution)


@pytest.mark.parametrize("worth", [0.0, 2.0])
@settings(max_examples=20)
@given(awkward_instances(max_features=7), st.integers(0, 5))
def test_ends_at_the_optimum_when_taken_apart(worth, instance, core):
    params = ProofParams(
        branch_below=0,
        core=core,
        worth_taking_apart=worth,
        before_branching=Patience(1, 0.5),
        most_patience=2,
    )
    options = {"search_seconds": 0.0, "enumerate": False, "hand_over": False, "params": params}
    solution = solve(instance, method="projected", gap=0.0, options=options)
    best = brute_force(instance).objective
    assert solution.status is Status.OPTIMAL
    assert solution.objective == pytest.approx(best, rel=1e-9, abs=1e-9)
    # Within 2.5e-6 of the optimum, or of 1, a bound counts as met.
    assert solution.bound == pytest.approx(best, rel=3e-6, abs=3e-6)


def test_a_single_part_that_is_smaller_than_the_iterate(monkeypatch):
    instance = qpopt.generate(30, 8, 8, 3, seed=5)
    best = solve(instance)
    taken_apart = []

    def without_worst(root, size, stop):
        rest = np.setdiff1d(np.arange(30), best.selection)
        taken_apart.append(
            Part(np.setdiff1d(root.sub.free, rest[:1]), root.sub.included, root.bound)
        )
        return (taken_apart[-1],)

    monkeypatch.setattr(RootBound, "parts", without_worst)
    monkeypatch.setattr(Enumeration, "__call__", lambda self, proof: None)
    root = {"worth_removing": 2.0}
    params = {"branch_below": 0, "before_branching": (1, 9.0), "root": root}
    solution = solve(instance, gap=0.0, options={"hand_over": False, "params": params})
    assert len(taken_apart[0].free) == 29
    assert solution.objective == pytest.approx(best.objective)


@settings(max_examples=15)
@given(awkward_instances(max_features=7))
def test_every_bound_of_the_trace_is_valid(instance):
    points = []
    solve(
        instance,
        method="projected",
        options={"search_seconds": 0.0, "enumerate": False, "hand_over": False},
        progress=lambda event: points.append(event.point),
    )
    best = brute_force(instance).objective
    slack = 1e-9 * max(1.0, abs(best))
    assert all(point.bound is None or point.bound >= best - slack for point in points)
    assert all(point.objective is None or point.objective <= best + slack for point in points)


def test_a_certificate_on_the_way(tmp_path):
    instance = qpopt.generate(48, 8, 8, 3, seed=4)
    path = tmp_path / "proof.npz"
    solution = solve(
        instance,
        method="projected",
        time_limit=4,
        options={"search_seconds": 0.2, "certificate": path},
    )
    certificate = Certificate.load(path)
    proven = check_certificate(instance, certificate)
    assert solution.objective <= proven <= 1.005 * solution.objective
    assert verify(instance, solution, certificate=certificate).bound_proven
    assert solution.details["features_free"] < instance.n_features


def test_auto_is_projected(toy):
    solution = solve(toy, options={"search_seconds": 0.0})
    assert solution.method == "projected"
    assert solution.objective == pytest.approx(12.9)


def test_an_interruption_keeps_the_solution_and_the_bound():
    told = []

    def interrupt(event):
        if event.point.gap is not None:
            told.append(event.point)
            raise KeyboardInterrupt

    solution = solve(
        qpopt.generate(60, 10, 10, 3),
        method="projected",
        options={"search_seconds": 0.1, "enumerate": False},
        progress=interrupt,
    )
    assert solution.status is Status.INTERRUPTED
    assert (solution.objective, solution.bound) == told[0][1:]
    assert solution.gap > 0


def test_no_time_still_gives_a_solution():
    solution = solve(qpopt.generate(60, 10, 10, 3), method="projected", time_limit=0)
    assert solution.found
    assert solution.status in (Status.FEASIBLE, Status.OPTIMAL)


def test_few_selections_are_all_looked_at():
    instance = qpopt.generate(32, 10, 8, 3, structure="clustered")
    solution = solve(instance, method="projected")
    assert solution.status is Status.OPTIMAL
    assert solution.bound == solution.objective
    assert solution.details == {"features_free": 0, "nodes": 0}


def test_a_file_that_cannot_be_written_at_the_end_does_not_cost_the_solution(tmp_path, monkeypatch):
    def full(self, path):
        raise InvalidFile("the disk is full")

    monkeypatch.setattr(Checkpoint, "save", full)
    options = {"checkpoint": tmp_path / "checkpoint.npz"}
    with pytest.warns(UserWarning, match="the disk is full"):
        solution = solve(qpopt.generate(12, 4, 4, 2), options=options)
    assert solution.status is Status.OPTIMAL


def test_a_certificate_that_was_not_reached_is_said(tmp_path):
    options = {"search_seconds": 0.0, "certificate": tmp_path / "proof.npz"}
    with pytest.warns(UserWarning, match="No certificate was written"):
        solution = solve(qpopt.generate(40, 10, 10, 3), time_limit=0, options=options)
    assert solution.found
    assert not (tmp_path / "proof.npz").exists()


@pytest.mark.parametrize("seed", range(4))
def test_an_optimum_of_few_selections_is_verified_by_its_certificate(tmp_path, seed):
    made = qpopt.generate(14, 6, 5, 2, seed=seed)
    A = made.A.copy()
    A[1] = A[0]
    instance = qpopt.Instance(A, made.R, made.b, 5, 2)
    path = tmp_path / "proof.npz"
    solution = qpopt.solve(instance, gap=0.0, time_limit=20, options={"certificate": path})
    assert solution.status is qpopt.Status.OPTIMAL
    certificate = qpopt.Certificate.load(path)
    assert certificate.steps[-1] == End(enumerated=True)
    assert qpopt.verify(instance, solution, certificate=certificate).bound_proven
    best = brute_force(instance).objective
    assert qpopt.check_certificate(instance, certificate) == pytest.approx(best, rel=1e-9)
