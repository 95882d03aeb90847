"""Finer maps hold the old values at every second position, and nothing else has changed."""

import logging

import pytest
import torch
from torch import nn

from qpopt_torch import ModelError, collect, evaluate, find_head, finer_maps, load, sparsify
from qpopt_torch.network.finer_maps import split_head
from qpopt_torch.network.observation import observe
from tests.qpopt_torch.small import batches, sparse, weights

IMAGES = torch.randn(2, 3, 64, 64, generator=torch.Generator().manual_seed(0))


def strided(n_classes=4):
    """Two halvings, one of them by a pooling; 12 × 12 pixels give maps of 3 × 3."""
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, 2, 1),
        nn.ReLU(),
        nn.Conv2d(8, 8, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(8, 10, 3, padding="same"),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(10, n_classes),
    )


def maps_of(model, x):
    with observe(model, find_head(model, x)) as seen:
        model(x)
    return seen.maps


def test_by_hand():
    """Maps of the strided network, computed with plain functions on an undecimated picture."""
    model, x = strided().eval(), batches((3, 12, 12))[0][0]
    finer = finer_maps(model, x)
    conv = nn.functional.conv2d
    with torch.no_grad():
        y = model[:4](x)
        y = nn.functional.max_pool2d(y, 2, stride=1)
        expected = conv(y, model[5].weight, model[5].bias, padding=2, dilation=2).relu()
    torch.testing.assert_close(maps_of(finer, x), expected)
    assert expected.shape[2:] == (5, 5)
    torch.testing.assert_close(maps_of(finer, x)[..., ::2, ::2], maps_of(model, x))
    assert model[4].stride == 2  # the given model is as it was


class Padded(nn.Conv2d):
    """A convolution as some networks have it: it pads by a layer of its own, its stride a list."""

    def __init__(self, inputs, outputs, kernel, stride):
        super().__init__(inputs, outputs, kernel, stride)
        self.stride = [stride, stride]
        self.room = nn.ZeroPad2d((1, kernel - 2, 1, kernel - 2))

    def forward(self, x):
        x = self.room(x)
        return nn.functional.conv2d(x, self.weight, self.bias, self.stride, 0, self.dilation)


def test_padding_as_a_layer():
    torch.manual_seed(0)
    layers = [nn.Conv2d(3, 6, 3, 1, 1), nn.ReLU(), Padded(6, 6, 5, 2), Padded(6, 8, 3, 1)]
    model = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 4)).eval()
    x = batches((3, 10, 10))[0][0]
    finer = finer_maps(model, x)
    assert finer[2].room.padding == (1, 3, 1, 3)  # it lies in front of what is finer now
    assert finer[3].room.padding == (2, 2, 2, 2)
    assert maps_of(finer, x).shape[2:] == (10, 10)
    torch.testing.assert_close(maps_of(finer, x)[..., ::2, ::2], maps_of(model, x))


def test_two_stages(caplog):
    model, x = strided(), batches((3, 12, 12))[0][0]
    with caplog.at_level(logging.INFO, logger="qpopt"):
        finer = finer_maps(model, x, 2)
    assert "feature maps of 10 × 10 positions instead of 3 × 3" in caplog.text
    maps = maps_of(finer, x)
    torch.testing.assert_close(maps[..., ::4, ::4][..., :3, :3], maps_of(model, x))
    with pytest.raises(ModelError, match="makes feature maps smaller"):
        finer_maps(model, x, 3)


@pytest.mark.parametrize("name", ["resnet18", "mobilenet_v2", "efficientnet_b0"])
def test_known_networks(torchvision, name):
    check(getattr(torchvision.models, name)(num_classes=7))


@pytest.mark.parametrize("name", ["tf_efficientnet_lite0", "regnetx_002", "convnextv2_atto"])
def test_networks_of_timm(timm, name):
    check(timm.create_model(name, num_classes=7))


