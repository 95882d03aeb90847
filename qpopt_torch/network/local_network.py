"""A small network that is trained on a CPU in a minute, and whose features see little at a time."""

from __future__ import annotations

from torch import nn

WIDTHS = ((3, 24, 2), (24, 32, 2), (32, 64, 1))
"""Channels before and after each convolution of 3 × 3, and its stride."""


def local_network(num_classes: int, n_features: int = 64, start: float = 0.0) -> nn.Module:
    """Return an untrained network whose features each see 15 × 15 pixels.

    What sees a wing only cannot mix it with a tail: such features come to stand for parts. The maps
    have a quarter of the height and width of the pictures.

    Parameters
    ----------
    num_classes
        How many classes.
    n_features
        How many features to choose from.
    start
        Where features begin, in deviations. At −1 most of a picture leaves each of them off, so
        that it comes to stand for something rare; a training of a few steps is then too short.
    """
    layers: list[nn.Module] = []
    for before, after, stride in WIDTHS:
        layers += _convolution(before, after, 3, stride)
    layers += _convolution(WIDTHS[-1][1], n_features, 1, 1)
    norm = layers[-2]
    assert isinstance(norm, nn.BatchNorm2d)
    nn.init.constant_(norm.bias, start)
    pooling = nn.AdaptiveAvgPool2d(1), nn.Flatten()
    return nn.Sequential(*layers, *pooling, nn.Linear(n_features, num_classes))


def _convolution(before: int, after: int, side: int, stride: int) -> list[nn.Module]:
    convolution = nn.Conv2d(before, after, side, stride, side // 2, bias=False)
    return [convolution, nn.BatchNorm2d(after), nn.ReLU()]
