"""Changes that let another class win, against all classes: by hand, and by trying them."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from qpopt_torch.evidence.names import Names
from qpopt_torch.evidence.pictures import Picture
from qpopt_torch.explain import Sample, gather
from qpopt_torch.explain.counterfactuals import Reach, change_to, reached
from qpopt_torch.explain.decision import decision_on
from tests.qpopt_torch.readable import small_loader, small_sparse

LITTLE = 1e-6


def sample_of(values, assignment):
    values = np.asarray(values, dtype=float)
    prediction = int((assignment @ values).argmax())
    return Sample(0, -1, prediction, values, None, Picture("none", np.zeros(0)))


def wins(values, assignment, rival):
    logits = assignment @ values
    return all(logits[rival] > logits[c] for c in range(len(logits)) if c != rival)


def after(values, way, more):
    """Return the values after a way: every change is `more` larger than needed."""
    changed = np.array(values, dtype=float)
    for move in way:
        changed[move.column] += move.by + more * np.sign(move.by)
    return changed


def test_a_third_class_may_overtake():
    """0 leads with 6, then come 1 with 4 and 2 with 3; 1 and 2 share feature 3.

    Class 2 cannot win by feature 3, which raises class 1 as well, nor by lowering feature 1, which
    neither 1 nor 2 has: class 1 stays ahead. Lowering feature 0 hits 0 and 1, and 4 is its own.
    """
    assignment = np.array([[1, 1, 0, 0, 0], [1, 0, 0, 1, 0], [0, 0, 0, 1, 1]], dtype=bool)
    sample = sample_of([2.0, 4.0, 0.0, 2.0, 1.0], assignment)
    change = change_to(sample, assignment, 2)
    assert change.lead == 3
    assert {(m.column, m.by) for (m,) in change.ways} == {(0, -3.0), (4, 3.0)}
    assert change.idle == (1, 3)
    nearest = change_to(sample, assignment, 1)
    assert {(m.column, m.by) for (m,) in nearest.ways} == {(1, -2.0), (3, 2.0)}
    assert nearest.idle == ()


def test_a_class_that_is_level_wins_by_any_change_in_the_right_direction():
    assignment = np.array([[1, 0, 1], [0, 1, 1]], dtype=bool)
    (first,), (second,) = change_to(sample_of([1.0, 1.0, 2.0], assignment), assignment, 1).ways
    assert [(m.column, abs(m.by), m.falls) for m in (first, second)] == [
        (0, 0, True),
        (1, 0, False),
    ]


def test_the_smallest_pair_by_hand():
    """Class 2 is 4 behind 0 and 3 behind 1.

    Features 1 and 2 help against 0, features 0 and 3 against 1: no single one against both. All
    four pairs of them need the same; the first is named.
    """
    assignment = np.array([[1, 1, 0, 0], [0, 0, 1, 1], [1, 0, 1, 0]], dtype=bool)
    sample = sample_of([0.0, 5.0, 1.0, 3.0], assignment)
    change = change_to(sample, assignment, 2)
    assert [(m.column, m.by) for m in change.ways[0]] == [(0, 3.0), (1, -4.0)]
    assert change.idle == (1, 2)


def test_no_change_of_two_features():
    """Class 3 is behind three classes, and every feature helps against one of them."""
    assignment = np.array(
        [[0, 1, 1, 1, 0, 0], [1, 0, 1, 0, 1, 0], [1, 1, 0, 0, 0, 1], [1, 1, 1, 0, 0, 0]], dtype=bool
    )
    sample = sample_of([0, 0, 0, 3.0, 2.0, 1.0], assignment)
    assert change_to(sample, assignment, 3).ways == ()


@st.composite
def decisions(draw):
    n_classes, n_select = draw(st.integers(2, 7)), draw(st.integers(2, 6))
    rows = st.lists(st.booleans(), min_size=n_select, max_size=n_select).map(tuple)
    assignment = draw(st.lists(rows, min_size=n_classes, max_size=n_classes, unique=True))
    # Values apart from each other, so that no two sums are the same by chance.
    order = draw(st.permutations(range(n_select)))
    signs = draw(st.lists(st.sampled_from([-1, 1]), min_size=n_select, max_size=n_select))
    return [s * 1.37 * 1.618**i for s, i in zip(signs, order, strict=True)], np.array(assignment)


@given(decisions())
@settings(max_examples=60, deadline=None)
def test_changes_are_those_that_a_search_finds(drawn):
    """Every way is enough and not a little less is; a linear programme knows no smaller one."""
    values, assignment = drawn
    sample = sample_of(values, assignment)
    for rival in range(len(assignment)):
        if rival == sample.prediction:
            continue
        change = change_to(sample, assignment, rival)
        single = {j for j in range(len(values)) if least_change(values, assignment, rival, [j])}
        assert {way[0].column for way in change.ways if len(way) == 1} <= single
        for way in change.ways:
            assert wins(after(values, way, LITTLE), assignment, rival)
            assert not wins(after(values, way, -LITTLE), assignment, rival)
        if single:
            assert len(change.ways) + change.n_more == len(single)
            assert len(change.ways) <= 5
            continue
        pairs = combinations(range(len(values)), 2)
        costs = [least_change(values, assignment, rival, list(pair)) for pair in pairs]
        smallest = min((cost for cost in costs if cost is not None), default=None)
        found = [sum(abs(move.by) for move in way) for way in change.ways]
        assert found == pytest.approx([] if smallest is None else [smallest], abs=1e-6)


def least_change(values, assignment, rival, columns):
    """Return the least sum of changes of some features after which the rival wins, or None."""
    weights = assignment.astype(float)
    others = [c for c in range(len(weights)) if c != rival]
    step = weights[others][:, columns] - weights[rival, columns]
    room = (weights[rival] - weights[others]) @ np.asarray(values) - 1e-9
    ones = np.ones(2 * len(columns))
    found = linprog(ones, np.hstack([step, -step]), room, bounds=(0, None))
    return found.fun if found.success else None


def least_on_a_grid(values, assignment, rival, i, j):
    """Return the least sum of changes of two features near which the rival wins, or None.

    All numbers are whole. So a change by whole numbers is the end of what wins if a quarter of one
    more, up or down, wins strictly; the changes beyond the largest lead need not be tried.
    """
    base, signs = assignment @ values, np.array([-0.25, 0.25])
    most = int(base.max() - base[rival])
    whole = np.arange(-most, most + 1)
    first, second = whole[:, None] + signs, whole[:, None] + signs
    moved = (
        base
        + first[:, None, :, None, None] * assignment[:, i]
        + second[None, :, None, :, None] * assignment[:, j]
    )
    others = np.delete(moved, rival, axis=-1)
    wins = (moved[..., rival] > others.max(axis=-1)).any(axis=(2, 3))
    sizes = np.abs(whole[:, None]) + np.abs(whole)
    return int(sizes[wins].min()) if wins.any() else None


@given(decisions(), st.lists(st.integers(-3, 3), min_size=6, max_size=6))
@settings(max_examples=60, deadline=None)
def test_the_smallest_pair_is_that_of_a_grid(drawn, whole):
    """Every pair is tried in all directions; single features are pairs that leave one alone."""
    assignment = drawn[1]
    values = np.array(whole[: assignment.shape[1]])
    sample = sample_of(values, assignment)
    pairs = list(combinations(range(len(values)), 2))
    for rival in set(range(len(assignment))) - {sample.prediction}:
        found = change_to(sample, assignment, rival)
        costs = [least_on_a_grid(values, assignment, rival, i, j) for i, j in pairs]
        smallest = min((cost for cost in costs if cost is not None), default=None)
        sizes = {sum(abs(move.by) for move in way) for way in found.ways}
        if found.ways and len(found.ways[0]) == 1:
            assert sizes == {found.lead}
            assert smallest <= found.lead
        else:
            assert sizes == (set() if smallest is None else {smallest})


def test_values_that_a_feature_cannot_take():
    """The features come from ReLU: none is below 0 in the network's units."""
    sparse = small_sparse()
    evidence = gather(sparse, small_loader(), progress=False)
    head = sparse.sparse_head
    zero = (-head.mean / head.std).numpy()
    assert evidence.floors == pytest.approx(zero)
    low, high = evidence.values[:, 0].min(), evidence.values[:, 0].max()
    assert low > zero[0]
    assert reached(evidence, 0, zero[0] - 0.01, rises=False)[0] is Reach.IMPOSSIBLE
    assert reached(evidence, 0, (zero[0] + low) / 2, rises=False) == (Reach.UNSEEN, low)
    assert reached(evidence, 0, low + 0.01, rises=False) == (Reach.SEEN, None)
    assert reached(evidence, 0, high + 0.01, rises=True) == (Reach.UNSEEN, high)


def test_the_summary_has_the_numbers_of_its_sums():
    sparse = small_sparse()
    evidence = gather(sparse, small_loader(), progress=False)
    for index in (*evidence.wrong, *evidence.right):
        sample = evidence.samples[index]
        decision = decision_on(sample, sparse.assignment, evidence.names, evidence)
        totals = {total.number: total.shown[0] for total in decision.sums}
        for change in decision.changes:
            lead = totals[sample.prediction] - totals[change.rival]
            for way in change.ways:
                if len(way) == 1:
                    assert abs(way[0].shown) == lead
            name = evidence.names.classes[change.rival]
            assert f"{name} is {lead / 100:.2f} behind" in decision.summary()


def test_a_class_that_is_level_is_not_behind():
    """What classes 0 and 1 do not share is 0 in both."""
    sparse = small_sparse()
    sample = sample_of([3.0, 0.0, 0.0, 0.0, 1.0, 0.5], sparse.assignment)
    decision = decision_on(sample, sparse.assignment, Names(sparse))
    assert [change.level for change in decision.changes] == [True, False]
    assert "bee is level with ape and would win with" in decision.summary()
    assert 'dog "&" co is 1.50 behind ape' in decision.summary()
