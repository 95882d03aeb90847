"""Training the last layers is training all of it with the first ones fixed, only faster."""

import copy
import logging

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from qpopt_torch import (
    ModelError,
    PartialTraining,
    TrainingError,
    accuracy,
    fine_tune,
    load,
    sparsify,
    train_dense,
)
from qpopt_torch.training.objectives import TrainingObjective
from tests.qpopt_torch.launch import in_two_processes
from tests.qpopt_torch.small import batches, same, sparse, weights

DATA = batches()
PLAIN = {"views": 1, "lr": 0.01}


def network():
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Conv2d(3, 6, 3, 2),
        nn.ReLU(),
        nn.Conv2d(6, 8, 3),
        nn.BatchNorm2d(8),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(8, 4),
    )


def images(n=24):
    x, y = (torch.cat(parts) for parts in zip(*batches(sizes=(n,)), strict=True))
    return DataLoader(TensorDataset(x, y), 8)


def test_one_step_is_that_of_all_layers():
    data = images()
    model = sparse(network(), list(data))
    full = copy.deepcopy(model)
    options = {"algorithm": "sgd", "momentum": 0.0, "weight_decay": 0.0, "annealing": "steps"}
    settings = PartialTraining(from_layer="2", batch_size=24, epochs=1, **PLAIN, **options)
    torch.manual_seed(1)
    model.sparse_head.dropout.p = full.sparse_head.dropout.p = 0.0
    fine_tune(model, data, settings, progress=False)
    objective = TrainingObjective(full, full.head, "auto", norms="frozen").train()
    x, y = (torch.cat(parts) for parts in zip(*data, strict=True))
    loss, _ = objective(x, y)
    loss.backward()
    for (name, before), after in zip(full.named_parameters(), model.parameters(), strict=True):
        behind = not name.startswith("network.0")
        expected = before - 0.01 * before.grad if behind else before
        # Activations are kept with half the digits.
        torch.testing.assert_close(after, expected, rtol=1e-3, atol=1e-5, msg=name)
    assert torch.equal(model.network[3].running_mean, full.network[3].running_mean)


def test_it_learns_and_leaves_the_model_as_it_should_be():
    data = images()
    model = sparse(network(), list(data))
    before = weights(model)
    history = fine_tune(
        model, data, PartialTraining(from_layer="2", lr=0.02), val_loader=data, progress=False
    )
    assert history.epochs[-1]["loss"] < history.epochs[0]["loss"]
    assert history.epochs[-1]["val_accuracy"] == pytest.approx(
        accuracy(model, data, progress=False), abs=0.05
    )
    assert torch.equal(before["network.0.weight"], model.network[0].weight)
    assert not torch.equal(before["network.2.weight"], model.network[2].weight)
    assert all(parameter.requires_grad for parameter in model.parameters())


def test_views_lie_in_the_file(tmp_path):
    """As they are, mirrored, and as the loader gives them in another pass."""
    data = [(x, y) for x, y in DATA if len(x) == 6]

    class Noisy:
        def __iter__(self):
            return iter([(x + torch.rand_like(x), y) for x, y in data])

        def __len__(self):
            return len(data)

    model = sparse(network(), data)
    first = model.network[:2].eval()
    settings = PartialTraining(from_layer="2", epochs=1, views=4)
    fine_tune(model, Noisy(), settings, plain_loader=data, keep=tmp_path, progress=False)
    stored = np.fromfile(tmp_path / "activations-0.f16", np.float16).reshape(4 * 12, 6, 4, 4)
    with torch.no_grad():
        for at, (x, _) in enumerate(data):
            for view, images in enumerate((x, x.flip(-1))):
                rows = slice(12 * at + 6 * view, 12 * at + 6 * view + 6)
                np.testing.assert_allclose(stored[rows], first(images), rtol=1e-3, atol=1e-3)
    noisy = stored[24:].reshape(2, 12, -1)
    assert not np.allclose(noisy[0], noisy[1], atol=1e-2)


