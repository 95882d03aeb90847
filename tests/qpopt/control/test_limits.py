from math import inf, nan

import pytest

from qpopt import InvalidArgument
from qpopt.control.limits import Clock, Limits


@pytest.mark.parametrize(
    "wrong",
    [
        {"time_limit": -1.0},
        {"time_limit": nan},
        {"time_limit": inf},
        {"time_limit": "long"},
        {"gap": -0.1},
        {"seed": 1.5},
        {"seed": -1},
        {"threads": 0},
        {"threads": 1025},
    ],
)
def test_limits_out_of_range_are_refused(wrong):
    ((name, value),) = wrong.items()
    with pytest.raises(InvalidArgument, match=f"^{name} must be .*, not {value!r}"):
        Limits(**wrong)


def test_a_clock_without_a_limit_never_ends():
    clock = Clock(Limits())
    assert clock.remaining is None
    assert not clock.over
    assert clock.share(0.5) == Limits()
    assert clock.share(0.5, most=3.0) == Limits(3.0)


def test_a_share_of_what_is_left_has_the_other_limits_too():
    clock = Clock(Limits(100.0, gap=0.5, seed=3, threads=2))
    share = clock.share(0.1)
    assert 9.0 < share.time_limit <= 10.0
    assert (share.gap, share.seed, share.threads) == (0.5, 3, 2)
    assert clock.share(0.1, most=4.0).time_limit == 4.0


def test_a_limit_of_nothing_is_over_at_once():
    clock = Clock(Limits(0.0))
    assert clock.over
    assert clock.remaining == 0.0
