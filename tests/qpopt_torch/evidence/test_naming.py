import numpy as np
import pytest
import torch

from qpopt_torch import LoaderError, ModelError, name_features
from qpopt_torch.metrics import local_alignment
from tests.qpopt_torch.readable import small_loader, small_sparse

ATTRIBUTES = np.array([[1, 0, 1], [0, 1, 1], [0.6, 0.2, 1], [0.5, 0.9, 1]])
NAMES = ["wings", "stripes", "eyes"]


def test_names_from_attributes_are_guesses():
    sparse, loader = small_sparse(), small_loader(n_batches=6)
    names = name_features(
        sparse, loader=loader, attributes=ATTRIBUTES, attribute_names=NAMES, progress=False
    )
    x, y = (torch.cat(parts) for parts in zip(*loader, strict=True))
    features = sparse.sparse_head.normalise(sparse.features(x).features).detach().double().numpy()
    # What half of the people saw, and no more, is not present.
    present = ATTRIBUTES > 0.5
    found = local_alignment(features, y, present, sparse.assignment).overall()
    for column, d in enumerate(sparse.selection.tolist()):
        best = int(np.nanargmax(found[column]))
        if found[column, best] > 0:
            assert names[d].startswith(f"{NAMES[best]}? (r {found[column, best]:.2f})")
        else:
            assert d not in names
    assert sparse.feature_names == names
    assert "eyes" not in str(names)  # all classes have them: they tell nothing


def test_names_of_people_stay_and_all_are_distinct():
    sparse = small_sparse()
    sparse.rename_features({0: "beak", 2: "channel"})
    asked = []

    def source(d):
        asked.append(d)
        return None if d == 3 else "channel"

    names = name_features(sparse, source)
    assert asked == [3, 5, 8, 11]
    assert names == {5: "channel 2", 8: "channel 3", 11: "channel 4"}
    assert sparse.feature_names == {0: "beak", 2: "channel", **names}


def test_wrong_arguments():
    sparse, loader = small_sparse(), small_loader()
    for arguments in ({}, {"source": str, "attributes": ATTRIBUTES}):
        with pytest.raises(ModelError, match="either a function or attributes"):
            name_features(sparse, **arguments)
    with pytest.raises(ModelError, match="takes a function"):
        name_features(sparse, "wings")
    with pytest.raises(ModelError, match="need a loader"):
        name_features(sparse, attributes=ATTRIBUTES, attribute_names=NAMES)
    with pytest.raises(LoaderError, match="attribute_names"):
        name_features(sparse, loader=loader, attributes=ATTRIBUTES, attribute_names=NAMES[:2])
