import logging

import numpy as np
import pytest
import torch

from qpopt_torch import (
    AdapterTraining,
    LoaderError,
    SparseHead,
    Statistics,
    train_adapter,
)
from tests.qpopt_torch.small import any_solution


def problem(n=300, seed=0):
    """Features in which the class shows, but not in the single selected ones."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(4, size=n)
    features = rng.normal(size=(n, 12)) * np.linspace(0.1, 30, 12)
    features += np.eye(4)[labels] @ rng.normal(size=(4, 12)) * 2 * np.linspace(0.1, 30, 12)
    statistics = Statistics.from_features(features, labels)
    solution = any_solution(statistics.instance(5, 2))
    head = SparseHead.from_solution(solution, statistics.mean, statistics.std)
    return head, torch.tensor(features).float(), torch.tensor(labels)


def right(head, features, labels):
    with torch.no_grad():
        return float((head(features).argmax(1) == labels).double().mean())


@pytest.mark.parametrize("kind", ["linear", "mlp"])
def test_an_adapter_learns(kind):
    head, features, labels = problem()
    before = right(head.eval(), features, labels)
    settings = AdapterTraining(kind=kind, hidden=16, epochs=10, batch_size=50, lr=1e-2)
    history = train_adapter(
        head, features, labels, settings, validation=(features, labels), progress=False
    )
    after = right(head, features, labels)
    assert after > max(before + 0.1, 0.85)
    assert history.epochs[-1]["val_accuracy"] == pytest.approx(after)
    assert not head.training
    assert (head.adapter.mlp is None) == (kind == "linear")


def test_the_same_seed_gives_the_same_adapter():
    results = []
    for seed in (0, 0, 1):
        head, features, labels = problem()
        train_adapter(head, features, labels, AdapterTraining(epochs=2, seed=seed), progress=False)
        results.append(head.adapter.linear.weight.detach())
    assert torch.equal(results[0], results[1])
    assert not torch.equal(results[0], results[2])


def test_divergence_keeps_the_last_good_adapter(caplog):
    settings = AdapterTraining(epochs=2, lr=1e30, batch_size=8)
    head, features, labels = problem()
    with caplog.at_level(logging.WARNING, logger="qpopt"):
        history = train_adapter(head, features, labels, settings, progress=False)
    assert "not finite in epoch 1" in history.stopped
    assert history.stopped in caplog.text
    assert torch.isfinite(head.adapter.linear.weight).all()


def test_features_that_cannot_be_used():
    head, features, labels = problem()
    with pytest.raises(LoaderError, match="samples × features"):
        train_adapter(head, features[0], labels)
    with pytest.raises(LoaderError, match="one class number each"):
        train_adapter(head, features, labels[1:])


def test_features_are_off_where_they_need_not_be_on():
    off = []
    for sparsity in (0.0, 1.0):
        head, features, labels = problem()
        settings = AdapterTraining(hidden=16, epochs=10, lr=1e-2, sparsity=sparsity)
        train_adapter(head, features, labels, settings, progress=False)
        with torch.no_grad():
            on = head.normalise(head.select(features))
        assert head.adapter.relu
        assert (on >= -1e-4).all()
        off.append(float((on < 1e-4).double().mean()))
    assert 0.2 < off[0] < off[1] < 1
    head, features, labels = problem()
    train_adapter(head, features, labels, AdapterTraining(epochs=1, relu=False), progress=False)
    assert (head.normalise(head.select(features)) < 0).any()


def test_what_is_off_learns_less_and_less():
    head, features, labels = problem()
    seen = []
    settings = AdapterTraining(hidden=4, epochs=4, leaking=0.5, batch_size=len(labels))

    looking = head.dropout.register_forward_pre_hook(lambda *_: seen.append(head.adapter.leak))
    train_adapter(head, features, labels, settings, progress=False)
    looking.remove()
    assert seen[:4] == pytest.approx([1.0, 0.5, 0.0, 0.0])
    adapter = head.adapter
    with torch.no_grad():
        low = adapter._mixed(adapter._standard(features)) < 0
    assert low.any()
    off = adapter.mean[adapter.selection]
    adapter.leak = 0.5
    assert torch.allclose(adapter.eval()(features)[low], off.expand_as(low)[low])
    assert (adapter.train()(features)[low] < off.expand_as(low)[low]).all()
