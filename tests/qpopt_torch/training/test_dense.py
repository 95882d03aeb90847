import pytest
import torch

from qpopt_torch import DenseTraining, accuracy, train_dense
from tests.qpopt_torch.small import batches, cnn, loader, mlp, weights


@pytest.mark.parametrize("model", [cnn, mlp])
def test_dense_training(model):
    made = model()
    data = batches(sizes=(8,) * 6) if model is cnn else batches((5,), 3, (8,) * 6)
    history = train_dense(
        made, data, DenseTraining(epochs=15, lr=0.05, head_lr=0.1), progress=False
    )
    assert history.epochs[-1]["loss"] < history.epochs[0]["loss"]
    assert accuracy(made, data, progress=False) > 0.6
    assert not any(m._forward_hooks or m._forward_pre_hooks for m in made.modules())


def test_dense_training_has_a_rate_for_the_head():
    made = cnn()
    before = weights(made)
    settings = DenseTraining(epochs=1, lr=0.0, head_lr=0.1, weight_decay=0.0)
    train_dense(made, loader(), settings, progress=False)
    assert torch.equal(before["0.weight"], made.state_dict()["0.weight"])
    assert not torch.equal(before["6.weight"], made.state_dict()["6.weight"])
