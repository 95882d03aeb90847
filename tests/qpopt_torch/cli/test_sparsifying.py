from pathlib import Path

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
        (["--device", "cuda"], "--device cuda cannot be used here"),
        (["--device", "cuda:9"], "--device cuda:9 cannot be used here"),
        (["--device", "meta"], "--device meta cannot be used here"),
        (["--device", "toaster"], "--device toaster cannot be used here"),
        (["--out", str(Path(__file__))], "Cannot make the directory"),
        (["--out", str(Path(__file__) / "x")], "Cannot make the directory"),
        (["--out", "/dev/null"], "Cannot make the directory"),
        (["--data", "nowhere"], "nowhere/train is not a folder"),
        (["--data", str(Path(__file__))], "train is not a folder"),
        (["--weights", str(Path(__file__))], "Cannot read weights"),
        (["--weights", str(Path(__file__).parent)], "Cannot read weights"),
        (["--bias", "middle"], "bias must be locality"),
        (["--method", "quick", "--dense-epochs", "999999"], "quick"),
        (["--bias", "middle", "--dense-epochs", "999999"], "bias must be locality"),
        (["--n-per-class", "9", "--dense-epochs", "999999"], "n_per_class is 9"),
        *[
            ([f"--{name}", value], f"--{name}")
            for name in ("n-select", "n-per-class", "size", "batch-size")
            for value in ("0", "-1", "1.5", "many", "")
        ],
        *[
            ([f"--{name}", value], f"--{name}")
            for name in ("epochs", "dense-epochs", "workers", "seed", "lr", "time-limit")
            for value in ("-1", "many", "")
        ],
        (["--training", "half"], "--training"),
        (["--model", "os:getcwd"], "not a torch.nn.Module"),
        (["--model", "nowhere.at.all:model"], "Cannot import nowhere.at.all"),
        (["--model", "torch.nn:Nothing"], "no function 'Nothing'"),
        (["--model", "torch.nn:Linear"], "fails"),
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
