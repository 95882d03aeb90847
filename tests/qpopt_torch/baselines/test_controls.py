"""Controls are called as sparsify is, and are made of what chance decided."""

import numpy as np
import pytest
import torch

from qpopt_torch import AdapterTraining, FineTuning, collect, evaluate
from qpopt_torch.baselines.chance import chance_assignment, chance_selection
from qpopt_torch.baselines.controls import random_assignment, random_selection
from tests.qpopt_torch.small import batches, cnn

DATA = batches(sizes=(16,) * 3)
COUNTS = {"n_select": 5, "n_per_class": 2}


@pytest.mark.parametrize(
    ("control", "chosen"),
    [(random_assignment, chance_assignment), (random_selection, chance_selection)],
)
def test_what_chance_decided_is_the_model(control, chosen):
    model = cnn()
    sparse = control(model, DATA, **COUNTS, training=None, relu=True, seed=3, progress=False)
    statistics = collect(model, DATA, progress=False)
    expected = chosen(statistics.instance(5, 2, bias="none"), 3)
    assert np.array_equal(sparse.selection, expected.selection)
    assert np.array_equal(sparse.assignment, expected.assignment)
    assert sparse.sparse_head.relu
    assert evaluate(sparse, DATA, progress=False).n_per_class == 2


@pytest.mark.parametrize(
    "training", [FineTuning(epochs=1, lr=1e-3), AdapterTraining(epochs=1, hidden=4)]
)
def test_it_is_trained_as_ours_are(training):
    quiet = {**COUNTS, "progress": False, "seed": 1}
    before = random_assignment(cnn(), DATA, training=None, **quiet)
    after = random_assignment(cnn(), DATA, training=training, **quiet)
    assert np.array_equal(before.assignment, after.assignment)
    x = DATA[0][0]
    assert not torch.allclose(before(x), after(x))
    assert (after.sparse_head.adapter is not None) == isinstance(training, AdapterTraining)
