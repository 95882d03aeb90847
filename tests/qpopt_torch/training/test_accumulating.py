"""Several batches that make one step train as the large batch does."""

import pytest
import torch
from torch import nn

from qpopt_torch import FineTuning, GroundingParams, SparseClassifier, fine_tune
from qpopt_torch.errors import TrainingError
from tests.qpopt_torch import small
from tests.qpopt_torch.launch import in_two_processes

ROUNDING = {"rtol": 1e-5, "atol": 1e-7}
"""The losses are computed in float32."""


def plain():
    """A network in which no sample sees another one, and nothing is random."""
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(3, 8, 3),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(8, 4),
    ).double()
    return model


def data(sizes):
    torch.manual_seed(1)
    y = torch.arange(sum(sizes)) % 4
    x = torch.randn(len(y), 3, 9, 9).double() + y.reshape(-1, 1, 1, 1)
    return list(zip(x.split(sizes), y.split(sizes), strict=True))


def trained(sizes, **settings):
    sparse: SparseClassifier = small.sparse(plain(), data([24]))
    sparse.sparse_head.dropout.p = 0.0
    history = fine_tune(
        sparse, data(sizes), FineTuning(epochs=2, lr=0.01, **settings), progress=False
    )
    return sparse.state_dict(), history.epochs


@pytest.mark.parametrize("grounding", [None, GroundingParams()])
def test_small_batches_that_make_one_step_are_the_large_batch(grounding):
    large, said = trained([12, 12], grounding=grounding)
    parts, told = trained([5, 4, 3, 6, 4, 2], accumulate=3, grounding=grounding)
    apart, _ = trained([5, 4, 3, 6, 4, 2], grounding=grounding)
    for key, value in large.items():
        torch.testing.assert_close(parts[key], value, **ROUNDING)
    assert not torch.allclose(apart["network.0.weight"], large["network.0.weight"], rtol=1e-3)
    for a, b in zip(said, told, strict=True):
        assert a["loss"] == pytest.approx(b["loss"], rel=1e-5)
        assert (a["accuracy"], a["lr"]) == (b["accuracy"], b["lr"])


def test_the_last_group_may_be_smaller():
    large, _ = trained([9, 4])
    parts, _ = trained([5, 4, 4], accumulate=2)
    for key, value in large.items():
        torch.testing.assert_close(parts[key], value, **ROUNDING)


def test_it_goes_on_between_two_steps(tmp_path):
    """A training that is ended in the midst of a group ends with the same weights."""
    sizes, settings = [4] * 6, FineTuning(epochs=2, lr=0.01, accumulate=2)
    whole, _ = trained(sizes, accumulate=2)

    class Cut(Exception):
        pass

    class Ending(list):
        end = 3

        def __iter__(self):
            for number, batch in enumerate(super().__iter__()):
                if number == self.end:
                    raise Cut
                yield batch

    sparse, loader = small.sparse(plain(), data([24])), Ending(data(sizes))
    sparse.sparse_head.dropout.p = 0.0
    path = tmp_path / "c.pt"
    with pytest.raises(Cut):
        fine_tune(sparse, loader, settings, checkpoint=path, progress=False)
    sparse, loader.end = small.sparse(plain(), data([24])), None
    sparse.sparse_head.dropout.p = 0.0
    fine_tune(sparse, loader, settings, checkpoint=path, progress=False)
    for key, value in whole.items():
        assert torch.equal(sparse.state_dict()[key], value), key


@pytest.mark.parametrize("value", [0, -1, 1.5, True, "2"])
def test_what_is_no_number_of_batches(value):
    with pytest.raises(TrainingError, match="accumulate must be a whole number of at least 1"):
        FineTuning(accumulate=value)


PROGRAM = """
import sys
import torch
import torch.distributed as dist
from qpopt_torch import FineTuning, fine_tune
from tests.qpopt_torch import small
from tests.qpopt_torch.training.test_accumulating import data, plain

dist.init_process_group("gloo")
rank = dist.get_rank()
sparse = small.sparse(plain(), data([24]))
sparse.sparse_head.dropout.p = 0.0
own = data([6, 6, 6, 6])[rank::2]
fine_tune(sparse, own, FineTuning(epochs=2, lr=0.01, accumulate=2), progress=False)
torch.save(sparse.state_dict(), f"{sys.argv[1]}/{rank}.pt")
dist.barrier()
dist.destroy_process_group()
"""


@pytest.mark.slow
def test_two_processes_exchange_gradients_once_a_step(tmp_path):
    in_two_processes(PROGRAM, tmp_path)
    large, _ = trained([24])
    for rank in (0, 1):
        found = torch.load(tmp_path / f"{rank}.pt")
        for key, value in large.items():
            torch.testing.assert_close(found[key], value, **ROUNDING)
