import pytest
import torch
from torch import nn

from qpopt_torch import ModelError
from qpopt_torch.network.observation import evaluating
from qpopt_torch.network.tail import Tail, activations_at, cuts


class Branching(nn.Module):
    """Functions between layers, one activation for many layers, and a residual block."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Conv2d(3, 4, 3), nn.Conv2d(4, 4, 3, padding=1)
        self.third, self.act = nn.Conv2d(4, 5, 3), nn.ReLU()
        self.head = nn.Linear(5, 2)

    def forward(self, x):
        x = self.act(self.first(x)) * 2
        x = x + torch.sigmoid(self.second(x))
        x = self.act(self.third(x))
        return self.head(x.mean((2, 3)))


def model_and_images():
    torch.manual_seed(0)
    return Branching().eval(), torch.randn(6, 3, 9, 9)


@pytest.mark.parametrize("name", ["first", "third", "head"])
def test_the_tail_gives_the_logits(name):
    model, x = model_and_images()
    tail = Tail(model, x[:4], name)
    with torch.no_grad():
        kept = activations_at(model, x, name, 0)
        torch.testing.assert_close(tail(model, kept), model(x))
        # Other activations give what the layers behind the cut make of them.
        if name == "head":
            torch.testing.assert_close(tail(model, kept.flip(0)), model.head(kept.flip(0)))


def test_only_what_lies_behind_is_computed():
    model, x = model_and_images()
    tail = Tail(model, x, "third")
    kept = activations_at(model, x, "third", 0)
    with torch.no_grad():
        expected = model(x)
        for layer in (model.first, model.second):
            nn.init.zeros_(layer.weight)
        torch.testing.assert_close(tail(model, kept), expected)
    assert "forward" not in vars(model.first)


def test_a_way_around_the_cut_is_noticed():
    model, x = model_and_images()
    with pytest.raises(ModelError, match="something before it that does not go through"):
        Tail(model, x, "second")


def test_gradients_reach_the_activations():
    model, x = model_and_images()
    kept = activations_at(model, x, "third", 0).requires_grad_()
    Tail(model, x, "third")(model, kept).sum().backward()
    assert kept.grad is not None
    assert model.third.weight.grad is not None
    assert model.first.weight.grad is None


def test_where_a_network_can_be_cut():
    """Multiplications: 49 · 4 · 27, 49 · 4 · 36, 25 · 5 · 36 and 10; `act` is called twice."""
    model, x = model_and_images()
    work = [49 * 4 * 27, 49 * 4 * 36, 25 * 5 * 36, 10]
    found = cuts(model, x)
    assert [cut.name for cut in found] == ["first", "second", "third", "head"]
    shapes = [(3, 9, 9), (4, 7, 7), (4, 7, 7), (5,)]
    assert [cut.shape for cut in found] == shapes
    assert [cut.share for cut in found] == pytest.approx(
        [sum(work[i:]) / sum(work) for i in range(4)]
    )


@pytest.mark.parametrize(
    ("name", "cut"),
    [("resnet18", "layer4"), ("mobilenet_v2", "features.14"), ("efficientnet_b0", "features.7")],
)
def test_known_networks(torchvision, name, cut):
    model = getattr(torchvision.models, name)(num_classes=7)
    x = torch.randn(3, 3, 64, 64, generator=torch.Generator().manual_seed(0))
    tail = Tail(model, x, cut)
    with evaluating(model), torch.no_grad():
        expected = model(x.flip(0))
        found = tail(model, activations_at(model, x.flip(0), cut, 0))
    torch.testing.assert_close(found, expected, rtol=1e-3, atol=1e-5)
