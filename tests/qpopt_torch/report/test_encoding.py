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


def test_maps_are_scaled_between_their_limits():
    maps = np.array([[[0.0, 1.0], [2.0, 9.0]], [[-5.0, 0.0], [5.0, 2.5]]], dtype=np.float16)
    limits = np.array([[1.0, 3.0], [0.0, 5.0]])
    grid, (text,) = encode_maps([sample(maps)], limits, 10**6, PARAMS)
    assert grid == (2, 2)
    levels = np.frombuffer(base64.b64decode(text), dtype=np.uint8).reshape(2, 2, 2)
    assert levels.tolist() == [[[0, 0], [128, 255]], [[0, 0], [255, 128]]]


def test_maps_become_coarser_to_fit():
    samples = [sample(np.zeros((5, 14, 14), np.float16)) for _ in range(10)]
    ranges = np.tile([0.0, 1.0], (5, 1))
    assert encode_maps(samples, ranges, 10**6, PARAMS)[0] == (14, 14)
    assert encode_maps(samples, ranges, 10 * 5 * 49 * 4 // 3 + 10, PARAMS)[0] == (7, 7)
    assert encode_maps(samples, ranges, 0, PARAMS)[0] == (4, 4)


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
    ranges = None if maps is None else np.tile([0.0, 1.0], (3, 1))
    assert encode_maps([sample(maps, kind)], ranges, 10**6, PARAMS)[0] == grid


def test_series_share_a_scale():
    picture = Picture("series", np.array([[0.0, 2.0], [4.0, np.nan]]))
    assert encode_series(picture, 6) == [[0.0, 0.5], [1.0, 0.0]]
    assert encode_series(picture, 1) == [[0.0, 1.0]]
