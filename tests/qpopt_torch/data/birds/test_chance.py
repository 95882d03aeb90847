"""Chance and motions, which must not depend on the machine."""

from math import cos, radians, sin

import numpy as np
import pytest

from qpopt_torch.data.birds.chance import Draws
from qpopt_torch.data.birds.motions import Motion
from qpopt_torch.data.birds.scenes import bells


def test_draws_follow_the_raw_stream():
    raw = np.random.Philox(np.random.SeedSequence((7, 2))).random_raw(200)
    draws = Draws(7, 2)
    bits = [int(value) >> 11 for value in raw]
    assert [draws.share() for _ in range(150)] == [value / 2**53 for value in bits[:150]]
    assert draws.below(10) == bits[150] * 10 // 2**53
    assert draws.between(3) == pytest.approx(6 * bits[151] / 2**53 - 3)


def test_bells_are_sums_of_four_bytes():
    raw = np.random.Philox(np.random.SeedSequence((1, 5))).random_raw(2)
    expected = []
    for value in raw.tolist():
        octets = value.to_bytes(8, "little")
        expected += [sum(octets[:4]) - 510, sum(octets[4:]) - 510]
    assert bells((1, 5), 3).tolist() == expected[:3]
    many = bells((0,), 40_000)
    assert many.std() == pytest.approx(147.8, rel=0.02)


@pytest.mark.parametrize("degrees", [-45, -12, 0, 3.5, 20, 60])
def test_a_turn_is_a_rotation_about_its_pivot(degrees):
    turn = Motion.turn(degrees, (3, 4))
    c, s = cos(radians(degrees)), sin(radians(degrees))
    x, y = 10, -2
    moved = turn.xx * x + turn.xy * y + turn.x0, turn.yx * x + turn.yy * y + turn.y0
    assert moved == pytest.approx((3 + 7 * c + 6 * s, 4 + 7 * s - 6 * c), abs=2e-3)
    assert turn.xx**2 + turn.xy**2 == pytest.approx(1, abs=1e-12)


def test_motions_follow_each_other():
    both = Motion.turn(90).then(Motion.scale(2, 3, to=(10, 20)))
    # (1, 0) turns to (0, 1), then goes to (10, 23).
    moved = both.xx + both.x0, both.yx + both.y0
    assert moved == pytest.approx((10, 23), abs=0.02)
