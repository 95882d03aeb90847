import numpy as np
import pytest
import torch

from qpopt_torch import LoaderError
from qpopt_torch.metrics import LocalAlignment, local_alignment

ASSIGNMENT = np.array([[1, 1, 0, 0], [1, 0, 1, 0], [0, 0, 1, 1]])
ATTRIBUTES = np.array([[1, 0], [0, 0], [1, 0]])


def direct(features, labels, attributes, assignment):
    """The formula with loops; None where it is not defined."""
    n_classes, n_features = assignment.shape
    sizes = assignment.sum(1)
    shape = int(sizes.max()) + 1, n_classes, n_features, attributes.shape[1]
    result = np.full(shape, np.nan)
    for x, c, d, a in np.ndindex(*shape):
        if not assignment[c, d]:
            continue
        near = [
            e for e in range(n_classes) if (assignment[c] & assignment[e]).sum() >= sizes[c] - x
        ]
        rows = [i for i, y in enumerate(labels) if y in near]
        present = [features[i, d] for i in rows if attributes[labels[i], a]]
        absent = [features[i, d] for i in rows if not attributes[labels[i], a]]
        if present and absent:
            activation = features[:, d].mean() - features[:, d].min()
            raised = np.mean(present) - np.mean(absent)
            result[x, c, d, a] = raised / activation if activation > 0 else 0.0
    return result


def test_worked_out():
    features = np.array([[4.0, 0, 0, 0], [1.0, 0, 0, 0], [1.0, 0, 0, 0], [0.0, 0, 0, 0]])
    found = local_alignment(features, [0, 1, 1, 2], ATTRIBUTES, ASSIGNMENT)
    # Feature 0 is 1.5 above its least value on average. Of classes that share one feature with
    # class 0, itself and class 1: (4 − 1) / 1.5. Of all, class 2 has the attribute as well:
    # ((4 + 0) / 2 − 1) / 1.5.
    assert found.local(1, 0, 0, 0) == pytest.approx(2.0)
    assert found.local(2, 0, 0, 0) == pytest.approx(2 / 3)
    assert found.overall()[0, 0] == pytest.approx(2 / 3)
    # Among class 0 alone all have it; attribute 1 nobody has; class 2 does not use feature 0.
    assert found.local(0, 0, 0, 0) is None
    assert found.local(2, 0, 0, 1) is None
    assert found.local(1, 2, 0, 0) is None


@pytest.mark.parametrize("seed", range(4))
def test_the_formula_in_any_order_and_unit(seed):
    rng = np.random.default_rng(seed)
    features, labels = rng.gamma(1, size=(30, 4)), rng.integers(0, 3, 30)
    attributes = rng.random((3, 5)) < 0.5
    expected = direct(features, labels, attributes, ASSIGNMENT)
    found = local_alignment(features, labels, attributes, ASSIGNMENT)
    np.testing.assert_allclose(found.values, expected, atol=1e-9)
    moved = features * np.array([1, 2, 0.5, 30]) + np.array([0, 5, -3, 1])
    order = rng.permutation(30)
    again = local_alignment(moved[order], labels[order], attributes, ASSIGNMENT)
    np.testing.assert_allclose(again.values, expected, atol=1e-9)
    # In batches, and merged.
    first, second = (
        LocalAlignment(torch.tensor(ASSIGNMENT), torch.tensor(attributes)) for _ in range(2)
    )
    first.update(torch.tensor(features[:11]), torch.tensor(labels[:11]))
    second.update(torch.tensor(features[11:]), torch.tensor(labels[11:]))
    first.merge(second)
    best = [np.nanmax(row) for row in expected[1].reshape(-1, 5) if not np.isnan(row).all()]
    assert first.compute() == pytest.approx(np.mean(best))


def test_nothing_to_compare():
    metric = LocalAlignment(torch.tensor(ASSIGNMENT), torch.tensor(ATTRIBUTES[:, 1:]))
    assert np.isnan(metric.compute())
    metric.update(torch.rand(5, 4), torch.tensor([0, 1, 2, 0, 1]))
    assert np.isnan(metric.compute())
    with pytest.raises(LoaderError, match="do not fit together"):
        local_alignment(np.ones((3, 4)), [0, 1], ATTRIBUTES, ASSIGNMENT)
    # A feature that never changes counts 0.
    same = local_alignment(np.ones((3, 4)), [0, 1, 2], ATTRIBUTES, ASSIGNMENT)
    assert same.local(1, 0, 0, 0) == 0
