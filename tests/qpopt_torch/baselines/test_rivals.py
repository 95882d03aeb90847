"""What the rivals have in common, and what each of them promises."""

import re

import pytest
import torch

from qpopt_torch import AdapterTraining, FineTuning, ModelError, TrainingError, evaluate, find_head
from qpopt_torch.baselines import base
from qpopt_torch.baselines import glm_saga as glm_saga_module
from qpopt_torch.baselines import q_senn as q_senn_module
from qpopt_torch.baselines import sldd as sldd_module
from qpopt_torch.baselines.base import Samples, keep_largest
from qpopt_torch.baselines.glm_saga import glm_saga
from qpopt_torch.baselines.q_senn import class_bias, q_senn, rounded
from qpopt_torch.baselines.sldd import greedy_selection, sldd
from qpopt_torch.explain import (
    explain_class,
    explain_contrast,
    explain_decision,
    explain_feature,
    explain_neighbours,
    gather,
)
from qpopt_torch.training.features import extract
from tests.qpopt_torch.report.decoding import data_of
from tests.qpopt_torch.small import batches, cnn, weights


@pytest.fixture(autouse=True)
def _coarse(monkeypatch):
    """A coarse path, soon converged: here it need not be good."""
    monkeypatch.setattr(base, "CHANGE", 1e-2)
    for module in (glm_saga_module, sldd_module, q_senn_module):
        monkeypatch.setattr(module, "N_STRENGTHS", 12)


DATA = batches(sizes=(16,) * 5)
SHORT = FineTuning(epochs=2, lr=1e-3)


def test_glm_saga_has_the_wanted_average():
    model = cnn()
    before = weights(model)
    sparse = glm_saga(model, DATA, n_per_class=2, progress=False)
    head = sparse.sparse_head
    assert 6 <= int((head.weight != 0).sum()) <= 8
    assert all(torch.equal(before[key], value) for key, value in model.state_dict().items())
    # By hand: the logits are the weighted sum of standardised features, plus the bias.
    x = DATA[0][0]
    features, _ = extract(model, DATA[:1], find_head(model, x), progress=False)
    every, _ = extract(model, DATA, find_head(model, x), progress=False)
    z = (features - every.mean(0)) / every.std(0, unbiased=False)
    by_hand = z[:, head.selection] @ head.weights.T + head.bias
    torch.testing.assert_close(sparse(x), by_hand, atol=1e-4, rtol=1e-4)
    figures = evaluate(sparse, DATA, progress=False)
    assert figures.n_per_class == pytest.approx(int((head.weight != 0).sum()) / 4)


@pytest.mark.parametrize("rival", [sldd, q_senn])
@pytest.mark.parametrize("training", [SHORT, AdapterTraining(epochs=3, kind="linear"), None])
def test_counts_weights_and_what_is_trained(rival, training):
    model = cnn()
    untrained = rival(model, DATA, n_select=5, n_per_class=2, training=None, progress=False)
    sparse = rival(
        model, DATA, n_select=5, n_per_class=2, training=training, val_loader=DATA, progress=False
    )
    head = sparse.sparse_head
    assert (head.selection == untrained.sparse_head.selection).all()
    assert int((head.weight != 0).sum()) <= 8
    assert torch.equal(head.weight != 0, head.assignment > 0)
    if rival is q_senn:
        sizes = head.weight[head.weight != 0].abs()
        assert torch.allclose(sizes, sizes[0].expand_as(sizes))
    else:
        assert torch.equal(head.weights, untrained.sparse_head.weights)
        moved = not torch.equal(head.mean, untrained.sparse_head.mean)
        assert moved == isinstance(training, FineTuning)
    assert (head.adapter is not None) == isinstance(training, AdapterTraining)
    assert not sparse.training
    assert evaluate(sparse, DATA, progress=False).accuracy >= 0.25


