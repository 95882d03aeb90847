"""steer: other features for a saved model, trained on from its own weights."""

import pytest
import torch
from torch import nn

from qpopt_torch import FineTuning, ModelError, find_head, sparsify, steer
from qpopt_torch.pipeline.steering import as_dense
from tests.qpopt_torch.small import batches, cnn, sparse

DATA = batches(sizes=(8,) * 4)
X = DATA[0][0]


class Convolutional(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, 7, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1))
        self.head = nn.Conv2d(7, 4, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.body(x)).flatten(1)


@pytest.mark.parametrize("network", [cnn, Convolutional])
def test_a_linear_head_that_does_what_the_sparse_one_does(network):
    made = sparse(network(), DATA)
    dense = as_dense(made).eval()
    with torch.no_grad():
        torch.testing.assert_close(dense(X), made(X), rtol=1e-4, atol=1e-4)
    assert find_head(dense, X).name == made.head.name


def test_wishes_names_and_weights():
    quick = {"training": None, "solve": {"time_limit": 5}, "progress": False}
    made = sparsify(cnn(), DATA, n_select=5, n_per_class=2, val_loader=DATA, **quick)
    kept, unwanted = made.selection.tolist()[0], made.selection.tolist()[1]
    made.rename_features({kept: "beak", unwanted: "sky"})
    found = steer(made, DATA, include=[kept], exclude=[unwanted], val_loader=DATA, **quick)
    assert kept in found.selection
    assert unwanted not in found.selection
    assert found.feature_names == {kept: "beak"}
    assert torch.equal(found.network[0].weight, made.network[0].weight)
    assert found.metrics["dense"] == made.metrics["dense"]
    assert found.metrics["sparse"].n_features == 5


def test_training_goes_on(tmp_path):
    made = sparsify(
        cnn(),
        DATA,
        n_select=5,
        n_per_class=2,
        training=None,
        solve={"time_limit": 5},
        progress=False,
    )
    training = FineTuning(epochs=1, lr=1e-4)
    found = steer(made, DATA, training=training, n_select=4, out=tmp_path, progress=False)
    assert len(found.selection) == 4
    assert len(found.history.epochs) == 1
    assert (tmp_path / "config.json").exists()


def test_what_is_not_sparse_is_refused():
    with pytest.raises(ModelError, match="steer takes a SparseClassifier"):
        steer(cnn(), DATA)
