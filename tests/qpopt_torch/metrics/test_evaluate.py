"""evaluate against the accumulators fed by hand, for dense and sparse models."""

import json

import numpy as np
import pytest
import torch
from sklearn.metrics import roc_auc_score
from torch import nn
from torch.utils.data import DataLoader

from qpopt_torch import DrawnBirds, LoaderError, ModelError
from qpopt_torch.metrics import (
    Accuracy,
    ClassIndependence,
    Contrastiveness,
    Correlation,
    Diversity,
    FeatureAlignment,
    PlainDiversity,
    Plausibility,
    PointingGame,
    contrastive_pairs,
    deletion_test,
    local_alignment,
    structural_grounding,
)
from qpopt_torch.metrics.evaluate import evaluate
from tests.qpopt_torch.readable import N_CLASSES, small_loader, small_network, small_sparse


def by_hand(weights, features, maps, logits, labels, attributes, added=None):
    """Every metric; `added` are the features that the last layer adds up, if others."""
    present = torch.as_tensor(attributes)[labels] > 0.5
    fed = {
        "accuracy": (Accuracy(), (logits, labels)),
        "sid5": (Diversity(weights), (maps, logits)),
        "diversity5": (PlainDiversity(weights), (maps, logits)),
        "class_independence": (ClassIndependence(*weights.shape), (features, labels)),
        "contrastiveness": (Contrastiveness(), (features,)),
        "correlation": (Correlation(weights.shape[1]), (features if added is None else added,)),
        "feature_alignment": (
            FeatureAlignment(weights.shape[1], present.shape[1]),
            (features, present),
        ),
    }
    for metric, arguments in fed.values():
        metric.update(*arguments)
    values = {name: metric.compute() for name, (metric, _) in fed.items()}
    return values | {"structural_grounding": structural_grounding(weights, attributes)}


@pytest.fixture(scope="module")
def attributes():
    return torch.rand(N_CLASSES, 7, generator=torch.Generator().manual_seed(3))


def test_sparse_model(attributes):
    sparse, loader = small_sparse(), small_loader()
    x, y = (torch.cat(parts) for parts in zip(*loader, strict=True))
    with torch.no_grad():
        seen = sparse.features(x)
    head = sparse.sparse_head
    expected = by_hand(
        head.assignment,
        *(seen.features, seen.maps, seen.logits, y, attributes),
        added=(seen.features - head.mean) / head.std,
    )
    metrics = evaluate(sparse, loader, attributes=attributes, progress=False)
    for name, value in expected.items():
        assert getattr(metrics, name) == pytest.approx(value, rel=1e-5), name
    assert (metrics.n_features, metrics.n_per_class) == (6, 2)
    assert (metrics.n_samples, metrics.n_train_samples) == (len(y), 0)


def test_dense_model(attributes):
    dense, loader = small_network(), small_loader()
    x, y = (torch.cat(parts) for parts in zip(*loader, strict=True))
    with torch.no_grad():
        maps = dense[:3](x)
        logits = dense(x)
    expected = by_hand(dense[-1].weight, maps.mean((2, 3)), maps, logits, y, attributes)
    metrics = evaluate(dense, loader, attributes=attributes, progress=False)
    for name, value in expected.items():
        assert getattr(metrics, name) == pytest.approx(value, rel=1e-5), name
    assert (metrics.n_features, metrics.n_per_class) == (12, 12)
    iterated = evaluate(dense, iter(loader), attributes=attributes, progress=False)
    assert iterated.to_dict() == metrics.to_dict()


