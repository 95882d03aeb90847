"""A tiny run of everything: each method on digits, features and images behind a cut."""

import json

import numpy as np
import pytest
import torch
from PIL import Image

from benchmarks.errors import BenchmarkError
from benchmarks.studies.models import study
from benchmarks.studies.models.methods import METHODS
from benchmarks.studies.models.results import ResultFile
from qpopt_torch.baselines import base, glm_saga, q_senn, sldd

QUICK = {"dense_epochs": 1, "epochs": 1, "time_limit": 0.3, "n_select": 8, "n_per_class": 3}


@pytest.fixture(autouse=True)
def _little(monkeypatch):
    """Three digits, and fits that are soon converged, are enough to see that all runs."""
    monkeypatch.setattr(base, "CHANGE", 1e-1)
    for module in (glm_saga, q_senn, sldd):
        monkeypatch.setattr(module, "N_STRENGTHS", 8)
    datasets = pytest.importorskip("sklearn.datasets")
    images, labels = datasets.load_digits(return_X_y=True)
    kept = np.flatnonzero(labels < 3)[:150]
    monkeypatch.setattr(datasets, "load_digits", lambda **_: (images[kept], labels[kept]))


def run(data, out, given=None, methods=("all",), **options):
    told = []
    study.main(data, methods, [0], given or {}, QUICK | options, out, told.append)
    return "\n".join(told)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_every_method_is_measured_once(tmp_path, monkeypatch):
    text = run(["digits"], tmp_path)
    results = ResultFile(tmp_path).read()
    assert [result.method for result in results] == ["dense", *METHODS]
    for result in results:
        assert 0 <= result.figures["accuracy"] <= 100
        assert result.minutes > 0
    chosen = {r.method: r.figures for r in results}
    assert chosen["optimised"]["features"] == 8
    assert chosen["random assignment"]["per_class"] == 3
    assert "| optimised |" in text
    assert (tmp_path / "models.html").exists()
    # What is there is not measured again.
    monkeypatch.setattr(study, "measured", lambda *_: pytest.fail("measured again"))
    assert "| optimised |" in run(["digits"], tmp_path)


def test_a_dense_network_is_measured_once(tmp_path, monkeypatch):
    measured = study.measured
    judged = []
    monkeypatch.setattr(study, "measured", lambda *own: judged.append(own) or measured(*own))
    text = run(["digits"], tmp_path, methods=["optimised"])
    text = run(["digits"], tmp_path, methods=["optimised"], redundancy=0.0)
    assert len(judged) == 3
    first, _, again, other = ResultFile(tmp_path).read()
    assert (again.figures, again.minutes) == (first.figures, first.minutes)
    assert (again.recipe, first.method) == (other.recipe, "dense")
    assert "| redundancy | accuracy % |" in text


def test_features_that_are_stored(tmp_path):
    chance = np.random.default_rng(0)
    labels = np.repeat(np.arange(4), 20)
    file = tmp_path / "made.npz"
    np.savez(
        file,
        features=chance.normal(size=(80, 12)) + 3 * np.eye(12)[labels],
        labels=labels,
        is_train=np.arange(80) % 2 == 0,
        class_names=[f"c{i}" for i in range(4)],
    )
    options = {"n_select": 6, "hidden": 16, "batch_size": 16}
    given = {"features": file, "validation": 0.3}
    run(["features"], tmp_path, given, ["optimised", "SLDD"], **options)
    dense, ours, sldd = ResultFile(tmp_path).read()
    assert {dense.data, ours.data} == {"made"}
    assert dense.judged_by == "validation"
    assert ours.figures["sid5"] is None  # there are no maps
    assert (ours.figures["features"], sldd.figures["features"]) == (6, 6)


NETWORK = """
from torch import nn

def network():
    layers = [nn.Conv2d(3, 4, 3, 2, 1), nn.ReLU(), nn.Conv2d(4, 4, 3, 2, 1), nn.ReLU()]
    layers += [nn.Conv2d(4, 10, 3, padding=1), nn.ReLU()]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(10, 5))
"""


def test_images_behind_a_cut(tmp_path, monkeypatch):
    chance = np.random.default_rng(0)
    for part in ("train", "test"):
        for c in range(3):
            (folder := tmp_path / "pictures" / part / f"c{c}").mkdir(parents=True)
            for number in range(4):
                pixels = chance.integers(60 * c, 60 * c + 90, (16, 16, 3), dtype=np.uint8)
                Image.fromarray(pixels).save(folder / f"{number}.png")
    (tmp_path / "fivenet.py").write_text(NETWORK)
    monkeypatch.chdir(tmp_path)
    given = {
        "folder": tmp_path / "pictures",
        "network": "fivenet:network",
        "from_layer": "2",
        "size": 16,
    }
    options = {"finer": 1, "views": 3, "batch_size": 4, "n_select": 6}
    run(["images"], tmp_path, given, ["optimised"], **options)
    dense, ours = ResultFile(tmp_path).read()
    assert dense.data == "pictures"
    assert ours.figures["features"] == 6
    assert 20 <= ours.figures["sid5"] <= 100
    kept = {file.name for file in (tmp_path / "work").rglob("*.f16")}
    assert kept == {"plain.f16", "mirrored.f16", "changed1.f16", "test.f16"}
    checkpoint = next((tmp_path / "work").rglob("dense.pt"))
    weights = torch.load(checkpoint, weights_only=True)["model"]
    # The network knew five classes; it has a new head for three, and its first layer is as it was.
    assert next(v for k, v in weights.items() if k.endswith("8.weight")).shape == (3, 10)
    assert json.loads(ours.recipe)["finer"] == 1


def test_what_is_unknown_is_named(tmp_path):
    with pytest.raises(BenchmarkError, match="no data 'digit'"):
        run(["digit"], tmp_path)
    with pytest.raises(BenchmarkError, match="no method 'best'"):
        run(["digits"], tmp_path, methods=["best"])
    for data, said in (("images", "--folder"), ("features", "--features")):
        with pytest.raises(BenchmarkError, match=said):
            run([data], tmp_path)
    for part in ("train", "test"):
        (tmp_path / part / "a").mkdir(parents=True)
        Image.new("RGB", (9, 9)).save(tmp_path / part / "a" / "1.png")
    with pytest.raises(BenchmarkError, match="--network"):
        run(["images"], tmp_path, {"folder": tmp_path})
