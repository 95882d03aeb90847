import pickle
from copy import deepcopy
from dataclasses import replace

import numpy as np
import pytest

from qpopt import InvalidSolution, Solution, Status, TracePoint


def test_gap():
    assert Solution(None, None, None, status="no_solution", bound=3.0).gap is None
    solution = Solution([0, 1], [[1, 0]], 8.0, bound=10.0)
    assert solution.gap == pytest.approx(0.25)
    assert Solution([0, 1], [[1, 0]], -8.0, bound=-6.0).gap == pytest.approx(0.25)
    assert Solution([0, 1], [[1, 0]], 8.0).gap is None


def test_class_sets(toy_best):
    assert toy_best.class_sets() == [(1, 3), (1, 2)]
    with pytest.raises(InvalidSolution, match="no_solution"):
        Solution(None, None, None, status="no_solution").class_sets()


def test_arrays_are_normalised_and_read_only(toy_best):
    assert toy_best.selection.dtype == np.int64
    assert toy_best.assignment.dtype == bool
    assert not toy_best.selection.flags.writeable
    assert not toy_best.assignment.flags.writeable
    assert toy_best.status is Status.OPTIMAL
    traced = Solution([0], [[1]], 1.0, trace=[(0.5, 1.0, None)])
    assert traced.trace == (TracePoint(0.5, 1.0, None),)


@pytest.mark.parametrize(
    ("arguments", "keywords", "message"),
    [
        (([0], [[1]], None), {}, "come together"),
        (([1, 0], [[1, 0]], 1.0), {}, "rise strictly"),
        (([0, 0], [[1, 0]], 1.0), {}, "rise strictly"),
        (([0.5], [[1]], 1.0), {}, "feature indices"),
        (([0, 1], [[1]], 1.0), {}, "one column"),
        (([0], [[2]], 1.0), {}, "only 0 and 1"),
        (([0], [[1]], 1.0), {"status": "great"}, "'great' is none of optimal"),
        ((np.array([5, 3], np.uint8), [[1, 0]], 1.0), {}, "rise strictly"),
        ((np.array([2**63 + 5], np.uint64), [[1]], 1.0), {}, "too large"),
        (([0], [[1], [1, 0]], 1.0), {}, "same length"),
        (([0], [[1]], float("nan")), {}, "objective must be a finite"),
        (([0], [[1]], 1 + 0j), {}, "objective must be a finite number"),
        (([0], [[1]], "1"), {}, "objective must be a finite number"),
        (([0], [[1]], 10**400), {}, "objective must be a finite"),
        (([0], [[1]], 1.0), {"bound": float("inf")}, "bound must be a finite"),
        (([0], [[1]], 1.0), {"seconds": -1.0}, "seconds must be a number of at least 0"),
        (([0], [[1]], 1.0), {"seconds": None}, "seconds must be a number of at least 0"),
        (([0], [[1]], 1.0), {"seed": 1.5}, "seed must be a whole number"),
        (([0], [[1]], 1.0), {"fingerprint": None}, "fingerprint must be text"),
        (([0], [[1]], 1.0), {"trace": None}, "triples"),
        (([0], [[1]], 1.0), {"trace": [(1, 2)]}, "triples"),
        (([0], [[1]], 1.0), {"trace": [(1, 2, "x")]}, "value of the trace"),
        (([0], [[1]], 1.0), {"details": None}, "details must be"),
        (([0], [[1]], 1.0), {"details": {"f": print}}, "details must be"),
    ],
)
def test_parts_that_do_not_fit(arguments, keywords, message):
    with pytest.raises(InvalidSolution, match=message):
        Solution(*arguments, **keywords)


def test_values_are_plain_and_copies_are_equal(toy_best):
    details = {"steps": np.int64(3), "rounds": [{"seconds": np.float32(0.5)}]}
    solution = replace(toy_best, objective=np.float32(12.5), seed=np.int32(4), details=details)
    details["steps"] = 9
    assert (type(solution.objective), type(solution.seed)) == (float, int)
    assert solution.details == {"steps": 3, "rounds": ({"seconds": 0.5},)}
    for copy in (pickle.loads(pickle.dumps(solution)), deepcopy(solution)):
        assert copy == solution
        assert not copy.assignment.flags.writeable
    assert replace(solution, seed=5) != solution
    assert replace(solution, assignment=~solution.assignment) != solution


def test_summary(toy, toy_best):
    text = toy_best.summary(toy)
    for part in ("optimal", "12.9", "similarity 12", "gap", "1 2 3"):
        assert part in text
    assert "similarity" not in str(toy_best)
    assert "bound      none" in str(Solution([0], [[1]], 1.0, method="search"))
