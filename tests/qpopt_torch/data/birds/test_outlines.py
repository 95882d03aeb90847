"""Outlines are filled exactly: against the definition, point by point."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qpopt_torch.data.birds.outlines import UNIT, compose, coverage, disc, paint, smooth

SIDE = 12

outlines = st.lists(
    st.lists(st.tuples(*[st.integers(-2 * UNIT, 14 * UNIT)] * 2), min_size=3, max_size=7),
    min_size=1,
    max_size=4,
)


def inside(outline, x, y):
    """Whether a ray to the left crosses the outline an odd number of times."""
    odd = False
    for (x0, y0), (x1, y1) in zip(outline, outline[1:] + outline[:1], strict=True):
        if (y0 <= y) != (y1 <= y):
            # As the kernel does, crossings are rounded down to whole units.
            crossing = x0 + (y - y0) * (x1 - x0) // (y1 - y0)
            odd ^= crossing <= x
    return odd


@given(outlines)
def test_paint_is_the_even_odd_rule(drawn):
    points = np.array([point for outline in drawn for point in outline])
    found = paint(points, [len(outline) for outline in drawn], SIDE)
    for row in range(SIDE):
        for column in range(SIDE):
            x, y = column * UNIT + UNIT // 2, row * UNIT + UNIT // 2
            on_top = [k for k, outline in enumerate(drawn, 1) if inside(outline, x, y)]
            assert found[row, column] == (on_top[-1] if on_top else 0)


def test_a_square_over_a_square():
    """Cells 1 to 6 of 8, and over it cells 0 to 3: pixels of four cells a side."""
    points = np.array([(1, 1), (7, 1), (7, 7), (1, 7), (0, 0), (4, 0), (4, 4), (0, 4)]) * UNIT
    painted = paint(points, [4, 4], 8)
    assert (painted[:4, :4] == 2).all()
    assert (painted == 1).sum() == 36 - 9
    # The first belongs to the last of seven, the second to none.
    shares = coverage(painted, [6, -1], 7)
    assert shares[6].tolist() == [[0, 9], [9, 9]]
    assert not shares[:6].any()
    background = np.full((2, 2, 3), 16)
    picture = compose(painted, np.array([(160, 0, 16), (255, 254, 253)]), background)
    assert picture[0, 0].tolist() == [255, 254, 253]
    # 9 of 16 cells: (9 · 160 + 7 · 16) / 16 = 97, 7 · 16 / 16 = 7, and 16.
    assert picture[1, 1].tolist() == [97, 7, 16]


def test_smooth_goes_through_its_points():
    corners = [(0.0, 0.0), (10.0, 0.0), (10.0, 10.0), (0.0, 10.0)]
    points = smooth((0, 0, 0), *corners).points
    assert points[::6].tolist() == [list(corner) for corner in corners]
    # Half-way between two corners, a Catmull-Rom spline is (9 (p + q) − o − r) / 16.
    assert points[3] == pytest.approx([5.0, (0 - 10 - 10) / 16])


def test_a_disc_is_round():
    offsets = disc((0, 0, 0), 50, 60, 20).points - [50, 60]
    assert np.hypot(*offsets.T) == pytest.approx(np.full(48, 20), rel=0.01)
