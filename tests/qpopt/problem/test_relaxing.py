"""The plain instance bounds every instance with demands, whatever the multipliers."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from qpopt.errors import InvalidInstance
from qpopt.problem.assigning.multipliers import multipliers_at
from qpopt.problem.assigning.relaxed import Multipliers, no_multipliers
from qpopt.problem.assignment import assign
from qpopt.problem.relaxing import relaxed
from tests.demanded import best_demanded, demanded, made


def value(plain, n_features, selection):
    """Return what the plain instance gives a selection of the features."""
    added = range(n_features, plain.n_features)
    chosen = np.array([*selection, *added], dtype=np.int64)
    return plain.objective(chosen, assign(plain.A, chosen, plain.n_per_class)).total


@settings(max_examples=80)
@given(drawn=demanded(), seed=st.integers(0, 99))
def test_plain_instance_is_a_bound(drawn, seed):
    instance = made(drawn)
    best = None if instance is None else best_demanded(instance)
    if instance is None or best is None:
        return
    rng = np.random.default_rng(seed)
    prices = np.zeros(instance.n_features)
    if instance.classes_per_feature is not None:
        prices = rng.normal(0.0, 4.0, instance.n_features)
    signs = np.abs(rng.normal(0.0, 3.0, instance.n_classes))
    drawn_ones = Multipliers(prices, float(rng.normal(0.0, 4.0)), signs)
    at_best = multipliers_at(instance, np.array(best.selection, dtype=np.int64))
    for by in (no_multipliers(instance), drawn_ones, at_best):
        plain = relaxed(instance, by)
        assert value(plain, instance.n_features, best.selection) >= best.objective - 1e-9


@settings(max_examples=40)
@given(drawn=demanded(kinds=["classes_per_feature", "budget"]))
def test_multipliers_make_it_tight_but_for_equal_sets(drawn):
    instance = made(drawn)
    if instance is None:
        return
    features = [d for d in range(instance.n_features) if d not in instance.excluded]
    inside = [*instance.included, *(d for d in features if d not in instance.included)]
    selection = np.sort(np.array(inside[: instance.n_select], dtype=np.int64))
    try:
        flow = instance.objective(selection).total
    except InvalidInstance:
        return
    plain = relaxed(instance, multipliers_at(instance, selection))
    columns = np.append(selection, np.arange(instance.n_features, plain.n_features))
    assert plain.objective(columns).total <= flow + 1e-6
    assert plain.objective(columns).total >= flow - 1e-6
