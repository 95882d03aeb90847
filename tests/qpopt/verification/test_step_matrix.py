"""The matrix of a step: in exact arithmetic, it nowhere lies below Z."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from qpopt.cuts.families import Family
from qpopt.cuts.group_cuts import Group
from qpopt.cuts.quadric import QuadricCut
from qpopt.cuts.split_thresholds import SplitThresholdCuts
from qpopt.relaxations.step import Step
from qpopt.verification.outward import upper_sum
from qpopt.verification.step_bounds import step_bounds
from qpopt.verification.step_matrix import step_matrix
from tests.awkward import awkward_instances
from tests.brute_force import best_class_sets


def exact_value(instance, selection, *, distinct=True):
    """Z of the best sets of a selection, without any rounding."""
    total = sum((Fraction(float(instance.b[d])) for d in selection), Fraction(0))
    for c, members in enumerate(best_class_sets(instance, selection, distinct=distinct)):
        total += sum(Fraction(float(instance.A[c, d])) for d in members)
    return total - sum(Fraction(float(instance.R[d, e])) for d, e in combinations(selection, 2))


@st.composite
def wild_steps(draw, instance):
    """Draw a step whose multipliers are so large that nearly all digits cancel out."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    wild = 10.0 ** draw(st.integers(-12, 14))
    included = np.array(sorted(instance.include), dtype=np.int64)
    decided = {*instance.include, *instance.exclude}
    free = np.array([d for d in range(instance.n_features) if d not in decided], dtype=np.int64)
    n, n_classes = len(free), instance.n_classes
    classes = np.repeat(np.arange(n_classes), 2)
    shares = rng.uniform(0.1, 1.0, (n_classes, 2))
    shares /= shares.sum(axis=1, keepdims=True)
    thresholds = wild * rng.normal(size=(2, 2 * n_classes))
    splits = SplitThresholdCuts(
        classes, rng.integers(-1, n, len(classes)), thresholds[0], thresholds[1], shares.ravel()
    )
    groups = []
    if n_classes > 1:
        share = float(draw(st.sampled_from([0.0, 0.3, 1.0])))
        feature, given = int(rng.integers(-1, n)), wild * rng.normal(size=2)
        sigma, given_sigma = (wild * rng.random(2)).tolist()
        otherwise = wild * rng.normal(size=2)
        families = [None, None]
        for side in range(2):
            if rng.random() < 0.5:
                core = np.sort(rng.permutation(instance.n_features)[: rng.integers(0, 5)])
                most = wild * rng.random() * float(rng.integers(2))
                families[side] = Family(core, wild * rng.random(len(core)), most)
        groups = [Group((0, 1), share, otherwise, sigma, feature, given, given_sigma, *families)]
    order = rng.permutation(n).tolist()
    cuts = [QuadricCut(1, tuple(order[:2]), tuple(order[2:4])), QuadricCut(-3, (order[0],), ())]
    nothing = np.zeros(0, dtype=np.int64)
    root = rng.normal(size=(n, n))
    return Step(
        free, included, splits, groups, wild * rng.normal(size=n), wild * float(rng.normal()),
        cuts, wild * rng.random(2), draw(st.sampled_from([0.0, 1.0, wild])) * (root @ root.T),
        nothing, nothing, nothing, np.zeros((0, n)),
    )  # fmt: skip


@settings(max_examples=150)
@given(awkward_instances(max_features=7), st.data())
def test_exact_arithmetic_finds_no_selection_above_it(instance, data):
    m = instance.n_select - len(instance.include)
    if m == 0:
        return
    step = data.draw(wild_steps(instance))
    M, shift = step_matrix(instance, step, m)
    found = step_bounds(instance, step)
    for rest in combinations(range(len(step.free)), m):
        selection = sorted([*instance.include, *step.free[list(rest)].tolist()])
        z = exact_value(instance, selection)
        chosen = [Fraction(float(M[i, j])) for i in rest for j in rest]
        assert z <= Fraction(shift) + sum(chosen)
        assert z <= Fraction(found.value)
        for d in step.free.tolist():
            given = found.with_feature if d in selection else found.without_feature
            assert z <= Fraction(given[d])


@settings(max_examples=150)
@given(awkward_instances(max_features=7), st.integers(0, 2**32 - 1))
def test_rounding_is_paid_where_the_matrix_meets_z(instance, seed):
    m, k = instance.n_select - len(instance.include), instance.n_per_class
    if m == 0:
        return
    rng = np.random.default_rng(seed)
    included = np.array(sorted(instance.include), dtype=np.int64)
    free = np.setdiff1d(np.arange(instance.n_features), [*included, *instance.exclude])
    rest = sorted(rng.permutation(len(free))[:m].tolist())
    selection = sorted([*included.tolist(), *free[rest].tolist()])
    # Thresholds, levels and multipliers of cuts that hold with equality for one selection.
    kth = np.sort(instance.A[:, selection], axis=1)[:, -k]
    n_classes = instance.n_classes
    classes = np.arange(n_classes)
    splits = SplitThresholdCuts(classes, np.full(n_classes, -1), kth, kth, np.ones(n_classes))
    cuts = [
        QuadricCut(len(set(plus) & set(rest)) - int(rng.integers(2)), tuple(plus), ())
        for plus in (rng.permutation(len(free))[:3].tolist() for _ in range(4))
    ]
    wild = 10.0 ** rng.integers(8, 15)
    n, nothing = len(free), np.zeros(0, dtype=np.int64)
    step = Step(
        free, included, splits, [], wild * rng.normal(size=n), wild * float(rng.normal()),
        cuts, wild * rng.random(4), np.zeros((n, n)), nothing, nothing, nothing, np.zeros((0, n)),
    )  # fmt: skip
    M, shift = step_matrix(instance, step, m)
    assert exact_value(instance, selection, distinct=False) <= Fraction(shift) + sum(
        Fraction(float(M[i, j])) for i in rest for j in rest
    )


@given(st.lists(st.floats(-1e300, 1e300), max_size=20))
def test_sums_are_rounded_up(terms):
    assert Fraction(upper_sum(terms)) >= sum(map(Fraction, terms), Fraction(0))
    assert upper_sum([*terms, float("inf"), -float("inf")]) == float("inf")
