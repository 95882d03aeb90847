import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from qpopt import InvalidArgument, solve
from qpopt.problem.objective import objective
from qpopt_torch import (
    DenseTraining,
    FineTuning,
    accuracy,
    collect,
    evaluate,
    fine_tune,
    train_dense,
)
from qpopt_torch.explain import gather
from qpopt_torch.statistics.precision import autocasting
from qpopt_torch.training.loop import Training
from qpopt_torch.training.objectives import TrainingObjective
from tests.qpopt_torch.small import batches, cnn, same, sparse

KINDS = ("float32", "bfloat16")

SIZES = (40, 40, 40)


def test_lower_precision_gives_nearly_the_same_similarity():
    data, model = batches(sizes=SIZES), cnn()
    exact = collect(model, data, precision="float32", progress=False)
    rough = collect(model, data, precision="bfloat16", progress=False)
    assert rough.sums.dtype == np.float64
    assert rough.rounding == torch.finfo(torch.bfloat16).eps
    assert exact.rounding == torch.finfo(torch.float32).eps
    difference = np.abs(rough.similarity() - exact.similarity())
    assert 0 < difference.max() < 0.02


def test_auto_is_float32_without_a_gpu():
    data, model = batches(sizes=SIZES), cnn()
    auto, exact = (
        collect(model, data, precision=kind, progress=False) for kind in ("auto", "float32")
    )
    assert auto.sums.tobytes() == exact.sums.tobytes()
    with autocasting("auto", torch.device("cpu")):
        assert not torch.is_autocast_enabled("cpu")


@pytest.mark.parametrize("precision", ["float16", "half", None, 32, ["auto"]])
def test_what_is_no_precision_is_refused(precision):
    with pytest.raises(InvalidArgument, match="precision must be auto, float32, bfloat16"):
        collect(cnn(), batches(), precision=precision, progress=False)


def test_metrics_and_explanations_in_lower_precision():
    model = sparse()
    exact, rough = (evaluate(model, batches(), precision=p, progress=False) for p in KINDS)
    assert exact.diversity5 != rough.diversity5
    assert rough.diversity5 == pytest.approx(exact.diversity5, abs=1.0)
    assert rough.class_independence == pytest.approx(exact.class_independence, abs=1.0)
    exact, rough = (gather(model, batches(), precision=p, progress=False) for p in KINDS)
    assert 0 < np.abs(exact.values - rough.values).max() < 0.1
    for look in (evaluate, gather):
        with pytest.raises(InvalidArgument, match="precision must be"):
            look(model, batches(), precision="half", progress=False)


def test_a_sparse_head_adds_up_what_it_gets():
    """What explanations add up is the logit, to the last digits of float32."""
    model, (x, _) = sparse(), batches()[0]
    with torch.autocast("cpu", torch.bfloat16), model.observe() as seen:
        model.network(x)
    assert seen.features.dtype == torch.bfloat16
    assert seen.logits.dtype == torch.float32
    values = model.sparse_head.normalise(seen.features.double()).numpy()
    np.testing.assert_allclose(seen.logits, values @ model.assignment.T, rtol=1e-5, atol=1e-5)


def test_float16_is_trained_with_a_scaled_loss():
    """Without the scale, small gradients would be 0; steps that overflow are left out."""
    model = sparse()
    settings = FineTuning(epochs=3, lr=0.001, amp="float16")
    objective = TrainingObjective(model, model.head, 0.0)
    groups = [{"params": list(objective.parameters()), "lr": 0.001}]
    training = Training("", objective, groups, settings)
    assert training.scaler.is_enabled()
    objective.train()
    before = {name: value.detach().clone() for name, value in model.named_parameters()}
    scale = training.scaler.get_scale()
    first = next(model.parameters())
    hook = first.register_hook(lambda gradient: gradient * torch.inf)
    training.step([batches()[0]])
    assert training.scaler.get_scale() < scale
    assert same(before, dict(model.named_parameters()))
    hook.remove()
    for _ in range(20):  # until the scale fits
        training.step([batches()[0]])
    assert torch.isfinite(first).all()
    assert not torch.equal(before["network.0.weight"], first)
    history = fine_tune(sparse(), batches(), settings, progress=False)
    assert history.epochs[-1]["loss"] < history.epochs[0]["loss"]


@pytest.mark.slow
def test_a_trained_network_selects_as_well_in_lower_precision():
    digits = load_digits()
    x = torch.tensor(digits.images[:, None] / 16, dtype=torch.float32)
    x, y = nn.functional.interpolate(x, scale_factor=2), torch.tensor(digits.target)
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1),
        nn.BatchNorm2d(16),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(16, 64, 3, padding=1),
        nn.BatchNorm2d(64),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(64, 10),
    )
    schedule = DenseTraining(
        epochs=12, lr=0.05, head_lr=0.1, beta=0.0, dropout=0.0, annealing="cosine"
    )
    data = TensorDataset(x, y)
    train_dense(model, DataLoader(data, 50, shuffle=True), schedule, progress=False)
    assert accuracy(model, DataLoader(data, 200), progress=False) > 0.95
    found = [collect(model, DataLoader(data, 200), precision=p, progress=False) for p in KINDS]
    apart = np.abs(found[0].similarity() - found[1].similarity())
    # Its weights have three digits there, and with ten classes all correlations are large.
    assert apart.mean() <= 1e-3
    assert apart.max() <= 4e-3
    exact, rough = (each.instance(12, 3) for each in found)
    limits = {"method": "search", "time_limit": 10, "options": {"step_limit": 20_000}}
    own, other = (solve(instance, **limits) for instance in (exact, rough))
    judged = objective(exact.A, exact.R, exact.b, other.selection, other.assignment).total
    assert abs(judged - own.objective) <= 1e-3 * own.objective
