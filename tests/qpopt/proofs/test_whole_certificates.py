"""Certificates of whole proofs: branched, enumerated, handed over, interrupted, cut short."""

from __future__ import annotations

import re
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qpopt import (
    Certificate,
    Instance,
    InvalidArgument,
    Status,
    check_certificate,
    generate,
    solve,
    verify,
)
from qpopt.problem.subproblem import subproblem
from qpopt.proofs.record import Record
from qpopt.proofs.root import RootBound
from qpopt.relaxations.linear import LinearRelaxation
from qpopt.relaxations.step import Step, decide
from qpopt.verification.certificate_check import Claim, End, Split, checked
from tests.awkward import awkward_instances
from tests.brute_force import brute_force
from tests.qpopt.proofs.interrupting import interrupted_after

BRANCHING = {"search_seconds": 0.0, "enumerate": False}
"""Options that leave a proof to bounds and branching."""

AT_ONCE = {"branch_below": 10**6, "before_branching": (1, 9.0), "root": {"worth_removing": 2.0}}
"""Params with which branching begins with most features undecided."""


def proves(instance, solution, path, best):
    """Check the certificate of a finished proof against brute force; return it."""
    assert solution.status is Status.OPTIMAL
    certificate = Certificate.load(path)
    outcome = verify(instance, solution, certificate=certificate)
    assert outcome.bound_proven, str(outcome)
    proven = check_certificate(instance, certificate)
    rounding = 1e-9 * max(1.0, float(np.abs(instance.A).sum()))
    assert best - 1e-12 * abs(best) <= proven <= solution.bound + rounding
    return certificate


@settings(max_examples=40)
@given(
    awkward_instances(max_features=8),
    st.booleans(),
    st.sampled_from([{}, AT_ONCE, {**AT_ONCE, "branch_below": 0, "worth_taking_apart": 0.0}]),
    st.integers(0, 5),
)
def test_every_finished_proof_has_one(tmp_path_factory, instance, enumerates, params, core):
    path = tmp_path_factory.mktemp("whole") / "proof.npz"
    options = {**BRANCHING, "enumerate": enumerates, "certificate": path}
    solution = solve(instance, gap=0.0, options={**options, "params": {**params, "core": core}})
    proves(instance, solution, path, brute_force(instance).objective)


@pytest.fixture(scope="module")
def branched(tmp_path_factory):
    """An instance whose proof has branches, the solution, and where the certificate is."""
    made = generate(10, 5, 5, 2, structure="uniform", seed=3)
    instance = Instance(made.A, 3 * made.R, made.b, 5, 2, include=[0], exclude=[9])
    path = tmp_path_factory.mktemp("branched") / "proof.npz"
    options = {**BRANCHING, "certificate": path, "params": AT_ONCE}
    solution = solve(instance, gap=0.0, options=options)
    return instance, solution, path


def test_branches_are_parts_of_it(branched):
    instance, solution, path = branched
    certificate = proves(instance, solution, path, brute_force(instance).objective)
    kinds = Counter(type(item) for item in certificate.steps)
    assert kinds[Split] >= 2
    assert kinds[Step] >= 2


def test_a_part_less_is_not_proven(branched):
    """Without its last parts the certificate says nothing of them."""
    instance, solution, path = branched
    certificate = Certificate.load(path)
    first = next(i for i, item in enumerate(certificate.steps) if isinstance(item, Split))
    kept = certificate.steps[: first + 1]
    shorter = Certificate(certificate.fingerprint, 0.0, certificate.objective, kept)
    outcome = verify(instance, solution, certificate=shorter)
    assert not outcome
    assert "the certificate proves" in str(outcome)


@settings(max_examples=10)
@given(awkward_instances(max_features=7), st.sampled_from([{}, AT_ONCE]))
def test_a_proof_in_pieces_has_one(tmp_path_factory, instance, params):
    folder = tmp_path_factory.mktemp("pieces")
    options = {
        **BRANCHING, "params": params,
        "checkpoint": folder / "checkpoint.npz", "certificate": folder / "proof.npz",
    }  # fmt: skip
    best = brute_force(instance).objective
    for count in (0, 4, 8, 10**9):
        solution = solve(instance, gap=0.0, options=options, progress=interrupted_after(count))
        if solution.bound is not None and options["certificate"].exists():
            certificate = Certificate.load(options["certificate"])
            outcome = verify(instance, solution, certificate=certificate)
            assert outcome.bound_proven, str(outcome)
    proves(instance, solution, options["certificate"], best)


def test_what_is_open_is_the_same_after_a_pause(tmp_path):
    """The tree of a checkpoint goes on with every branch where it was."""
    instance = generate(24, 8, 6, 3, structure="clustered")
    options = {
        **BRANCHING, "search_seconds": 0.1,
        "checkpoint": tmp_path / "checkpoint.npz", "certificate": tmp_path / "proof.npz",
    }  # fmt: skip

    def in_the_tree(event):
        if re.match("[3-9] nodes", event.note):
            raise KeyboardInterrupt

    first = solve(instance, options=options, progress=in_the_tree)
    before = Certificate.load(options["certificate"])
    assert first.status is Status.INTERRUPTED
    assert Split in {type(item) for item in before.steps}
    notes = []
    second = solve(instance, time_limit=0, options=options, progress=lambda e: notes.append(e.note))
    after = Certificate.load(options["certificate"])
    assert second.objective == first.objective
    assert second.bound <= first.bound * (1 + 1e-9)
    assert [type(item) for item in after.steps] == [type(item) for item in before.steps]
    assert not any("searching" in note for note in notes)
    assert verify(instance, second, certificate=after).bound_proven


