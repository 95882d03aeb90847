"""Nodes: parts of the selections, with valid bounds and a complete split."""

from __future__ import annotations

from math import inf

import numpy as np
from hypothesis import given, settings

from qpopt.proofs.node import Node
from tests.awkward import awkward_instances
from tests.brute_force import all_selections, best_class_sets, brute_force, value


@settings(max_examples=40)
@given(awkward_instances(max_features=7))
def test_the_parts_of_a_node_hold_everything_better(instance):
    node = Node(instance, np.arange(instance.n_features), np.zeros(0, dtype=np.int64))
    best = brute_force(instance).objective
    known = best - 0.1 * max(1.0, abs(best))
    node.improve(known, 3)
    assert node.bound >= best - 1e-9 * max(1.0, abs(best))
    if node.decided is not None:
        return
    parts = node.split()
    for selection in all_selections(instance):
        z = value(instance, selection, best_class_sets(instance, selection))
        inside = [part for part in parts if _holds(part, selection)]
        assert len(inside) <= 1
        if z > known + 1e-9:
            assert len(inside) == 1
            inside[0].improve(-inf, 1)
            assert inside[0].bound >= z - 1e-9 * max(1.0, abs(z))
    assert len(node.rounded()) == instance.n_select


def _holds(node, selection):
    allowed = set(node.sub.free) | set(node.sub.included)
    return set(node.sub.included) <= set(selection) <= allowed
