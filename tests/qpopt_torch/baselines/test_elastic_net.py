"""The elastic net against scikit-learn and its own optimality conditions."""

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression

from qpopt_torch import TrainingError
from qpopt_torch.baselines.elastic_net import ElasticNet


@pytest.fixture(scope="module")
def samples():
    rng = np.random.default_rng(3)
    labels = rng.integers(0, 4, 160)
    labels[:4] = range(4)
    centres = rng.normal(size=(4, 9)) * (rng.random((4, 9)) < 0.4)
    x = centres[labels] + rng.normal(size=(160, 9))
    x[:, 8] = x[:, 0] + 0.3 * x[:, 8]
    x = (x - x.mean(0)) / x.std(0)
    return torch.tensor(x), torch.tensor(labels)


@pytest.mark.filterwarnings("ignore:.*penalty.*:FutureWarning")
@pytest.mark.parametrize(("mixing", "share"), [(0.99, 0.3), (0.5, 0.1), (1.0, 0.05)])
def test_the_same_minimum_as_scikit_learn(samples, mixing, share):
    x, labels = samples
    net = ElasticNet(x, labels, 4, mixing=mixing)
    strength = share * net.strongest
    fit = net.fit(strength)
    other = LogisticRegression(
        penalty="elasticnet",
        solver="saga",
        C=1 / (len(x) * strength),
        l1_ratio=mixing,
        tol=1e-10,
        max_iter=100_000,
        random_state=0,
    ).fit(x.numpy(), labels.numpy())
    np.testing.assert_allclose(fit.weight.numpy(), other.coef_, atol=2e-5)
    assert fit.n_used == np.count_nonzero(np.abs(other.coef_) > 1e-9)


def test_nothing_is_used_from_the_strongest_on(samples):
    net = ElasticNet(*samples, 4, mixing=0.99)
    assert net.fit(net.strongest * 1.0001).n_used == 0
    assert net.fit(net.strongest * 0.98).n_used > 0
    # By hand: the largest covariance of a feature with the label of a class.
    x, labels = samples
    hot = torch.nn.functional.one_hot(labels, 4).double()
    by_hand = (x.T @ (hot - hot.mean(0))).abs().max() / (len(x) * 0.99)
    assert net.strongest == pytest.approx(float(by_hand))


def test_groups_are_optimal(samples):
    net = ElasticNet(*samples, 4, mixing=0.8, grouped=True)
    for fit in net.path(net.strengths(6, 0.05, 0.9)):
        slope, level = net.slope(fit), fit.strength * 0.8
        norms = fit.weight.norm(dim=0)
        used = norms > 0
        assert (slope.norm(dim=0)[~used] <= level * (1 + 1e-5)).all()
        ridge = fit.strength * (1 - 0.8) * fit.weight
        rest = slope + ridge + level * fit.weight / norms.clamp_min(1e-12)
        assert rest[:, used].abs().sum() < 1e-5
        assert (fit.weight[:, used] != 0).all()
    assert used.sum() > 5


def test_a_path_uses_more_and_more(samples):
    net = ElasticNet(*samples, 4, mixing=0.99)
    used = [fit.n_used for fit in net.path(net.strengths(8, 1e-2))]
    assert used[0] == 0
    assert used == sorted(used)
    assert used[-1] > 20


def test_only_the_columns_given(samples):
    net = ElasticNet(*samples, 4, mixing=0.8, grouped=True)
    fit = net.fit_on(torch.tensor([0, 1]), 0.02 * net.strongest)
    assert fit.weight.any(0).nonzero().flatten().tolist() == [0, 1]


def test_senseless_arguments(samples):
    x, labels = samples
    with pytest.raises(TrainingError, match="Class 4 has no sample"):
        ElasticNet(x, labels, 5, mixing=0.9)
    with pytest.raises(TrainingError, match="mixing must be"):
        ElasticNet(x, labels, 4, mixing=0.0)
