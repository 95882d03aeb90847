"""Checkpoints: a proof in pieces ends where a proof in one go does."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings

from qpopt import Certificate, Instance, InvalidFile, Status, check_certificate, generate, solve
from qpopt.control import Limits, Phase
from qpopt.control.incumbent import Incumbent
from qpopt.methods.warm_up import compile_loops
from qpopt.problem.scaling import scaled
from qpopt.proofs.driver import Proof
from qpopt.proofs.resuming.checkpoint import Checkpoint
from qpopt.proofs.resuming.recheck import rechecked
from qpopt.verification.certificate_check import Claim, End
from tests.awkward import awkward_instances
from tests.brute_force import all_selections, best_class_sets, brute_force, value
from tests.qpopt.proofs.interrupting import interrupted_after

SLOWLY = {"enumerate": False, "hand_over": False}
"""Options that leave a proof to bounds and branching."""


@settings(max_examples=25)
@given(awkward_instances(max_features=8))
def test_many_interruptions_do_not_change_the_optimum(tmp_path_factory, instance):
    path = tmp_path_factory.mktemp("proof") / "checkpoint.npz"
    options = {"search_seconds": 0.0, **SLOWLY, "checkpoint": path}
    best = brute_force(instance).objective
    for count in (0, 3, 6, 9, 10**9):
        solution = solve(instance, gap=0.0, options=options, progress=interrupted_after(count))
        if solution.bound is not None:
            assert solution.bound >= best - 1e-9 * max(1.0, abs(best))
    assert solution.status is Status.OPTIMAL
    assert solution.objective == pytest.approx(best, rel=1e-9, abs=1e-9)
    again = solve(instance, gap=0.0, options=options)
    assert again.status is Status.OPTIMAL
    assert again.objective == solution.objective


def test_the_tree_goes_on_where_it_stopped(tmp_path):
    path = tmp_path / "checkpoint.npz"
    options = {"search_seconds": 0.1, **SLOWLY, "checkpoint": path}
    instance = generate(24, 8, 6, 3, structure="clustered")
    first = solve(instance, options=options, progress=in_the_tree)
    assert first.status is Status.INTERRUPTED
    parts, bound, _ = shown(path, instance)
    assert len(parts) > 1
    assert bound <= first.bound * (1 + 1e-9)
    notes = []
    second = solve(
        instance, time_limit=1, options=options, progress=lambda event: notes.append(event.note)
    )
    assert second.objective >= first.objective
    assert second.bound <= first.bound
    assert not any("searching" in note or "free" in note for note in notes)


def in_the_tree(event):
    """Progress that interrupts the solve when branching has begun."""
    if "5 nodes" in event.note:
        raise KeyboardInterrupt


@pytest.mark.parametrize(
    "arguments", [{"gap": 0.9}, {"time_limit": 0}, {"time_limit": 0, "start": [0, 1, 2, 3, 4, 5]}]
)
def test_a_solve_that_ends_at_once_keeps_what_was_reached(tmp_path, arguments):
    path = tmp_path / "checkpoint.npz"
    instance = generate(24, 8, 6, 3, structure="clustered")
    options = {"search_seconds": 0.1, **SLOWLY, "checkpoint": path}
    first = solve(instance, options=options, progress=in_the_tree)
    before, *_ = shown(path, instance)
    second = solve(instance, options=options, **arguments)
    after, *_ = shown(path, instance)
    assert second.objective == first.objective
    # The check reckons apart, and a step may have come after the bound was told.
    assert second.bound <= first.bound * (1 + 1e-9)
    assert [part.bound for part in after] == [part.bound for part in before]
    for old, new in zip(before, after, strict=True):
        np.testing.assert_array_equal(old.free, new.free)
        np.testing.assert_array_equal(old.included, new.included)


def test_a_start_with_a_poor_assignment_can_be_continued(tmp_path):
    instance = generate(12, 4, 4, 2)
    options = {"checkpoint": tmp_path / "checkpoint.npz"}
    poor = np.zeros((4, 4), dtype=bool)
    for row, members in zip(poor, combinations(range(4), 2), strict=False):
        row[list(members)] = True
    first = solve(instance, start=(range(4), poor), time_limit=0, options=options)
    assert first.bound is None
    second = solve(instance, gap=0.0, options=options)
    assert second.status is Status.OPTIMAL
    assert second.objective == pytest.approx(brute_force(instance).objective)


class InterruptedAtNewLine:
    """Ctrl-C at the first line of the phases of a proof that is not among those seen before."""

    files = (
        "phases/bounding.py", "phases/branching.py", "phases/small_parts.py", "phases/searching.py",
        "proofs/driver.py", "proofs/record.py", "control/incumbent.py",
    )  # fmt: skip
    phases = (
        "__call__", "narrow", "set_aside", "_improve", "_tell", "_take_apart", "offer", "add",
        "begin_anew", "close", "split",
    )  # fmt: skip

    def __init__(self, seen):
        self.seen = seen

    def __call__(self, frame, event, argument):
        code = frame.f_code
        wanted = code.co_filename.endswith(self.files) and code.co_name in self.phases
        return self.line if wanted else None

    def line(self, frame, event, argument):
        line = (frame.f_code.co_name, frame.f_lineno)
        if event == "line" and line not in self.seen:
            self.seen.add(line)
            raise KeyboardInterrupt
        return self.line


class InterruptedWhileChecking(InterruptedAtNewLine):
    """The same while the proof of a checkpoint is checked, or written again."""

    files = ("resuming/recheck.py", "proofs/driver.py")
    phases = ("resume", "rechecked", "_stepped", "_split", "_enumerated", "save", "run")


@pytest.mark.filterwarnings("ignore:No certificate was written", "ignore:The certificate shows")
@pytest.mark.parametrize(("redundant", "recorded"), [(True, True), (False, False)])
def test_an_interruption_at_any_line_loses_nothing(tmp_path, monkeypatch, redundant, recorded):
    made = generate(7, 3, 3, 2, seed=0)
    # One feature is in all good selections, which the linear relaxation finds out.
    bias = np.where(np.arange(7) == 3, 1000.0, made.b)
    instance = Instance(made.A, made.R * redundant, bias, 3, 2)
    values = all_values(instance)
    second = np.array(sorted(values, key=values.get)[-2])
    monkeypatch.setattr(
        "qpopt.proofs.phases.searching.search", lambda known, _: known.judge(second)
    )
    compile_loops()  # what a first solve does before it is one
    seen = set()
    interrupted = True
    while interrupted:
        path, proof = tmp_path / f"{len(seen)}.npz", tmp_path / f"proof{len(seen)}.npz"
        options = {"search_seconds": 0.0, **SLOWLY, "checkpoint": path}
        if recorded:
            options["certificate"] = proof
        before = sys.gettrace()
        sys.settrace(InterruptedAtNewLine(seen))
        try:
            solution = solve(instance, gap=0.0, options=options)
        finally:
            sys.settrace(before)
        interrupted = solution.status is Status.INTERRUPTED
        if path.exists():
            holds_everything(path, instance, values)
        if proof.exists():
            proven = check_certificate(instance, Certificate.load(proof))
            assert proven >= max(values.values()) - 1e-9
    assert len(seen) > 80


def test_an_interruption_while_it_is_checked_loses_nothing(half_done, tmp_path):
    instance, content = half_done
    values = all_values(instance)
    seen, path, interrupted = set(), tmp_path / "checkpoint.npz", True
    while interrupted:
        path.write_bytes(content)
        before = sys.gettrace()
        sys.settrace(InterruptedWhileChecking(seen))
        try:
            solution = solve(instance, gap=0.0, options={**SLOWLY, "checkpoint": path})
        finally:
            sys.settrace(before)
        interrupted = solution.status is Status.INTERRUPTED
        holds_everything(path, instance, values)
    assert solution.objective == pytest.approx(max(values.values()))
    assert len(seen) > 60


@pytest.fixture
def half_done(tmp_path):
    """An instance, and a checkpoint whose tree has parts of every kind."""
    made = generate(10, 5, 5, 2, structure="uniform", seed=3)
    instance = Instance(made.A, 3 * made.R, made.b, 5, 2, include=[0], exclude=[9])
    params = {"branch_below": 10**6, "before_branching": (1, 9.0), "root": {"worth_removing": 2.0}}
    path = tmp_path / "half.npz"
    options = {"search_seconds": 0.0, "hand_over": False, "checkpoint": path, "params": params}

    def in_the_middle(event):
        if event.note.startswith("3 nodes"):
            raise KeyboardInterrupt

    begun = {**options, "enumerate": False}
    assert solve(instance, gap=0.0, options=begun, progress=in_the_middle).gap > 0
    reached = Checkpoint.load(path, instance)
    # A claim, and an end that says that all has been looked at: the last part, with its steps.
    items = [*reached.items[:-1], Claim("HiGHS", 0.0), End(enumerated=True)]
    replace(reached, items=tuple(items)).save(path)
    return instance, path.read_bytes()


def all_values(instance):
    """Return the Z of every selection."""
    return {
        selection: value(instance, selection, best_class_sets(instance, selection))
        for selection in all_selections(instance)
    }


def holds_everything(path, instance, values):
    """Assert that whatever is better than the solution of a checkpoint is in an open part."""
    parts, _, objective = shown(path, instance)
    for selection, z in values.items():
        assert z <= objective + 1e-9 or is_open(parts, set(selection))


def shown(path, instance):
    """Return what a checkpoint leaves open, the bound that it shows, and the best Z."""
    scaling = scaled(instance)
    incumbent = Incumbent(scaling.instance, Limits(None))
    reached = Checkpoint.load(path, instance)
    incumbent.offer(reached.best)
    found = rechecked(incumbent, reached.items)
    bound = scaling.bound_back(found.bound(incumbent.objective))
    return found.open(incumbent.objective), bound, scaling.back(incumbent.objective)


def is_open(parts, selection):
    """Whether a selection is in some part."""
    return any(set(part.included) <= selection <= {*part.included, *part.free} for part in parts)


def test_a_save_that_fails_on_the_way_does_not_end_the_proof(tmp_path):
    path = tmp_path / "folder" / "checkpoint.npz"
    path.parent.mkdir()
    instance = generate(12, 4, 4, 2)
    notes = []

    def without_folder_for_a_while(event):
        notes.append(event.note)
        if "Cannot write" in event.note:
            path.parent.mkdir(exist_ok=True)
        elif event.phase is Phase.SEARCH and path.parent.exists():
            path.parent.rmdir()

    often = {"seconds_between_saves": 0.0}
    options = {"search_seconds": 0.0, **SLOWLY, "checkpoint": path, "params": often}
    solution = solve(instance, gap=0.0, options=options, progress=without_folder_for_a_while)
    assert solution.status is Status.OPTIMAL
    assert any("Cannot write" in note for note in notes)
    assert shown(path, instance)[1] == pytest.approx(solution.objective, rel=1e-12)


def test_a_foreign_or_damaged_checkpoint_is_refused(tmp_path):
    path = tmp_path / "checkpoint.npz"
    instance, other = generate(12, 4, 4, 2), generate(12, 4, 4, 2, seed=1)
    solve(instance, options={"checkpoint": path})
    with pytest.raises(InvalidFile, match="another instance"):
        solve(other, options={"checkpoint": path})
    with np.load(path) as archive:
        content = dict(archive)
    content["selection"] = content["selection"][::-1][:-1]
    np.savez(path, **content)
    with pytest.raises(InvalidFile, match="damaged"):
        solve(instance, options={"checkpoint": path})
    path.write_bytes(b"nothing")
    with pytest.raises(InvalidFile):
        solve(instance, options={"checkpoint": path})


@pytest.fixture(scope="module")
def half_way(tmp_path_factory):
    path = tmp_path_factory.mktemp("half") / "checkpoint.npz"
    instance = generate(24, 8, 6, 3, structure="clustered")
    options = {"search_seconds": 0.1, **SLOWLY, "checkpoint": path}
    solve(instance, options=options, progress=in_the_tree)
    with np.load(path) as archive:
        return instance, dict(archive)


EDITS = {
    "no seal": lambda c: {**c, "meta": changed(c["meta"], "seal")},
    "no steps": lambda c: {**c, "meta": changed(c["meta"], "steps", [])},
    "another objective": lambda c: {**c, "meta": changed(c["meta"], "objective", 0.0)},
    "another solution": lambda c: {**c, "selection": np.arange(6)},
    "no such solution": lambda c: {**c, "selection": np.arange(20, 26)},
    "floats": lambda c: {**c, "selection": c["selection"].astype(float)},
    "a feature less": lambda c: {**c, "selection": c["selection"][:-1]},
    "an array less": lambda c: {key: c[key] for key in list(c) if not key.endswith("_y")},
    "other multipliers": lambda c: {**c, "step0_y": c["step0_y"] + 1e-12},
}


def changed(meta, name, *value):
    """Return the values of a checkpoint without one, or with another one."""
    values = json.loads(meta.tobytes())
    del values[name]
    if value:
        (values[name],) = value
    return np.frombuffer(json.dumps(values).encode(), dtype=np.uint8)


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS.keys())
def test_an_edited_checkpoint_is_refused(half_way, tmp_path, edit):
    instance, content = half_way
    path = tmp_path / "edited.npz"
    np.savez(path, **edit(content))
    with pytest.raises(InvalidFile, match=r"was changed|damaged"):
        solve(instance, time_limit=1, options={"checkpoint": path})


@pytest.mark.parametrize("recorded", [True, False])
@pytest.mark.parametrize("redundant", [True, False])
def test_the_first_bound_is_saved_before_anything_else(tmp_path, redundant, recorded):
    """Whatever comes after the event that tells of it finds the file."""
    path = tmp_path / "checkpoint.npz"
    made = generate(24, 8, 6, 3, structure="clustered")
    instance = Instance(made.A, made.R * redundant, made.b, 6, 3)
    events = []

    def watch(event):
        events.append((event.point.bound is not None, path.exists()))

    options = {**SLOWLY, "checkpoint": path}
    if recorded:
        options["certificate"] = tmp_path / "proof.npz"
    solve(instance, time_limit=2, options=options, progress=watch)
    known = [exists for bound, exists in events if bound]
    assert len(known) > 1
    assert known[0] is False
    assert all(known[1:])


def test_a_bound_that_comes_before_any_solution_is_saved_with_the_first_one(tmp_path):
    path = tmp_path / "checkpoint.npz"
    incumbent = Incumbent(generate(12, 4, 4, 2), Limits())
    proof = Proof(incumbent, checkpoint=path)
    incumbent.tighten(1e6)
    proof.pause()
    assert not path.exists()
    incumbent.judge(np.arange(4))
    proof.pause()
    assert Checkpoint.load(path, incumbent.instance).objective == incumbent.objective
