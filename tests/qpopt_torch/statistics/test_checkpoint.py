"""A pass that is ended anywhere goes on, and ends with the same bits."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader, DistributedSampler, IterableDataset, TensorDataset

from qpopt import InvalidArgument, InvalidFile
from qpopt_torch import collect
from qpopt_torch.errors import LoaderError
from qpopt_torch.statistics import checkpoint as keeping
from qpopt_torch.statistics.accumulator import Accumulator, FeatureScale
from tests.qpopt_torch.small import batches, cnn
from tests.qpopt_torch.statistics.ending import SIZES, Cut, Ending


def same(a, b):
    for key, value in vars(a).items():
        other = getattr(b, key)
        if isinstance(value, np.ndarray):
            assert value.tobytes() == other.tobytes(), key
        elif key != "head":
            assert value == other, key


@pytest.mark.parametrize("bins", [0, 8])
@pytest.mark.parametrize("end", [7, 13, 30, 34])
def test_it_ends_with_the_same_bits(tmp_path, end, bins):
    model, path = cnn(), tmp_path / "pass.npz"
    options = {"bins": bins, "progress": False}
    whole = collect(model, DataLoader(Ending(), 6), **options)
    with pytest.raises(Cut):
        collect(model, DataLoader(Ending(end), 6), checkpoint=path, every=2, **options)
    again = Ending()
    same(collect(model, DataLoader(again, 6), checkpoint=path, every=2, **options), whole)
    # Beside the first batch, which tells the head, only what was left is read.
    saved = end // 6 // 2 * 2
    assert again.read == list(range(6 if saved else 0)) + list(range(6 * saved, 35))
    assert not path.exists()


def test_lists_of_batches_go_on_as_well(tmp_path):
    made, model, path = batches(sizes=SIZES), cnn(), tmp_path / "pass.npz"
    broken = [*made[:4], (made[4][0], made[4][1] + 100), made[5]]
    with pytest.raises(LoaderError, match="Batch 4 has the label"):
        collect(model, broken, checkpoint=path, every=1, progress=False)
    same(
        collect(model, made, checkpoint=path, every=1, progress=False),
        collect(model, made, progress=False),
    )


def test_another_pass_is_refused_and_nothing_is_touched(tmp_path):
    path, options = tmp_path / "pass.npz", {"every": 1, "progress": False}
    with pytest.raises(Cut):
        collect(cnn(), DataLoader(Ending(20), 6), checkpoint=path, **options)
    before = path.read_bytes()
    for model, loader, what in (
        (cnn(seed=1), DataLoader(Ending(), 6), "the model"),
        (cnn(), DataLoader(Ending(), 7), "the first batch"),
    ):
        with pytest.raises(InvalidArgument, match=what):
            collect(model, loader, checkpoint=path, **options)
    path.write_bytes(before[:-20])
    with pytest.raises(InvalidFile):
        collect(cnn(), DataLoader(Ending(), 6), checkpoint=path, **options)


class Stream(IterableDataset):
    def __iter__(self):
        return iter(TensorDataset(*(torch.cat(p) for p in zip(*batches(), strict=True))))


@pytest.mark.parametrize(
    ("loader", "why"),
    [
        (DataLoader(Ending(), 6, shuffle=True), "shuffles"),
        (DataLoader(Stream(), 6), "iterable"),
        (DataLoader(Ending(), batch_sampler=[[0, 1], [2, 3]]), "batch sampler of its own"),
        (iter(batches()), "iterator"),
    ],
)
def test_an_order_that_is_not_known_is_said_before_anything_is_read(tmp_path, loader, why):
    with pytest.raises(LoaderError, match=f"cannot go on where it stopped: .*{why}"):
        collect(cnn(), loader, checkpoint=tmp_path / "pass.npz", progress=False)


def test_what_goes_wrong_is_said_before_anything_is_read(tmp_path):
    for options, why in (
        ({"every": 0}, "every"),
        ({"every": True}, "every"),
        ({"received": []}, "no features"),
    ):
        with pytest.raises(InvalidArgument, match=why):
            collect(cnn(), batches(), checkpoint=tmp_path / "a", progress=False, **options)
    with pytest.raises(InvalidFile):
        collect(cnn(), batches(), checkpoint=tmp_path / "no" / "where", progress=False)


def test_a_sampler_for_several_ranks_has_a_known_order(tmp_path):
    sampler = DistributedSampler(range(35), num_replicas=2, rank=1, shuffle=True, seed=3)
    path, options = tmp_path / "pass.npz", {"every": 1, "progress": False}
    whole = collect(cnn(), DataLoader(Ending(), 6, sampler=sampler), **options)
    order = list(sampler)
    loader = DataLoader(Ending(order[14]), 6, sampler=sampler)
    with pytest.raises(Cut):
        collect(cnn(), loader, checkpoint=path, **options)
    loader = DataLoader(Ending(), 6, sampler=sampler)
    same(collect(cnn(), loader, checkpoint=path, **options), whole)


@pytest.mark.parametrize(("cost", "most"), [(0.5, 20), (20.0, 1)])
def test_saving_takes_a_hundredth_of_the_time(tmp_path, monkeypatch, cost, most):
    """A batch takes a second, a save as long as is said: a thousand batches."""
    now, saves = [0.0], []

    def save(path, kind, meta, arrays):
        now[0] += cost
        saves.append(now[0])

    monkeypatch.setattr(keeping, "perf_counter", lambda: now[0])
    monkeypatch.setattr(keeping, "save_archive", save)
    kept = keeping.PassCheckpoint(tmp_path / "pass.npz", None, {}, [])
    sums = Accumulator(4, FeatureScale(torch.zeros(5), torch.ones(5)))
    for number in range(1, 1001):
        now[0] += 1.0
        kept.after(number, sums)
    assert 0 < len(saves) <= most
    assert kept.spent <= max(cost, 0.01 * now[0])


KILLED = """
import sys, time
from torch.utils.data import DataLoader
from qpopt_torch import collect
from tests.qpopt_torch.statistics.ending import Ending
from tests.qpopt_torch.small import cnn

class Slow(Ending):
    def __getitem__(self, index):
        time.sleep(0.01)
        return super().__getitem__(index)

collect(cnn(), DataLoader(Slow(), 6), checkpoint=sys.argv[1], every=1, progress=False)
"""


@pytest.mark.slow
def test_kill_9_at_twenty_moments(tmp_path):
    path, chance = tmp_path / "pass.npz", np.random.default_rng(0)
    for _ in range(20):
        child = subprocess.Popen([sys.executable, "-c", KILLED, str(path)])
        limit = time.monotonic() + 60
        while not path.exists() and child.poll() is None and time.monotonic() < limit:
            time.sleep(0.01)
        time.sleep(chance.uniform(0, 0.3))
        os.kill(child.pid, signal.SIGKILL)
        child.wait()
    whole = collect(cnn(), DataLoader(Ending(), 6), progress=False)
    same(collect(cnn(), DataLoader(Ending(), 6), checkpoint=path, every=1, progress=False), whole)
