"""The small network: how far its features see."""

import torch

from qpopt_torch import find_head
from qpopt_torch.network.local_network import local_network


def test_a_feature_sees_15_pixels():
    torch.manual_seed(0)
    network = local_network(4, 8).eval()
    x = torch.rand(1, 3, 64, 64, requires_grad=True)
    maps = network[:-3](x)
    assert maps.shape == (1, 8, 16, 16)
    (gradient,) = torch.autograd.grad(maps[0, :, 8, 8].sum(), x)
    rows = gradient.abs().sum(dim=(0, 1, 3)).nonzero().flatten()
    # A convolution of 3 at strides 1, 2 and 4: 1 + 2 + 4 + 8 pixels, the middle one 4 × 8.
    assert (rows.min().item(), rows.max().item()) == (32 - 7, 32 + 7)


def test_features_can_begin_off_nearly_everywhere():
    torch.manual_seed(0)
    network = local_network(4, 32, start=-1.0)
    maps = network[:-3](torch.rand(8, 3, 64, 64))
    assert 0.1 < (maps > 0).float().mean() < 0.22  # a bell is above one deviation in 0.16


def test_its_head_is_found():
    network = local_network(4, 8).eval()
    head = find_head(network, torch.rand(2, 3, 64, 64))
    assert (head.n_classes, head.n_features) == (4, 8)
