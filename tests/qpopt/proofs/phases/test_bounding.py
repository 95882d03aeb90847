"""The root bound of a proof, which sets aside what can wait."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qpopt import Status, generate, solve
from qpopt.control.incumbent import Incumbent
from qpopt.control.limits import Limits
from qpopt.proofs.driver import Proof
from qpopt.proofs.params import ProofParams
from qpopt.proofs.phases.bounding import Root
from tests.awkward import awkward_instances
from tests.brute_force import all_selections, best_class_sets, brute_force, value
from tests.qpopt.proofs.interrupting import interrupted_after

LAYERS = {"branch_below": 0, "before_branching": (1, 9.0), "root": {"worth_removing": 2.0}}
"""Params with which a root sets features aside as soon as that pays."""


@settings(max_examples=25)
@given(
    awkward_instances(max_features=9),
    st.integers(0, 4),
    st.sampled_from([0.0, 0.1]),
    st.sampled_from([0.0, 0.5, 0.9]),
)
def test_what_is_set_aside_holds_all_that_is_better_elsewhere(instance, core, worth, level):
    """Every better selection is in one part, whose bound is not below it."""
    values = {
        selection: value(instance, selection, best_class_sets(instance, selection))
        for selection in all_selections(instance)
    }
    incumbent = Incumbent(instance, Limits(gap=0.0))
    known = incumbent.judge(np.array(min(values, key=values.get)))
    params = ProofParams.of(
        {**LAYERS, "core": core, "worth_taking_apart": worth, "lowest_level": level}
    )
    proof = Proof(incumbent, params=params)
    proof.run([Root()])
    for selection, z in values.items():
        inside = [
            part
            for part in proof.parts
            if set(part.included) <= set(selection) <= {*part.included, *part.free}
        ]
        assert len(inside) <= 1
        slack = 1e-9 * max(1.0, abs(z))
        if z > known + slack:
            assert len(inside) == 1
            assert inside[0].bound >= z - slack
        assert incumbent.bound >= z - slack


def test_layer_upon_layer_makes_the_rest_small():
    incumbent = Incumbent(generate(40, 8, 6, 3, seed=1), Limits(gap=0.0))
    incumbent.judge(np.arange(1, 7))
    several = {"core": 9, "largest_core": 0.8, "worth_taking_apart": 0.0, "branch_below": 10}
    params = ProofParams.of({**LAYERS, **several, "before_branching": (6, 1e-3)})
    proof = Proof(incumbent, params=params)
    proof.run([Root()])
    sizes = [layer.sub.n_free for layer in proof.root.layers]
    assert len(sizes) > 2
    assert sizes == sorted(sizes, reverse=True)
    assert len(proof.parts[0].free) < 10
    assert len(proof.parts) == 1 + len(proof.aside) > 20
    assert incumbent.bound == pytest.approx(max(part.bound for part in proof.parts))


def test_layers_are_resumed(tmp_path):
    """What waits is in the checkpoint, and a proof that goes on comes back to it."""
    instance = generate(12, 4, 4, 2, seed=3)
    options = {
        "search_seconds": 0.0, "enumerate": False, "hand_over": False,
        "checkpoint": tmp_path / "proof.npz",
        "params": {**LAYERS, "core": 4, "worth_taking_apart": 0.0, "branch_below": 5},
    }  # fmt: skip
    objective = solve(instance).objective
    for count in (4, 8, 10**9):
        last = solve(instance, gap=0.0, options=options, progress=interrupted_after(count))
        assert last.bound is None or last.bound >= objective - 1e-9 * objective
    assert last.status is Status.OPTIMAL
    assert last.objective == pytest.approx(brute_force(instance).objective)
