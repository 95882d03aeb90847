"""Sparse classifiers of solutions with demands: negatives, and budgets that differ."""

import numpy as np
import pytest
import torch
from torch import nn

import qpopt
import qpopt_torch
from qpopt import Average, InvalidArgument, Solution
from qpopt_torch.errors import ModelError
from qpopt_torch.metrics.explanations.contrastive_pairs import contrastive_pairs
from qpopt_torch.pipeline.steering import as_dense
from qpopt_torch.sparse.sparse_head import SparseHead

UNEVEN = [[1, 0, 0, 0], [1, 1, 0, 0], [0, 1, 1, 1]]
SIGNED = [[1, -1, 0, 0], [1, 1, 0, 0], [0, 0, 1, -1]]


def network(seed=0):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(6, 10), nn.ReLU(), nn.Linear(10, 3))


def batches(n=60, seed=1):
    generator = torch.Generator().manual_seed(seed)
    labels = torch.arange(n) % 3
    return [(torch.randn(n, 6, generator=generator) + labels[:, None], labels)]


def built(assignment, **options):
    model, loader = network(), batches()
    statistics = qpopt_torch.collect(model, loader, progress=False)
    solution = Solution([1, 3, 4, 8], assignment, 1.0)
    sparse = qpopt_torch.SparseClassifier.from_solution(model, solution, statistics, **options)
    return sparse.eval(), model, loader


def values_of(sparse, x):
    """The normalised features, from their definition."""
    with torch.no_grad():
        head = sparse.sparse_head
        features = sparse.network[1](sparse.network[0](x))[:, head.selection]
        values = (features - head.mean) / head.std
        return (values.relu() if head.relu else values).double().numpy()


def test_a_negative_is_taken_away():
    sparse, _, loader = built(SIGNED)
    x = loader[0][0]
    expected = values_of(sparse, x) @ np.array(SIGNED).T
    assert sparse(x).detach().numpy() == pytest.approx(expected, abs=1e-5)
    assert sparse.assignment.dtype == np.int8
    assert sparse.class_features(0) == (1,)
    assert sparse.absent_features(0) == (3,)
    assert sparse.absent_features(1) == ()


@pytest.mark.parametrize("relu", [False, True])
def test_classes_of_any_size_expect_the_same_logit(relu):
    """The bias by its definition: beta is the mean of features over classes and their samples."""
    model, loader = network(), batches()
    x, labels = loader[0]
    sparse = qpopt_torch.sparsify(
        model, loader, n_select=4, n_per_class=2, training=None, progress=False,
        prepare={"budget": [1, 2, 3]}, solve={"method": "compact"}, head={"relu": relu},
    )  # fmt: skip
    values = values_of(sparse, x)
    used = sparse.assignment
    assert used.sum(axis=1).tolist() == [1, 2, 3]
    means = np.array([values[labels.numpy() == c].mean(axis=0) for c in range(3)])
    beta = means[used].mean()
    expected = values @ used.T + beta * (2 - used.sum(axis=1))
    assert sparse(x).detach().numpy() == pytest.approx(expected, abs=1e-4)


def test_the_bias_can_be_chosen_and_left_out():
    x = batches()[0][0]
    plain, *_ = built(UNEVEN, class_bias=0.0)
    some, *_ = built(UNEVEN, class_bias=0.5)
    assert plain.sparse_head.class_bias is None
    moved = some(x) - plain(x)
    assert moved.detach().numpy() == pytest.approx(np.tile([0.5, 0.0, -0.5], (60, 1)), abs=1e-5)
    even, *_ = built([[1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 1]], class_bias=0.5)
    assert even.sparse_head.class_bias is None
    with pytest.raises(ModelError, match="give class_bias"):
        built(UNEVEN, relu=True)
    with pytest.raises(ModelError, match="class_bias must be a finite number"):
        SparseHead(range(4), UNEVEN, np.zeros(4), np.ones(4), class_bias=float("nan"))
    with pytest.raises(InvalidArgument, match="class_bias must be a number"):
        qpopt_torch.sparsify(
            network(), batches(), n_select=4, n_per_class=2, head={"class_bias": "much"}
        )


