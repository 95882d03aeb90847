import pytest

from qpopt.preprocessing import sharing_advice
from qpopt.preprocessing.sharing import fewest_features


def test_the_numbers_that_shared_nothing():
    """Ten classes with five of fifty features each: all their own. 10 · 5 / 4 features are 12."""
    advice = sharing_advice(10, 50, 5, n_single=50)
    assert "serves 1.00 classes on average, and 50 of 50 serve no more than one" in advice
    assert "Set n_select to about 12;" in advice


@pytest.mark.parametrize(
    ("counts", "said"),
    [
        ((200, 50, 5, 0), False),
        ((200, 50, 5, 10), False),  # a fifth, not more
        ((200, 50, 5, 11), True),
        ((10, 25, 5, None), False),  # two classes a feature
        ((10, 26, 5, None), True),
    ],
)
def test_when_it_is_said(counts, said):
    assert bool(sharing_advice(*counts)) == said


def test_every_class_needs_a_set_of_its_own():
    """Six sets of two: four features have just six, so the advice does not go below."""
    assert fewest_features(6, 2) == 4
    assert fewest_features(7, 2) == 5
    assert "about 4;" in sharing_advice(6, 10, 2)
    assert "so few classes" in sharing_advice(2, 3, 2)
