import torch

from benchmarks.studies.scale.passes import Size, bare_pass
from benchmarks.studies.scale.resuming import ended_pass, pass_saving
from benchmarks.studies.scale.stream import BLOCK, CASES, Stream, loader_of
from qpopt_torch import collect


def test_a_sample_depends_on_its_place_alone():
    stream = Stream(2 * BLOCK + 5, 7, (3,))
    x, y = stream.__getitems__([5, BLOCK + 5, 2 * BLOCK + 4])
    for place, at in enumerate((5, BLOCK + 5, 2 * BLOCK + 4)):
        alone, label = stream[at]
        assert torch.equal(alone, x[place])
        assert label == y[place] == at % 7
    assert not torch.equal(x[0], x[1])
    again, _ = Stream(2 * BLOCK + 5, 7, (3,))[5]
    assert torch.equal(again, x[0])


def test_both_networks_are_read_as_what_they_are():
    for name, positions in (("sums", 0), ("maps", 49)):
        model, shape = CASES[name](12, 4)
        loader = loader_of(Stream(64, 4, shape), 16)
        bare_pass(model, loader)
        statistics = collect(model, loader, progress=False)
        assert (statistics.n_features, statistics.n_positions) == (12, positions)
        assert statistics.n_samples == 64


def test_what_is_saved_is_measured():
    size = Size(64, 40, 8, 16)
    saving = pass_saving(size)
    assert saving.bytes > 8 * 40 * 8
    assert min(saving.save, saving.resume) > 0
    whole, ended, same = ended_pass(size)
    assert same
    assert min(whole, ended) > 0
