"""Folders that say how their model is built, used and how good it is."""

import json

import pytest
import torch
from PIL import Image
from torch import nn
from torch.utils.data import DataLoader

import qpopt_torch
from qpopt_torch import FineTuning, ModelError, Preprocessing, evaluate, sparsify
from tests.qpopt_torch.small import batches, cnn

HERE = "tests.qpopt_torch.pipeline.test_loading"
DATA = batches()
X = DATA[0][0]


def network(num_classes: int, width: int = 8) -> nn.Module:
    return cnn(n_features=width, n_classes=num_classes, seed=7)


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made") / "out"
    made = sparsify(
        qpopt_torch.build(f"{HERE}:network", 4, width=6),
        DATA,
        n_select=4,
        n_per_class=2,
        val_loader=DATA,
        training=FineTuning(epochs=2, lr=1e-3),
        solve={"time_limit": 5},
        out=folder,
        progress=False,
    )
    return folder, made


def test_no_model_is_needed(saved):
    folder, made = saved
    again = qpopt_torch.load(folder)
    assert torch.equal(again(X), made(X))
    assert again.record == made.record
    assert again.record.input_shape == (3, 9, 9)


def test_metrics_and_history_are_kept(saved):
    folder, made = saved
    assert made.metrics["sparse"] == evaluate(made, DATA, progress=False)
    again = qpopt_torch.load(folder)
    assert again.metrics == made.metrics
    assert [epoch["epoch"] for epoch in again.history.epochs] == [1, 2]
    told = json.loads((folder / "config.json").read_text())
    assert told["manifest"] == json.loads((folder / "manifest.json").read_text())["call"]
    assert told["versions"]["torch"] == torch.__version__
    shown = f"{100 * made.metrics['dense'].accuracy:.1f} %"
    assert shown in (folder / "README.md").read_text()
    page = made.report(folder / "report.html", DATA, progress=False).read_text()
    assert '<th scope="col" class="number">Dense</th>' in page


def test_a_class_of_yours_must_be_passed(tmp_path):
    made = sparsify(
        cnn(), DATA, n_select=4, n_per_class=2, training=None, out=tmp_path, progress=False
    )
    assert made.history is None
    with pytest.raises(ModelError, match="Sequential, a class of yours, but not how") as raised:
        qpopt_torch.load(tmp_path)
    assert f"qpopt_torch.load({str(tmp_path)!r}, model)" in str(raised.value)
    assert torch.equal(qpopt_torch.load(tmp_path, cnn(seed=3))(X), made(X))


def test_what_cannot_be_built_is_said(saved, tmp_path):
    _, made = saved
    made.network.specification = "nowhere.at.all:model"
    try:
        made.save(tmp_path)
    finally:
        made.network.specification = qpopt_torch.Specification(f"{HERE}:network", {"width": 6})
    with pytest.raises(ModelError, match=r"cannot be built; pass it.*nowhere\.at\.all"):
        qpopt_torch.load(tmp_path)


def test_images_become_inputs(saved, tmp_path):
    _, made = saved
    with pytest.raises(ModelError, match="not known how an image becomes an input"):
        made.preprocess(Image.new("RGB", (20, 10)))
    for name in ("a", "b", "c", "d"):
        (tmp_path / "data" / name).mkdir(parents=True)
        Image.new("RGB", (20, 10), "red").save(tmp_path / "data" / name / "1.png")
    folder = qpopt_torch.data.ImageFolder(tmp_path / "data", 9)
    sparse = sparsify(
        cnn(),
        DataLoader(folder, 4),
        n_select=4,
        n_per_class=2,
        training=None,
        out=tmp_path / "out",
        progress=False,
    )
    assert sparse.record.preprocessing == Preprocessing(9)
    again = qpopt_torch.load(tmp_path / "out", cnn(seed=3))
    with Image.open(folder.files[0][0]) as image:
        assert torch.equal(again.preprocess(image), folder[0][0])
