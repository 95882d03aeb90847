import numpy as np
import pytest
import torch

from qpopt_torch import LoaderError
from qpopt_torch.evidence.pictures import Picture, small_maps


def test_an_image_is_stretched_to_the_screen():
    x = torch.tensor([[[-1.0, 3.0], [1.0, 0.0]]])
    picture = Picture.of(x)
    assert picture.kind == "image"
    assert picture.values[:, :, 0].tolist() == [[0, 255], [128, 64]]
    assert (picture.values == picture.values[:, :, :1]).all()


def test_a_constant_image_is_black():
    assert not Picture.of(torch.full((3, 2, 2), 7.0)).values.any()


def test_mean_and_deviation_bring_the_image_back():
    pixels = np.random.default_rng(0).integers(0, 256, (5, 4, 3), dtype=np.uint8)
    mean, std = torch.tensor([0.5, 0.4, 0.3]), torch.tensor([0.2, 0.3, 0.1])
    x = (torch.tensor(pixels).permute(2, 0, 1) / 255 - mean[:, None, None]) / std[:, None, None]
    picture = Picture.of(x, (mean.tolist(), std.tolist()))
    assert (picture.values == pixels).all()


def test_a_function_may_return_pixels_floats_or_grey():
    x = torch.zeros(7)
    white = Picture.of(x, lambda _: np.ones((2, 3)))
    assert white.values.shape == (2, 3, 3)
    assert (white.values == 255).all()
    assert (Picture.of(x, lambda _: np.full((2, 2, 4), 9, np.uint8)).values == 9).all()


def test_large_images_are_downscaled():
    assert Picture.of(torch.rand(3, 400, 200)).values.shape == (192, 96, 3)


@pytest.mark.parametrize("shape", [(9,), (2, 9)])
def test_fewer_axes_are_series(shape):
    x = torch.randn(shape)
    picture = Picture.of(x)
    assert picture.kind == "series"
    assert np.array_equal(picture.values, x.reshape(-1, 9).numpy())


def test_long_series_are_shortened_and_keep_their_ends():
    picture = Picture.of(torch.linspace(0, 1, 1000)[None])
    assert picture.values.shape == (1, 240)
    assert picture.values[0, [0, -1]] == pytest.approx([0, 1])


@pytest.mark.parametrize("x", [torch.arange(5), torch.zeros(1, 1, 2, 3, 4)])
def test_anything_else_has_no_picture(x):
    assert Picture.of(x).kind == "none"


def test_bad_arguments():
    with pytest.raises(LoaderError, match="2 means and 3 deviations"):
        Picture.of(torch.zeros(3, 2, 2), ([0.5, 0.5], [1, 1, 1]))
    with pytest.raises(LoaderError, match=r"returned the shape \(2, 2, 2\)"):
        Picture.of(torch.zeros(3, 2, 2), lambda _: np.zeros((2, 2, 2)))


def test_maps_are_averaged_down():
    maps = torch.arange(16.0).reshape(1, 4, 4)
    assert small_maps(maps, 2).tolist() == [[[2.5, 4.5], [10.5, 12.5]]]
    assert small_maps(torch.arange(4.0)[None], 2).tolist() == [[0.5, 2.5]]
    assert small_maps(maps, 4).tolist() == maps.tolist()
