import pytest
import torch
from torch import nn

from qpopt_torch import ModelError
from qpopt_torch.network.observation import evaluating, hooked, logits_of, unwrap
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
    for wrong in ({"out": x}, (), "text"):
        with pytest.raises(ModelError, match="no logits"):
            logits_of(wrong)
