from __future__ import annotations

import numpy as np

from benchmarks.studies.fuzzing.drawing import DEMANDS, demanding, draw
from qpopt import Average, bound


def test_every_kind_of_demand_is_drawn():
    drawn = [demanding(np.random.default_rng([1, number])) for number in range(60)]
    stated = {name for instance in drawn for name in instance.demands.stated}
    # A budget is stated by class or on average, pairs one by one or as a number.
    assert len(stated) == len(DEMANDS) - 1
    assert any(isinstance(instance.budget, Average) for instance in drawn)


def test_crowded_instances_need_groups_and_families():
    crowded = draw(5, 34)
    steps = bound(crowded, kind="thresholds").certificate.steps
    groups = [group for step in steps for group in step.groups]
    assert any(group.family is not None for group in groups)


def test_the_same_seed_draws_the_same():
    assert [draw(1, i).fingerprint for i in range(4)] == [draw(1, i).fingerprint for i in range(4)]
    assert draw(1, 0) != draw(2, 0)
