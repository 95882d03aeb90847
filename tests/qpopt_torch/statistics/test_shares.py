"""A pass that some processes began is gone on with by another number of them."""

from __future__ import annotations

from itertools import chain

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

from qpopt import InvalidArgument
from qpopt_torch import collect
from qpopt_torch.data import distributed
from qpopt_torch.statistics import checkpoint as keeping
from qpopt_torch.statistics.accumulator import Accumulator, FeatureScale
from qpopt_torch.statistics.joining import join
from qpopt_torch.statistics.shares import Order, Turn
from tests.qpopt_torch.small import batches, cnn

N = 23
DATA = TensorDataset(
    torch.randn(N, 5, generator=torch.Generator().manual_seed(0)), torch.arange(N) % 4
)

turns = st.lists(
    st.integers(1, 4).flatmap(
        lambda ranks: st.tuples(
            st.just(ranks), st.integers(1, 3), st.tuples(*[st.integers(0, 3)] * ranks)
        )
    ),
    max_size=3,
)


@given(st.integers(0, 40), turns, st.integers(1, 5))
def test_what_is_left_is_divided_without_loss(n, given_turns, ranks):
    """Each sample is seen once: in one of the turns, or in one of the shares."""
    order = Order(np.random.default_rng(n).permutation(n), 2)
    known = [Turn(*turn) for turn in given_turns]
    seen = []
    for place, turn in enumerate(known):
        for rank, done in enumerate(turn.done):
            share = order.share(known[:place], rank, turn.ranks)
            seen += share[: done * turn.batch].tolist()
    left = [order.share(known, rank, ranks).tolist() for rank in range(ranks)]
    assert sorted(chain(seen, *left)) == list(range(n))
    assert max(map(len, left)) - min(map(len, left)) <= 1


def loader_of(rank, ranks, batch):
    sampler = DistributedSampler(DATA, ranks, rank, shuffle=True, seed=3) if ranks else None
    return DataLoader(DATA, batch, sampler=sampler)


def test_the_order_is_that_of_a_single_process():
    order = Order.of(loader_of(1, 4, 2))
    assert sorted(order.indices) == list(range(N))
    for rank in range(4):
        sampler = list(loader_of(rank, 4, 2).sampler)
        share = order.share([], rank, 4).tolist()
        assert share == sampler[: len(share)]
    assert Order.of(loader_of(0, 0, 2)).indices.tolist() == list(range(N))
    assert Order.of(DataLoader(DATA, 2, drop_last=True)) is None
    assert Order.of([DATA[:2]]) is None


def as_rank(monkeypatch, rank, ranks):
    monkeypatch.setattr(distributed, "rank", lambda: rank)
    monkeypatch.setattr(distributed, "size", lambda: ranks)
    monkeypatch.setattr(distributed, "active", lambda: ranks > 1)
    monkeypatch.setattr(distributed, "on_first", lambda function: function())


def empty():
    shift = torch.full((5,), 0.25, dtype=torch.float64)
    return Accumulator(4, FeatureScale(shift, torch.ones_like(shift)), 8)


def a_turn(monkeypatch, path, ranks, batch, ends):
    """Let so many processes go on, one after the other, each until its end; return their sums."""
    found = []
    kept = []
    for rank in range(ranks):
        as_rank(monkeypatch, rank, ranks)
        kept.append(keeping.PassCheckpoint(path, 1, {"a": 1}, loader_of(rank, ranks, batch)))
        sums = empty()
        kept[-1].begin(sums)
        found.append(sums)
    for rank in range(ranks):
        as_rank(monkeypatch, rank, ranks)
        done = kept[rank].resume(found[rank])
        reading = loader_of(rank, ranks, batch) if done is None else kept[rank].rest(done)
        left = len(Order.of(loader_of(0, ranks, batch)).share(kept[rank].turns, rank, ranks))
        for number, (x, y) in enumerate(reading, done or 0):
            if number == ends[rank]:
                break
            size = min(batch, left - number * batch)
            found[rank].add(x[:size].double(), y[:size])
            kept[rank].after(number + 1, found[rank])
    as_rank(monkeypatch, 0, ranks)
    kept[0].add_before(found[0])
    return found, kept


def test_three_begin_two_go_on_and_one_ends(monkeypatch, tmp_path):
    path = tmp_path / "pass.npz"
    a_turn(monkeypatch, path, 3, 2, (2, 0, 1))
    a_turn(monkeypatch, path, 3, 2, (2, 1, 1))  # as many: nothing is divided anew
    assert not path.with_name("pass.npz-before").exists()
    a_turn(monkeypatch, path, 2, 3, (1, 2))
    (sums,), (kept,) = a_turn(monkeypatch, path, 1, 4, (99,))
    direct = empty()
    direct.add(DATA.tensors[0].double(), DATA.tensors[1])
    assert sums.counts.tolist() == direct.counts.tolist()
    assert torch.equal(sums.histograms, direct.histograms)
    assert torch.equal(sums.minima, direct.minima)
    for name in ("sums", "squares"):
        torch.testing.assert_close(
            getattr(sums, name), getattr(direct, name), rtol=1e-12, atol=1e-12
        )
    kept.done()
    assert not list(tmp_path.iterdir())


def test_lists_cannot_be_divided_anew(monkeypatch, tmp_path):
    made, path = batches(sizes=(6, 6, 6)), tmp_path / "pass.npz"
    as_rank(monkeypatch, 1, 2)
    sums = empty()
    kept = keeping.PassCheckpoint(path, 1, {}, made)
    sums.add(torch.ones(2, 5), torch.tensor([0, 1]))
    kept.after(1, sums)
    monkeypatch.undo()
    with pytest.raises(InvalidArgument, match="another pass; what differs: the model"):
        collect(cnn(), made, checkpoint=path, progress=False)
    again = keeping.PassCheckpoint(path, 1, {}, made)
    with pytest.raises(InvalidArgument, match="saved by 2 processes, and this are 1; without"):
        again.begin(empty())


def test_alone_nothing_is_joined():
    sums = empty()
    sums.add(torch.ones(2, 5), torch.tensor([0, 1]))
    before = sums.sums.clone()
    join(sums)
    assert torch.equal(sums.sums, before)
