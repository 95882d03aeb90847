"""Inputs of more than one tensor, and how a model takes them."""

import pytest
import torch
from torch import nn

from qpopt_torch import LoaderError, accuracy
from qpopt_torch.data.batches import batches, split
from qpopt_torch.data.inputs import Inputs, call, described, fitted, repeated

X, Y = torch.randn(4, 3), torch.tensor([0, 1, 1, 0])


class Two(nn.Module):
    """Adds what it makes of two inputs, of which the second is optional."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 2)

    def forward(self, left, right=None):
        return self.fc(left if right is None else left + right)


class Whole(nn.Module):
    """Takes one mapping."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 2)

    def forward(self, batch):
        return self.fc(batch["a"] * batch["b"])


class AnyName(nn.Module):
    def forward(self, **named):
        return named["a"] + named["b"]


def test_a_mapping_is_handed_over_by_its_keys_without_what_the_model_does_not_know():
    model = Two()
    batch = {"left": X, "right": 2 * X, "id": torch.arange(4), "text": ["a"] * 4, "labels": Y}
    x, y = split(batch, 0, model)
    assert isinstance(x, Inputs)
    assert x.names == ("left", "right")
    torch.testing.assert_close(call(model, x), model.fc(3 * X))
    assert torch.equal(y, Y)


def test_one_input_is_a_tensor_whatever_it_is_called():
    for batch in ({"left": X, "labels": Y}, {"pixels": X, "target": Y}, (X, Y)):
        x, _ = split(batch, 0, Two())
        assert x is X
    # A name that is not the first argument is kept.
    x, _ = split({"left": X, "labels": Y}, 0, AnyName())
    assert x is X


def test_several_tensors_come_in_their_order():
    model = Two()
    for batch in ((X, 2 * X, Y), ((X, 2 * X), Y), [[X, 2 * X], Y]):
        x, y = split(batch, 0, model)
        torch.testing.assert_close(call(model, x), model.fc(3 * X))
        assert torch.equal(y, Y)


def test_a_mapping_as_a_whole_and_any_names():
    named = {"a": X, "b": 2 * X}
    x, _ = split({**named, "labels": Y}, 0, Whole())
    torch.testing.assert_close(call(model := Whole(), x), model.fc(2 * X * X))
    x, _ = split((named, Y), 0, AnyName())
    torch.testing.assert_close(call(AnyName(), x), 3 * X)


def test_what_a_model_does_not_take_is_said_with_a_way_out():
    with pytest.raises(LoaderError, match=r"3 inputs; the model takes one \(left\).*unpack"):
        fitted((X, X, X), Two())
    with pytest.raises(LoaderError, match=r"inputs a, b; the model takes one \(input\).*unpack"):
        fitted({"a": X, "b": X}, nn.Sequential(nn.Linear(3, 2)))
    with pytest.raises(LoaderError, match="hold no tensor"):
        fitted({"text": ["a", "b"]}, Two())
    with pytest.raises(LoaderError, match="str, not a tensor"):
        fitted("text", Two())


def test_inputs_are_sliced_like_a_tensor():
    x = Inputs.of({"a": X, "flag": True, "scale": torch.tensor(2.0)})
    assert len(x) == 4
    assert len(x[:2]) == 2
    assert torch.equal(x[1].named("a"), X[1])
    assert x[:2].named("flag") is True
    assert float(x[:2].named("scale")) == 2.0
    assert torch.equal(repeated(x, 3).named("a"), X[:1].expand(3, 3))
    assert (
        described(x) == "a: float32 of the shape (4, 3); flag: bool; scale: float32 of the shape ()"
    )


def test_the_input_that_a_person_looks_at():
    ids, mask = torch.zeros(2, 5, dtype=torch.long), torch.ones(2, 5)
    image, size = torch.zeros(2, 3, 8, 8), torch.zeros(2, 1)
    assert Inputs.of({"attention_mask": mask, "input_ids": ids}).main is ids
    assert Inputs.of((size, image)).main is image
    assert Inputs.of({"size": size, "count": ids}).main is size


def test_inputs_come_in_the_precision_of_the_model():
    ids = torch.zeros(4, 5, dtype=torch.long)
    model = Two().double()
    ((x, _),) = batches([({"left": X, "right": ids}, Y)], model)
    assert x.named("left").dtype == torch.float64
    assert x.named("right").dtype == torch.int64


def test_the_accuracy_of_a_model_of_two_inputs():
    model = Two()
    logits = model(X, 2 * X)
    loader = [{"left": X, "right": 2 * X, "label": logits.argmax(1)}]
    assert accuracy(model, loader, progress=False) == 1.0
