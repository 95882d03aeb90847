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
    ],
)
def test_parts_that_do_not_fit(arguments, keywords, message):
    with pytest.raises(InvalidSolution, match=message):
        Solution(*arguments, **keywords)


def test_summary(toy, toy_best):
    text = toy_best.summary(toy)
    for part in ("optimal", "12.9", "similarity 12", "gap", "1 2 3"):
        assert part in text
    assert "similarity" not in str(toy_best)
    assert "bound      none" in str(Solution([0], [[1]], 1.0, method="search"))
