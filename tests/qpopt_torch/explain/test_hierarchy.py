"""Levels and trees of hand-made decisions, worked out on paper."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from qpopt_torch.evidence.pictures import Picture
from qpopt_torch.explain import Sample, explain_decision
from qpopt_torch.explain.hierarchy import Node, _rows, hierarchy_of
from qpopt_torch.sparse.sets.level_shares import LevelShares, exact_interval
from tests.qpopt_torch.readable import NAMES, small_loader, small_sparse

ASSIGNMENT = np.array(
    [[1, 1, 1, 0, 0], [1, 1, 0, 1, 0], [1, 0, 1, 0, 1], [0, 0, 1, 1, 1]], dtype=bool
)


def decided(values, assignment=ASSIGNMENT, shares=None):
    values = np.array(values)
    sample = Sample(0, -1, int((assignment @ values).argmax()), values, None, PICTURE)
    return hierarchy_of(sample, assignment, shares)


PICTURE = Picture("none", np.zeros(0))


def test_levels_worked_out():
    found = decided([3.0, 2.0, 1.0, 0.5, 0.0])
    assert [(one.number, one.column, one.value, one.classes) for one in found.levels] == [
        (0, None, None, (0, 1, 2, 3)),
        (1, 0, 3.0, (0, 1, 2)),
        (2, 1, 2.0, (0, 1)),
        (3, 2, 1.0, (0,)),
    ]
    assert {one.holds for one in found.levels} == {None}


def test_what_is_not_active_opens_no_level():
    found = decided([3.0, 0.0, 0.0, 0.0, 0.0])
    assert [(one.column, one.classes) for one in found.levels] == [
        (None, (0, 1, 2, 3)),
        (0, (0, 1, 2)),
        (None, (0, 1, 2)),
        (None, (0,)),
    ]
    nothing = decided([0.0] * 5)
    assert [one.classes for one in nothing.levels] == [(0, 1, 2, 3)] * 3 + [(0,)]
    assert nothing.tree == Node(None, None, (0, 1, 2, 3), ())
    assert nothing.local.classes == (0,)


def test_the_tree_worked_out():
    """0 leads; of classes 0 and 1 then 1, of class 2 then 2. Class 3 begins with 2 and 3."""
    found = decided([3.0, 2.0, 1.0, 0.5, 0.0])
    third = Node(2, 1.0, (0,), ()), Node(3, 0.5, (1,), ())
    first = Node(0, 3.0, (0, 1, 2), (Node(1, 2.0, (0, 1), third), Node(2, 1.0, (2,), ())))
    alone = Node(2, 1.0, (3,), (Node(3, 0.5, (3,), ()),))
    assert found.tree == Node(None, None, (0, 1, 2, 3), (first, alone))
    assert found.local == Node(None, None, (0, 1, 2), (first,))


class Named:
    """Names of features and classes."""

    selection, features, classes = (7, 8, 9), ("wing", "beak", "leg"), ("ape", "bee", "cat", "dog")


def test_rows_of_a_drawing():
    tree = Node(
        None,
        None,
        (0, 1, 2),
        (Node(0, 2.0, (0, 1, 2), (Node(1, 1.0, (0,), ()), Node(2, 0.5, (1,), ()))),),
    )
    rows = [(one.depth, one.parent, one.text) for one in _rows(tree, Named())]
    assert rows == [
        (0, None, ""),
        (1, 0, "wing +2.00: cat"),  # class 2 has nothing else that is active
        (2, 1, "beak +1.00: ape"),
        (2, 1, "leg +0.50: bee"),
    ]


def test_what_is_said(tmp_path):
    sparse, (x, _) = small_sparse(), small_loader()[0]
    plain = explain_decision(sparse, x[0])
    assert "not calibrated" in plain.summary()
    assert {level["holds"] for level in plain.to_dict()["levels"]} == {None}
    shares = sparse.calibrate_levels(small_loader(seed=3), progress=False)
    told = explain_decision(sparse, x[0])
    written = told.to_dict()
    assert [level["holds"] for level in written["levels"]] == list(shares.shares)
    assert written["levels"][1]["interval"] == pytest.approx(exact_interval(shares.hits[1], 21))
    assert written["levels"][0]["classes"][0] == written["predicted"]
    assert sorted(written["levels"][0]["classes"]) == sorted(NAMES)
    assert written["levels"][-1]["classes"] == [written["predicted"]]
    assert sorted(written["tree"]["classes"]) == sorted(NAMES)
    assert f"holds the true class in {100 * shares.shares[2]:.1f} %" in told.summary()


@pytest.mark.parametrize("n_classes", [4, 60])
def test_drawings(n_classes):
    rng = np.random.default_rng(0)
    assignment = np.zeros((n_classes, 9), dtype=bool)
    for row in assignment:
        row[[0, *rng.choice(np.arange(1, 9), 3, replace=False)]] = True
    values = np.array([9.0, *rng.random(8)])
    found = decided(values, assignment, LevelShares((9, 8, 7, 6, 5), 9))
    names = Named()
    names.features = tuple(f"$f{j}" for j in range(9))
    names.classes = tuple(f"c{c}" for c in range(n_classes))
    figure, axes = plt.subplots(2, 3, squeeze=False)
    found.draw(axes[-1], names)
    texts = [text.get_text() for text in axes[-1, 0].texts]
    assert any("more rows" in text for text in texts) == (n_classes == 60)
    assert len(texts) <= 25
    figure.canvas.draw()
    plt.close(figure)
