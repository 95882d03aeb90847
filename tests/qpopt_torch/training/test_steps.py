"""A training that is ended between any two steps goes on, and ends with the same weights."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader, Dataset

from qpopt_torch import (
    AdapterTraining,
    DenseTraining,
    FineTuning,
    PartialTraining,
    TrainingError,
    fine_tune,
    train_adapter,
    train_dense,
)
from qpopt_torch.training import checkpoint as saving
from qpopt_torch.training import learning_rate
from qpopt_torch.training.params import TrialParams
from tests.qpopt_torch.small import batches, cnn, loader, same, sparse, weights

SHORT = FineTuning(epochs=2, lr=0.002, beta=0.1)


class Cut(Exception):
    pass


class Augmented(Dataset):
    """Samples that are changed at random, by three generators, and fail after so many."""

    def __init__(self, left=None):
        self.x, self.y = (torch.cat(parts) for parts in zip(*batches(), strict=True))
        self.left, self.read = left, 0

    def __len__(self):
        return len(self.y)

    def __getitem__(self, index):
        if self.left is not None and self.read == self.left:
            raise Cut
        self.read += 1
        noise = torch.rand(1).item() + random.random() + np.random.rand()
        return self.x[index] + noise, self.y[index]


def shuffled(left=None, **options):
    return DataLoader(Augmented(left), 5, shuffle=True, **options)


@pytest.fixture
def saves_always(monkeypatch):
    monkeypatch.setattr(saving, "SHARE", float("inf"))


def dense(model, data, path=None):
    settings = DenseTraining(epochs=2)
    return train_dense(model, data, settings, checkpoint=path, progress=False)


def fine(model, data, path=None):
    return fine_tune(model, data, SHORT, checkpoint=path, progress=False)


def trials(model, data, path=None):
    settings = FineTuning(epochs=2, trials=TrialParams(rates=(1e-3, 1e-2), steps=2))
    return fine_tune(model, data, settings, checkpoint=path, progress=False)


@pytest.mark.parametrize("end", [7, 12, 16, 22, 31])
@pytest.mark.parametrize(("train", "make"), [(fine, sparse), (dense, cnn)])
def test_it_ends_with_the_same_weights(tmp_path, saves_always, train, make, end):
    straight, path = make(), tmp_path / "c.pt"
    whole = train(straight, shuffled())
    with pytest.raises(Cut):
        train(make(), shuffled(end), path)
    resumed, data = make(), shuffled()
    history = train(resumed, data, path)
    assert same(weights(straight), weights(resumed))
    for one, other in zip(whole.epochs, history.epochs, strict=True):
        assert {**one, "seconds": 0} == {**other, "seconds": 0}
    # Only what was left is read: 17 samples an epoch, of which whole batches of 5 were done.
    looked = 5 if train is dense else 0  # for the head
    done = 17 * ((end - looked) // 17) + (end - looked) % 17 // 5 * 5
    assert data.dataset.read == 34 - done + looked
    assert [file.name for file in tmp_path.iterdir()] == ["c.pt"]


@pytest.mark.parametrize("kind", ["workers", "list", "any iterable"])
def test_other_loaders_go_on_as_well(tmp_path, saves_always, kind):
    def data(left=None):
        if kind == "workers":
            return shuffled(num_workers=1)
        made = batches()
        made = made if left is None else [*made[:left], (made[left][0], made[left][1] + 99)]
        return made if kind == "list" else Rereadable(made)

    straight, resumed, path = sparse(), sparse(), tmp_path / "c.pt"
    fine(straight, data())
    stopping = sparse()
    if kind == "workers":
        after = cut_after(saving.StepCheckpoint.after, 2)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(saving.StepCheckpoint, "after", after)
            with pytest.raises(Cut):
                fine(stopping, data(), path)
    else:
        with pytest.raises(Exception, match="label"):
            fine(stopping, data(2), path)
    assert (tmp_path / "c.pt.step").exists()
    fine(resumed, data(), path)
    assert same(weights(straight), weights(resumed))


class Rereadable:
    def __init__(self, made):
        self.made = made

    def __iter__(self):
        return iter(self.made)


def cut_after(function, steps):
    def after(self, done, within, data):
        function(self, done, within, data)
        if within.steps == steps:
            raise Cut

    return after


def test_adapters_and_last_layers_go_on(tmp_path, saves_always, monkeypatch):
    def adapted(path=None):
        model = sparse()
        generator = torch.Generator().manual_seed(0)
        features, labels = torch.rand(40, 8, generator=generator), torch.arange(40) % 4
        settings = AdapterTraining(epochs=2, batch_size=9, hidden=5)
        head = model.sparse_head
        train_adapter(head, features, labels, settings, checkpoint=path, progress=False)
        return weights(model)

    def partial(path=None):
        model = sparse()
        settings = PartialTraining(epochs=2, batch_size=4, from_layer="1", views=2)
        fine_tune(model, [*batches()], settings, checkpoint=path, progress=False)
        return weights(model)

    for number, train in enumerate((adapted, partial)):
        path = tmp_path / f"{number}.pt"
        with monkeypatch.context() as patch:
            patch.setattr(saving.StepCheckpoint, "after", cut_after(saving.StepCheckpoint.after, 3))
            with pytest.raises(Cut):
                train(path)
        assert (tmp_path / f"{number}.pt.step").exists()
        assert same(train(path), train())


def test_trials_are_not_done_again(tmp_path, monkeypatch):
    path, tried, trial = tmp_path / "c.pt", [], learning_rate.trial

    def counted(objective, kept, settings, rate):
        tried.append(rate)
        if len(tried) == 2:
            raise Cut
        return trial(objective, kept, settings, rate)

    straight, resumed = sparse(), sparse()
    trials(straight, loader())
    monkeypatch.setattr(learning_rate, "trial", counted)
    with pytest.raises(Cut):
        trials(sparse(), loader(), path)
    trials(resumed, loader(), path)
    assert tried == [1e-3, 1e-2, 1e-2]
    assert same(weights(straight), weights(resumed))
    other = FineTuning(epochs=2, seed=1, trials=TrialParams(rates=(1e-3, 1e-2), steps=2))
    path.unlink()
    fine_tune(sparse(), loader(), other, checkpoint=path, progress=False)
    assert tried == [1e-3, 1e-2, 1e-2, 1e-3, 1e-2]


def test_saving_takes_a_hundredth_of_the_time(tmp_path, monkeypatch):
    """A clock on which a step takes 1 s and a save 3 s: they come 300 s apart."""
    now, saved = [0.0], []
    monkeypatch.setattr(saving, "perf_counter", lambda: now[0])

    def save(content, stream):
        now[0] += 3
        saved.append(now[0])

    monkeypatch.setattr(saving.torch, "save", save)
    training = type("T", (), {"model": cnn(), "settings": SHORT})()
    training.optimizer = torch.optim.SGD(training.model.parameters(), 0.1)
    training.scaler = torch.amp.GradScaler("cpu", enabled=False)
    training.optimizer.param_groups[0]["start"] = 0.1
    keeping = saving.StepCheckpoint(training, tmp_path / "c.pt", "")
    keeping.cost = 3.0
    for step in range(1, 2001):
        now[0] += 1
        keeping.after(0, saving.Within(steps=step), None)
    assert keeping.spent <= 0.01 * now[0]
    assert len(saved) == 6
    assert min(np.diff(saved)) >= 300


def test_another_number_of_processes_begins_with_the_epoch(tmp_path, saves_always, caplog):
    path, step = tmp_path / "c.pt", tmp_path / "c.pt.step"
    with pytest.raises(Cut):
        fine(sparse(), shuffled(12), path)
    stored = torch.load(step, weights_only=True)
    stored["ranks"] *= 2
    torch.save(stored, step)
    model, straight = sparse(), sparse()
    fine(model, shuffled(), path)
    assert "by 2 processes, and this are 1, who see samples in another order" in caplog.text
    fine_tune(straight, shuffled(), SHORT, progress=False)
    assert same(weights(model), weights(straight))


def test_what_was_changed_or_is_of_others_is_refused(tmp_path, saves_always):
    path, step = tmp_path / "c.pt", tmp_path / "c.pt.step"
    with pytest.raises(Cut):
        fine(sparse(), shuffled(12), path)
    stored = torch.load(step, weights_only=True)
    other = FineTuning(epochs=2, lr=0.5, beta=0.1)
    with pytest.raises(TrainingError, match=r"other settings \(rates\)"):
        fine_tune(sparse(), shuffled(), other, checkpoint=path, progress=False)
    stored["ranks"][0]["steps"] = 1
    torch.save(stored, step)
    with pytest.raises(TrainingError, match="changed after it was written"):
        fine(sparse(), shuffled(), path)


SCRIPT = """
import sys, torch
from qpopt_torch import DenseTraining, train_dense
from qpopt_torch.training import checkpoint
from tests.qpopt_torch.small import cnn, same, weights
from tests.qpopt_torch.training.slow_data import slow

