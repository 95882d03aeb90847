"""Batches of a form of their own, taken apart by a function."""

import pytest
import torch
from torch.utils.data import DataLoader

from qpopt_torch import LoaderError, ModelError, evaluate, sparsify
from qpopt_torch.data.unpacking import Unpacked, unpacked
from tests.qpopt_torch.small import batches, mlp

BATCHES = batches((5,), n_classes=3, sizes=(9, 9))
ODD = [{"meta": {"x": x, "y": y}, "when": "today"} for x, y in BATCHES]


def taken(batch):
    return batch["meta"]["x"], batch["meta"]["y"]


def test_the_whole_way_with_batches_of_any_form():
    options = {"n_select": 4, "n_per_class": 2, "training": None, "progress": False}
    expected = sparsify(mlp(), BATCHES, val_loader=BATCHES, **options)
    found = sparsify(mlp(), ODD, val_loader=ODD, head={"unpack": taken}, **options)
    assert found.metrics["sparse"] == expected.metrics["sparse"]
    assert (found.assignment == expected.assignment).all()
    # The model keeps the function for the loaders to come.
    assert evaluate(found, ODD, progress=False) == evaluate(expected, BATCHES, progress=False)
    assert evaluate(mlp(), ODD, head={"unpack": taken}, progress=False).n_samples == 18


def test_a_loader_is_taken_apart_once_and_is_like_it_in_all_else():
    loader = DataLoader([(torch.zeros(2), 0)] * 4, batch_size=2)
    found = unpacked(loader, lambda batch: batch)
    assert unpacked(found, lambda batch: None) is found
    assert len(found) == 2
    assert found.dataset is loader.dataset
    assert not hasattr(found, "no_such_thing")
    assert unpacked(loader, None) is loader


def test_what_a_function_gets_wrong_is_said():
    with pytest.raises(LoaderError, match=r"fails on batch 1 \(KeyError: 'x'\)"):
        list(Unpacked([{"x": 1}, {}], lambda batch: (batch["x"], 0)))
    with pytest.raises(LoaderError, match="must return inputs and labels"):
        list(Unpacked([1], lambda batch: batch))
    with pytest.raises(ModelError, match="unpack must be a function"):
        sparsify(mlp(), ODD, n_select=4, n_per_class=2, head={"unpack": "x"}, progress=False)
