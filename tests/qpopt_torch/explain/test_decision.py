from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from qpopt_torch import LoaderError, SparseClassifier, collect
from qpopt_torch.evidence.pictures import Picture
from qpopt_torch.explain import Sample, explain_decision, gather
from qpopt_torch.explain.decision import decision_on
from qpopt_torch.explain.decision_terms import Misleading, misleading_feature
from tests.qpopt_torch.readable import N_CLASSES, NAMES, small_loader, small_sparse


@pytest.fixture(scope="module")
def sparse():
    return small_sparse()


def test_the_terms_add_up_to_the_logits(sparse):
    for x, _ in small_loader(seed=5):
        with torch.no_grad():
            logits = sparse(x)
        for row, image in zip(logits, x, strict=True):
            decision = explain_decision(sparse, image, n_rivals=N_CLASSES)
            assert len(decision.sums) == N_CLASSES
            assert decision.sums[0].number == int(row.argmax())
            for total in decision.sums:
                assert total.logit == pytest.approx(float(row[total.number]), abs=1e-4)
                assert total.columns == tuple(np.flatnonzero(sparse.assignment[total.number]))
            found = [total.logit for total in decision.sums]
            assert found == sorted(found, reverse=True)


def test_what_misled_by_hand():
    """Feature 0 is 2.5 above what is usual, feature 2 is missing by 2.8, feature 1 is shared."""
    assignment = np.array([[1, 1, 0], [0, 1, 1]], dtype=bool)
    means = np.array([[1.0, 1.0, 0.0], [0.5, 1.0, 2.0]])
    sample = Sample(0, 1, 0, np.array([3.0, 9.0, -0.8]), None, Picture("none", np.zeros(0)))
    assert misleading_feature(sample, assignment, means) == Misleading(2, -0.8, 2.0, False)
    stronger = replace(sample, values=np.array([3.5, 9.0, -0.8]))
    assert misleading_feature(stronger, assignment, means) == Misleading(0, 3.5, 0.5, True)
    right = replace(sample, label=0)
    assert misleading_feature(right, assignment, means) is None


def test_wrong_decisions_show_the_true_class_and_what_misled(sparse):
    evidence = gather(sparse, small_loader(), progress=False)
    sample = evidence.samples[evidence.wrong[0]]
    decision = decision_on(sample, sparse.assignment, evidence.names, evidence, n_rivals=1)
    assert sample.label in [total.number for total in decision.sums]
    differing = sparse.assignment[sample.label] ^ sparse.assignment[sample.prediction]
    assert differing[decision.misleading.column]
    assert "What misled" in decision.summary()
    written = decision.to_dict()
    assert written["label"] == NAMES[sample.label]
    assert written["misleading"]["name"] == evidence.names.features[decision.misleading.column]


def test_an_input_with_or_without_the_batch_axis(sparse):
    x, _ = small_loader()[0]
    assert explain_decision(sparse, x[0]).to_dict() == explain_decision(sparse, x[:1]).to_dict()


def test_a_grey_image_is_no_batch():
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(1, 12, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(12, 4)
    ).eval()
    x = torch.randn(8, 1, 6, 6)
    statistics = collect(model, [(x, torch.arange(8) % 4)], progress=False)
    grey = SparseClassifier.from_solution(model, small_sparse().solution, statistics).eval()
    with torch.no_grad():
        logits = grey(x[:1])[0]
    for image in (x[0], x[:1]):
        total = explain_decision(grey, image).sums[0]
        assert total.logit == pytest.approx(float(logits.max()), abs=1e-4)


def test_a_wrong_shape(sparse):
    with pytest.raises(LoaderError, match="does not take an input of the shape"):
        explain_decision(sparse, torch.zeros(5, 8, 8))


def test_the_model_is_left_as_it_was():
    model = small_sparse().train()
    explain_decision(model, small_loader()[0][0][0])
    assert all(module.training for module in model.modules())