@pytest.mark.parametrize("hand_over", [False, True])
@pytest.mark.parametrize("enumerate_", [False, True])
def test_any_checkpoint_can_become_a_certificate(tmp_path, enumerate_, hand_over):
    path = tmp_path / "checkpoint.npz"
    instance = generate(12, 4, 4, 2)
    begun = {"search_seconds": 0.0, "enumerate": enumerate_, "hand_over": hand_over}
    solve(instance, gap=0.0, options={**begun, "checkpoint": path})
    both = {"checkpoint": path, "certificate": tmp_path / "proof.npz"}
    solution = solve(instance, gap=0.0, options=both)
    proves(instance, solution, both["certificate"], brute_force(instance).objective)


def test_a_checkpoint_and_a_certificate_are_two_files(tmp_path):
    path, instance = tmp_path / "checkpoint.npz", generate(12, 4, 4, 2)
    with pytest.raises(InvalidArgument, match="the same file"):
        solve(instance, options={"checkpoint": path, "certificate": path})


def test_what_highs_decides_is_claimed_and_not_proven(tmp_path):
    """24 over 8 selections are more than a check looks at, and HiGHS closes the gap at once."""
    instance = generate(24, 8, 8, 3, structure="uniform")
    path = tmp_path / "proof.npz"
    options = {"search_seconds": 0.0, "enumerate": False, "hand_over": True, "certificate": path}
    solution = solve(instance, options={**options, "params": {"linear": (0.0, 0.0)}})
    assert solution.status is Status.OPTIMAL
    assert solution.details["nodes"] == 0
    certificate = Certificate.load(path)
    assert [item.solver for item in certificate.steps if isinstance(item, Claim)] == ["HiGHS"]
    outcome = verify(instance, solution, certificate=certificate)
    assert outcome.ok
    assert not outcome.bound_proven
    assert outcome.rests_on == ("HiGHS",)
    assert "rests on HiGHS: without that word the certificate proves" in str(outcome)
    found = checked(instance, certificate)
    assert found.proven == check_certificate(instance, certificate) == outcome.shown
    assert solution.objective <= found.claimed <= solution.bound * (1 + 1e-9) < found.proven
    # Without the claim, the certificate does not show the bound at all.
    silent = tuple(item for item in certificate.steps if not isinstance(item, Claim))
    hidden = Certificate(
        certificate.fingerprint, certificate.bound, certificate.objective, silent,
        certificate.exponent, certificate.class_offsets, certificate.feature_offset,
    )  # fmt: skip
    assert check_certificate(instance, hidden) == found.proven
    assert not verify(instance, solution, certificate=hidden)


def test_what_highs_decides_of_few_selections_is_looked_at_by_the_check(tmp_path):
    instance = generate(14, 6, 5, 2)
    path = tmp_path / "proof.npz"
    options = {"search_seconds": 0.0, "enumerate": False, "hand_over": True, "certificate": path}
    solution = solve(instance, gap=0.0, options=options)
    outcome = verify(instance, solution, certificate=Certificate.load(path))
    assert outcome.bound_proven
    assert outcome.rests_on == ()


def test_a_proof_that_is_too_large_is_cut_and_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr("qpopt.proofs.record.MOST_SELECTIONS", 0)
    instance = generate(40, 8, 10, 3, structure="clustered")
    path = tmp_path / "proof.npz"
    limited = {"certificate_megabytes": 0.01}
    options = {**BRANCHING, "search_seconds": 0.1, "certificate": path, "params": limited}
    with pytest.warns(UserWarning, match=r"as the proof took more than certificate_megabytes"):
        solution = solve(instance, time_limit=4, options=options)
    certificate = Certificate.load(path)
    proven = check_certificate(instance, certificate)
    assert certificate.bound == pytest.approx(proven, rel=1e-6)
    assert proven > solution.bound
    assert not verify(instance, solution, certificate=certificate)
    assert sum(item.size for item in certificate.steps if isinstance(item, Step)) <= 0.01 * 2**20


@settings(max_examples=40)
@given(awkward_instances(max_features=8), st.integers(0, 4))
def test_the_linear_relaxation_can_be_checked(instance, rounds):
    """What thresholds and overlaps prove is proven by the check as well, feature by feature."""
    sub = subproblem(instance)
    if not sub.n_select:
        return
    relaxation = LinearRelaxation(sub, cliques=False)
    for _ in range(rounds):
        relaxation.advance()
    found, best = relaxation.value(), brute_force(instance).objective
    record = Record(instance)
    decided = decide(sub.free, found, best - 0.01 * max(1.0, abs(best)))
    record.root.begin_anew(relaxation.step(decided), found.value)
    proven = check_certificate(instance, Certificate.of(record, -np.inf))
    rounding = 1e-9 * (1.0 + float(np.abs(instance.A).sum() + np.abs(instance.b).sum()))
    assert best - rounding <= proven <= found.value + rounding


@settings(max_examples=20)
@given(awkward_instances(max_features=8), st.integers(0, 5))
def test_a_root_taken_apart_is_proven_part_by_part(instance, size):
    """The bounds of parts by their features are those of the check: nothing needs to be redone."""
    record = Record(instance)
    root = RootBound(instance, record=record.root)
    best = brute_force(instance).objective
    root.know(best - 0.3 * max(1.0, abs(best)))
    for _ in range(2):
        root.advance()
    root.finish()
    bound = root.bound
    root.take_apart(root.parts(size))
    certificate = Certificate.of(record, root.objective)
    proven = check_certificate(instance, certificate)
    rounding = 1e-9 * (1.0 + float(np.abs(instance.A).sum() + np.abs(instance.b).sum()))
    assert best - rounding <= proven <= bound + rounding
    assert End(enumerated=False) not in certificate.steps[-1:]
