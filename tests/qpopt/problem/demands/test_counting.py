"""Demands that counting shows to be impossible: named, with both numbers."""

import numpy as np
import pytest

from qpopt import Average, InfeasibleInstance, Instance

RNG = np.random.default_rng(6)


def made(n_classes, n_features, n_select, n_per_class, **demands):
    A = RNG.normal(size=(n_classes, n_features))
    nothing = np.zeros((n_features, n_features)), np.zeros(n_features)
    return Instance(A, *nothing, n_select, n_per_class, **demands)


def every(classes, features):
    return [(c, d) for c in classes for d in features]


@pytest.mark.parametrize(
    ("sizes", "demands", "message"),
    [
        (
            (3, 6, 4, 2),
            {"forbidden": [(1, 3)], "required": [(1, 3)]},
            "Feature 3 is both required of class 1 and forbidden",
        ),
        ((3, 6, 4, 2), {"required": [(1, 3)], "exclude": [3]}, "Feature 3 .* in exclude"),
        (
            (3, 6, 3, 2),
            {"required": [(0, 0), (0, 1), (1, 2), (1, 3)]},
            "name 4 features, but only n_select = 3",
        ),
        (
            (3, 6, 4, 2),
            {"required": every([0], [0, 1, 2])},
            "3 features are required of class 0, which has at most 2",
        ),
        (
            (3, 6, 4, 2),
            {"forbidden": every([2], range(4)), "exclude": [4]},
            "leaves class 2 1 features; it needs 2",
        ),
        (
            (3, 6, 4, 2),
            {"forbidden": every([1], [0, 1, 2]), "include": [0, 1, 2]},
            "3 features that must be selected are forbidden to class 1: 1 of n_select = 4",
        ),
        (
            (3, 4, 3, 2),
            {"forbidden": [(0, 0), (0, 1), (1, 1), (1, 2), (2, 3), (2, 0)]},
            "at least 4 times in all; budgets leave room for 3",
        ),
        (
            (4, 6, 4, 2),
            {"required": every(range(4), [0])},
            "4 classes with 2 features each require the features 0: there are only 3",
        ),
        # No class requires feature 0 alone.
        (
            (7, 9, 5, 3),
            {"required": every(range(7), [0]) + [(c, 1 + c % 4) for c in range(7)]},
            "7 classes with 3 features each require the features 0: there are only 6",
        ),
        (
            (4, 6, 4, 2),
            {"classes_per_feature": (3, None)},
            "make 12 to 16 assignments; the classes have 8",
        ),
        (
            (4, 6, 4, 2),
            {"classes_per_feature": (0, 1)},
            "make 0 to 4 assignments; the classes have 8",
        ),
        (
            (4, 6, 4, 2),
            {"classes_per_feature": (0, 2), "required": every([0, 1, 2], [5])},
            "Feature 5 is required of 3 classes, and may serve at most 2",
        ),
        (
            (4, 6, 4, 2),
            {"classes_per_feature": (2, None), "forbidden": every([0, 1, 2], [5]), "include": [5]},
            "Feature 5 must be selected and serve at least 2 classes, but only 1",
        ),
        (
            (4, 6, 5, 2),
            {"classes_per_feature": (1, None), "forbidden": every(range(4), [4, 5])},
            "2 features .* 4 of 6 are left, but n_select is 5",
        ),
        ((3, 6, 3, 3), {"pairs": 1, "budget": None}, "give 1 distinct sets"),
        ((1, 6, 3, 3), {"pairs": 1}, "1 classes have only 0 pairs"),
        ((3, 4, 3, 2), {"budget": [3, 3, 2]}, "give 1 distinct sets, fewer than the 2"),
        ((2, 4, 3, 2), {"budget": [2, 4]}, "class 1 4 features, but only n_select = 3"),
        ((3, 6, 4, 2), {"budget": Average(3, 4)}, "cannot be n_per_class = 2"),
        ((3, 6, 4, 2), {"budget": Average(1, 5)}, "but only n_select = 4"),
        # The sets of 3 features have one feature once each, then two.
        ((7, 6, 3, 1), {"budget": Average(1, 3)}, "hold 12 to 12 features in all.*asks for 7"),
        ((8, 6, 3, 1), {"budget": Average(1, 3)}, "give 7 distinct sets, fewer than the 8"),
        ((5, 6, 2, 2), {"negative": (1, 1.0)}, "give 3 distinct sets, fewer than the 5"),
        ((3, 6, 3, 2), {"pairs": [(0, 1)], "budget": [3, 3, 2]}, "give 1 distinct|need 4"),
        ((6, 8, 6, 1), {"rho": 4.0}, "asks for 24 pairs; 6 classes have only 15"),
        (
            (5, 8, 4, 3),
            {"pairs": [(0, c) for c in range(1, 5)]},
            "give 4 distinct sets",
        ),
        (
            (5, 8, 5, 1),
            {"pairs": [(0, 1)], "required": [(0, 1), (1, 2)], "forbidden": []},
            None,
        ),
        (
            (4, 8, 6, 2),
            {"pairs": [(0, 1)], "required": [(0, 1), (0, 2), (1, 3), (1, 4)]},
            "have 3 features together, but 4 are required",
        ),
        (
            (4, 8, 6, 3),
            {"pairs": [(0, 1)], "required": [(0, 1), (0, 2)], "forbidden": [(1, 1), (1, 2)]},
            "2 features are required of class 0 and forbidden to class 1",
        ),
        (
            (6, 9, 5, 3),
            {"pairs": [(c, e) for c in range(5) for e in range(c)], "max_shared": 2},
            "The 5 classes 0, 1, 2, 3, 4 are pairs of each other; at most 4",
        ),
        (
            (10, 9, 5, 2),
            {"pairs": [(0, c) for c in range(1, 8)]},
            "Class 0 is in 7 pairs, but only 6 sets",
        ),
        (
            (4, 9, 8, 3),
            {"pairs": [(0, 1), (1, 2)], "max_shared": 0},
            "Classes 0 and 2 are 2 pairs apart and share at least 1 features; max_shared is 0",
        ),
        (
            (4, 9, 7, 2),
            {"max_shared": 0},
            "At most 3 sets of 2 out of 7 features share no more than max_shared = 0; 4 classes",
        ),
    ],
)
def test_counted_out(sizes, demands, message):
    if message is None:
        made(*sizes, **demands)
        return
    with pytest.raises(InfeasibleInstance, match=message):
        made(*sizes, **demands)


def test_errors_name_classes():
    with pytest.raises(InfeasibleInstance, match=r"required of class 1 \(crow\)"):
        made(2, 4, 3, 2, required=[(1, 0)], exclude=[0], class_names=["owl", "crow"])
