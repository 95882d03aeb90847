"""Every claim on every page of reports of different models, checked against the network."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from torch import nn
from torch.utils.data import DataLoader

from qpopt import Solution
from qpopt_torch import (
    AdapterTraining,
    DrawnBirds,
    SparseClassifier,
    collect,
    conformal,
    name_features,
    train_adapter,
)
from qpopt_torch.metrics.alignment import birds_of
from qpopt_torch.report.encoding import PageParams
from tests.qpopt_torch.readable import small_loader, small_sparse
from tests.qpopt_torch.report.claims.every_page import every_claim
from tests.qpopt_torch.report.claims.truth import Truth


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


def table(n_classes, n_features, size, seed):
    """A network on rows of numbers, which has no feature maps, and two loaders."""
    torch.manual_seed(seed)
    layers = nn.Linear(9, n_features), nn.ReLU(), nn.Linear(n_features, n_classes)
    y = torch.arange(size) % n_classes
    return nn.Sequential(*layers).eval(), *([(torch.randn(size, 9), y)] for _ in range(2))


def without_maps():
    network, loader, train_loader = table(3, 12, 24, seed=1)
    return classifier(network, train_loader, 5, 2), loader, train_loader


def forty_classes():
    torch.manual_seed(2)
    layers = (nn.Conv2d(1, 16, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten())
    network = nn.Sequential(*layers, nn.Linear(16, 40)).eval()
    loaders = [[(torch.randn(n, 1, 6, 6), torch.arange(n) % 40)] for n in (40, 80)]
    sparse = classifier(network, loaders[1], 9, 4)
    others = [(torch.randn(80, 1, 6, 6), torch.arange(80) % 40)]
    sparse.calibrate_levels(others, progress=False)
    conformal(sparse, others, alpha=0.2, progress=False)
    return sparse, *loaders


def drawn_birds():
    """Of the pictures, everything is known; of the parts, few features recognise any."""
    birds = DrawnBirds(4, 3, size=32, pairs=1.0)
    torch.manual_seed(3)
    layers = (nn.Conv2d(3, 24, 5, stride=2), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten())
    network = nn.Sequential(*layers, nn.Linear(24, 4)).eval()
    loader = DataLoader(birds, 4)
    return classifier(network, loader, 12, 4), loader, None


def frozen(kind):
    sparse, loader = small_sparse(), small_loader(2, n_batches=6)
    truth = Truth(sparse, loader)
    adapter = AdapterTraining(kind=kind, hidden=8, epochs=30, batch_size=14, lr=3e-2)
    labels = torch.tensor(truth.decided.y)
    train_adapter(sparse.sparse_head, truth.mixed, labels, adapter, progress=False)
    return sparse.eval(), small_loader(1), loader


MODELS = {
    "maps": lambda: (small_sparse(), small_loader(1), small_loader(2)),
    "without maps": without_maps,
    "on or off": lambda: (small_sparse(relu=True), small_loader(1), small_loader(2)),
    "forty classes": forty_classes,
    "drawn birds": drawn_birds,
    "linear adapter": lambda: frozen("linear"),
    "mlp adapter": lambda: frozen("mlp"),
}


@pytest.fixture(scope="module")
def claims_of(browser, tmp_path_factory):
    """Return a function that writes the report of a model and checks its claims."""
    path = tmp_path_factory.mktemp("claims") / "report.html"
    page = browser.new_page()

    def checked(sparse, loader, train_loader=None, **asked):
        besides = {key: asked[key] for key in ("attributes", "masks", "similarity") if key in asked}
        if "n_deletion" in asked:
            besides["params"] = PageParams(n_deletion=asked["n_deletion"])
        sparse.report(path, loader, train_loader=train_loader, progress=False, **besides)
        page.goto("about:blank")
        page.goto(path.as_uri())
        truth = Truth(sparse, loader, train_loader, birds=birds_of(loader), **asked)
        return every_claim(page, truth)

    yield checked
    page.close()


@pytest.mark.parametrize("name", MODELS)
def test_every_claim_is_true(name, claims_of):
    claims = claims_of(*MODELS[name]())
    assert claims.false == []
    assert claims.n_checked > 500


def test_what_is_asked_for_besides(claims_of):
    rng, loader = np.random.default_rng(0), small_loader(1)
    x = torch.cat([x for x, _ in loader])
    given = {
        "attributes": rng.uniform(size=(4, 5)),
        "masks": rng.random((len(x), *x.shape[2:])) > 0.6,
        "similarity": rng.uniform(size=(4, 4)) + np.arange(4)[:, None] + np.arange(4),
        "n_deletion": 5,
    }
    given["similarity"] += given["similarity"].T
    given["attribute_names"] = ["red wing", "long tail", "crest", "bars", "spots"]
    sparse = small_sparse(relu=True)
    known = {key: given[key] for key in ("attributes", "attribute_names")}
    name_features(sparse, loader=loader, progress=False, **known)
    assert any("? (r " in name for name in sparse.feature_names.values())
    assert claims_of(sparse, loader, **given).false == []


@given(
    st.integers(0, 2**16), st.integers(2, 6), st.integers(3, 7), st.integers(1, 3), st.booleans()
)
@example(584, 2, 4, 3, False)  # two classes as good as level
@example(1, 2, 6, 2, True)  # a sample that lies outside of those that show the classes
@example(2185, 2, 7, 1, False)  # a feature that always is the same
@settings(max_examples=2, deadline=None, suppress_health_check=list(HealthCheck))
def test_every_claim_on_models_of_any_size(claims_of, seed, n_classes, n_select, size, trained):
    size = min(size, n_select - 1)
    n_classes = min(n_classes, n_select if size in (1, n_select - 1) else n_classes)
    network, loader, train_loader = table(n_classes, n_select + 2, 3 * n_classes, seed)
    sparse = classifier(network, train_loader, n_select, size, seed)
    assert claims_of(sparse, loader, train_loader if trained else None).false == []


def test_every_claim_of_a_folder_with_groups(browser, tmp_path):
    """The same pages, loaded in parts, with a map that draws groups of classes."""
    sparse, loader, train_loader = forty_classes()
    path = sparse.report(
        tmp_path / "report",
        loader,
        train_loader=train_loader,
        layout="folder",
        params=PageParams(map_rows=30),
        progress=False,
    )
    page = browser.new_page()
    page.goto(path.as_uri())
    claims = every_claim(page, Truth(sparse, loader, train_loader), most=12)
    page.close()
    assert claims.false == []
    assert claims.n_checked > 2000


def test_the_checker_finds_what_is_false(open_page, tmp_path):
    """The report of one model is not true of another."""
    path = tmp_path / "report.html"
    small_sparse().report(path, small_loader(1), train_loader=small_loader(2), progress=False)
    truth = Truth(small_sparse(seed=1), small_loader(1), small_loader(2))
    assert len(every_claim(open_page(path), truth).false) > 100
