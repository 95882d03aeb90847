import numpy as np
import pytest
import torch
from torch import nn

from qpopt import Solution
from qpopt_torch import ModelError, SparseClassifier, collect
from qpopt_torch.metrics import deletion_test
from qpopt_torch.metrics.explanations import deletion
from qpopt_torch.metrics.explanations.deletion import _blurred, _highest
from tests.qpopt_torch.small import mlp
from tests.qpopt_torch.small import sparse as small


class Channels(nn.Module):
    """Features are the channels of the image themselves, and so are their maps."""

    def __init__(self):
        super().__init__()
        self.body = nn.Conv2d(3, 3, 1, bias=False)
        self.pool, self.fc = nn.AdaptiveAvgPool2d(1), nn.Linear(3, 3)
        with torch.no_grad():
            self.body.weight.copy_(torch.eye(3)[..., None, None])

    def forward(self, x):
        return self.fc(self.pool(self.body(x).relu()).flatten(1))


def of_channels(relu=True):
    """Class c has channels c and c + 1."""
    model, x = Channels().eval(), torch.rand(12, 3, 10, 10)
    statistics = collect(model, [(x, torch.arange(12) % 3)], progress=False)
    assignment = np.array([[1, 1, 0], [0, 1, 1], [1, 0, 1]], dtype=bool)
    solution = Solution(np.arange(3), assignment, 1.0)
    made = SparseClassifier.from_solution(model, solution, statistics, relu=relu).eval()
    head = made.sparse_head
    with torch.no_grad():
        head.mean.zero_()
        head.std.fill_(1)
    return made


def test_worked_out(monkeypatch):
    """Channel 0 is bright in one fifth, channel 1 in another: each falls where its own map is."""
    x = torch.zeros(1, 3, 10, 10)
    x[0, 0, :2], x[0, 1, -2:] = 1.0, 0.5
    monkeypatch.setattr(deletion, "_blurred", torch.zeros_like)  # what is blurred becomes black
    found = deletion_test(of_channels(), [(x, torch.tensor([0]))], progress=False)
    assert found.n_features == 2  # channel 2 is of another class
    assert found.drop == pytest.approx(1.0, abs=1e-6)
    assert found.others == pytest.approx(0.0, abs=1e-6)
    assert found.own == pytest.approx(1.0, abs=1e-6)
    # A random fifth takes about a fifth away, from both alike in the mean.
    many = [(x.expand(40, -1, -1, -1), torch.zeros(40, dtype=torch.int64))]
    random = deletion_test(of_channels(), many, progress=False)
    assert random.random_drop == pytest.approx(0.2, abs=0.08)
    assert abs(random.random_own) < 0.1
    assert random.n_features == 80


def test_only_active_features_and_the_first_samples():
    x = torch.rand(8, 3, 10, 10, generator=torch.Generator().manual_seed(0))
    model, y = of_channels(), torch.arange(8) % 3
    loader = [(x[:3], y[:3]), (x[3:], y[3:])]
    assert deletion_test(model, loader, 5, progress=False).n_features == 10
    one, other = (deletion_test(model, data, 8, progress=False) for data in (loader, [(x, y)]))
    assert one == other  # however they come in batches
    head = model.sparse_head
    with torch.no_grad():
        head.mean.fill_(9.0)  # nothing is active
    nothing = deletion_test(model, loader, progress=False)
    assert nothing.n_features == 0
    assert np.isnan(nothing.own)


def test_scales_do_not_matter():
    x = torch.rand(4, 3, 10, 10, generator=torch.Generator().manual_seed(1))
    model, loader = of_channels(), [(x, torch.zeros(4, dtype=torch.int64))]
    plain = deletion_test(model, loader, progress=False)
    with torch.no_grad():
        model.sparse_head.std.fill_(0.25)
    again = deletion_test(model, loader, progress=False)
    assert (again.drop, again.others) == pytest.approx((plain.drop, plain.others), rel=1e-5)


def test_regions_and_blur():
    values = torch.arange(16.0).reshape(4, 4)
    region = _highest(values, torch.zeros(3, 8, 8))
    assert int(region.sum()) == 13  # a fifth of 64
    assert region[-1, 1:].all()
    flat = torch.full((1, 3, 9, 9), 0.7)
    torch.testing.assert_close(_blurred(flat), flat)
    spot = torch.zeros(1, 1, 21, 21)
    spot[0, 0, 10, 10] = 1.0
    blurred = _blurred(spot)
    assert float(blurred.sum()) == pytest.approx(1.0, abs=1e-2)
    torch.testing.assert_close(blurred, blurred.flip(-1))
    assert blurred[0, 0, 10, 10] == blurred.max() < 0.1


def test_what_has_no_maps():
    x = torch.randn(5, 5)
    model = small(mlp(), [(x, torch.arange(5) % 3)], 4, 2)
    with pytest.raises(ModelError, match="images and feature maps"):
        deletion_test(model, [(x, torch.arange(5) % 3)], progress=False)