def test_the_greedy_choice_by_hand():
    rng = torch.Generator().manual_seed(0)
    labels = torch.arange(120) % 3
    x = torch.randn(120, 6, generator=rng)
    x[:, 4] += 4.0 * (labels == 0)
    x[:, 1] += 3.0 * (labels == 1)
    x[:, 5] = x[:, 4] + 0.01 * x[:, 5]  # says nothing that feature 4 has not said
    samples = Samples.of(x, labels, 3, 0)
    assert set(greedy_selection(samples, 2)) in ({1, 4}, {1, 5})
    with pytest.raises(ModelError, match="from 1 to 6"):
        greedy_selection(samples, 7)


def test_features_without_signal_run_out():
    labels = torch.arange(40) % 2
    x = torch.zeros(40, 3)
    x[:, 0] = labels
    with pytest.raises(ModelError, match="Only 1 features help"):
        greedy_selection(Samples.of(x, labels, 2, 0), 2)


def test_rounding_by_hand():
    fitted = torch.tensor([[0.5, -3.0, 0.1], [1.0, 0.2, -0.5]])
    kept = keep_largest(fitted, 2)
    assert kept.tolist() == [[0, -3, 0], [1, 0, 0]]
    assert rounded(fitted, 2).tolist() == [[0, -2, 0], [2, 0, 0]]
    # One class has a surplus of −1, the other of +1.
    assert class_bias(rounded(fitted, 2), 0.7).tolist() == pytest.approx([0.7, -0.7])
    assert class_bias(torch.eye(3), 0.7).tolist() == [0, 0, 0]


def test_a_class_without_samples_is_named():
    labels = torch.tensor([0, 0, 2, 2])
    with pytest.raises(TrainingError, match="Class 1 has no sample"):
        Samples.of(torch.randn(4, 2), labels, 3, 0).net(mixing=0.9)


def test_held_out_samples_leave_every_class_one():
    labels = torch.tensor([0] * 30 + [1])
    for seed in range(20):
        Samples.of(torch.randn(31, 2), labels, 2, seed).net(mixing=0.9)


@pytest.mark.parametrize("rival", [sldd, q_senn])
def test_the_report_of_weighted_features(rival, tmp_path):
    """It shows what classes add up: every feature times its weight, and the constant last."""
    sparse = rival(cnn(), DATA, n_select=5, n_per_class=2, training=None, progress=False)
    text, data = data_of(sparse.report(tmp_path / "report.html", DATA, progress=False))
    assert "a weighted sum of some out of 5 features" in text
    assert "the plain sum" not in text
    assert "each times the weight that the class gives it" in text
    tabs = re.findall(r'data-tab="(\w+)"', text)
    assert tabs == ["overview", "classes", "features"]
    assert not {"wrong", "right", "pairs", "levels"} & set(data)
    x = torch.cat([batch[0] for batch in DATA])
    logits = sparse(x).detach()
    weights = sparse.sparse_head.weight
    for c, entry in enumerate(data["classes"]):
        assert data["assignment"][c] == weights[c].nonzero().flatten().tolist()
        assert data["weights"][c] == pytest.approx(weights[c][weights[c] != 0].tolist(), abs=1e-3)
        for number, (score, terms) in zip(entry["samples"], entry["sums"], strict=True):
            index = data["samples"][number]["index"]
            assert score == pytest.approx(float(logits[index, c]), abs=0.006)
            assert sum(terms) == pytest.approx(score)
            constant = float(sparse.sparse_head.bias[c])
            assert terms[-1] == pytest.approx(constant, abs=0.011)


def test_nothing_is_said_of_what_would_change_weighted_features(tmp_path):
    """Explanations add features up; of a model that weighs them they would be false."""
    sparse = sldd(cnn(), DATA, n_select=5, n_per_class=2, training=None, progress=False)
    evidence = gather(sparse, DATA, progress=False)
    for explain in (
        lambda: explain_decision(sparse, DATA[0][0][0]),
        lambda: explain_neighbours(sparse),
        lambda: explain_class(evidence, 0),
        lambda: explain_contrast(evidence, 0, 1),
    ):
        with pytest.raises(ModelError, match=r"adds? features up, but this model weighs them"):
            explain()
    assert explain_feature(evidence, int(sparse.selection[0])).classes
