"""Interventions, and what is made of them, on cases worked out by hand."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader

from qpopt_torch import DrawnBirds
from qpopt_torch.metrics import (
    PartAlignment,
    background_independence,
    feature_effects,
    intervene,
    single_deletion,
)
from qpopt_torch.metrics.birds.interventions import Answers, Interventions
from tests.qpopt_torch.small import cnn, sparse

ALIGNMENT = PartAlignment(
    np.array([[0.99, 0.2, 0.5], [0.4, 0.6, 0.97], [0.3, 0.7, 0.1]]),
    ("red eye", "yellow eye", "fan tail"),
)
"""Feature 0 is the red eye, 1 the fan tail; 2 is of the eye, but not aligned."""


def answers(features, logits):
    return Answers(np.array(features, dtype=float), np.array(logits, dtype=float))


def seen():
    """Two pictures with a red eye, one with a yellow one; all have a fan tail."""
    whole = answers([[2, 1, 0], [1, 1, 1], [-1, 2, 1]], [[5, 1], [4, 0], [0, 3]])
    no_eye = answers([[-1, 1, 0], [0, 0.5, 1], [-1, 2, 0]], [[2, 1], [-1, 0], [0, 1]])
    no_tail = answers([[2, -1, 0], [1, 0, 1], [-1, 0, 1]], [[4, 1], [0, 1], [2, 1]])
    return Interventions(
        present=np.array([[1, 0, 1], [1, 0, 1], [0, 1, 1]], dtype=bool),
        variant_parts=("eye", "eye", "tail"),
        whole=whole,
        without={"eye": no_eye, "tail": no_tail},
        swapped={"eye": whole, "tail": no_eye},
        elsewhere=answers([[2, 1, 0], [1, 1, 0.1], [-1, 2, 1]], [[5, 1], [0, 4], [0, 3]]),
    )


def test_a_feature_falls_with_its_part():
    eye, tail = feature_effects(seen(), ALIGNMENT)
    assert (eye.feature, eye.variant, tail.feature, tail.variant) == (0, 0, 1, 2)
    # The deviations of 2, 1, −1 and of 1, 1, 2 and 0, 1, 1.
    own, tails = np.sqrt(14) / 3, np.sqrt(2) / 3
    # The eye taken off: 3 and 1 lower in the pictures that had a red one; the tail's moves by 0
    # and 0.5; the second prediction changes. Exchanged, here: nothing.
    assert eye.drop_without == pytest.approx(2 / own)
    assert eye.others_without == pytest.approx(0.25 / tails)
    assert eye.changed_without == 0.5
    assert (eye.drop_swapped, eye.others_swapped, eye.changed_swapped) == (0, 0, 0)
    assert (eye.part, eye.most, eye.confirmed) == ("eye", "eye", True)
    # The tail taken off: 2, 1 and 2 lower; nothing else moves; two predictions change.
    assert tail.drop_without == pytest.approx(5 / 3 / tails)
    assert tail.others_without == 0
    assert tail.changed_without == pytest.approx(2 / 3)
    # Exchanged: 0, 0.5 and 0; feature 0 moves by 3, 1 and 0, feature 2 by 0, 0 and 1.
    assert tail.drop_swapped == pytest.approx(0.5 / 3 / tails)
    assert tail.others_swapped == pytest.approx((4 / own + 1 / tails) / 6)
    assert tail.changed_swapped == pytest.approx(1 / 3)


def test_a_feature_that_falls_more_without_another_part_is_not_confirmed():
    # Where the eye is red, feature 0 is now 3 and 2 lower without the tail, and 3 and 1 without it.
    bare = replace(
        seen(),
        without={
            **seen().without,
            "tail": answers([[-1, 0, 0], [-1, 0, 0], [-1, 0, 0]], [[0, 1]] * 3),
        },
    )
    eye, tail = feature_effects(bare, ALIGNMENT)
    assert (eye.part, eye.most, eye.confirmed) == ("eye", "tail", False)
    assert tail.confirmed


def test_a_variant_that_no_picture_shows_is_left_out():
    unseen = replace(seen(), present=np.array([[0, 1, 1]] * 3, dtype=bool))
    assert [effect.feature for effect in feature_effects(unseen, ALIGNMENT)] == [1]


def test_single_deletion_compares_ranks():
    # Predicted 0, 0, 1. Class 0 has features 0 and 2, class 1 features 1 and 2.
    assignment = np.array([[1, 0, 1], [0, 1, 1]])
    # Told of (eye, tail): (2, 0), (2, 0), (1, 2). Worth: (3, 1), (5, 4), (2, 2): the last is level.
    assert single_deletion(seen(), ALIGNMENT, assignment) == 1
    # Class 0 with the tail alone: told (0, 1), (0, 1): the wrong way round.
    assert single_deletion(seen(), ALIGNMENT, np.array([[0, 1, 0], [0, 1, 1]])) == -1
    # No feature at all: nothing varies.
    assert np.isnan(single_deletion(seen(), ALIGNMENT, np.zeros((2, 3))))


def test_background_independence():
    found = background_independence(seen())
    assert found.kept == pytest.approx(200 / 3)
    # Feature 2, whose deviation is √2 / 3, moves by 0.9 in one of nine cases.
    assert found.moved == pytest.approx(0.9 * 3 / np.sqrt(2) / 9)


def test_intervene_shows_what_it_says():
    birds = DrawnBirds(4, 3, size=32, split="test")
    model = sparse(cnn(), DataLoader(birds, 6))
    found = intervene(model, birds, [1, 4, 10], progress=False)
    assert np.array_equal(found.present, birds.attributes[[0, 1, 3]])
    head = model.sparse_head

    def expected(images):
        with torch.no_grad():
            shown = model.features(torch.stack(images))
        return ((shown.features - head.mean) / head.std).numpy(), shown.logits.numpy()

    cases = [
        (found.whole, [birds[i][0] for i in (1, 4, 10)]),
        (found.without["wing"], [birds.without(i, "wing").image for i in (1, 4, 10)]),
        (found.elsewhere, [birds.elsewhere(i, j).image for i, j in ((1, 7), (4, 10), (10, 4))]),
    ]
    for given, images in cases:
        features, logits = expected(images)
        assert given.features == pytest.approx(features, abs=1e-5)
        assert given.logits == pytest.approx(logits, abs=1e-5)
    # With four variants, picture 1 gets the second next, 4 the second next, 10 the second next.
    swapped = []
    for i, c in ((1, 0), (4, 1), (10, 3)):
        own = birds.variants["belly"].index(birds.sample(3 * c).variants["belly"])
        swapped.append(birds.swapped(i, "belly", birds.variants["belly"][(own + 2) % 4]).image)
    assert found.swapped["belly"].features == pytest.approx(expected(swapped)[0], abs=1e-5)
    # The features of a sum: the logits are the features times the assignment.
    assert found.whole.logits == pytest.approx(found.whole.features @ model.assignment.T, abs=1e-4)


def test_without_a_choice_every_species_is_shown():
    birds = DrawnBirds(3, 2, size=32)
    model = sparse(cnn(n_classes=3), DataLoader(birds, 6))
    assert len(intervene(model, birds, progress=False).present) == 6
