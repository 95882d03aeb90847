"""Files of the shape that the authors' code saves, made here."""

import numpy as np
import pytest
import torch
from torch import nn

from qpopt import InvalidFile
from qpopt_torch import ModelError, load, load_published

N_CLASSES, N_FEATURES, SELECTED = 6, 512, torch.tensor([7, 3, 500, 41])


@pytest.fixture(scope="module")
def resnet(torchvision):
    """A function that builds the smallest ResNet: one block a stage."""
    resnet = torchvision.models.resnet

    def build(num_classes=1000):
        return resnet.ResNet(resnet.BasicBlock, [1, 1, 1, 1], num_classes=num_classes)

    return build


@pytest.fixture(scope="module")
def state(resnet):
    torch.manual_seed(0)
    weights = {k: v for k, v in resnet().state_dict().items() if not k.startswith("fc.")}
    sets = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]
    layer = torch.zeros(N_CLASSES, 4)
    for c, members in enumerate(sets):
        layer[c, list(members)] = 1
    scale = {"linear.mean": torch.rand(4), "linear.std": torch.rand(4) + 0.5}
    own = {"linear.selection": SELECTED, "linear.layer.weight": layer, **scale}
    return weights | own


def saved(state, folder, name="qpm_4_2_FinetunedModel.pth"):
    torch.save(state, folder / name)
    return folder / name


def by_hand(model, state, x, reduced, relu):
    """The logits, computed from the maps of a ResNet whose strides are set by hand."""
    model.load_state_dict({k: v for k, v in state.items() if "linear" not in k}, strict=False)
    for block in (model.layer3[0], model.layer4[0]) if reduced else ():
        block.conv1.stride = block.downsample[0].stride = (1, 1)
    body = nn.Sequential(*list(model.children())[:-2]).eval()
    with torch.no_grad():
        maps = body(x)[:, state["linear.selection"]]
        z = (maps.mean((2, 3)) - state["linear.mean"]) / state["linear.std"]
        return (z.relu() if relu else z) @ state["linear.layer.weight"].T, maps


@pytest.mark.parametrize(("kind", "relu"), [("qpm", False), ("chiqpm", True)])
def test_by_hand(resnet, state, tmp_path, kind, relu):
    x = torch.randn(2, 3, 64, 64, generator=torch.Generator().manual_seed(1))
    path = saved(state, tmp_path, f"{kind}_4_2_FinetunedModel.pth")
    model = load_published(path, resnet())
    logits, maps = by_hand(resnet(), state, x, True, relu)
    with torch.no_grad():
        seen = model.features(x)
    torch.testing.assert_close(seen.logits, logits, rtol=1e-4, atol=1e-4)
    order = torch.argsort(SELECTED)
    torch.testing.assert_close(seen.maps, maps[:, order], rtol=1e-4, atol=1e-4)
    assert seen.maps.shape[2:] == (8, 8)
    assert model.selection.tolist() == [3, 7, 41, 500]
    # Class 0 has the features 7 and 3 of the file's own order.
    assert model.class_features(0) == (3, 7)


def test_it_can_be_told_and_saved_as_ours(resnet, state, tmp_path):
    x = torch.randn(2, 3, 64, 64, generator=torch.Generator().manual_seed(1))
    path = saved(state, tmp_path, "mine.pth")
    with pytest.raises(ModelError, match="pass strides=True or False"):
        load_published(path, resnet())
    for reduced in (False, True):
        model = load_published(path, resnet(), strides=reduced, relu=True)
        expected, _ = by_hand(resnet(), state, x, reduced, True)
        model.save(tmp_path / "ours")
        again = load(tmp_path / "ours", resnet(num_classes=N_CLASSES))
        with torch.no_grad():
            torch.testing.assert_close(again(x), expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"linear.mean": None}, InvalidFile, "linear.mean is missing"),
        ({"linear.mean": torch.rand(3)}, InvalidFile, "do not fit together"),
        ({"linear.layer.bias": torch.rand(6)}, InvalidFile, "SLDD and Q-SENN"),
        ({"linear.selection": torch.tensor([1, 2, 3, 600])}, InvalidFile, "beyond the 512"),
        ({"linear.layer.weight": torch.rand(6, 4)}, InvalidFile, "other than 0, 1"),
        ({"layer4.2.conv1.weight": torch.rand(1)}, ModelError, "unknown to the model"),
        ({"conv1.weight": torch.rand(64, 3, 3, 3)}, ModelError, "of another shape"),
    ],
)
def test_what_does_not_fit(resnet, state, tmp_path, change, error, message):
    wrong = {k: v for k, v in (state | change).items() if v is not None}
    with pytest.raises(error, match=message):
        load_published(saved(wrong, tmp_path), resnet())


def test_other_files_and_models(resnet, state, tmp_path):
    (tmp_path / "qpm_text.pth").write_text("no model")
    with pytest.raises(InvalidFile, match="Cannot read"):
        load_published(tmp_path / "qpm_text.pth", resnet())
    np.save(tmp_path / "qpm.npy", np.zeros(3))
    with pytest.raises(ModelError, match="a ResNet of torchvision"):
        load_published(saved(state, tmp_path), nn.Linear(2, 3))
    with pytest.raises(ModelError, match="relu must be"):
        load_published(saved(state, tmp_path), resnet(), relu="yes")
