"""Part alignment, pointing and twins, on cases worked out by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from qpopt_torch import LoaderError
from qpopt_torch.data.birds.species import Twins
from qpopt_torch.metrics import PartAlignment, part_alignment, pointing, twin_contrasts
from qpopt_torch.metrics.birds.parts import auroc

VARIANTS = ("red eye", "yellow eye", "fan tail", "fork tail", "blue wing")
PARTS = ("eye", "eye", "tail", "tail", "wing")
ATTRIBUTES = np.array([[1, 0, 1, 0, 1], [0, 1, 1, 0, 1], [0, 1, 0, 1, 1]], dtype=bool)
LABELS = [0, 0, 1, 1, 2, 2]


def found():
    """Feature 0 is the red eye, 1 nearly the fork tail, 2 the yellow eye, 3 the same, weaker."""
    features = np.array(
        [
            [9, 3, 0, 2],
            [8, 2, 1, 1],
            [1, 9, 5, 3],
            [2, 1, 6, 1.5],
            [0, 8, 7, 9],
            [3, 9, 8, 9],
        ]
    )
    return part_alignment(features, LABELS, ATTRIBUTES, VARIANTS, threshold=0.85)


def test_auroc_counts_pairs():
    values = np.array([[1.0], [2], [3], [3]])
    present = np.array([[0, 1, 1, 0], [1, 1, 1, 1], [0, 0, 0, 0]], dtype=bool).T
    # 2 above 1, 2 below 3, 3 above 1, 3 and 3 equal: 2.5 of 4.
    assert auroc(values, present)[0, 0] == 0.625
    assert np.isnan(auroc(values, present)[0, 1:]).all()


@given(st.lists(st.tuples(st.integers(0, 5), st.booleans()), min_size=2, max_size=30))
def test_auroc_is_that_of_scikit_learn(samples):
    values, present = (np.array(column) for column in zip(*samples, strict=True))
    value = auroc(values[:, None].astype(float), present[:, None])[0, 0]
    if present.all() or not present.any():
        assert np.isnan(value)
    else:
        assert value == pytest.approx(roc_auc_score(present, values))


def test_the_best_variant_of_every_feature():
    alignment = found()
    assert [VARIANTS[v] for v in alignment.best] == [
        "red eye",
        "fork tail",
        "yellow eye",
        "fork tail",
    ]
    # Feature 1: 8 and 9 against 3, 2, 9 and 1: 3 + 3.5 of 8 pairs.
    assert alignment.best_aurocs.tolist() == [1, 6.5 / 8, 1, 1]
    # Feature 0 for the fan tail: 9, 8, 1, 2 against 0 and 3: 4 + 2 of 8. Feature 2 for the fork
    # tail: all 8; the same as for the yellow eye, so the name is no more than the first of two.
    assert alignment.second_aurocs[[0, 2]].tolist() == [6 / 8, 1]
    assert alignment.aligned.tolist() == [True, False, True, True]
    assert alignment.share == 75
    assert alignment.needed.tolist() == [True, True, True, True, False]
    assert alignment.found == (0, 1, 3)
    assert str(alignment) == (
        "3 of 4 features recognise one variant of a part (AUROC ≥ 0.85); 3 of 4 variants are found."
    )


def test_names_are_unique_and_the_better_feature_has_the_plain_one():
    aurocs = np.array([[0.96, 0.1], [0.99, 0.2], [0.5, 0.94], [0.2, 0.97], [0.97, 0.3]])
    alignment = PartAlignment(aurocs, ("red eye", "fan tail"))
    assert alignment.names([10, 20, 30, 40, 50]) == {
        20: "red eye (0.99)",
        50: "red eye 2 (0.97)",
        10: "red eye 3 (0.96)",
        40: "fan tail (0.97)",
    }


def test_names_that_are_not_confirmed_come_last():
    aurocs = np.array([[0.96, 0.1], [0.99, 0.2], [0.5, 0.94], [0.2, 0.97]])
    alignment = PartAlignment(aurocs, ("red eye", "fan tail"))
    assert alignment.names([10, 20, 30, 40], {0}) == {
        10: "red eye (0.96)",
        20: "red eye 2? (0.99)",
        40: "fan tail? (0.97)",
    }


def test_shapes_that_do_not_fit():
    with pytest.raises(LoaderError, match=r"have the shape \(3, 2\) and the labels \(2,\)"):
        part_alignment(np.zeros((3, 2)), [0, 1], ATTRIBUTES, VARIANTS)
    with pytest.raises(LoaderError, match="one column for each of the 2 variants"):
        part_alignment(np.zeros((3, 2)), [0, 1, 2], ATTRIBUTES, VARIANTS[:2])
    with pytest.raises(LoaderError, match="masks must not be smaller than maps"):
        pointing(np.zeros((1, 3, 3)), np.zeros((1, 8, 2)))


def test_pointing_looks_at_the_block_of_the_maximum():
    maps, masks = np.zeros((4, 2, 2)), np.zeros((4, 8, 8), dtype=bool)
    maps[0, 0, 1], masks[0, 3, 4] = 1, True  # the last row and first column of that block
    maps[1, 1, 0], masks[1, 3, 3] = 1, True  # one block above
    maps[2, 1, 1], masks[2, 3:6, 3:6] = 1, True  # touches all four blocks
    maps[3, 0, 0] = 1  # the part is not to be seen
    game = pointing(maps, masks)
    assert game.n_maps == 3
    assert game.hits == pytest.approx(200 / 3)
    assert game.chance == pytest.approx(100 * (1 + 1 + 4) / 12)
    assert pointing(maps[3:], masks[3:]).n_maps == 0


def test_pointing_shares_pixels_that_lie_in_two_blocks():
    # Of eight pixels, three positions stand for 0 to 2, 2 to 5 and 5 to 7.
    maps = np.zeros((2, 1, 3))
    maps[:, 0, 0] = 1
    masks = np.zeros((2, 1, 8), dtype=bool)
    masks[0, 0, 2] = masks[1, 0, 3] = True
    game = pointing(maps, masks)
    assert game.hits == 50
    assert game.chance == pytest.approx(100 * (2 + 1) / 6)


def test_twins_are_told_apart_by_their_part_or_not():
    # Classes 0 and 1 differ in the eye, 1 and 2 in the tail.
    twins = (Twins(0, 1, "eye"), Twins(1, 2, "tail"))
    assignment = [[1, 1, 0, 1], [0, 1, 1, 1], [0, 0, 0, 1]]
    eyes, tails = twin_contrasts(twins, PARTS, found(), assignment)
    assert eyes.features == (0, 2)
    assert eyes.of_part == 2
    assert eyes.told_by_part
    # Feature 1 is of the tail but not aligned, feature 2 of the eye.
    assert tails.features == (1, 2)
    assert tails.of_part == 0
    assert not tails.told_by_part
