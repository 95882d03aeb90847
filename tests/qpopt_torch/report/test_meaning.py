"""What the report says of features whose meaning is known."""

import json
import re
from dataclasses import replace
from types import SimpleNamespace

from torch.utils.data import DataLoader

from qpopt_torch import DrawnBirds
from qpopt_torch.evidence.meaning import meaning_of
from qpopt_torch.metrics.birds.twins import TwinContrast
from qpopt_torch.report.meaning import feature_meaning, meaning_rows, twin_rows
from tests.qpopt_torch.meant import meaning
from tests.qpopt_torch.small import cnn, sparse


def test_a_feature_that_recognises_a_variant():
    assert feature_meaning(meaning(), 0) == {
        "truth": {
            "aligned": True,
            "best": ["red eye", 0.99],
            "second": ["fan tail", 0.5],
            "most": None,
            "without": [2.0, 0.5, 100.0],
            "swapped": [1.0, 0.25, 100.0],
            "pointing": [100.0, 10.0, 3],
        }
    }


def test_a_feature_that_needs_another_part_more():
    assert feature_meaning(meaning(), 1)["truth"]["most"] == "eye"


def test_a_feature_that_recognises_nothing():
    assert feature_meaning(meaning(), 2) == {
        "truth": {"aligned": False, "best": ["yellow eye", 0.7], "second": ["red eye", 0.3]}
    }


def test_rows_of_the_overview():
    rows = {title: value for title, _, value in meaning_rows(meaning())}
    assert rows == {
        "Names confirmed": "1 of 2",
        "Variants found": "2 of 3",
        "Own part taken off": "1.50 | 0.30",
        "Single deletion": "+0.75",
        "Background independence": "90.0 %",
        "Pointing": "88 % | 15 %",
        "Twins": "1 of 2",
    }
    bare = replace(meaning(), effects=(), pointing={}, deletion=-0.25)
    shown = {title: value for title, _, value in meaning_rows(bare)}
    assert shown.keys() == rows.keys() - {"Names confirmed", "Own part taken off", "Pointing"}
    assert shown["Single deletion"] == "−0.25"


def test_twins_told_by_their_part_come_first():
    features, assignment = ("eye", "tail", "thing"), [[0, 1, 1], [1, 1, 0], [0, 1, 1]]
    names = SimpleNamespace(classes=("a", "b", "c"), features=features)
    worse, better = TwinContrast(0, 1, "eye", (0, 2), 1), TwinContrast(1, 2, "wing", (0, 2), 2)
    evidence = SimpleNamespace(names=names, assignment=assignment)
    first, second = twin_rows(replace(meaning(), twins=(worse, better)), evidence)
    assert first == {
        "classes": [1, 2],
        "names": ["b", "c"],
        "part": "wing",
        "features": [["eye"], ["thing"]],
        "of_part": 2,
        "n": 2,
    }
    assert second["classes"] == [0, 1]
    assert second["features"] == [["thing"], ["eye"]]
    assert twin_rows(None, evidence) == []


def test_without_truth_nothing_is_said():
    assert feature_meaning(None, 0) == {}
    assert meaning_rows(None) == []


def test_the_report_of_drawn_birds_says_what_features_mean(tmp_path):
    birds = DrawnBirds(4, 2, size=32, pairs=1.0)
    loader = DataLoader(birds, 4)
    model = sparse(cnn(), loader)
    page = model.report(tmp_path / "birds.html", loader, progress=False).read_text()
    data = json.loads(re.search(r'id="data">(.*?)</script>', page, re.DOTALL)[1])
    found = meaning_of(model, birds, progress=False)
    names = found.names(model.selection)
    for j, feature in enumerate(data["features"]):
        assert feature["truth"] == feature_meaning(found, j)["truth"]
        assert feature["name"] == names.get(model.selection[j], f"Feature {model.selection[j]}")
    assert "What the features mean" in page
    assert f"{found.n_told} of 2" in page