def test_kept_activations_are_used_again(tmp_path, caplog):
    data = images()
    settings = PartialTraining(from_layer="2", epochs=1)
    with caplog.at_level(logging.INFO, logger="qpopt"):
        fine_tune(sparse(network(), list(data)), data, settings, keep=tmp_path, progress=False)
        assert "keeping activations: at most 0.00 GB" in caplog.text
        assert "using the activations" not in caplog.text
        dense = network()
        fine_tune(sparse(dense, list(data)), data, settings, keep=tmp_path, progress=False)
        assert caplog.text.count("using the activations") == 1
        nn.init.zeros_(dense[0].weight)
        fine_tune(sparse(dense, list(data)), data, settings, keep=tmp_path, progress=False)
    assert caplog.text.count("using the activations") == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"from_layer": "2", "max_bytes": 100.0}, "more than 0.00: cut the network later"),
        ({"from_layer": "nothing"}, "'nothing' is no module of the model"),
        ({"max_bytes": 10.0}, "Name one with from_layer"),
    ],
)
def test_what_cannot_be_done_is_said_before(options, message):
    data = images()
    with pytest.raises((TrainingError, ModelError), match=message):
        fine_tune(sparse(network(), list(data)), data, PartialTraining(**options), progress=False)


def test_the_cut_that_is_found(caplog):
    """Multiplications are 16 · 6 · 27 and 4 · 8 · 54 of the convolutions, and 32 of the head."""
    data = images()
    model = sparse(network(), list(data))
    with caplog.at_level(logging.INFO, logger="qpopt"):
        fine_tune(model, data, PartialTraining(epochs=1), progress=False)
    # Nothing but the norm and the head lies behind, so that is less than a quarter.
    assert "training from '3' on" in caplog.text


def test_a_resumed_training_ends_the_same(tmp_path):
    class Killed(Exception):
        pass

    def kill(record, step):
        if record["epoch"] == 1:
            raise Killed

    data, settings = images(), PartialTraining(from_layer="2", epochs=3, lr="auto")
    whole, cut = sparse(network(), list(data)), sparse(network(), list(data))
    fine_tune(whole, data, settings, progress=False)
    kept = {"checkpoint": tmp_path / "c.pt", "keep": tmp_path, "progress": False}
    with pytest.raises(Killed):
        fine_tune(cut, data, settings, log=kill, **kept)
    again = sparse(network(), list(data))
    fine_tune(again, data, settings, **kept)
    assert same(weights(whole), weights(again))


def test_a_dense_model_can_be_trained_first():
    data, model = images(), network()
    before = weights(model)
    settings = PartialTraining(from_layer="2", lr=0.02)
    history = train_dense(model, data, settings, progress=False)
    assert history.epochs[-1]["loss"] < history.epochs[0]["loss"]
    after = weights(model)
    assert torch.equal(before["0.weight"], after["0.weight"])
    assert not torch.equal(before["7.weight"], after["7.weight"])


def test_sparsify_keeps_activations_in_its_folder(tmp_path):
    data = images()
    options = {"n_select": 5, "n_per_class": 2, "solve": {"method": "search"}, "progress": False}
    settings = PartialTraining(from_layer="2", epochs=1)
    made = sparsify(network(), data, training=settings, val_loader=data, out=tmp_path, **options)
    assert {"activations-0.f16", "validation-0.f16"} <= {path.name for path in tmp_path.iterdir()}
    again = load(tmp_path, network())
    x, _ = DATA[0]
    torch.testing.assert_close(again(x), made(x))


PROGRAM = """
import sys, torch, torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset
from qpopt_torch import PartialTraining, fine_tune
from tests.qpopt_torch.small import batches, sparse
from tests.qpopt_torch.training.test_partial import network

x, y = (torch.cat(parts) for parts in zip(*batches(sizes=(24,))))
dataset = TensorDataset(x, y)
model = sparse(network(), [(x, y)])
dist.init_process_group("gloo")
data = DataLoader(dataset, 4, sampler=DistributedSampler(dataset, shuffle=False))
fine_tune(model, data, PartialTraining(from_layer="2", epochs=2, batch_size=4),
          keep=sys.argv[1], progress=False)
torch.save(model.state_dict(), f"{sys.argv[1]}/{dist.get_rank()}.pt")
"""


def test_ranks_keep_activations_of_their_own(tmp_path):
    in_two_processes(PROGRAM, tmp_path)
    first, second = (torch.load(tmp_path / f"{rank}.pt") for rank in (0, 1))
    assert same(first, second)
    sizes = [(tmp_path / f"activations-{rank}.f16").stat().st_size for rank in (0, 1)]
    assert sizes == [12 * 2 * 6 * 4 * 4 * 2] * 2
