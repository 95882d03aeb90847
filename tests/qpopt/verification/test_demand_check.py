"""Every demand that a solution breaks is named by `verify`, and nothing else is."""

import numpy as np
import pytest

from qpopt import Average, Instance, Solution, verify

RNG = np.random.default_rng(8)
A = RNG.normal(size=(3, 6))
SELECTION = np.array([0, 1, 3, 4])
SETS = ({0: 1, 1: 1}, {1: 1, 3: 1}, {3: 1, 4: 1})


def outcome(sets, **demands):
    """Verify a solution that gives every class these features with their signs."""
    instance = Instance(A, np.zeros((6, 6)), np.zeros(6), 4, 2, **demands)
    assignment = np.zeros((3, 4), dtype=int)
    for c, signs in enumerate(sets):
        for d, sign in signs.items():
            assignment[c, SELECTION.tolist().index(d)] = sign
    gamma = demands.get("negative", (0, 1.0))[1]
    total = sum(
        A[c, d] * (1 if sign > 0 else -gamma)
        for c, signs in enumerate(sets)
        for d, sign in signs.items()
    )
    solution = Solution(SELECTION, assignment, total, fingerprint=instance.fingerprint)
    return [violation.code for violation in verify(instance, solution).violations]


BROKEN = [
    ({"forbidden": [(1, 2), (2, 0)]}, {"forbidden": [(1, 3)]}, "forbidden"),
    ({"required": [(2, 4)]}, {"required": [(2, 1)]}, "required"),
    ({"classes_per_feature": (1, 2)}, {"classes_per_feature": (0, 1), "budget": None}, None),
    ({"classes_per_feature": (1, 2)}, {"classes_per_feature": (None, 2)}, ""),
    ({"pairs": [(0, 1)]}, {"pairs": [(0, 2)]}, "pairs"),
    ({"pairs": 2}, {"pairs": 3}, "pairs"),
    ({"max_shared": 1}, {"max_shared": 0, "pairs": [(0, 1)]}, "max_shared"),
    ({"budget": Average(2, 2)}, {"budget": Average(1, 4), "include": [2]}, "include"),
]


@pytest.mark.parametrize(("kept", "broken", "code"), BROKEN)
def test_a_broken_demand_is_named(kept, broken, code):
    assert outcome(SETS, **kept) == []
    if code is not None:
        assert outcome(SETS, **broken) == ([code] if code else [])


@pytest.mark.parametrize(
    ("sets", "demands", "codes"),
    [
        # Feature 3 serves three classes, feature 0 none.
        (({1: 1, 3: 1}, {3: 1, 4: 1}, {3: 1, 0: 1}), {"classes_per_feature": (0, 2)}, 1),
        (({1: 1, 3: 1}, {3: 1, 4: 1}, {1: 1, 4: 1}), {"classes_per_feature": (1, 3)}, 1),
        (({1: 1, 3: 1}, {3: 1, 4: 1}, {1: 1, 0: 1}), {"classes_per_feature": (1, 2)}, 0),
    ],
)
def test_classes_per_feature(sets, demands, codes):
    assert outcome(sets, **demands) == ["classes_per_feature"] * codes


@pytest.mark.parametrize(
    ("sets", "budget", "codes"),
    [
        (({0: 1}, {1: 1, 3: 1}, {3: 1, 4: 1, 1: 1}), [1, 2, 3], []),
        (({0: 1}, {1: 1, 3: 1}, {3: 1, 4: 1, 1: 1}), Average(1, 3), []),
        (({0: 1}, {1: 1, 3: 1}, {3: 1, 4: 1, 1: 1}), Average(1, 2), ["budget"]),
        (({0: 1}, {1: 1, 3: 1}, {3: 1, 4: 1}), Average(1, 3), ["budget"]),
        (({0: 1}, {1: 1, 3: 1}, {3: 1, 4: 1}), [1, 2, 3], ["budget"]),
        (({0: 1}, {1: 1, 3: 1}, {3: 1, 4: 1, 1: 1}), None, ["assignment"] * 2),
        (({0: 1}, {0: 1}, {3: 1, 4: 1, 1: 1, 0: 1}), Average(1, 4), ["duplicate"]),
    ],
)
def test_budgets(sets, budget, codes):
    assert outcome(sets, budget=budget) == codes


@pytest.mark.parametrize(
    ("sets", "demands", "codes"),
    [
        (({0: 1, 1: -1}, {1: 1, 0: -1}, {0: 1, 1: 1}), {"negative": (1, 0.5)}, []),
        (({0: 1, 1: -1}, {1: -1, 0: 1}, {0: 1, 1: 1}), {"negative": (1, 0.5)}, ["duplicate"]),
        (({0: -1, 1: -1}, {1: 1, 0: -1}, {0: 1, 1: 1}), {"negative": (1, 2.0)}, ["negative"]),
        (({0: 1, 1: -1}, {1: 1, 3: 1}, {0: 1, 1: 1}), {}, ["negative"]),
        (
            ({0: 1, 1: -1}, {1: 1, 3: 1}, {0: 1, 1: 1}),
            {"negative": (1, 1.0), "required": [(0, 1)]},
            ["required"],
        ),
        (
            ({0: 1, 1: -1}, {1: 1, 3: 1}, {0: 1, 1: 1}),
            {"negative": (1, 1.0), "forbidden": [(0, 1)]},
            ["forbidden"],
        ),
    ],
)
def test_negatives(sets, demands, codes):
    assert outcome(sets, **demands) == codes


def test_the_value_of_a_negative_is_checked():
    instance = Instance(A, np.zeros((6, 6)), np.zeros(6), 4, 2, negative=(1, 0.5))
    signs = np.array([[1, -1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 1]])
    total = float(A[0, 0] - A[0, 1] + A[1, 1] + A[1, 3] + A[2, 3] + A[2, 4])
    solution = Solution(SELECTION, signs, total, fingerprint=instance.fingerprint)
    found = verify(instance, solution)
    assert [violation.code for violation in found.violations] == ["objective"]
    assert found.objective == pytest.approx(total + 0.5 * A[0, 1])


@pytest.mark.parametrize(("demands", "wrong"), [({}, 1), ({"max_shared": 0}, 0)])
def test_only_demands_make_an_instance_infeasible(demands, wrong):
    instance = Instance(A, np.zeros((6, 6)), np.zeros(6), 6, 2, **demands)
    solution = Solution(None, None, None, status="infeasible", fingerprint=instance.fingerprint)
    assert len(verify(instance, solution).violations) == wrong
