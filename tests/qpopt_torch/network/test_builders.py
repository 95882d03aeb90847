import sys
from types import SimpleNamespace
from urllib.error import URLError

import pytest
import safetensors.torch
import torch

from qpopt import InvalidFile
from qpopt_torch import ModelError
from qpopt_torch.network import builders
from qpopt_torch.network.builders import build, load_weights
from tests.qpopt_torch.small import cnn, mlp

HERE = "tests.qpopt_torch.small"


def test_build(torchvision, timm):
    assert build("torchvision:resnet18", 5).fc.out_features == 5
    assert build("timm:resnet10t", 5).fc.out_features == 5
    assert build(f"{HERE}:mlp", 5)[2].out_features == 3
    assert build("tests.qpopt_torch.network.test_builders:with_classes", 5)[2].out_features == 5


def with_classes(num_classes):
    return mlp(n_classes=num_classes)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("resnet50", "must be given as"),
        ("torchvision:", "must be given as"),
        ("torchvision:resnet9", "has no function 'resnet9'"),
        ("timm:resnet9", "timm has no model"),
        ("no_such_package:model", "Cannot import no_such_package"),
        (f"{HERE}:nothing", "has no function 'nothing'"),
        (f"{HERE}:batches", "gives list, not"),
    ],
)
def test_models_that_do_not_exist(torchvision, timm, name, message):
    with pytest.raises(ModelError, match=message):
        build(name, 5)


def test_weights(tmp_path):
    model = mlp()
    torch.nn.init.ones_(model[0].weight)
    state = model.state_dict()
    torch.save(state, tmp_path / "plain.pt")
    torch.save({"epoch": 1, "state_dict": state}, tmp_path / "nested.pt")
    torch.save({f"module.{key}": value for key, value in state.items()}, tmp_path / "parallel.pt")
    safetensors.torch.save_file(state, tmp_path / "w.safetensors")
    for name in ("plain.pt", "nested.pt", "parallel.pt", "w.safetensors"):
        fresh = mlp()
        load_weights(fresh, tmp_path / name)
        assert (fresh[0].weight == 1).all()


def test_weights_that_do_not_fit(tmp_path):
    torch.save(cnn().state_dict(), tmp_path / "other.pt")
    with pytest.raises(ModelError, match=r"do not fit this Sequential: 2 missing .*: 2\.bias, 2"):
        load_weights(mlp(), tmp_path / "other.pt")
    torch.save([1, 2], tmp_path / "list.pt")
    with pytest.raises(InvalidFile, match="no state dictionary"):
        load_weights(mlp(), tmp_path / "list.pt")
    (tmp_path / "text.pt").write_text("hello")
    for name in ("text.pt", "nothing.pt"):
        with pytest.raises(InvalidFile, match="Cannot read weights"):
            load_weights(mlp(), tmp_path / name)


def test_a_package_that_breaks_while_it_is_imported(tmp_path, monkeypatch):
    (tmp_path / "broken_package.py").write_text("raise RuntimeError('operator does not exist')")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModelError, match="Cannot import broken_package: RuntimeError: operator"):
        build("broken_package:model", 3)


def test_a_module_in_the_current_folder(tmp_path, monkeypatch):
    monkeypatch.setattr("sys.path", [path for path in sys.path if path not in ("", ".")])
    (tmp_path / "my_networks.py").write_text(f"from {HERE} import mlp as network")
    monkeypatch.chdir(tmp_path)
    assert build("my_networks:network", 3)[2].out_features == 3


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (URLError("Name or service not known"), "cannot be fetched: URLError: .*--weights"),
        (RuntimeError("no pretrained weights"), "There are no weights for timm:resnet18"),
    ],
)
def test_weights_that_do_not_come(monkeypatch, error, message):
    def create_model(name, *, pretrained):
        raise error

    package = SimpleNamespace(create_model=create_model)
    monkeypatch.setattr(builders, "build", lambda name, n_classes: mlp())
    monkeypatch.setattr(builders, "import_module", lambda name: package)
    with pytest.raises(ModelError, match=message):
        builders.pretrained_model("timm:resnet18", 3)