def test_one_activation_for_many_layers():
    class Shared(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = nn.Conv2d(3, 4, 3), nn.Conv2d(4, 12, 3)
            self.activation, self.head = nn.ReLU(), nn.Linear(12, N_CLASSES)

        def maps(self, x):
            return self.activation(self.second(self.activation(self.first(x))))

        def forward(self, x):
            return self.head(self.maps(x).mean((2, 3)))

    torch.manual_seed(0)
    dense, loader = Shared(), small_loader()
    x = torch.cat([batch for batch, _ in loader])
    with torch.no_grad():
        expected = Diversity(dense.head.weight)
        expected.update(dense.maps(x), dense(x))
    metrics = evaluate(dense, loader, progress=False)
    assert metrics.sid5 == pytest.approx(expected.compute(), rel=1e-5)


def test_features_come_from_the_training_loader():
    sparse, test, train = small_sparse(), small_loader(seed=1), small_loader(seed=2)
    both = evaluate(sparse, test, train, progress=False)
    on_test = evaluate(sparse, test, progress=False)
    on_train = evaluate(sparse, train, progress=False)
    assert (both.accuracy, both.sid5) == (on_test.accuracy, on_test.sid5)
    assert both.contrastiveness == on_train.contrastiveness != on_test.contrastiveness
    assert both.n_train_samples == on_train.n_samples


def test_leaves_the_model_as_it_was():
    sparse = small_sparse().train()
    evaluate(sparse, small_loader(), progress=False)
    assert all(module.training for module in sparse.modules())


def test_what_explanations_are_worth(attributes):
    sparse, loader = small_sparse(), small_loader()
    x, y = (torch.cat(parts) for parts in zip(*loader, strict=True))
    masks = torch.rand(len(x), 8, 8, generator=torch.Generator().manual_seed(0)) > 0.6
    options = {"masks": masks.numpy(), "n_deletion": 5}
    metrics = evaluate(sparse, loader, attributes=attributes, **options, progress=False)
    with torch.no_grad():
        seen = sparse.features(x)
    for name, metric in (("plausibility", Plausibility), ("pointing", PointingGame)):
        by_hand = metric(sparse.sparse_head.assignment)
        by_hand.update(seen.maps, seen.logits, masks)
        assert getattr(metrics, name) == pytest.approx(by_hand.compute())
    assert metrics.contrastive_pairs == contrastive_pairs(sparse.assignment).share
    values = sparse.sparse_head.normalise(seen.features).numpy()
    found = local_alignment(values, y, np.asarray(attributes) > 0.5, sparse.assignment)
    assert metrics.local_alignment == pytest.approx(found.best(1), rel=1e-5)
    assert metrics.deletion == deletion_test(sparse, loader, 5, progress=False).own
    plain = evaluate(sparse, loader, progress=False)
    assert (plain.plausibility, plain.deletion, plain.local_alignment) == (None, None, None)
    assert evaluate(small_network(), loader, progress=False).contrastive_pairs is None


def test_grounding_from_any_similarity(attributes):
    sparse, loader = small_sparse(), small_loader()
    known = attributes.double()
    units = known / known.norm(dim=1, keepdim=True)
    by_cosine = evaluate(sparse, loader, similarity=units @ units.T, progress=False)
    by_attributes = evaluate(sparse, loader, attributes=attributes, progress=False)
    assert by_cosine.structural_grounding == pytest.approx(by_attributes.structural_grounding)
    # Classes 0 and 1 share one of two features: cosine ½, and the world says 0.8 of that pair.
    similarity = torch.zeros(4, 4)
    similarity[0, 1] = similarity[1, 0] = 0.8
    weights = torch.tensor(sparse.assignment).double()
    found = structural_grounding(weights, n_pairs=1, similarity=similarity)
    assert found == pytest.approx(100 * 0.5 / 0.8)
    for wrong in ({}, {"attributes": attributes, "similarity": similarity}):
        with pytest.raises(LoaderError, match="either attributes or similarities"):
            structural_grounding(weights, **wrong)
    with pytest.raises(LoaderError, match="there are 4 classes"):
        evaluate(sparse, loader, similarity=np.eye(3), progress=False)


def test_what_cannot_be_asked_for():
    with pytest.raises(ModelError, match="n_deletion=0"):
        evaluate(small_network(), small_loader(), n_deletion=2, progress=False)
    with pytest.raises(LoaderError, match="iterator"):
        evaluate(small_sparse(), iter(small_loader()), n_deletion=2, progress=False)
    with pytest.raises(LoaderError, match="needs one mask"):
        evaluate(small_sparse(), small_loader(), masks=np.ones((2, 8, 8)), progress=False)
    with pytest.raises(LoaderError, match="masks must be numbers"):
        evaluate(small_sparse(), small_loader(), masks="all", progress=False)


def test_without_maps_there_is_no_diversity():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 3))
    metrics = evaluate(model, [(torch.randn(20, 5), torch.arange(20) % 3)], progress=False)
    assert metrics.sid5 is None
    assert metrics.to_dict()["structural_grounding"] is None
    *_, last = str(metrics).split("\n")
    assert last.startswith("What these need is not there: SID@5, ")
    assert str(metrics).count("SID@5") == 1


def test_prints_and_saves(tmp_path):
    metrics = evaluate(small_sparse(), small_loader(), progress=False)
    first, *_ = str(metrics).splitlines()
    shown = f"Accuracy            {100 * metrics.accuracy:>7.1f} %"
    assert first == f"{shown}  samples whose class is recognised; higher is better"
    lines = {line.split("  ")[0]: line for line in str(metrics).splitlines()}
    assert lines["Correlation"].endswith("to the one most like it; lower is better")
    assert lines["Class-Independence"].endswith("; higher is better")
    metrics.save(tmp_path / "metrics.json")
    assert json.loads((tmp_path / "metrics.json").read_text()) == metrics.to_dict()


@pytest.mark.parametrize(
    ("attributes", "message"),
    [(np.zeros((2, 3)), "one row for each of the 4"), (np.full((4, 3), 2.0), "between 0 and 1")],
)
def test_bad_attributes(attributes, message):
    with pytest.raises(LoaderError, match=message):
        evaluate(small_sparse(), small_loader(), attributes=attributes, progress=False)


def test_empty_loader():
    with pytest.raises(LoaderError, match="empty"):
        evaluate(small_sparse(), [], progress=False)


@pytest.mark.parametrize("relu", [False, True])
def test_drawn_birds_bring_their_own_truth(relu):
    birds = DrawnBirds(4, 3, 16, seed=1)
    sparse = small_sparse(names=None)
    sparse.sparse_head.relu = relu
    # All features are far below, so a head with ReLU lets nothing through that could be ranked.
    sparse.sparse_head.mean.fill_(10.0)
    loader = DataLoader(birds, 5)
    metrics = evaluate(sparse, loader, progress=False)
    x, y = (torch.cat(parts) for parts in zip(*loader, strict=True))
    with torch.no_grad():
        features = sparse.sparse_head.normalise(sparse.features(x).features)
    best = [
        max(
            roc_auc_score(present, feature)
            for present in birds.attributes[y].T
            if 0 < present.sum() < len(y)
        )
        for feature in features.T.numpy()
    ]
    assert metrics.part_alignment == pytest.approx(100 * np.mean(np.array(best) >= 0.95))
    given = evaluate(sparse, loader, attributes=birds.attributes, progress=False)
    assert metrics == given
    assert evaluate(sparse, small_loader(), progress=False).part_alignment is None
