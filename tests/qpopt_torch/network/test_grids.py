"""Finer maps, grid by grid, are what they are as a whole."""

import pytest
import torch
from torch import nn

from qpopt_torch import find_head, finer_maps
from qpopt_torch.network.geometry import apply_changes
from qpopt_torch.network.grids import are_grids, consists_of_grids, one_grid, side_by_side, steps_of
from qpopt_torch.network.observation import observe
from tests.qpopt_torch.small import batches


def network(halving=None):
    """Two halvings, and filters of 3 × 3 behind them."""
    torch.manual_seed(0)
    layers = [nn.Conv2d(3, 6, 3, padding=1), nn.ReLU(), nn.Conv2d(6, 6, 3, 2, 1), nn.ReLU()]
    layers += [halving or nn.Conv2d(6, 6, 3, 2, 1), nn.Conv2d(6, 8, 3, padding=1), nn.ReLU()]
    layers += [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 4)]
    return nn.Sequential(*layers).eval(), batches((3, 16, 16))[0][0]


def maps_of(model, x):
    with observe(model, find_head(model, x)) as seen:
        model(x)
    return seen.maps


def layer_of(model, x):
    return model.get_submodule(find_head(model, x).layer)


@pytest.mark.parametrize("stages", [1, 2])
def test_side_by_side_gives_the_same(stages):
    model, x = network()
    finer = finer_maps(model, x, stages).eval()
    layer, whole = layer_of(finer, x), maps_of(finer, x)
    assert are_grids(finer, layer, lambda: finer(x))
    sizes = []
    looking = finer[5].register_forward_hook(lambda module, args, out: sizes.append(out.shape))
    with side_by_side(finer, layer), observe(finer, find_head(finer, x)) as seen, torch.no_grad():
        logits = finer(x)
    looking.remove()
    torch.testing.assert_close(seen.maps, whole)
    torch.testing.assert_close(logits, finer(x))
    # Layers behind the steps saw as many samples as there are grids, each of the old size.
    assert sizes[-1] == (4**stages * len(x), 8, *maps_of(model, x).shape[2:])


def test_one_grid_is_every_second_position():
    model, x = network()
    finer = finer_maps(model, x)
    whole, head = maps_of(finer, x), find_head(finer, x)
    seen_grids = set()
    for seed in range(20):
        torch.manual_seed(seed)
        with one_grid(finer), observe(finer, head) as seen:
            finer(x)
        places = [
            (a, b)
            for a in (0, 1)
            for b in (0, 1)
            if torch.allclose(seen.maps, whole[..., a::2, b::2], atol=1e-6)
        ]
        assert len(places) == 1
        seen_grids |= set(places)
    assert seen_grids == {(0, 0), (0, 1), (1, 0), (1, 1)}


def test_afterwards_all_is_as_before():
    model, x = network()
    finer = finer_maps(model, x, 2)
    whole = maps_of(finer, x)
    with pytest.raises(KeyError), one_grid(finer):
        raise KeyError
    with side_by_side(finer, layer_of(finer, x)):
        pass
    assert torch.equal(maps_of(finer, x), whole)
    assert not any(module._forward_hooks for module in finer.modules())


def test_what_are_no_grids():
    model, x = network()
    assert steps_of(model) == {}
    assert not are_grids(model, layer_of(model, x), lambda: model(x))
    assert not are_grids(model, None, lambda: model(x))
    # Without dilation the grids are mixed.
    mixed = finer_maps(model, x, dilate=False)
    assert not are_grids(mixed, layer_of(mixed, x), lambda: mixed(x))
    # Maps of 7 positions have grids of 4 and of 3.
    uneven, x = network(nn.MaxPool2d(2))
    finer = finer_maps(uneven, x)
    assert maps_of(finer, x).shape[2:] == (7, 7)
    assert not are_grids(finer, layer_of(finer, x), lambda: finer(x))
    # Each by itself gives its part, though.
    assert consists_of_grids(finer, layer_of(finer, x), lambda: finer(x))
    assert not consists_of_grids(mixed, layer_of(mixed, x), lambda: mixed(x))
    assert not consists_of_grids(model, layer_of(model, x), lambda: model(x))


def test_how_it_was_is_known_after_several_changes():
    model, x = network()
    finer = finer_maps(model, x, 2)
    assert finer.coarser_maps["5"] == {"dilation": [1, 1], "padding": [1, 1]}
    assert {name: factor for name, (_, factor) in steps_of(finer).items()} == {
        "2": (2, 2),
        "4": (2, 2),
    }
    apply_changes(model, {"2": {"stride": [1, 1]}})
    assert model.coarser_maps == {"2": {"stride": [2, 2]}}
