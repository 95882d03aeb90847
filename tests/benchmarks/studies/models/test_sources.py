"""Networks as they are given, with what a recipe changes of them."""

import pytest
import torch
from torch import nn

from benchmarks.errors import BenchmarkError
from benchmarks.studies.models.sources import unbounded


def network(*last):
    features = nn.Sequential(nn.Conv2d(3, 6, 3), nn.ReLU6(), nn.Conv2d(6, 6, 3), *last)
    return nn.Sequential(features, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(6, 4)).eval()


def test_only_the_activation_of_the_maps_is_unbounded():
    changed = network(nn.ReLU6())
    x = torch.rand(2, 3, 9, 9)
    changed[0][2].bias.data += 9
    assert changed[0](x).max() == 6
    unbounded(changed, x)
    assert changed[0](x).max() > 6
    assert isinstance(changed[0][1], nn.ReLU6)


def test_what_gives_the_maps_may_be_no_relu6():
    with pytest.raises(BenchmarkError, match="no ReLU6"):
        unbounded(network(nn.ReLU()), torch.rand(2, 3, 9, 9))
