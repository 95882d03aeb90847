"""Names of features: those that people gave, and those of parts."""

import numpy as np

from qpopt_torch.evidence.names import Names
from qpopt_torch.metrics import PartAlignment
from tests.qpopt_torch.readable import small_sparse


def test_features_are_named_by_parts_unless_they_have_a_name():
    sparse = small_sparse()
    sparse.rename_features({2: "mine"})
    names = Names(sparse)
    aurocs = np.array([[0.99, 0.1], [0.98, 0.2], [0.5, 0.97], [0.9, 0.1], [0.96, 0.3], [0.5, 0.5]])
    names.recognise(PartAlignment(aurocs, ("red eye", "fan tail")))
    assert names.features == (
        "red eye (0.99)",
        "mine",
        "fan tail (0.97)",
        "Feature 5",
        "red eye 3 (0.96)",
        "Feature 11",
    )
    assert names.feature_column("fan tail (0.97)") == 2
    # What is found out later replaces the names of parts, never those that were given.
    names.recognise(PartAlignment(aurocs[::-1], ("red eye", "fan tail")), {1, 3})
    assert names.features == (
        "Feature 0",
        "mine",
        "Feature 3",
        "fan tail (0.97)",
        "red eye 3? (0.98)",
        "red eye 2? (0.99)",
    )
