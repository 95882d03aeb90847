"""Every claim on every page of reports of different models, checked against the network."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from qpopt import Solution
from qpopt_torch import AdapterTraining, SparseClassifier, collect, train_adapter
from tests.qpopt_torch.readable import small_loader, small_sparse
from tests.qpopt_torch.report.claims import Claims
from tests.qpopt_torch.report.truth import Truth


def classifier(network, loader, n_select, n_per_class, seed=0):
    """A sparse classifier whose classes get distinct sets of features by chance."""
    statistics = collect(network, loader, progress=False)
    rng, sets = np.random.default_rng(seed), set()
    while len(sets) < statistics.n_classes:
        sets.add(tuple(sorted(rng.choice(n_select, n_per_class, replace=False).tolist())))
    assignment = np.zeros((statistics.n_classes, n_select), dtype=bool)
    for row, members in zip(assignment, sorted(sets), strict=True):
        row[list(members)] = True
    solution = Solution(np.arange(n_select), assignment, 1.0)
    return SparseClassifier.from_solution(network, solution, statistics).eval()


def without_maps():
    torch.manual_seed(1)
    network = nn.Sequential(nn.Linear(9, 12), nn.ReLU(), nn.Linear(12, 3)).eval()
    loaders = [[(torch.randn(24, 9), torch.arange(24) % 3)] for _ in range(2)]
    return classifier(network, loaders[1], 5, 2), *loaders


def forty_classes():
    torch.manual_seed(2)
    layers = (nn.Conv2d(1, 16, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten())
    network = nn.Sequential(*layers, nn.Linear(16, 40)).eval()
    loaders = [[(torch.randn(80, 1, 6, 6), torch.arange(80) % 40)] for _ in range(2)]
    return classifier(network, loaders[1], 9, 4), *loaders


def frozen(kind):
    sparse, loader = small_sparse(), small_loader(2, n_batches=6)
    truth = Truth(sparse, loader)
    settings = AdapterTraining(kind=kind, hidden=8, epochs=30, batch_size=14, lr=3e-2)
    received, labels = torch.tensor(truth.received), torch.tensor(truth.decided.y)
    train_adapter(sparse.sparse_head, received, labels, settings, progress=False)
    return sparse.eval(), small_loader(1), loader


MODELS = {
    "maps": lambda: (small_sparse(), small_loader(1), small_loader(2)),
    "without maps": without_maps,
    "forty classes": forty_classes,
    "linear adapter": lambda: frozen("linear"),
    "mlp adapter": lambda: frozen("mlp"),
}


@pytest.mark.parametrize("name", MODELS)
def test_every_claim_is_true(name, open_page, tmp_path):
    sparse, loader, train_loader = MODELS[name]()
    path = tmp_path / "report.html"
    sparse.report(path, loader, train_loader=train_loader, progress=False)
    claims = Claims(open_page(path), Truth(sparse, loader, train_loader)).check_all()
    assert claims.false == []
    assert claims.n_checked > 500


def test_the_checker_finds_what_is_false(open_page, tmp_path):
    """The report of one model is not true of another."""
    path = tmp_path / "report.html"
    small_sparse().report(path, small_loader(1), train_loader=small_loader(2), progress=False)
    claims = Claims(open_page(path), Truth(small_sparse(seed=1), small_loader(1), small_loader(2)))
    assert len(claims.check_all().false) > 100
