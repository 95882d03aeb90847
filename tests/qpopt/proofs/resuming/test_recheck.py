"""Forged checkpoints: whoever writes one, and seals it, makes no solve say what is not so."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qpopt import Certificate, Instance, InvalidFile, Status, check_certificate, generate, solve
from qpopt.control import Limits, Phase
from qpopt.control.incumbent import Incumbent
from qpopt.problem.assignment import assign
from qpopt.problem.scaling import scaled
from qpopt.problem.solution import Candidate
from qpopt.proofs.resuming import checkpoint
from qpopt.proofs.resuming.checkpoint import Checkpoint
from qpopt.proofs.resuming.recheck import rechecked
from qpopt.relaxations.step import Step
from qpopt.verification.certificate_check import Claim, End, Split
from tests.awkward import awkward_instances
from tests.brute_force import all_selections, best_class_sets, brute_force, value
from tests.qpopt.verification.forging import mutated_json

BRANCHING = {
    "search_seconds": 0.0,
    "enumerate": False,
    "hand_over": False,
    "params": {"branch_below": 10**6, "before_branching": (1, 9.0), "root": {"worth_removing": 2}},
}
OTHER_WAYS = ({"enumerate": False, "hand_over": False}, {"hand_over": False}, {})
SCALES = (1.0, 2.0**-40, 3.0**30)


class Kept:
    """An instance, its optimum, its worst selection, and the checkpoint of a finished proof."""

    def __init__(self, folder, seed, scale):
        made = generate(8, 4, 4, 2, structure="uniform", seed=seed)
        A = made.A.copy()
        A[1] = A[0]  # equal classes: distinct sets matter
        self.instance = Instance(A * scale, 3 * made.R * scale, made.b * scale, 4, 2, include=[0])
        self.path = folder / f"{seed}.npz"
        solve(self.instance, gap=0.0, options={**BRANCHING, "checkpoint": self.path})
        self.reached = Checkpoint.load(self.path, self.instance)
        values = {
            selection: value(self.instance, selection, best_class_sets(self.instance, selection))
            for selection in all_selections(self.instance)
        }
        self.best = max(values.values())
        self.size = 1e-9 * float(np.abs(self.instance.A).max())
        self.worst = np.array(min(values, key=values.get))
        # What the optimum has and others lack: hiding it is what a forger is after.
        self.optimal = max(values, key=values.get)


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kept")
    return [Kept(folder, seed, scale) for seed, scale in zip((0, 3, 4), SCALES, strict=True)]


def forged(one, path, items, *, worst=True):
    """Write a checkpoint with other items, sealed, and with a poor solution that hides nothing."""
    best, objective = one.reached.best, one.reached.objective
    if worst:
        best = Candidate(one.worst, assign(one.instance.A, one.worst, 2))
        objective = one.instance.objective(*best).total
    replace(one.reached, items=tuple(items), best=best, objective=objective).save(path)


def ends_well(one, path, options):
    """Whether a solve that goes on from a file refuses it, or says nothing that is not so."""
    bounds = []

    def watch(event):
        if event.point.bound is not None:
            bounds.append(event.point.bound)

    try:
        solution = solve(
            one.instance, gap=0.0, options={**options, "checkpoint": path}, progress=watch
        )
    except InvalidFile as error:
        return str(path) in str(error)
    assert min([solution.bound, *bounds]) >= one.best - one.size
    assert solution.status is Status.OPTIMAL
    return solution.objective == pytest.approx(one.best, rel=1e-9)


def everything_else(one, items):
    """A step that removes what the optimum has, but for what the instance demands."""
    hidden = np.array([d for d in one.optimal if d not in one.instance.include])
    first = next(item for item in items if isinstance(item, Step))
    points = np.zeros((len(hidden), len(first.free)), dtype=first.points.dtype)
    return [replace(first, removed=hidden, forced=hidden[:0], points=points)]


def lower(one, items, factor):
    """The steps with multipliers that would prove less."""
    return [
        replace(item, t=item.t * factor, y=item.y * factor) if isinstance(item, Step) else item
        for item in items
    ]


def closed(item):
    """An open end as one that says that all has been looked at."""
    return End(True) if isinstance(item, End) else item


def first_step(items):
    return next(item for item in items if isinstance(item, Step))


FORGERIES = {
    "nothing": lambda one, items: [],
    "all was looked at": lambda one, items: [End(True)],
    "a claim": lambda one, items: [Claim("HiGHS", -1e9), End(False)],
    "both halves looked at": lambda one, items: [Split(4), End(True), End(True)],
    "a half claimed": lambda one, items: [Split(4), Claim("HiGHS", -1e9), End(False), End(False)],
    "a half that ends early": lambda one, items: [Split(4), End(True)],
    "every end looked at": lambda one, items: [closed(item) for item in items],
    "no end": lambda one, items: [item for item in items if not isinstance(item, End)],
    "steps alone": lambda one, items: [item for item in items if isinstance(item, Step)],
    "the first step alone": lambda one, items: [first_step(items)],
    "the first step twice": lambda one, items: [first_step(items), *items],
    "the last part left out": lambda one, items: items[: len(items) // 2],
    "the first part left out": lambda one, items: items[len(items) // 2 :],
    "parts swapped": lambda one, items: items[::-1],
    "ends too often": lambda one, items: [*items, End(True)],
    "the optimum removed": everything_else,
    "the optimum removed, then closed": lambda one, items: [
        *everything_else(one, items), End(True)
    ],
    "steps without their multipliers": partial(lower, factor=0.0),
    "steps with larger multipliers": partial(lower, factor=1.5),
    "a feature that is not there": lambda one, items: [Split(99), End(True), End(True)],
    "a feature that is demanded": lambda one, items: [Split(0), End(True), End(True)],
    "a fraction of a feature": lambda one, items: [Split(4), Split(4), *[End(True)] * 3],
    "steps of another type": lambda one, items: [
        replace(first_step(items), B=first_step(items).B.astype(np.float16)), End(False)
    ],
    "a huge matrix": lambda one, items: [
        replace(first_step(items), B=first_step(items).B.astype(float) * 1e300), End(False)
    ],
    "no matrix": lambda one, items: [
        replace(first_step(items), B=np.zeros_like(first_step(items).B)), End(False)
    ],
    "all is forced": lambda one, items: [
        replace(first_step(items), forced=first_step(items).free[:3]), End(True)
    ],
    "with and without": lambda one, items: [
        replace(
            first_step(items),
            removed=first_step(items).free[:1],
            forced=first_step(items).free[:1],
            points=np.zeros((1, len(first_step(items).free))),
        ),
        End(True),
    ],
}  # fmt: skip


@pytest.mark.parametrize("forgery", FORGERIES.values(), ids=FORGERIES.keys())
def test_no_forged_checkpoint_is_believed(kept, tmp_path, forgery):
    for number, one in enumerate(kept):
        path = tmp_path / f"{number}.npz"
        forged(one, path, forgery(one, list(one.reached.items)))
        assert ends_well(one, path, {**BRANCHING, **OTHER_WAYS[number]})


@pytest.mark.parametrize("worst", [True, False])
def test_an_honest_one_is_gone_on_from(kept, tmp_path, worst):
    for number, one in enumerate(kept):
        path = tmp_path / f"{number}.npz"
        forged(one, path, one.reached.items, worst=worst)
        assert ends_well(one, path, BRANCHING)


@settings(max_examples=40)
@given(st.data())
def test_no_mixture_of_items_is_believed(kept, tmp_path_factory, data):
    one = kept[data.draw(st.integers(0, 2))]
    items = list(one.reached.items)
    steps = [item for item in items if isinstance(item, Step)]
    any_item = st.sampled_from([*steps, End(True), End(False), Claim("HiGHS", -1e9)])
    for _ in range(data.draw(st.integers(1, 4))):
        i = data.draw(st.integers(0, len(items)))
        kind = data.draw(st.sampled_from(["drop", "insert", "split", "cut", "mix"]))
        if kind == "drop":
            del items[i : i + 1]
        elif kind == "insert":
            items.insert(i, data.draw(any_item))
        elif kind == "split":
            items[i:i] = [Split(data.draw(st.integers(0, 7))), End(True)]
        elif kind == "cut":
            del items[i:]
        elif items and isinstance(items[i - 1], Step):
            names = ("removed", "forced", "points", "B", "y", "t", "multipliers", "groups")
            name = data.draw(st.sampled_from(names))
            other = getattr(data.draw(st.sampled_from(steps)), name)
            items[i - 1] = replace(items[i - 1], **{name: other})
    path = tmp_path_factory.getbasetemp() / "mixed.npz"
    forged(one, path, items, worst=data.draw(st.booleans()))
    assert ends_well(one, path, BRANCHING)


@settings(max_examples=25)
@given(st.data())
def test_no_file_with_other_values_and_a_new_seal_is_believed(kept, tmp_path_factory, data):
    one = kept[data.draw(st.integers(0, 2))]
    with np.load(one.path) as archive:
        arrays = dict(archive)
    meta = json.loads(arrays.pop("meta").tobytes())
    meta["steps"] = data.draw(mutated_json(meta["steps"]))
    names = st.sampled_from(sorted(arrays))
    for name in data.draw(st.lists(names, max_size=2)):
        arrays[name] = arrays[data.draw(names)]
    try:
        meta["seal"] = checkpoint._seal(meta, arrays)
        text = json.dumps(meta).encode()
    except (TypeError, ValueError):
        return
    path = tmp_path_factory.getbasetemp() / "values.npz"
    np.savez(path, meta=np.frombuffer(text, dtype=np.uint8), **arrays)
    assert ends_well(one, path, BRANCHING)


@settings(max_examples=15)
@given(awkward_instances(max_features=7), st.data())
def test_no_part_of_any_proof_is_taken_for_the_whole(tmp_path_factory, instance, data):
    """Cut off anywhere, with its ends called finished, and with a poor solution."""
    path = tmp_path_factory.mktemp("part") / "checkpoint.npz"
    options = {**BRANCHING, "checkpoint": path}
    solve(instance, gap=0.0, options=options)
    best = brute_force(instance).objective
    reached = Checkpoint.load(path, instance)
    last = data.draw(st.integers(0, len(reached.items)))
    items = [closed(item) if data.draw(st.booleans()) else item for item in reached.items[:last]]
    poor = np.array(data.draw(st.sampled_from(list(all_selections(instance)))))
    worse = Candidate(poor, assign(instance.A, poor, instance.n_per_class))
    objective = instance.objective(*worse).total
    replace(reached, items=tuple(items), best=worse, objective=objective).save(path)
    solution = solve(instance, gap=0.0, options=options)
    assert solution.status is Status.OPTIMAL
    assert solution.bound >= best - 1e-9 * max(1.0, abs(best))
    assert solution.objective == pytest.approx(best, rel=1e-9, abs=1e-9)


def test_the_only_selection_of_an_open_part_is_looked_at(tmp_path):
    """Cut off behind the step that decides every feature, with the worse of two selections."""
    instance = Instance(np.array([[5.0, 1.0]]), np.zeros((2, 2)), np.zeros(2), 1, 1)
    path = tmp_path / "checkpoint.npz"
    options = {**BRANCHING, "checkpoint": path}
    solve(instance, gap=0.0, options=options)
    reached, poor = Checkpoint.load(path, instance), np.array([1])
    worse = Candidate(poor, assign(instance.A, poor, 1))
    assert len(reached.items[0].forced) == 1
    replace(reached, items=reached.items[:1], best=worse, objective=1.0).save(path)
    solution = solve(instance, gap=0.0, options=options)
    assert solution.selection.tolist() == [0]
    assert (solution.status, solution.objective) == (Status.OPTIMAL, 5.0)
    assert solution.bound >= 5.0 - 1e-9


def test_what_is_not_shown_is_said(kept, tmp_path):
    one, notes = kept[0], []
    path = tmp_path / "forged.npz"
    forged(one, path, everything_else(one, one.reached.items))

    def listen(event):
        if event.phase is Phase.VERIFY:
            notes.append(event.note)

    solve(one.instance, options={**BRANCHING, "checkpoint": path}, progress=listen)
    assert notes[0] == "checking a proof of 1 steps"
    assert notes[-1].endswith("1 that were said to be done are not shown to be")


def test_a_certificate_of_a_resumed_proof_holds_what_was_shown(kept, tmp_path):
    for number, one in enumerate(kept):
        paths = {"checkpoint": tmp_path / f"{number}.npz", "certificate": tmp_path / "proof.npz"}
        forged(one, paths["checkpoint"], [Split(4), End(True), *one.reached.items])
        assert ends_well(one, paths["checkpoint"], {**BRANCHING, **paths})
        if paths["certificate"].exists():
            proof = Certificate.load(paths["certificate"])
            assert check_certificate(one.instance, proof) >= one.best - one.size


def test_what_was_not_looked_at_in_time_stays_in_the_file(kept, tmp_path, monkeypatch):
    """And counts for nothing until it is."""
    one = kept[0]
    path = tmp_path / "checkpoint.npz"
    forged(one, path, one.reached.items, worst=False)
    before = path.read_bytes()
    monkeypatch.setattr("qpopt.proofs.driver.CHECKED_ALWAYS", -1.0)
    solution = solve(one.instance, gap=0.0, time_limit=0, options={**BRANCHING, "checkpoint": path})
    assert solution.objective == pytest.approx(one.best)
    assert solution.bound is None
    assert path.read_bytes() == before


def test_the_rest_of_a_stopped_check_is_open(kept):
    one = kept[0]
    scaling = scaled(one.instance)
    incumbent = Incumbent(scaling.instance, Limits(None))
    incumbent.offer(one.reached.best)
    whole = rechecked(incumbent, one.reached.items)
    assert whole.complete
    assert scaling.bound_back(whole.bound(incumbent.objective)) == pytest.approx(one.best)
    for count in range(len(one.reached.items)):
        left = iter([False] * count + [True] * len(one.reached.items))
        part = rechecked(incumbent, one.reached.items, lambda left=left: next(left))
        assert not part.complete
        assert scaling.bound_back(part.bound(incumbent.objective)) >= one.best - one.size
