import numpy as np
import pytest
from PIL import Image
from torch import nn

import qpopt_torch
from qpopt.cli.runner import BAD_USE, INTERRUPTED
from qpopt_torch.cli.app import main
from tests.qpopt_torch.small import cnn


def network(num_classes: int) -> nn.Module:
    return cnn(n_features=6, n_classes=num_classes)


@pytest.fixture
def data(tmp_path):
    """Three classes of small images that differ in their colour."""
    rng = np.random.default_rng(0)
    for part, n in (("train", 8), ("test", 4)):
        for c, name in enumerate(("red", "green", "blue")):
            folder = tmp_path / "data" / part / name
            folder.mkdir(parents=True)
            for i in range(n):
                pixels = rng.integers(80, size=(16, 16, 3), dtype=np.uint8)
                pixels[..., c] += 120
                Image.fromarray(pixels).save(folder / f"{i}.png")
    return tmp_path / "data"


def arguments(data, tmp_path, *more):
    model = "tests.qpopt_torch.cli.test_sparsifying:network"
    fixed = ["--n-select", "4", "--n-per-class", "2", "--size", "12", "--batch-size", "8"]
    places = ["--model", model, "--data", str(data), "--out", str(tmp_path / "out")]
    return ["sparsify", *places, *fixed, "--quiet", "--time-limit", "5", *more]


def test_a_folder_of_images_is_enough(data, tmp_path, capsys):
    more = ["--dense-epochs", "2", "--epochs", "2", "--lr", "0.001"]
    assert main(arguments(data, tmp_path, *more)) == 0
    printed = capsys.readouterr().out
    assert "dense" in printed
    assert "with 4 features, 2 per class" in printed
    sparse = qpopt_torch.load(tmp_path / "out", network(3))
    assert sparse.class_names == ("blue", "green", "red")
    assert len(sparse.class_features("red")) == 2


def test_frozen(data, tmp_path):
    assert main(arguments(data, tmp_path, "--training", "frozen", "--adapter", "mlp")) == 0
    sparse = qpopt_torch.load(tmp_path / "out", network(3))
    assert sparse.sparse_head.adapter.mlp is not None


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--n-select", "40"], "only 6 features"),
        (["--finer-maps", "1"], "makes feature maps smaller"),
        (["--model", "torchvision"], "must be given as"),
        (["--weights", "nothing.pt"], "Cannot read weights"),
        (["--head", "nothing"], "no module 'nothing'"),
        (["--training", "frozen", "--adapter", "deep"], "adapter must be linear or mlp"),
        (["--adapter", "mlp"], "--adapter does not go with --training full"),
        (["--training", "none", "--epochs", "3"], "--epochs does not go with --training none"),
        (["--no-such-option"], "No such option"),
    ],
)
def test_every_error_takes_one_line(data, tmp_path, capsys, more, message):
    assert main(arguments(data, tmp_path, *more)) == BAD_USE
    printed = capsys.readouterr().err.strip()
    assert printed.startswith("qpopt-torch: ")
    assert message in printed
    assert "\n" not in printed


def test_classes_must_agree(data, tmp_path, capsys):
    (data / "test" / "red").rename(data / "test" / "rot")
    assert main(arguments(data, tmp_path)) == BAD_USE
    assert "different classes, for example red" in capsys.readouterr().err


def test_an_interruption(data, tmp_path, capsys, monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("qpopt_torch.cli.sparsifying.sparsify", interrupt)
    assert main(arguments(data, tmp_path)) == INTERRUPTED
    assert "call it again to continue" in capsys.readouterr().err
