import numpy as np
import pytest
import torch
from torch import nn

from qpopt_torch import Adapter, ModelError, SparseHead, find_head
from qpopt_torch.network.observation import evaluating, hooked, observe, unwrap
from qpopt_torch.network.reading.outputs import logits_of
from tests.qpopt_torch.small import cnn, mlp


def test_unwrap():
    model = mlp()
    assert unwrap(torch.compile(nn.DataParallel(model), backend="eager")) is model
    with pytest.warns(DeprecationWarning, match="jit"):
        scripted = torch.jit.script(model)
    with pytest.raises(ModelError, match="TorchScript"):
        unwrap(scripted)


def test_every_flag_is_restored():
    model = cnn().train()
    model[1].eval()
    seen = []

    def fail():
        with evaluating(model):
            seen.extend(module.training for module in model.modules())
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert not any(seen)
    assert [module.training for module in model] == [True, False, True, True, True, True, True]


def test_hooks_live_for_the_block():
    model, seen = mlp(), []

    def fail():
        with hooked({model[0]: lambda *_: seen.append(1)}):
            model(torch.zeros(1, 5))
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    model(torch.zeros(1, 5))
    assert seen == [1]


def test_logits():
    x = torch.zeros(2, 3)
    assert logits_of(x) is x
    assert logits_of([x, None]) is x
    assert logits_of({"logits": x}) is x
    for wrong in ({"out": x[0]}, (), "text"):
        with pytest.raises(ModelError, match="no logits"):
            logits_of(wrong)


class InPlace(nn.Module):
    """The feature maps are changed in place after they were pooled."""

    def __init__(self):
        super().__init__()
        self.body, self.fc = nn.Conv2d(3, 6, 3), nn.Linear(6, 4)

    def forward(self, x):
        maps = self.body(x)
        pooled = maps.mean((2, 3))
        maps.zero_()
        return {"logits": self.fc(pooled)}


def test_what_is_seen_is_what_was_there():
    torch.manual_seed(0)
    model, x = InPlace(), torch.randn(2, 3, 5, 5)
    with observe(model, find_head(model, x)) as seen:
        model(torch.zeros(1, 3, 5, 5))
        logits = model(x)["logits"]
    assert torch.equal(seen.logits, logits)
    assert seen.maps.abs().min() > 0
    torch.testing.assert_close(seen.maps.mean((2, 3)), seen.features)
    torch.testing.assert_close(model.fc(seen.features), logits)


def test_modes_gradients_and_compiled_models():
    model, x = cnn(), torch.randn(2, 3, 9, 9)
    head = find_head(model, x)
    model.train()
    compiled = torch.compile(model, backend="eager")
    compiled(x)
    with observe(compiled, head) as seen:
        assert not model.training
        compiled(x)
    assert not seen.maps.requires_grad
    assert seen.maps.shape == (2, 8, 7, 7)
    assert all(module.training for module in model.modules())
    with observe(model, head, evaluate=False) as seen:
        assert model.training
        model(x)
    seen.maps.sum().backward()
    assert model[0].weight.grad is not None


def test_a_selection_and_an_adapter():
    model, x = cnn().eval(), torch.randn(2, 3, 9, 9)
    head = find_head(model, x)
    with observe(model, head) as everything:
        model(x)
    model[6] = SparseHead([5, 1], np.ones((4, 2)), np.zeros(2), np.ones(2)).eval()
    with observe(model, head) as chosen:
        model(x)
    model[6].adapter = adapter = Adapter(torch.rand(8), torch.rand(8), [5, 1])
    nn.init.normal_(adapter.linear.weight)
    with observe(model, head) as adapted:
        model(x)
    assert torch.equal(chosen.features, everything.features[:, [5, 1]])
    assert torch.equal(chosen.maps, everything.maps[:, [5, 1]])
    torch.testing.assert_close(adapted.features, adapter(everything.features).detach())
    torch.testing.assert_close(adapted.maps.mean((2, 3)), adapted.features)


def test_a_wrong_number_of_channels_is_said_in_one_sentence():
    model = cnn().eval()
    with pytest.raises(ModelError) as refused:
        find_head(model, torch.randn(2, 1, 9, 9))
    assert str(refused.value) == (
        "The model (Sequential) takes inputs of 3 channels, but those of batch 0, float32 of the "
        "shape (2, 1, 9, 9), have 1."
    )
    with pytest.raises(ModelError, match="fails on batch 0, float32 of the shape"):
        find_head(mlp(), torch.randn(2, 3))