checkpoint.SHARE = 0.5
settings = DenseTraining(epochs=int(sys.argv[2]), lr=0.001)
resumed, straight = cnn(), cnn()
print("ready", flush=True)
train_dense(resumed, slow(), settings, checkpoint=sys.argv[1], progress=False)
train_dense(straight, slow(), settings, progress=False)
print(same(weights(resumed), weights(straight)), flush=True)
"""


def kill_at_random(path, times, epochs, seed):
    """Kill a training at random moments, so often; return how often, and what the last one says."""
    chance = random.Random(seed)
    command = [sys.executable, "-c", SCRIPT, str(path), str(epochs)]
    options = {"stdout": subprocess.PIPE, "text": True, "cwd": Path.cwd()}
    options["env"] = {**os.environ, "OMP_NUM_THREADS": "1"}
    n_killed = 0
    while n_killed < times:
        with subprocess.Popen(command, **options) as process:
            assert process.stdout.readline() == "ready\n"
            time.sleep(chance.uniform(0.05, 0.3))
            process.send_signal(signal.SIGKILL)
        n_killed += process.returncode == -signal.SIGKILL
    return subprocess.run(command, check=True, **options).stdout


def test_killed_at_a_random_moment(tmp_path):
    assert kill_at_random(tmp_path / "c.pt", 1, 4, seed=1) == "ready\nTrue\n"


@pytest.mark.slow
def test_killed_at_twenty_random_moments(tmp_path):
    assert kill_at_random(tmp_path / "c.pt", 20, 60, seed=2) == "ready\nTrue\n"
