import json

import pytest
import torch
from torch import nn

import qpopt_torch
from qpopt import InvalidFile
from qpopt_torch import Adapter, ModelError
from tests.qpopt_torch.small import batches, cnn, mlp, sparse

X = batches()[0][0]


def test_save_and_load(tmp_path):
    made = sparse()
    made.class_names = ("a", "b", "c", "d")
    made.save(tmp_path / "deep" / "folder")
    again = qpopt_torch.load(tmp_path / "deep" / "folder", cnn(seed=9))
    assert torch.equal(again(X), made(X))
    assert again.class_features("c") == made.class_features(2)
    assert again.solution.class_sets() == made.solution.class_sets()
    assert not again.training
    torch.testing.assert_close(again.features(X).maps, made.features(X).maps)


def test_the_classes_of_the_fresh_model_do_not_matter(tmp_path):
    sparse().save(tmp_path)
    again = qpopt_torch.load(tmp_path, cnn(n_classes=11))
    assert again(X).shape == (len(X), 4)


@pytest.mark.parametrize("hidden", [0, 3])
def test_with_an_adapter(tmp_path, hidden):
    made = sparse()
    made.sparse_head.adapter = Adapter(torch.rand(8), torch.rand(8), made.selection, hidden=hidden)
    nn.init.normal_(made.sparse_head.adapter.linear.weight)
    made.save(tmp_path)
    assert torch.equal(qpopt_torch.load(tmp_path, cnn(seed=3))(X), made(X))


def test_tied_weights(tmp_path):
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b, self.fc = nn.Linear(5, 5), nn.Linear(5, 5), nn.Linear(5, 3)
            self.b.weight = self.a.weight

        def forward(self, x):
            return self.fc(self.b(self.a(x)))

    made = sparse(Tied(), batches((5,), 3), 4, 2)
    made.save(tmp_path)
    x = torch.randn(2, 5)
    assert torch.equal(qpopt_torch.load(tmp_path, Tied())(x), made(x))


def test_what_does_not_fit_is_said_exactly(tmp_path):
    sparse().save(tmp_path)
    with pytest.raises(ModelError, match=r"0.weight \(9, 3, 3, 3\) instead of \(8, 3, 3, 3\)"):
        qpopt_torch.load(tmp_path, cnn(n_features=9))
    deeper = cnn()
    deeper[0] = nn.Sequential(deeper[0])
    with pytest.raises(
        ModelError, match=r"missing in the file: .*0\.0\.bias.*unknown to the model"
    ):
        qpopt_torch.load(tmp_path, deeper)
    with pytest.raises(ModelError, match="no module '6'"):
        qpopt_torch.load(tmp_path, mlp())


def test_damaged_files(tmp_path):
    with pytest.raises(InvalidFile, match="does not exist"):
        qpopt_torch.load(tmp_path, cnn())
    made = sparse()
    made.save(tmp_path)
    weights, config = tmp_path / "weights.safetensors", tmp_path / "config.json"
    weights.write_bytes(weights.read_bytes()[:100])
    with pytest.raises(InvalidFile, match="Cannot read"):
        qpopt_torch.load(tmp_path, cnn())
    made.save(tmp_path)
    stored = json.loads(config.read_text())
    config.write_text(json.dumps({**stored, "version": 99}))
    with pytest.raises(InvalidFile, match="Upgrade qpopt"):
        qpopt_torch.load(tmp_path, cnn())
    config.write_text(json.dumps({**stored, "head": {}}))
    with pytest.raises(InvalidFile, match="damaged"):
        qpopt_torch.load(tmp_path, cnn())
    config.write_text("{}")
    with pytest.raises(InvalidFile, match="not a qpopt sparse-classifier"):
        qpopt_torch.load(tmp_path, cnn())
    config.write_text("{")
    with pytest.raises(InvalidFile, match="not a qpopt sparse-classifier"):
        qpopt_torch.load(tmp_path, cnn())


def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidFile, match="Cannot make the directory"):
        sparse().save(tmp_path / "file" / "x")
