"""A network with the layers of a ResNet50, untrained: what counts here is what it costs."""

from __future__ import annotations

import torch
from torch import Tensor, nn

STAGES = ((64, 3), (128, 4), (256, 6), (512, 3))
"""Width and number of the blocks between two changes of the size."""
WIDER = 4
"""A block gives so many times as many channels as its inner width."""


class Block(nn.Module):
    """Three convolutions, the middle one wide, beside a shortcut."""

    def __init__(self, taken: int, width: int, stride: int) -> None:
        super().__init__()
        given = WIDER * width
        self.inner = nn.Sequential(
            *_normed(nn.Conv2d(taken, width, 1, bias=False)),
            nn.ReLU(inplace=True),
            *_normed(nn.Conv2d(width, width, 3, stride, 1, bias=False)),
            nn.ReLU(inplace=True),
            *_normed(nn.Conv2d(width, given, 1, bias=False)),
        )
        self.beside = nn.Sequential()
        if taken != given or stride > 1:
            self.beside = nn.Sequential(*_normed(nn.Conv2d(taken, given, 1, stride, bias=False)))
        self.relu = nn.ReLU(inplace=True)

    def forward(self, x: Tensor) -> Tensor:
        """Return the maps of the block."""
        out: Tensor = self.relu(self.inner(x) + self.beside(x))
        return out


def resnet50(classes: int, shrunk: int = 1) -> nn.Sequential:
    """Return the network, with widths divided by `shrunk`."""
    torch.manual_seed(0)
    taken = STAGES[0][0] // shrunk
    layers: list[nn.Module] = [
        *_normed(nn.Conv2d(3, taken, 7, 2, 3, bias=False)),
        nn.ReLU(inplace=True),
        nn.MaxPool2d(3, 2, 1),
    ]
    for stage, (width, blocks) in enumerate(STAGES):
        for number in range(blocks):
            stride = 2 if stage and not number else 1
            layers.append(Block(taken, width // shrunk, stride))
            taken = WIDER * width // shrunk
    layers += [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(taken, classes)]
    return nn.Sequential(*layers).eval()


def _normed(layer: nn.Conv2d) -> tuple[nn.Module, nn.Module]:
    return layer, nn.BatchNorm2d(layer.out_channels)
