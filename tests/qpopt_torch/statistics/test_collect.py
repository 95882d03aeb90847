import logging

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

from qpopt import InvalidInstance
from qpopt_torch import LoaderError, ModelError, collect
from qpopt_torch.data.distributed import repeated_samples
from tests.qpopt_torch import direct
from tests.qpopt_torch.launch import in_two_processes
from tests.qpopt_torch.small import batches, cnn, mlp, series


def features_of(model, data):
    model = model.eval()
    with torch.no_grad():
        maps = torch.cat([model[:3](x) for x, _ in data]).double()
    return maps.mean((2, 3)).numpy(), torch.cat([y for _, y in data]).numpy(), maps.numpy()


def test_one_pass_gives_the_direct_formulas():
    model, data = cnn().train(), batches()
    statistics = collect(model, data, progress=False)
    assert all(module.training for module in model.modules())
    features, labels, maps = features_of(model, data)
    # The network pools in float32, which is all that separates the two.
    expected = direct.pearson(features, labels, 4)
    np.testing.assert_allclose(statistics.similarity(), expected, atol=1e-5)
    np.testing.assert_allclose(statistics.bias(), direct.locality(features, maps), rtol=1e-5)
    np.testing.assert_allclose(statistics.bias("center"), direct.center(features, maps), rtol=1e-5)


def test_in_double_precision_to_ten_digits():
    model = cnn().double()
    data = [(x.double(), y) for x, y in batches()]
    statistics = collect(model, data, progress=False)
    features, labels, maps = features_of(model, data)
    expected = direct.pearson(features, labels, 4)
    np.testing.assert_allclose(statistics.similarity(), expected, atol=1e-10)
    np.testing.assert_allclose(statistics.bias(), direct.locality(features, maps), rtol=1e-10)


def test_features_are_what_the_head_receives():
    model, data = cnn().eval(), batches()
    statistics = collect(model, data, progress=False)
    with torch.no_grad():
        logits = torch.cat([model(x) for x, _ in data]).double().mean(0)
        head = model[6]
        again = head.weight.double() @ torch.tensor(statistics.mean) + head.bias.double()
    torch.testing.assert_close(again, logits, rtol=1e-5, atol=1e-5)


def test_time_series_and_models_without_maps(caplog):
    statistics = collect(series(), batches((2, 12), 3), progress=False)
    assert statistics.n_positions == 10
    assert statistics.center is not None
    statistics = collect(mlp(), batches((5,), 3), progress=False)
    with caplog.at_level(logging.WARNING, logger="qpopt"):
        instance = statistics.instance(4, 2)
    assert (instance.b == 0).all()
    assert "no bias is used" in caplog.text


def test_tokens_without_a_grid_have_no_center(caplog):
    class Tokens(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed, self.fc = nn.Linear(7, 6), nn.Linear(6, 3)

        def forward(self, x):
            return self.fc(self.embed(x.flatten(1).unfold(1, 7, 7)).mean(1))

    statistics = collect(Tokens(), batches((1, 7, 7), 3), progress=False)
    assert statistics.locality is not None
    assert statistics.center is None
    with caplog.at_level(logging.WARNING, logger="qpopt"):
        assert statistics.bias("center") is None
    assert "no maps on a grid" in caplog.text


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_and_channels_last(dtype):
    data = batches()
    plain = collect(cnn(), data, progress=False)
    model = cnn().to(dtype, memory_format=torch.channels_last)
    half = collect(model, data, progress=False)
    assert half.sums.dtype == np.float64
    np.testing.assert_allclose(half.mean, plain.mean, rtol=0.03)
    np.testing.assert_allclose(half.similarity(), plain.similarity(), atol=0.05)


def test_compiled_models():
    model, data = cnn(), batches()
    compiled = torch.compile(model, backend="eager")
    compiled(data[0][0])
    a, b = (collect(m, data, progress=False) for m in (model, compiled))
    np.testing.assert_array_equal(a.sums, b.sums)


def test_mappings_and_other_batches():
    data = batches()
    named = [{"pixel_values": x, "labels": y} for x, y in data]
    a, b = (collect(cnn(), d, progress=False) for d in (data, named))
    np.testing.assert_array_equal(a.sums, b.sums)


def test_bins_fixed_by_earlier_statistics():
    data = batches(sizes=(9, 9, 9))
    whole = collect(cnn(), data, bins=16, progress=False)
    first = collect(cnn(), data[:1], bins=16, progress=False)
    rest = collect(cnn(), data[1:], like=first, progress=False)
    np.testing.assert_array_equal(first.merge(rest).histograms, whole.histograms)


def with_labels(change):
    return [(x, change(y)) for x, y in batches()]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ([], "loader is empty"),
        (with_labels(lambda y: y + 1), "label 4; the model knows the classes 0 to 3"),
        (with_labels(lambda y: y - 1), "label -1"),
        (with_labels(lambda y: nn.functional.one_hot(y, 4)), r"one-hot.*labels.argmax"),
        (with_labels(lambda y: y.float()), "whole class numbers"),
        (with_labels(lambda y: y[:-1]), "one class number each"),
        ([torch.zeros(2, 3)], "must be .inputs, labels."),
        ([{"a": 1, "b": 2, "labels": 3}], "inputs of batch 0, a, b, hold no tensor"),
        ([("text", torch.tensor([1]))], "str, not a tensor"),
    ],
)
def test_batches_that_cannot_be_used(data, message):
    with pytest.raises(LoaderError, match=message):
        collect(cnn(), data, progress=False)


