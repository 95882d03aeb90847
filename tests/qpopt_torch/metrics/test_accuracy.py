import pytest
import torch
from torch import nn

from qpopt_torch import LoaderError, accuracy
from tests.qpopt_torch.small import cnn


def test_accuracy_by_hand():
    model = nn.Identity()
    logits = torch.tensor([[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
    data = [(logits[:2], torch.tensor([0, 0])), (logits[2:], torch.tensor([1]))]
    assert accuracy(model, data, progress=False) == pytest.approx(2 / 3)


def test_the_model_is_left_as_it_was():
    model = cnn().train()
    x = torch.randn(4, 3, 9, 9)
    accuracy(model, [(x, torch.tensor([0, 1, 2, 3]))], progress=False)
    assert all(module.training for module in model.modules())


def test_no_batches():
    with pytest.raises(LoaderError, match="empty"):
        accuracy(cnn(), [], progress=False)
