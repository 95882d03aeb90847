import logging
import random

import numpy as np
import pytest
import torch

from qpopt_torch import (
    FineTuning,
    LoaderError,
    TrainingError,
    accuracy,
    fine_tune,
    load,
)
from tests.qpopt_torch.launch import in_two_processes
from tests.qpopt_torch.small import batches, cnn, loader, same, sparse, weights

SHORT = FineTuning(epochs=3, lr=0.002, decay_every=2)


def test_training_learns_and_leaves_the_head_fixed():
    data, model = loader(), sparse()
    before = weights(model)
    start = accuracy(model, data, progress=False)
    history = fine_tune(model, data, FineTuning(epochs=15, lr=0.001, momentum=0.9), progress=False)
    assert history.epochs[-1]["loss"] < history.epochs[0]["loss"]
    assert accuracy(model, data, progress=False) > max(start, 0.6)
    assert not model.training
    after = weights(model)
    for name in ("selection", "assignment", "mean", "std"):
        assert torch.equal(before[f"network.6.{name}"], after[f"network.6.{name}"])
    assert not torch.equal(before["network.0.weight"], after["network.0.weight"])


def test_the_figures_of_every_epoch():
    seen = []
    model = sparse()
    history = fine_tune(
        model,
        loader(),
        SHORT,
        val_loader=loader(),
        log=lambda record, step: seen.append((step, record)),
        progress=False,
    )
    assert [step for step, _ in seen] == [6, 12, 18]
    assert [record["epoch"] for _, record in seen] == [1, 2, 3]
    assert [record["lr"] for record in history.epochs] == pytest.approx([0.002, 0.002, 0.0008])
    assert history.epochs[-1]["val_accuracy"] == accuracy(model, loader(), progress=False)


def test_a_resumed_training_ends_the_same(tmp_path):
    class Killed(Exception):
        pass

    def kill(record, step):
        if record["epoch"] == 2:
            raise Killed

    data = loader()
    straight = sparse()
    fine_tune(straight, data, SHORT, progress=False)
    broken = sparse()
    with pytest.raises(Killed):
        fine_tune(broken, data, SHORT, checkpoint=tmp_path / "c.pt", log=kill, progress=False)
    resumed = sparse()
    history = fine_tune(resumed, data, SHORT, checkpoint=tmp_path / "c.pt", progress=False)
    assert len(history.epochs) == 3
    assert same(weights(straight), weights(resumed))
    # What is finished stays finished.
    again = sparse()
    fine_tune(again, data, SHORT, checkpoint=tmp_path / "c.pt", progress=False)
    assert same(weights(straight), weights(again))


def test_seeds_decide_and_nothing_else_is_disturbed():
    data = loader()
    torch.manual_seed(1)
    expected = torch.rand(1), random.random(), np.random.rand()
    results = []
    for seed in (0, 0, 1):
        torch.manual_seed(1)
        state = random.getstate(), np.random.get_state()
        model = sparse()
        torch.manual_seed(1)
        fine_tune(model, data, FineTuning(epochs=1, lr=0.02, seed=seed), progress=False)
        results.append(weights(model))
        assert torch.equal(torch.rand(1), expected[0])
        assert random.getstate() == state[0]
        assert (np.random.get_state()[1] == state[1][1]).all()
    assert same(results[0], results[1])
    assert not same(results[0], results[2])


def test_checkpoints_that_do_not_fit(tmp_path):
    path = tmp_path / "c.pt"
    fine_tune(sparse(), loader(), SHORT, checkpoint=path, progress=False)
    with pytest.raises(TrainingError, match=r"other settings \(rates\)"):
        fine_tune(sparse(), loader(), FineTuning(epochs=3, lr=0.5, decay_every=2), checkpoint=path)
    with pytest.raises(TrainingError, match="of another model"):
        fine_tune(sparse(cnn(n_features=9)), loader(), SHORT, checkpoint=path)
    path.write_bytes(b"nothing")
    with pytest.raises(TrainingError, match="no checkpoint that can be resumed"):
        fine_tune(sparse(), loader(), SHORT, checkpoint=path)
    torch.save({"a": 1}, path)
    with pytest.raises(TrainingError, match="something else"):
        fine_tune(sparse(), loader(), SHORT, checkpoint=path)


