import base64

import numpy as np
import pytest

from qpopt_torch.evidence.pictures import Picture
from qpopt_torch.explain import Sample
from qpopt_torch.report.encoding import PageParams, encode_images, encode_maps, encode_series
from tests.qpopt_torch.report.decoding import pixels

PARAMS = PageParams()


def noise(*shape, seed=0):
    return np.random.default_rng(seed).integers(0, 256, shape, dtype=np.uint8)


def sample(maps, kind="image"):
    return Sample(0, 0, 0, np.zeros(1), maps, Picture(kind, np.zeros((2, 2))))


def test_tiny_images_are_kept_as_they_are():
    values = noise(8, 9, 3)
    (text,) = encode_images([Picture("image", values)], 10_000, PARAMS)
    assert text.startswith("data:image/png;base64,")
    assert (pixels(text) == values).all()


def test_images_shrink_to_the_budget():
    pictures = [Picture("image", noise(190, 120, 3, seed=seed)) for seed in range(6)]
    ample = encode_images(pictures, 10**9, PARAMS)
    assert pixels(ample[0]).shape == (160, 101, 3)
    budget = sum(map(len, ample)) // 3
    tight = encode_images(pictures, budget, PARAMS)
    assert sum(map(len, tight)) <= budget
    assert PARAMS.sides[-1] <= pixels(tight[0]).shape[0] < 160
    assert pixels(encode_images(pictures, 0, PARAMS)[0]).shape[0] == PARAMS.sides[-1]
    large = encode_images(pictures, 0, PageParams(sides=(180, 60)))
    assert pixels(large[0]).shape[0] == 60


def levels(text, *shape):
    return np.frombuffer(base64.b64decode(text), dtype=np.uint8).reshape(shape).tolist()


def test_maps_are_scaled_from_the_median_to_near_the_maximum():
    maps = np.array([[[0.0, 1.0], [2.0, 9.0]], [[-5.0, 0.0], [5.0, 2.5]]], dtype=np.float16)
    grid, (text,) = encode_maps([sample(maps)], [sample(maps)], 10**6, PARAMS)
    assert grid == (2, 2)
    # Medians 1.5 and 1.25; the 0.998 quantiles 2 + 0.994 · 7 and 2.5 + 0.994 · 2.5.
    assert levels(text, 2, 2, 2) == [[[0, 0], [17, 255]], [[0, 0], [255, 85]]]


def test_coarser_maps_are_scaled_as_they_are_shown():
    """One position of every block is 4, but of the first block all are."""
    fine = np.zeros((1, 28, 28), np.float16)
    fine[0, ::2, ::2] = 4
    fine[0, :2, :2] = 4
    grid, (text,) = encode_maps([sample(fine)], [sample(fine)], 10**6, PARAMS)
    assert grid == (14, 14)
    shown = np.array(levels(text, 14, 14))
    assert shown[0, 0] == 255
    assert (shown.flat[1:] == 0).all()


def test_maps_become_coarser_to_fit():
    samples = [sample(np.zeros((5, 14, 14), np.float16)) for _ in range(10)]
    assert encode_maps(samples, samples, 10**6, PARAMS)[0] == (14, 14)
    assert encode_maps(samples, samples, 10 * 5 * 49 * 4 // 3 + 10, PARAMS)[0] == (7, 7)
    assert encode_maps(samples, samples, 0, PARAMS)[0] == (4, 4)


@pytest.mark.parametrize(
    ("maps", "kind", "grid"),
    [
        (np.zeros((3, 6), np.float16), "series", (1, 6)),
        (np.zeros((3, 6), np.float16), "image", ()),
        (np.zeros((3, 4, 4), np.float16), "none", ()),
        (None, "image", ()),
    ],
)
def test_maps_must_lie_on_the_picture(maps, kind, grid):
    one = [sample(maps, kind)]
    assert encode_maps(one, one, 10**6, PARAMS)[0] == grid


def test_series_share_a_scale():
    picture = Picture("series", np.array([[0.0, 2.0], [4.0, np.nan]]))
    assert encode_series(picture, 6) == [[0.0, 0.5], [1.0, 0.0]]
    assert encode_series(picture, 1) == [[0.0, 1.0]]
