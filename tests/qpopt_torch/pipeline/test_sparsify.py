import logging
from importlib import import_module

import pytest
import torch

import qpopt_torch
from qpopt import InfeasibleInstance, InvalidInstance, Solution, Status
from qpopt_torch import (
    AdapterTraining,
    FineTuning,
    LoaderError,
    ModelError,
    TrainingError,
    accuracy,
    sparsify,
)
from tests.qpopt_torch.small import any_solution, batches, cnn, mlp

# The package has a function of the same name, so the module is fetched by its path.
module = import_module("qpopt_torch.pipeline.sparsify")

DATA = batches(sizes=(8,) * 6)
SHORT = FineTuning(epochs=2, lr=1e-3)


@pytest.fixture
def solved(monkeypatch):
    """Solve by the first selection there is, and count the solves."""
    calls = []

    def solve(instance, **options):
        calls.append(options)
        return any_solution(instance)

    monkeypatch.setattr(module, "solve", solve)
    return calls


def test_one_call_does_everything(caplog):
    model = cnn().train()
    before = {key: value.clone() for key, value in model.state_dict().items()}
    with caplog.at_level(logging.INFO, logger="qpopt"):
        sparse = sparsify(
            model,
            DATA,
            n_select=5,
            n_per_class=2,
            val_loader=DATA,
            fine_tuning=FineTuning(epochs=15, lr=1e-3, momentum=0.9),
            class_names=["a", "b", "c", "d"],
            time_limit=5,
            progress=False,
        )
    assert accuracy(sparse, DATA, progress=False) > 0.5
    assert [len(sparse.class_features(name)) for name in "abcd"] == [2] * 4
    assert len({sparse.class_features(c) for c in range(4)}) == 4
    assert not sparse.training
    assert all(module.training for module in model.modules())
    assert all(torch.equal(before[key], value) for key, value in model.state_dict().items())
    assert "of the dense model" in caplog.text


def test_frozen_backbone(solved):
    model = cnn()
    sparse = sparsify(
        model,
        DATA,
        n_select=5,
        n_per_class=2,
        val_loader=DATA,
        backbone="frozen",
        adapter=AdapterTraining(epochs=30, batch_size=16, lr=1e-2),
        progress=False,
    )
    assert accuracy(sparse, DATA, progress=False) > 0.7
    assert torch.equal(sparse.backbone[0].weight, model[0].weight)
    maps = sparse.features(DATA[0][0])
    torch.testing.assert_close(maps.maps.mean((2, 3)), maps.features, atol=1e-4, rtol=1e-4)


def test_an_interrupted_call_is_continued(solved, tmp_path):
    options = {"n_select": 5, "n_per_class": 2, "out": tmp_path, "progress": False}

    def kill(record, step):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sparsify(cnn(), DATA, fine_tuning=SHORT, log=kill, **options)
    epochs = []
    first = sparsify(
        cnn(), DATA, fine_tuning=SHORT, log=lambda r, s: epochs.append(r["epoch"]), **options
    )
    assert len(solved) == 1
    assert epochs == [2]
    straight = sparsify(cnn(), DATA, fine_tuning=SHORT, **{**options, "out": None})
    x = DATA[0][0]
    assert torch.equal(first(x), straight(x))
    again = qpopt_torch.load(tmp_path, cnn(seed=5))
    assert torch.equal(again(x), first(x))
    for name in ("statistics.npz", "instance.npz", "solution.json", "checkpoint.pt"):
        assert (tmp_path / name).exists()


def test_arguments_reach_the_solve(solved):
    settings = FineTuning(epochs=0, lr=1.0)
    sparse = sparsify(
        mlp(),
        batches((5,), 3),
        n_select=4,
        n_per_class=2,
        similarity="auroc",
        bias="none",
        fine_tuning=settings,
        method="paper",
        solver="highs",
        time_limit=7,
        seed=3,
        progress=False,
    )
    expected = {"method": "paper", "solver": "highs", "time_limit": 7, "seed": 3}
    assert {key: solved[0][key] for key in expected} == expected
    assert sparse.solution.fingerprint


class Noisy:
    """Batches that are different every time, as augmentation makes them."""

    def __iter__(self):
        return ((x + torch.randn_like(x), y) for x, y in DATA)


def test_statistics_are_of_the_samples_as_they_are(solved, tmp_path):
    options = {"n_select": 5, "n_per_class": 2, "fine_tuning": SHORT, "progress": False}
    sparsify(cnn(), Noisy(), statistics_loader=DATA, out=tmp_path, **options)
    stored = qpopt_torch.Statistics.load(tmp_path / "statistics.npz")
    direct = qpopt_torch.collect(cnn(), DATA, progress=False)
    assert (stored.sums == direct.sums).all()


def test_random_batches_give_the_same_instance_again(solved, tmp_path):
    options = {"n_select": 5, "n_per_class": 2, "fine_tuning": SHORT, "progress": False}
    first = sparsify(cnn(), Noisy(), out=tmp_path, **options)
    torch.rand(3)
    second = sparsify(cnn(), Noisy(), out=tmp_path, **options)
    assert len(solved) == 1
    assert torch.equal(first(DATA[0][0]), second(DATA[0][0]))


def no_data():
    raise AssertionError("the statistics were collected before the counts were checked")


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"n_select": 9}, InfeasibleInstance, "only 8 features"),
        ({"n_per_class": 6}, InfeasibleInstance, "n_per_class is 6"),
        ({"n_select": 3, "n_per_class": 1}, InfeasibleInstance, "distinct sets"),
        ({"exclude": [0, 1, 2, 3]}, InfeasibleInstance, "exclude leaves"),
        ({"head": "nothing"}, ModelError, "no module 'nothing'"),
        ({"backbone": "half"}, TrainingError, "backbone must be"),
    ],
)
def test_wrong_arguments_are_found_before_anything_is_collected(
    monkeypatch, options, error, message
):
    monkeypatch.setattr(module, "collect", lambda *a, **k: no_data())
    with pytest.raises(error, match=message):
        sparsify(cnn(), DATA, **{"n_select": 5, "n_per_class": 2, **options}, progress=False)


def test_wrong_loaders(solved):
    options = {"n_select": 5, "n_per_class": 2, "fine_tuning": SHORT, "progress": False}
    with pytest.raises(LoaderError, match="can be read only once"):
        sparsify(cnn(), iter(DATA), **options)
    with pytest.raises(LoaderError, match="empty"):
        sparsify(cnn(), [], **options)
    with pytest.raises(InvalidInstance, match="Class 3 has no samples"):
        sparsify(cnn(), [(x, y.clamp(max=2)) for x, y in DATA], **options)
    assert not solved


def test_no_solution_in_time(monkeypatch):
    nothing = Solution(None, None, None, status=Status.NO_SOLUTION)
    monkeypatch.setattr(module, "solve", lambda *a, **k: nothing)
    with pytest.raises(ModelError, match=r"ended no_solution.*time_limit"):
        sparsify(cnn(), DATA, n_select=5, n_per_class=2, progress=False)
