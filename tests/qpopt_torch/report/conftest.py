"""A large report."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from qpopt import Solution
from qpopt_torch import SparseClassifier, collect

LIMIT = 2_500_000


@pytest.fixture(scope="session")
def large_report(tmp_path_factory):
    """200 classes, 50 features, and images of noise, which compress worst, under a tight limit."""
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(3, 64, 9, stride=9), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
        nn.Linear(64, 200),
    ).eval()  # fmt: skip
    rng = np.random.default_rng(0)
    assignment = np.zeros((200, 50), dtype=bool)
    for row in assignment:
        row[rng.choice(50, 5, replace=False)] = True
    x = torch.randn(800, 3, 63, 63)
    y = torch.arange(800) % 200
    loader = list(zip(x.split(200), y.split(200), strict=True))
    statistics = collect(model, loader, progress=False)
    solution = Solution(np.arange(50), assignment, 1.0)
    sparse = SparseClassifier.from_solution(model, solution, statistics)
    path = tmp_path_factory.mktemp("large") / "large.html"
    return sparse.report(path, loader, max_bytes=LIMIT, progress=False)
