"""Models with several outputs: which one holds the logits is never guessed."""

from collections import namedtuple
from dataclasses import dataclass

import numpy as np
import pytest
import torch
from torch import nn

from qpopt import InvalidArgument
from qpopt_torch import ModelError, find_head, load, sparsify
from qpopt_torch.network.reading.outputs import logits_of, possible
from tests.qpopt_torch.small import batches

Named = namedtuple("Named", ["species", "genus"])


@dataclass
class Object:
    species: torch.Tensor
    genus: torch.Tensor


class Heads(nn.Module):
    """Two heads on the same features; `kind` says in what they come."""

    def __init__(self, kind=dict):
        super().__init__()
        torch.manual_seed(0)
        self.kind = kind
        self.body = nn.Sequential(nn.Linear(5, 8), nn.ReLU())
        self.genus, self.species = nn.Linear(8, 2), nn.Linear(8, 3)

    def forward(self, x):
        features = self.body(x)
        found = {"genus": self.genus(features), "species": self.species(features)}
        return found if self.kind is dict else self.kind(**found)


X = torch.randn(6, 5)


@pytest.mark.parametrize("kind", [dict, Named, Object, lambda genus, species: (genus, species)])
def test_one_of_several_heads_is_named(kind):
    model = Heads(kind)
    with pytest.raises(ModelError, match=r"several outputs.*head=\{'output'"):
        find_head(model, X)
    named = 1 if not isinstance(kind, type) else "species"
    for output in (named, lambda out: possible(out)[named]):
        head = find_head(model, X, output=output)
        assert (head.name, head.n_classes) == ("species", 3)
    assert find_head(model, X, head="genus").n_classes == 2


def test_an_output_that_does_not_exist():
    with pytest.raises(ModelError, match=r"no output 'family'; its outputs are 'genus', 'species'"):
        find_head(Heads(), X, output="family")
    with pytest.raises(ModelError, match="picks the output fails"):
        find_head(Heads(), X, output=lambda out: out["family"])
    with pytest.raises(ModelError, match="one tensor, of which output 0 is no part"):
        find_head(nn.Sequential(nn.Linear(5, 4), nn.ReLU(), nn.Linear(4, 3)), X, output=0)
    with pytest.raises(ModelError, match="output must be"):
        find_head(Heads(), X, output=1.5)


def test_features_beside_logits_need_no_name():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.body, self.fc = nn.Linear(5, 4), nn.Linear(4, 3)

        def forward(self, x):
            features = self.body(x).relu()
            return features, self.fc(features)

    head = find_head(Model(), X)
    assert (head.name, head.output) == ("fc", 1)


@pytest.mark.parametrize("output", ["species", lambda out: out["species"]])
def test_the_whole_way_with_one_of_several_heads(tmp_path, output):
    loader = batches((5,), n_classes=3, sizes=(9, 9))
    options = {"n_select": 4, "n_per_class": 2, "progress": False, "training": None}
    sparse = sparsify(
        Heads(), loader, val_loader=loader, head={"output": output}, out=tmp_path, **options
    )
    assert sparse(X).shape == (6, 3)
    assert sparse.metrics["dense"].n_samples == 18
    if isinstance(output, str):
        again = load(tmp_path, Heads())
    else:
        with pytest.raises(ModelError, match=r"load\(directory, output=function\)"):
            load(tmp_path, Heads())(X)
        again = load(tmp_path, Heads(), output=output)
    np.testing.assert_array_equal(again(X).detach(), sparse(X).detach())


def test_a_misspelt_argument_of_the_head_is_named():
    with pytest.raises(InvalidArgument, match="unknown key 'outputs'"):
        sparsify(Heads(), [(X, X[:, 0].long())], n_select=2, n_per_class=1, head={"outputs": 1})


def test_logits_by_name_count_before_all_others():
    logits, other = torch.zeros(2, 3), torch.zeros(2, 4)
    assert logits_of({"hidden": other, "logits": logits}) is logits
    with pytest.raises(ModelError, match=r"several outputs: 0 .*, 1 "):
        logits_of((other, logits))
