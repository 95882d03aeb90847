import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

from qpopt_torch import LoaderError
from qpopt_torch.data.batches import batches, begin
from tests.qpopt_torch import small

DATA = small.batches()
MODEL = nn.Linear(3, 4).double()


def labels_of(reading):
    return torch.cat([y for _, y in reading]).tolist()


def test_inputs_have_the_precision_of_the_model():
    inputs = [x for x, _ in batches(DATA, MODEL)]
    assert {x.dtype for x in inputs} == {torch.float64}
    assert torch.equal(inputs[1].float(), DATA[1][0])


@pytest.mark.parametrize("loader", [list, iter])
def test_a_first_look_loses_nothing(loader):
    given = loader(DATA)
    x, begun = begin(given, MODEL)
    assert torch.equal(x.float(), DATA[0][0])
    assert labels_of(batches(given, MODEL, 4, begun=begun)) == labels_of(DATA)


def test_nothing_to_look_at():
    with pytest.raises(LoaderError, match="empty"):
        begin([], MODEL)
    with pytest.raises(LoaderError, match="empty"):
        next(batches([], MODEL))
    assert list(batches([], MODEL, empty=True)) == []


@pytest.mark.parametrize("batch_size", [1, 2, 3, 5])
def test_samples_that_a_sampler_repeats_are_left_out(batch_size):
    numbers = TensorDataset(torch.zeros(7, 3), torch.arange(7))
    seen, repeated = [], []
    for rank in range(4):
        sampler = DistributedSampler(numbers, 4, rank, shuffle=False)
        loader = DataLoader(numbers, batch_size, sampler=sampler)
        seen += labels_of(batches(loader, MODEL, 7))
        repeated += labels_of(batches(loader, MODEL, 7, repeated=True))
    assert sorted(seen) == list(range(7))
    assert sorted(repeated) == sorted([*range(7), 0])


def test_a_loader_that_ends_too_early():
    numbers = TensorDataset(torch.zeros(7, 3), torch.arange(7))

    class Short(DataLoader):
        def __iter__(self):
            return iter([next(super().__iter__())])

    sampler = DistributedSampler(numbers, 2, 1, shuffle=False)
    with pytest.raises(LoaderError, match="fewer samples"):
        list(batches(Short(numbers, 1, sampler=sampler), MODEL, 7))
