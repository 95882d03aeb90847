from copy import deepcopy
from types import SimpleNamespace

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from qpopt_torch import Head, Layout, ModelError, find_head
from tests.qpopt_torch.small import Scale, cnn, mlp, series

X = torch.randn(3, 3, 9, 9, generator=torch.Generator().manual_seed(1))


def test_sequential():
    head = find_head(cnn(), X)
    assert head == Head("6", 8, 4, "2", Layout("first"), None, ("5",))


def test_time_series_and_no_maps():
    assert find_head(series(), torch.randn(2, 2, 12)).layer == "1"
    head = find_head(mlp(), torch.randn(2, 5))
    assert (head.name, head.n_features, head.layer) == ("2", 6, None)


def test_a_relu_in_place_after_the_feature_layer_is_seen():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.features, self.fc = nn.Conv2d(3, 6, 3), nn.Linear(6, 3)

        def forward(self, x):
            maps = F.relu(self.features(x), inplace=True)
            return self.fc(maps.mean((2, 3)))

    head = find_head(Model(), X)
    assert head.layer == "features"
    assert head.layout == Layout("first", relu=True)


def test_convolution_as_head_and_norm_before_it():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = nn.Conv2d(3, 6, 3)
            self.norm, self.fc = nn.GroupNorm(1, 6), nn.Conv2d(6, 3, 1)

        def forward(self, x):
            return self.fc(self.norm(self.body(x).mean((2, 3), keepdim=True))).flatten(1)

    head = find_head(Model(), X)
    assert (head.name, head.layer, head.norm) == ("fc", "body", "norm")


def test_the_last_registered_layer_is_not_believed():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.head, self.auxiliary = nn.Linear(5, 3), nn.Linear(3, 3)

        def forward(self, x):
            logits = self.head(x)
            self.auxiliary(logits)
            return logits

    assert find_head(Model(), torch.randn(2, 5)).name == "head"


def test_a_head_of_zeros_is_told_from_other_layers_that_give_zeros():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.head, self.other = nn.Linear(5, 3), nn.Linear(5, 3)
            for parameter in self.parameters():
                nn.init.zeros_(parameter)

        def forward(self, x):
            logits = self.head(x)
            self.other(x)
            return logits

    assert find_head(Model(), torch.randn(2, 5)).name == "head"


def test_a_layer_with_the_same_values_is_not_taken_for_the_feature_layer():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.body, self.fc = nn.Conv2d(3, 6, 3), nn.Linear(6, 3)
            self.shadow = deepcopy(self.body)

        def forward(self, x):
            maps = self.body(x)
            self.shadow(x)
            return self.fc(maps.mean((2, 3)))

    assert find_head(Model(), X).layer == "body"


@pytest.mark.parametrize("wrap", [dict, "object", tuple])
def test_outputs_of_every_usual_form(wrap):
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(5, 3)

        def forward(self, x):
            logits = self.fc(x)
            if wrap is dict:
                return {"logits": logits, "loss": None}
            return (logits, x) if wrap is tuple else SimpleNamespace(logits=logits)

    assert find_head(Model(), torch.randn(2, 5)).n_classes == 3


def test_wrappers_are_looked_through():
    model = cnn()
    expected = find_head(model, X)
    assert find_head(nn.DataParallel(model), X) == expected
    assert find_head(torch.compile(model, backend="eager"), X) == expected


def test_hooks_reach_a_model_that_was_compiled_and_run_before():
    model = cnn().eval()
    model[0].compile(backend="eager")
    model(X)
    assert find_head(model, X).layer == "2"


def test_explicit_modules_and_names():
    model = cnn()
    assert find_head(model, X, head="6").name == "6"
    head = find_head(model, X, head=model[6], feature_layer=model[1])
    assert head.layer == "1"
    assert head.layout == Layout("first", relu=True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"head": "fc"}, "no module 'fc'"),
        ({"head": nn.Linear(2, 2)}, "no part of the model"),
        ({"head": "0"}, "must be a Linear layer"),
        ({"feature_layer": "3"}, "cannot be pooled"),
        ({"feature_layer": "nothing"}, "no module 'nothing'"),
    ],
)
def test_explicit_arguments_are_checked(arguments, message):
    with pytest.raises(ModelError, match=message):
        find_head(cnn(), X, **arguments)