def check(model):
    generator = torch.Generator().manual_seed(0)
    for module in model.eval().modules():
        if isinstance(module, nn.BatchNorm2d):  # so that zeros do not hide what padding does
            module.running_mean.normal_(generator=generator)
    coarse, finer = maps_of(model, IMAGES), maps_of(finer_maps(model, IMAGES), IMAGES)
    assert finer[0, 0].numel() > coarse[0, 0].numel()
    firsts = [(row, column) for row in range(2) for column in range(2)]
    found = [finer[..., row::2, column::2] for row, column in firsts]
    error = min(float((f - coarse).abs().max()) for f in found if f.shape == coarse.shape)
    assert error <= 1e-4 * float(coarse.abs().max())


def test_what_cannot_be_finer_says_so(timm):
    """In its shortcuts a pooling of 2 × 2 gives maps of another size than the convolution."""
    with pytest.raises(ModelError, match="cannot be made finer: with a stride of 1 in 'layer4"):
        finer_maps(timm.create_model("resnet10t", num_classes=7), IMAGES)


def test_global_statistics_behind_the_step_are_noticed():
    class Relative(nn.Module):
        def forward(self, x):
            return x * x.mean((2, 3), keepdim=True)

    model = nn.Sequential(*strided()[:6], Relative(), *strided()[7:])
    x = batches((3, 12, 12))[0][0]
    with pytest.raises(ModelError, match="number of positions"):
        finer_maps(model, x)
    assert maps_of(finer_maps(model, x, dilate=False), x).shape[2:] == (5, 5)


def test_without_dilation_only_strides_change():
    model, x = strided(), batches((3, 12, 12))[0][0]
    finer = finer_maps(model, x, 2, dilate=False)
    assert [finer[i].stride for i in (0, 4)] == [(1, 1), 1]
    assert {m.dilation for m in finer.modules() if isinstance(m, nn.Conv2d)} == {(1, 1)}


def test_noise_stands_in_for_inputs():
    x = batches((3, 12, 12))[0][0]
    made_up, real = finer_maps(strided()), finer_maps(strided(), x)
    torch.testing.assert_close(maps_of(made_up, x), maps_of(real, x))


def test_a_sparse_classifier_and_its_files(tmp_path):
    data = batches((3, 12, 12))
    model = sparse(strided(), data)
    finer = finer_maps(model, data[0][0])
    before, after = (m.features(data[0][0]).maps for m in (model, finer))
    torch.testing.assert_close(after[..., ::2, ::2], before)
    finer.save(tmp_path)
    again = load(tmp_path, strided())
    torch.testing.assert_close(again.features(data[0][0]).maps, after)
    assert evaluate(again, data, progress=False).to_dict() == (
        evaluate(finer, data, progress=False).to_dict()
    )


def test_sparsify_makes_maps_finer_first(tmp_path):
    model, data = strided(), batches((3, 12, 12))
    before = weights(model)
    made = sparsify(
        model,
        data,
        n_select=4,
        n_per_class=2,
        head={"finer_maps": 1},
        training=None,
        out=tmp_path,
        progress=False,
    )
    direct = collect(finer_maps(model, data[0][0]), data, progress=False)
    assert made.features(data[0][0]).maps.shape[2:] == (5, 5)
    torch.testing.assert_close(
        made.sparse_head.mean.double(), torch.tensor(direct.mean[made.selection])
    )
    assert model[4].stride == 2
    assert all(torch.equal(before[key], value) for key, value in weights(model).items())


def test_wrong_arguments():
    for wanted in ({"steps": 1}, 0, "one", True):
        with pytest.raises(ModelError, match=r"finer_maps may have|stages must be"):
            split_head({"finer_maps": wanted})
    assert split_head({"head": "6", "finer_maps": 2}) == (
        {"head": "6"},
        {"stages": 2},
    )
    with pytest.raises(ModelError, match="no maps"):
        finer_maps(nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2)), torch.rand(2, 3))
