import numpy as np
import pytest
import torch

from qpopt_torch.training.losses.grounding import feature_grounding_loss

ASSIGNMENT = torch.tensor([[1.0, 1, 0, 0], [0, 1, 1, 0], [1, 1, 1, 1]])


def by_hand(activations, labels, assignment, others):
    """The formula, written with loops."""
    total = 0.0
    for values, y in zip(activations, labels, strict=True):
        own = [v for v, w in zip(values, assignment[y], strict=True) if w]
        rest = [v for v, w in zip(values, assignment[y], strict=True) if not w]
        outside = sum(rest) / len(rest) if rest else 0.0
        total += (others * outside - sum(own) / len(own)) / max(0.01, max(map(abs, values)))
    return total / len(labels)


@pytest.mark.parametrize("others", [1.0, 2.0])
def test_the_formula(others):
    rng = np.random.default_rng(0)
    values, labels = rng.normal(size=(7, 4)), rng.integers(0, 3, 7)
    loss = feature_grounding_loss(
        torch.tensor(values), torch.tensor(labels), ASSIGNMENT, others=others
    )
    assert float(loss) == pytest.approx(by_hand(values, labels, ASSIGNMENT, others), rel=1e-5)


def test_worked_out():
    # Class 0 has features 0 and 1: (2 · (1 + 0) / 2 − (4 + 2) / 2) / 4 = −1/2.
    loss = feature_grounding_loss(torch.tensor([[4.0, 2, 1, 0]]), torch.tensor([0]), ASSIGNMENT)
    assert float(loss) == pytest.approx(-0.5)
    # All features are of class 2, and hardly anything is active: −0.001 / 0.01.
    small = torch.tensor([[0.004, 0.0, 0.0, 0.0]])
    loss = feature_grounding_loss(small, torch.tensor([2]), ASSIGNMENT)
    assert float(loss) == pytest.approx(-0.1)


def test_own_features_rise_and_others_fall():
    values = torch.tensor([[1.0, 2, 0.5, 0.5]], requires_grad=True)
    feature_grounding_loss(values, torch.tensor([0]), ASSIGNMENT).backward()
    slopes = values.grad[0]
    assert slopes[0] < 0 < slopes[2]
    # The largest one is in the denominator too: d/dv (1/2·2 − (1 + v)/2)/v at v = 2 is −1/8.
    assert float(slopes[1]) == pytest.approx(-1 / 8)


def test_the_scale_does_not_matter_and_nothing_active_is_no_error():
    values = torch.rand(5, 4, generator=torch.Generator().manual_seed(1)) + 1
    labels = torch.tensor([0, 1, 2, 0, 1])
    one, other = (feature_grounding_loss(f * values, labels, ASSIGNMENT) for f in (1, 50))
    assert float(one) == pytest.approx(float(other), rel=1e-5)
    zeros = torch.zeros(2, 4, requires_grad=True)
    loss = feature_grounding_loss(zeros, torch.tensor([0, 1]), ASSIGNMENT)
    loss.backward()
    assert float(loss.detach()) == 0
    assert torch.isfinite(zeros.grad).all()
