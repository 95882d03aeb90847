"""Checkpoints: a proof in pieces ends where a proof in one go does."""

from __future__ import annotations

import json
import sys
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings

from qpopt import Certificate, Instance, InvalidFile, Status, check_certificate, generate, solve
from qpopt.control import Limits, Phase
from qpopt.control.incumbent import Incumbent
from qpopt.methods.warm_up import compile_loops
from qpopt.proofs.checkpoint import Checkpoint
from qpopt.proofs.driver import Proof
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
    saved = Checkpoint.load(path, instance)
    assert len(saved.parts) > 1
    assert max(part.bound for part in saved.parts) <= first.bound + 1e-9
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
    before = Checkpoint.load(path, instance)
    second = solve(instance, options=options, **arguments)
    after = Checkpoint.load(path, instance)
    assert (second.objective, second.bound) == (first.objective, first.bound)
    assert after.objective == before.objective
    assert [part.bound for part in after.parts] == [part.bound for part in before.parts]
    for old, new in zip(before.parts, after.parts, strict=True):
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


@pytest.mark.filterwarnings("ignore:No certificate was written", "ignore:The certificate shows")
@pytest.mark.parametrize(("redundant", "recorded"), [(True, True), (False, False)])
def test_an_interruption_at_any_line_loses_nothing(tmp_path, monkeypatch, redundant, recorded):
    made = generate(9, 4, 4, 2, seed=2)
    # One feature is in all good selections, which the linear relaxation finds out.
    bias = np.where(np.arange(9) == 5, 1000.0, made.b)
    instance = Instance(made.A, made.R * redundant, bias, 4, 2)
    values = {
        selection: value(instance, selection, best_class_sets(instance, selection))
        for selection in all_selections(instance)
    }
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
            reached = Checkpoint.load(path, instance)
            for selection, z in values.items():
                assert z <= reached.objective + 1e-9 or is_open(reached, set(selection))
        if proof.exists():
            proven = check_certificate(instance, Certificate.load(proof))
            assert proven >= max(values.values()) - 1e-9
    assert len(seen) > 30


def is_open(reached, selection):
    """Whether a selection is in some part of a checkpoint."""
    return any(
        set(part.included) <= selection <= {*part.included, *part.free} for part in reached.parts
    )


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
    # What may still be open is no better than the optimum but for rounding.
    parts = Checkpoint.load(path, instance).parts
    assert all(part.bound <= solution.objective * (1 + 1e-12) for part in parts)


def test_a_foreign_or_damaged_checkpoint_is_refused(tmp_path):
    path = tmp_path / "checkpoint.npz"
    instance, other = generate(12, 4, 4, 2), generate(12, 4, 4, 2, seed=1)
    solve(instance, options={"checkpoint": path})
    assert Checkpoint.load(path, instance).parts == ()
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
    "no parts": lambda c: {**c, "state": c["state"][:0], "bounds": c["bounds"][:0]},
    "one part less": lambda c: {**c, "state": c["state"][1:], "bounds": c["bounds"][1:]},
    "low bounds": lambda c: {**c, "bounds": c["bounds"] - 1e3},
    "minus infinity": lambda c: {**c, "bounds": np.full_like(c["bounds"], -np.inf)},
    "a feature less": lambda c: {**c, "state": np.where(np.arange(24) == 3, 0, c["state"])},
    "same type": lambda c: {**c, "state": np.where(np.arange(24) == 3, 0, c["state"]).astype("i1")},
    "another solution": lambda c: {**c, "selection": np.arange(6)},
    "floats": lambda c: {**c, "state": c["state"].astype(float)},
    "other order": lambda c: {**c, "bounds": c["bounds"][::-1] + 1.0},
    "no seal": lambda c: {**c, "meta": without_seal(c["meta"])},
}


def without_seal(meta):
    """Return the values of a checkpoint without its seal."""
    values = json.loads(meta.tobytes())
    del values["seal"]
    return np.frombuffer(json.dumps(values).encode(), dtype=np.uint8)


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS.keys())
def test_an_edited_checkpoint_is_refused(half_way, tmp_path, edit):
    instance, content = half_way
    path = tmp_path / "edited.npz"
    np.savez(path, **edit(content))
    with pytest.raises(InvalidFile, match=r"was changed|damaged"):
        solve(instance, time_limit=1, options={"checkpoint": path})


def test_parts_that_cannot_be_are_refused_whoever_wrote_them(half_way, tmp_path):
    instance, content = half_way
    np.savez(tmp_path / "as_it_was.npz", **content)
    reached = Checkpoint.load(tmp_path / "as_it_was.npz", instance)
    first = reached.parts[0]
    for part, message in (
        (first._replace(bound=-1e9), "below the Z"),
        (first._replace(free=first.free[:0], included=first.included[:1]), "no selection"),
        (first, "earlier one"),
    ):
        path = tmp_path / "written.npz"
        parts = (reached.parts[0], part) if message == "earlier one" else (part,)
        Checkpoint(
            instance.fingerprint, instance.n_features, reached.best, reached.objective, parts
        ).save(path)
        with pytest.raises(InvalidFile, match=message):
            Checkpoint.load(path, instance)


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