def test_a_generator_works_once():
    generator = (batch for batch in batches())
    collect(cnn(), generator, progress=False)
    with pytest.raises(LoaderError, match="iterator that has been read to its end"):
        collect(cnn(), generator, progress=False)


def test_a_class_without_samples():
    data = [(x, y.clamp(max=2)) for x, y in batches()]
    statistics = collect(cnn(), data, class_names=["a", "b", "c", "owl"], progress=False)
    with pytest.raises(InvalidInstance, match=r"Class 3 \(owl\) has no samples"):
        statistics.similarity()


def test_features_that_are_not_finite_name_batch_and_layer():
    data = batches()
    data[2][0][1, 0, 0, 0] = torch.nan
    with pytest.raises(ModelError, match=r"batch 2 are not finite.*the input itself"):
        collect(cnn(), data, progress=False)

    class Fragile(nn.Module):
        def forward(self, x):
            return x.log() if x.max() > 9 else x

    model = nn.Sequential(nn.Conv2d(3, 8, 3), Fragile(), *cnn()[2:])
    data = batches()
    data[1][0][0] = 1000.0
    with pytest.raises(ModelError, match=r"batch 1 are not finite.*is '1'"):
        collect(model, data, progress=False)
    assert not any(module._forward_hooks for module in model.modules())


class Sized(torch.utils.data.Dataset):
    def __init__(self, n):
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        return i


@pytest.mark.parametrize(("n", "ranks"), [(10, 2), (11, 2), (11, 4), (13, 4), (3, 4), (2, 5)])
def test_repeated_samples_of_a_sampler(n, ranks):
    kept = []
    for rank in range(ranks):
        sampler = DistributedSampler(Sized(n), ranks, rank, shuffle=False)
        loader = DataLoader(Sized(n), sampler=sampler)
        own = list(sampler)
        kept += own[: len(own) - repeated_samples(loader)]
    assert sorted(kept) == list(range(n))
    assert repeated_samples(DataLoader(Sized(n))) == 0


PROGRAM = """
import sys
import numpy as np
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset
from qpopt_torch import LoaderError, collect, extract, find_head
from tests.qpopt_torch.small import batches, cnn

dist.init_process_group("gloo")
rank = dist.get_rank()
data = batches(sizes=(7, 4, 6))
shares = {"uneven": ([data[0], data[2]], [data[1]]), "empty": (data, [])}
for name, share in shares.items():
    statistics = collect(cnn().double(), share[rank], bins=8, progress=False)
    statistics.save(f"{sys.argv[1]}/{name}-{rank}.npz")
x, y = (torch.cat(parts) for parts in zip(*data))
dataset = TensorDataset(x, y)
loader = DataLoader(dataset, batch_size=4, sampler=DistributedSampler(dataset))
collect(cnn().double(), loader, progress=False).save(f"{sys.argv[1]}/padded-{rank}.npz")
head = find_head(cnn(), x)
bad = [(data[rank][0], data[rank][1] + rank)]
try:
    collect(cnn().double(), bad, progress=False)
except LoaderError as error:
    sys.stdout.write(f"refused {error}\\n")
    sys.stdout.flush()
unsharded = {"list": data, "loader": DataLoader(dataset, batch_size=4, shuffle=True)}
for name, loader in unsharded.items():
    for read in (collect, lambda m, l, progress: extract(m, l, head, progress=progress)):
        try:
            read(cnn(), loader, progress=False)
        except LoaderError as error:
            sys.stdout.write(f"unsharded {name} {error}\\n")
            sys.stdout.flush()
dist.barrier()  # neither leaves while the other still needs it
dist.destroy_process_group()
"""


def test_every_rank_gets_the_statistics_of_all(tmp_path):
    from qpopt_torch import Statistics

    printed = in_two_processes(PROGRAM, tmp_path)
    assert printed.count("refused") == 2
    assert "On rank 1: Batch 0 has the label 4" in printed
    for name in ("list", "loader"):
        assert printed.count(f"unsharded {name} Several ranks read the same samples") == 4
    data = batches(sizes=(7, 4, 6))
    alone = collect(cnn().double(), data, bins=8, progress=False)
    for name in ("uneven", "empty", "padded"):
        first, second = (Statistics.load(tmp_path / f"{name}-{rank}.npz") for rank in (0, 1))
        assert first.counts.tolist() == alone.counts.tolist()
        for key in ("sums", "squares", "minima", "locality", "center", "shift"):
            np.testing.assert_array_equal(getattr(first, key), getattr(second, key))
        np.testing.assert_allclose(first.similarity(), alone.similarity(), atol=1e-12)
        np.testing.assert_allclose(first.bias(), alone.bias(), rtol=1e-12)
        if name == "uneven":
            np.testing.assert_array_equal(first.histograms, alone.histograms)


def test_batches_of_another_size_make_no_difference():
    x, y = (torch.cat(parts) for parts in zip(*batches(), strict=True))
    loader = DataLoader(TensorDataset(x, y), batch_size=5)
    a, b = (collect(cnn().double(), d, progress=False) for d in (loader, batches()))
    np.testing.assert_allclose(a.similarity(), b.similarity(), atol=1e-12)