@pytest.mark.parametrize("assignment", [SIGNED, UNEVEN])
def test_saved_models_come_back(assignment, tmp_path):
    sparse, model, loader = built(assignment)
    sparse.save(tmp_path / "one")
    again = qpopt_torch.load(tmp_path / "one", network(seed=5))
    assert torch.equal(again(loader[0][0]), sparse(loader[0][0]))
    assert (again.assignment == sparse.assignment).all()
    card = (tmp_path / "one" / "README.md").read_text(encoding="utf-8")
    assert ("not Feature 3" in card) == (assignment is SIGNED)
    assert ("1 to 3" in card) == (assignment is UNEVEN)
    assert model is not again


def test_the_dense_form_gives_the_same_logits():
    for assignment in (SIGNED, UNEVEN):
        sparse, _, loader = built(assignment)
        dense = as_dense(sparse)
        x = loader[0][0]
        assert dense(x).detach().numpy() == pytest.approx(sparse(x).detach().numpy(), abs=1e-4)


@pytest.mark.parametrize(
    ("assignment", "why"), [(SIGNED, "must be absent"), (UNEVEN, "class bias")]
)
def test_the_map_of_classes_refuses_what_is_no_plain_sum(assignment, why):
    sparse, *_ = built(assignment)
    with pytest.raises(ModelError, match=f"adds? features up.*{why}"):
        qpopt_torch.explain.explain_neighbours(sparse)


def test_without_the_bias_uneven_classes_are_explained():
    sparse, _, loader = built(UNEVEN, class_bias=0.0)
    evidence = qpopt_torch.explain.gather(sparse, loader, progress=False)
    told = qpopt_torch.explain.explain_decision(sparse, loader[0][0][2], evidence=evidence)
    assert sorted(len(total.columns) for total in told.sums) == [1, 2, 3]


def test_metrics_and_losses_take_signs():
    sparse, _, loader = built(SIGNED)
    measured = qpopt_torch.evaluate(sparse, loader, progress=False)
    right = (sparse(loader[0][0]).argmax(1) == loader[0][1]).float().mean()
    assert measured.accuracy == pytest.approx(float(right))
    # Classes 0 and 1 have feature 1 alike and feature 3 with other signs: they share one of two.
    assert contrastive_pairs(sparse.assignment).n_pairs == 1
    positive = torch.tensor(SIGNED) > 0
    values = torch.rand(3, 4)
    labels = torch.arange(3)
    loss = qpopt_torch.feature_grounding_loss(values, labels, torch.tensor(SIGNED))
    assert loss == qpopt_torch.feature_grounding_loss(values, labels, positive.float())


def test_training_goes_on_with_signs_and_sizes():
    for prepare in ({"negative": (1, 1.0)}, {"budget": Average(1, 3)}):
        sparse = qpopt_torch.sparsify(
            network(), batches(), n_select=4, n_per_class=2, progress=False,
            training=qpopt_torch.FineTuning(epochs=1, lr=1e-3), prepare=prepare,
            solve={"method": "compact"},
        )  # fmt: skip
        before = sparse.assignment
        assert (np.abs(before.astype(int)).sum(axis=1) >= 1).all()
        assert sparse.history is not None


def test_an_interrupted_call_goes_on_from_an_idealised_solution(tmp_path):
    options = {
        "n_select": 4, "n_per_class": 2, "training": None, "progress": False, "out": tmp_path,
        "prepare": {"pairs": [(0, 2)]}, "solve": {"idealise": True, "time_limit": 5},
    }  # fmt: skip
    first = qpopt_torch.sparsify(network(), batches(), **options)
    (tmp_path / "model").rename(tmp_path / "away") if (tmp_path / "model").exists() else None
    again = qpopt_torch.sparsify(network(), batches(), **options)
    assert first.solution.fingerprint == again.solution.fingerprint
    assert again.solution.class_sets() == first.solution.class_sets()
    instance = qpopt.Instance.load(tmp_path / "instance.npz")
    assert (instance.pairs, instance.n_pairs) == ((), 1)
    assert qpopt.verify(instance, again.solution)
