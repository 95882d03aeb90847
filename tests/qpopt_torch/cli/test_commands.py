"""Every command on the model that `sparsify` made of a folder of images."""

import json
import re
import subprocess
import sys
from urllib.request import urlopen

import numpy as np
import pytest
import torch
from PIL import Image

import qpopt
import qpopt_torch
from qpopt.cli.runner import BAD_USE
from qpopt_torch.cli.app import COMMANDS, main
from qpopt_torch.data.image_folder import ImageFolder
from qpopt_torch.studio.launch import Opened
from tests.qpopt_torch.cli.conftest import NETWORK

GREY = {"mean": (0.5,) * 3, "std": (0.5,) * 3}


def loader(folder):
    return torch.utils.data.DataLoader(ImageFolder(folder, 12, **GREY), 8)


def test_version(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"qpopt-torch {qpopt.__version__}\n"


@pytest.mark.slow
def test_python_m(made):
    _, model = made
    command = [sys.executable, "-m", "qpopt_torch", "predict", str(model), str(model / "no.png")]
    ran = subprocess.run(command, capture_output=True, text=True)
    assert ran.returncode == BAD_USE
    assert ran.stderr.startswith("qpopt-torch: Cannot read the image")


@pytest.mark.parametrize("name", COMMANDS)
def test_help_has_an_example_with_options_that_exist(name, capsys):
    assert main([name, "--help"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    _, example = COMMANDS[name]
    assert f"Example: qpopt-torch {name}" in shown
    for option in re.findall(r"--[a-z-]+", example):
        assert shown.count(option) >= 2, option


def test_evaluate(made, capsys):
    data, model = made
    assert main(["evaluate", str(model), "--data", str(data), "--json", "--quiet"]) == 0
    found = json.loads(capsys.readouterr().out)
    sparse = qpopt_torch.load(model)
    expected = qpopt_torch.evaluate(
        sparse, loader(data / "test"), loader(data / "train"), progress=False
    )
    assert found == pytest.approx(expected.to_dict(), nan_ok=True)
    assert main(["evaluate", str(model), "--data", str(data / "test"), "--quiet"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("Accuracy ")
    assert f"{100 * expected.accuracy:.1f} %" in shown.splitlines()[0]


def test_report(made, tmp_path, capsys):
    data, model = made
    page = tmp_path / "page.html"
    command = ["report", str(model), "--data", str(data), "--out", str(page), "--quiet"]
    assert main([*command, "--title", "Colours"]) == 0
    assert "<title>Colours</title>" in page.read_text()
    assert main(command) == BAD_USE
    assert "--force replaces it" in capsys.readouterr().err
    assert main([*command, "--force"]) == 0
    assert "<title>A sparse classifier</title>" in page.read_text()
    folder = [*command[:4], "--out", str(tmp_path / "pages"), "--layout", "folder", "--quiet"]
    assert main(folder) == 0
    written = tmp_path / "pages" / "index.html"
    assert capsys.readouterr().out.replace("\n", "").endswith(f"written to {written}")
    assert main(folder) == BAD_USE
    assert f"{written} exists" in capsys.readouterr().err.replace("\n", "")


def test_predict(made, capsys):
    data, model = made
    files = [str(data / "test" / name / "0.png") for name in ("red", "blue")]
    assert main(["predict", str(model), *files, "--json", "--rivals", "1"]) == 0
    found = json.loads(capsys.readouterr().out)
    sparse = qpopt_torch.load(model)
    x = torch.stack([sparse.preprocess(Image.open(file)) for file in files])
    with torch.no_grad():
        logits = sparse(x)
    assert [one["image"] for one in found] == files
    for one, row in zip(found, logits, strict=True):
        best, second = row.topk(2).indices.tolist()
        assert one["class"] == sparse.class_names[best]
        assert one["logit"] == pytest.approx(float(row[best]), abs=1e-4)
        assert [f["feature"] for f in one["features"]] == list(sparse.class_features(best))
        assert sum(f["value"] for f in one["features"]) == pytest.approx(one["logit"], abs=1e-4)
        assert [rival["class"] for rival in one["rivals"]] == [sparse.class_names[second]]
    assert main(["predict", str(model), files[0]]) == 0
    assert f"{files[0]}: {found[0]['class']}" in capsys.readouterr().out


@pytest.mark.parametrize("ending", ["html", "png"])
def test_explain(made, tmp_path, capsys, ending):
    data, model = made
    out = tmp_path / f"red.{ending}"
    command = ["explain", str(model), str(data / "test/red/0.png"), "--out", str(out)]
    assert main(command) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("Decision for ")
    if ending == "png":
        assert np.asarray(Image.open(out)).shape[0] > 100
    else:
        assert shown.splitlines()[0] in out.read_text()
        assert "data:image/png;base64," in out.read_text()
    assert main(command) == BAD_USE
    assert "exists; --force replaces it" in capsys.readouterr().err


def test_sweep(made, capsys):
    data, _ = made
    command = ["sweep", "--model", NETWORK, "--data", str(data), "--size", "12", "--quiet"]
    counts = ["--n-select", "3,4", "--n-per-class", "2", "--no-adapter", "--time-limit", "2"]
    assert main([*command, *counts]) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert [row[:2] for row in rows[1:3]] == [["3", "2"], ["4", "2"]]
    assert rows[3][0] == "dense"


def test_steer(made, tmp_path, capsys):
    data, model = made
    before = qpopt_torch.load(model)
    unwanted, out = int(before.selection[0]), tmp_path / "steered"
    command = ["steer", str(model), "--data", str(data), "--out", str(out), "--quiet"]
    wishes = ["--exclude", str(unwanted), "--epochs", "1", "--lr", "0.0001", "--time-limit", "5"]
    assert main([*command, *wishes]) == 0
    assert f"no longer selected: {unwanted}" in capsys.readouterr().out
    after = qpopt_torch.load(out)
    assert unwanted not in after.selection
    assert len(after.selection) == 4
    assert after.class_names == before.class_names
    assert after.metrics["dense"] == before.metrics["dense"]
    assert len(after.history.epochs) == 1
    # It began with the saved weights: after a small step they are still near.
    moved = (after.network[0].weight - before.network[0].weight).detach().abs().max()
    assert 0 < float(moved) < 0.01
    assert main([*command, *wishes]) == BAD_USE
    assert "holds a model; --force replaces it" in capsys.readouterr().err


def test_steer_states_demands(made, tmp_path, capsys):
    data, model = made
    before = qpopt_torch.load(model)
    lost, name = before.class_features(0)[0], before.class_names[0]
    gained = next(d for d in before.selection.tolist() if d not in before.class_features(1))
    out = tmp_path / "demanded"
    command = ["steer", str(model), "--data", str(data), "--out", str(out), "--quiet"]
    command += ["--training", "none", "--time-limit", "20"]
    assert main([*command, "--forbid", f"{name}:{lost}", "--require", f"1:{gained}"]) == 0
    after = qpopt_torch.load(out)
    assert lost not in after.class_features(0)
    assert gained in after.class_features(1)
    for wrong in (["--forbid", "7"], ["--require", "nobody:1"], ["--pair", "0"]):
        assert main([*command, "--force", *wrong]) == BAD_USE
    assert "--pair takes two classes, such as 3:7" in capsys.readouterr().err


def test_studio(made, tmp_path, capsys, monkeypatch):
    images, model = made
    seen = []

    def look(opened):
        with urlopen(opened.address) as page:
            seen.append(page.read().decode())
        opened.close()

    monkeypatch.setattr(Opened, "wait", look)
    arguments = ["--data", str(images), "--out", str(tmp_path / "kept"), "--no-browser", "--quiet"]
    assert main(["studio", str(model), *arguments, "--title", "Red & blue"]) == 0
    assert "127.0.0.1" in capsys.readouterr().out
    assert "<title>Red &amp; blue</title>" in seen[0]
    assert (tmp_path / "kept" / "studio.json").exists()


def test_export(made, tmp_path, capsys):
    runtime = pytest.importorskip("onnxruntime")
    _, model = made
    out = tmp_path / "model.onnx"
    assert main(["export", str(model), "--onnx", str(out)]) == 0
    assert "onnxruntime and torch differ by" in capsys.readouterr().out
    sparse = qpopt_torch.load(model)
    x = torch.randn(5, 3, 12, 12, generator=torch.Generator().manual_seed(3))
    session = runtime.InferenceSession(out.read_bytes(), providers=["CPUExecutionProvider"])
    (logits,) = session.run(None, {"input": x.numpy()})
    with torch.no_grad():
        np.testing.assert_allclose(logits, sparse(x).numpy(), atol=1e-4)


def test_inspect(capsys):
    assert main(["inspect", "--model", NETWORK, "--n-classes", "3", "--size", "12"]) == 0
    shown = capsys.readouterr().out
    assert "6, a Linear of 6 features" in shown
    assert "6 maps of 10 × 10" in shown
    assert "mean" in shown
    assert "6 (21 parameters) by a selection" in shown
    assert "left out      5" in shown


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["evaluate", "nowhere", "--data", "x"], "nowhere holds no model"),
        (["predict", "MODEL", "nowhere.png"], "Cannot read the image nowhere.png"),
        (["explain", "MODEL", "x.png", "--out", "x.pdf"], "must end in .html or .png"),
        (["explain", "MODEL", "x.png", "--out", "nowhere/x.png"], "nowhere"),
        (["evaluate", "MODEL", "--data", "nowhere"], "nowhere is not a folder"),
        (["evaluate", "MODEL", "--data", "DATA/train/red"], "holds no folders"),
        (["evaluate", "MODEL", "--data", "DATA", "--model", "torch.nn:Linear"], "fails"),
        (["evaluate", "MODEL", "--data", "DATA", "--device", "toaster"], "--device toaster"),
        (["report", "MODEL", "--data", "DATA", "--out", "DATA"], "is a folder; name a file"),
        (["steer", "MODEL", "--data", "DATA", "--out", "MODEL"], "is the model itself"),
        (["steer", "MODEL", "--data", "DATA", "--out", "x", "--exclude", "no"], "--exclude takes"),
        (
            [
                "sweep",
                "--model",
                NETWORK,
                "--data",
                "DATA",
                "--n-select",
                "a",
                "--n-per-class",
                "2",
            ],
            "--n-select takes whole numbers",
        ),
        (["inspect", "--model", NETWORK, "--size", "9" * 40], "--size"),
        (["inspect", "--model", NETWORK, "--n-classes", "9" * 40], "--n-classes"),
        (["evaluate", "MODEL", "--data", "DATA", "--batch-size", "9" * 40], "--batch-size"),
        (["evaluate", "MODEL", "--data", "DATA", "--workers", "9" * 40], "--workers"),
        (["export", "MODEL", "--onnx", "DATA"], "is a folder; name a file"),
        (["inspect", "--model", "torch.nn:Identity"], "qpopt-torch: "),
    ],
)
def test_every_error_takes_one_line(made, capsys, arguments, message):
    data, model = made
    given = [text.replace("MODEL", str(model)).replace("DATA", str(data)) for text in arguments]
    assert main([*given]) == BAD_USE
    printed = capsys.readouterr().err.strip().splitlines()[-1]
    assert printed.startswith("qpopt-torch: ")
    assert message in printed