def test_an_activation_that_serves_many_layers():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Conv2d(3, 4, 3), nn.Conv2d(4, 6, 3)
            self.act, self.fc = nn.ReLU6(inplace=True), nn.Linear(6, 3)

        def forward(self, x):
            return self.fc(self.act(self.b(self.act(self.a(x)))).mean((2, 3)))

    model = Model()
    for _ in range(2):  # a second look must not be confused by the first
        head = find_head(model, X)
        assert (head.layer, head.calls) == ("act", 2)
        assert find_head(model, X, feature_layer=model.act) == head


def test_a_feature_layer_without_a_tensor():
    class Pair(nn.Module):
        def forward(self, x):
            return x, x

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.pair, self.fc = Pair(), nn.Linear(5, 3)

        def forward(self, x):
            return self.fc(self.pair(x)[0])

    with pytest.raises(ModelError, match="gives no tensor"):
        find_head(Model(), torch.randn(2, 5), feature_layer="pair")


def test_nothing_matches():
    model = nn.Sequential(nn.Linear(5, 4), nn.Linear(4, 3), Scale())
    with pytest.raises(ModelError, match=r"No linear layer.*0: \(2, 5\) → \(2, 4\).*head="):
        find_head(model, torch.randn(2, 5))
    with pytest.raises(ModelError, match="The output of the head '1' is not"):
        find_head(model, torch.randn(2, 5), head="1")


@pytest.mark.parametrize("last", [nn.Softmax(1), nn.LogSoftmax(1)])
def test_a_softmax_behind_the_head_is_named(last):
    with pytest.raises(ModelError, match=r"softmax of its head '2'.*the logits themselves"):
        find_head(nn.Sequential(*mlp(), last), torch.randn(2, 5))


def test_strange_models():
    with pytest.raises(ModelError, match=r"must be a torch\.nn\.Module"):
        find_head(lambda x: x, X)
    with pytest.raises(ModelError, match="shape"):
        find_head(nn.Sequential(nn.Conv2d(3, 2, 1)), X)
    broken = mlp()
    nn.init.constant_(broken[0].weight, torch.nan)
    with pytest.raises(ModelError, match="NaN or infinite"):
        find_head(broken, torch.randn(2, 5))

    class NoLogits(nn.Module):
        def forward(self, x):
            return {"boxes": x}

    with pytest.raises(ModelError, match="no logits"):
        find_head(NoLogits(), X)


def test_everything_is_restored_even_after_an_exception():
    model = cnn().train()
    model[1].eval()
    flags = [module.training for module in model.modules()]
    weights = {key: value.clone() for key, value in model.state_dict().items()}

    def restored():
        hooks = [m._forward_hooks or m._forward_pre_hooks for m in model.modules()]
        return not any(hooks) and flags == [module.training for module in model.modules()]

    find_head(model, X)
    assert restored()
    with pytest.raises(ModelError, match="takes inputs of 3 channels, but those of batch 0"):
        find_head(model, torch.randn(2, 5, 9, 9))
    assert restored()
    assert all(torch.equal(weights[key], value) for key, value in model.state_dict().items())


def test_half_precision_and_channels_last():
    model = cnn().to(torch.bfloat16, memory_format=torch.channels_last)
    x = X.to(torch.bfloat16, memory_format=torch.channels_last)
    assert find_head(model, x) == find_head(cnn(), X)


def test_a_head_survives_json():
    head = find_head(cnn(), X)
    assert Head.from_dict(head.to_dict()) == head
    with pytest.raises(ModelError, match="no module '6'"):
        head.modules(mlp())
