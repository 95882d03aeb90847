import pytest
import torch

from qpopt_torch.network.layout import Layout, layouts, token_grid


def test_maps_of_every_layout():
    x = torch.arange(2 * 3 * 4 * 5.0).reshape(2, 3, 4, 5)
    assert torch.equal(Layout("first").maps(x), x)
    assert torch.equal(Layout("last").maps(x.movedim(1, -1)), x)
    tokens = x.flatten(2).movedim(1, -1)
    image = torch.zeros(2, 3, 40, 50)
    assert torch.equal(Layout("last").maps(tokens, like=image), x)
    with_class_token = torch.cat([torch.full((2, 1, 3), -1.0), tokens], 1)
    assert torch.equal(Layout("last", "mean", 1).maps(with_class_token, like=image), x)


def test_pooling():
    x = torch.tensor([[[[-1.0, 3.0]], [[5.0, 1.0]]]])
    assert Layout("first").pool(x).tolist() == [[1.0, 3.0]]
    assert Layout("first", "max").pool(x).tolist() == [[3.0, 5.0]]
    assert Layout("first", relu=True).pool(x).tolist() == [[1.5, 3.0]]
    tokens = torch.tensor([[[7.0, -8.0], [1.0, 2.0], [3.0, 4.0]]])
    assert Layout("last", "token", 1).pool(tokens).tolist() == [[7.0, -8.0]]
    assert Layout("last", "token", 1, relu=True).pool(tokens).tolist() == [[7.0, 0.0]]
    assert Layout("last", "mean", 1).pool(tokens).tolist() == [[2.0, 3.0]]


@pytest.mark.parametrize(
    ("n_tokens", "shape", "grid"),
    [
        (49, (1, 3, 224, 224), (7, 7)),
        (32, (1, 3, 64, 128), (4, 8)),
        (50, (1, 3, 224, 224), None),
        (30, (1, 2, 30), None),
    ],
)
def test_token_grid(n_tokens, shape, grid):
    assert token_grid(n_tokens, torch.zeros(shape)) == grid


def test_layouts_need_more_than_one_position():
    assert list(layouts(torch.Size((2, 8)), 8)) == []
    assert list(layouts(torch.Size((2, 8, 1, 1)), 8)) == []
    assert list(layouts(torch.Size((2, 5, 3)), 8)) == []
    assert Layout("first") in layouts(torch.Size((2, 8, 3)), 8)
    assert Layout("last", "token", 1) in layouts(torch.Size((2, 3, 8)), 8)