def test_a_loss_that_is_not_finite_stops_with_the_last_good_weights(caplog):
    data = batches(sizes=(8,) * 6)
    model = sparse()
    state = []

    def poison(record, step):
        state.append(weights(model))
        if record["epoch"] == 2:
            data[3][0][0, 0, 0, 0] = torch.nan

    with caplog.at_level(logging.WARNING, logger="qpopt"):
        history = fine_tune(model, data, SHORT, log=poison, progress=False)
    assert "not finite in epoch 3" in history.stopped
    assert "Lower the learning rate" in caplog.text
    assert len(history.epochs) == 2
    assert same(state[-1], weights(model))


def test_mixed_precision_on_the_cpu():
    settings = FineTuning(epochs=6, lr=0.001, amp="bfloat16")
    history = fine_tune(sparse(), loader(), settings, progress=False)
    assert history.stopped is None
    assert history.epochs[-1]["loss"] < history.epochs[0]["loss"]


def test_loaders_that_cannot_be_trained_on():
    generator = (batch for batch in batches())
    with pytest.raises(LoaderError, match="can be read only once"):
        fine_tune(sparse(), generator, SHORT)
    with pytest.raises(LoaderError, match="loader is empty"):
        fine_tune(sparse(), [], SHORT, progress=False)
    data = [(x, y + 1) for x, y in batches()]
    with pytest.raises(LoaderError, match="label 4"):
        fine_tune(sparse(), data, SHORT, progress=False)


PROGRAM = """
import sys
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset
from qpopt_torch import FineTuning, LoaderError, fine_tune, sparsify
from tests.qpopt_torch.small import batches, cnn, sparse

model = sparse()
dist.init_process_group("gloo")
x, y = (torch.cat(parts) for parts in zip(*batches(sizes=(8,) * 6)))
dataset = TensorDataset(x, y)
loader = DataLoader(dataset, batch_size=8, sampler=DistributedSampler(dataset))
history = fine_tune(model, loader, FineTuning(epochs=8, lr=1e-3, momentum=0.9), progress=False)
losses = torch.tensor([epoch["loss"] for epoch in history.epochs])
torch.save({**model.state_dict(), "losses": losses}, f"{sys.argv[1]}/{dist.get_rank()}.pt")
options = {"n_select": 5, "n_per_class": 2, "training": FineTuning(epochs=2, lr=1e-3)}
options |= {"solve": {"method": "search", "options": {"step_limit": 20}}, "progress": False}
made = sparsify(cnn(), loader, val_loader=loader, out=f"{sys.argv[1]}/out", **options)
torch.save(made.state_dict(), f"{sys.argv[1]}/made-{dist.get_rank()}.pt")
try:
    sparsify(cnn(), DataLoader(dataset, batch_size=8), **options)
except LoaderError as error:
    sys.stdout.write(f"refused {error}\\n")
    sys.stdout.flush()
dist.barrier()  # neither leaves while the other still needs it
dist.destroy_process_group()
"""


def test_two_processes_train_one_model(tmp_path):
    printed = in_two_processes(PROGRAM, tmp_path)
    first, second = (torch.load(tmp_path / f"{rank}.pt") for rank in (0, 1))
    # Buffers too: batch norms see other batches on every rank.
    assert {"network.1.running_mean", "network.0.weight"} < first.keys()
    assert same(first, second)
    assert first["losses"][-1] < first["losses"][0]
    one, other = (torch.load(tmp_path / f"made-{rank}.pt") for rank in (0, 1))
    assert same(one, other)
    assert same(one, weights(load(tmp_path / "out", cnn(seed=5))))
    assert printed.count("refused Several ranks read the same samples") == 2
