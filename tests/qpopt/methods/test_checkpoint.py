"""Checkpoints: a proof in pieces ends where a proof in one go does."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from qpopt import InvalidFile, Status, generate, solve
from qpopt.methods.checkpoint import Checkpoint
from tests.awkward import awkward_instances
from tests.brute_force import brute_force


def interrupted_after(count):
    """Progress that interrupts the solve at its `count`-th message after a bound is known."""
    left = [count]

    def interrupt(point, note):
        if point.objective is not None and point.bound is not None:
            left[0] -= 1
            if left[0] < 0:
                raise KeyboardInterrupt

    return interrupt


@settings(max_examples=25)
@given(awkward_instances(max_features=8))
def test_many_interruptions_do_not_change_the_optimum(tmp_path_factory, instance):
    path = tmp_path_factory.mktemp("proof") / "checkpoint.npz"
    options = {"search_seconds": 0.0, "enumerate": False, "checkpoint": path}
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
    options = {"search_seconds": 0.1, "enumerate": False, "checkpoint": path}
    instance = generate(24, 8, 6, 3, structure="clustered")

    def in_the_tree(point, note):
        if "5 nodes" in note:
            raise KeyboardInterrupt

    first = solve(instance, options=options, progress=in_the_tree)
    assert first.status is Status.INTERRUPTED
    saved = Checkpoint.load(path, instance)
    assert len(saved.parts) > 1
    assert max(part.bound for part in saved.parts) <= first.bound + 1e-9
    notes = []
    second = solve(
        instance, time_limit=1, options=options, progress=lambda point, note: notes.append(note)
    )
    assert second.objective >= first.objective
    assert second.bound <= first.bound
    assert not any("searching" in note or "free" in note for note in notes)


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
