import numpy as np
import pytest
import torch
from torch import nn

from qpopt_torch.training.losses.diversity import default_beta, feature_diversity_loss


def by_hand(logits, features, maps, weights):
    """The formula, written with loops."""
    total = 0.0
    for row, f, M in zip(logits, features, maps, strict=True):
        w = weights[row.argmax()]
        positions = M.reshape(len(f), -1)
        softmax = np.exp(positions) / np.exp(positions).sum(1, keepdims=True)
        terms = softmax * (f / f.max() * np.abs(w) / np.linalg.norm(w))[:, None]
        total -= terms.max(0).sum()
    return total / len(logits)


def test_the_formula():
    rng = np.random.default_rng(0)
    logits, maps = rng.normal(size=(5, 3)), rng.random((5, 4, 2, 3))
    weights = rng.normal(size=(3, 4))
    arguments = (logits, maps.mean((2, 3)), maps, weights)
    loss = feature_diversity_loss(*map(torch.tensor, arguments))
    assert float(loss) == pytest.approx(by_hand(*arguments), rel=1e-5)


def test_different_places_are_better_than_the_same():
    apart, together = torch.zeros(1, 2, 4), torch.zeros(1, 2, 4)
    apart[0, 0, 0] = apart[0, 1, 3] = 9.0
    together[0, :, 0] = 9.0
    features, weights = torch.ones(1, 2), torch.ones(1, 2)
    losses = [
        float(feature_diversity_loss(torch.zeros(1, 1), features, maps, weights))
        for maps in (apart, together)
    ]
    assert losses[0] == pytest.approx(-2 / 2**0.5, rel=1e-2)
    assert losses[1] == pytest.approx(-1 / 2**0.5, rel=1e-2)


def test_features_of_other_classes_do_not_count():
    maps = torch.rand(1, 2, 4, requires_grad=True)
    weights = torch.tensor([[1.0, 0.0]])
    feature_diversity_loss(torch.zeros(1, 1), torch.ones(1, 2), maps, weights).backward()
    assert maps.grad[0, 1].abs().sum() == 0


def test_dead_features_give_no_nan():
    features = torch.zeros(2, 3, requires_grad=True)
    loss = feature_diversity_loss(
        torch.zeros(2, 2), features, torch.zeros(2, 3, 4), torch.zeros(2, 3)
    )
    loss.backward()
    assert float(loss.detach()) == 0
    assert torch.isfinite(features.grad).all()


def test_default_beta_is_the_published_one():
    class ChannelAttention(nn.Linear):
        """Weighs channels, as convolutional networks do."""

    convolutional = nn.Sequential(nn.Conv2d(3, 4, 1), nn.BatchNorm2d(4), ChannelAttention(4, 4))
    assert default_beta(convolutional) == default_beta(nn.Sequential(nn.LayerNorm(4))) == 0.196
    assert default_beta(nn.TransformerEncoderLayer(8, 2)) == 0.0245


@pytest.mark.parametrize(
    ("name", "beta"), [("resnet18", 0.196), ("convnext_tiny", 0.196), ("swin_t", 0.0245)]
)
def test_default_beta_of_known_networks(torchvision, name, beta):
    with torch.device("meta"):
        assert default_beta(getattr(torchvision.models, name)()) == beta
