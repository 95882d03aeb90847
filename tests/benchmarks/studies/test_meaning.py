from __future__ import annotations

import json

import pytest

from benchmarks.studies import meaning
from benchmarks.studies.meaning import COLUMNS, METHODS, RESULT, Effort, table

LITTLE = Effort(pictures=3, test_pictures=2, epochs=1, fine_tuning=1)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_every_method_is_measured_once(tmp_path, monkeypatch):
    text = meaning.main(1, tmp_path, LITTLE)
    (file,) = tmp_path.glob("seed0-*.json")
    figures = json.loads(file.read_text())
    assert list(figures) == ["dense", *METHODS]
    for method in METHODS:
        assert figures[method].keys() >= {"accuracy", "aligned", "background", "twins"}
        assert 0 <= figures[method]["aligned"] <= 100
    assert "aligned" not in figures["dense"]
    assert (tmp_path / RESULT).read_text() == text
    assert "Seeds 0 to 0" in text
    # What is there is not measured again.
    monkeypatch.setattr(meaning, "measured", lambda *_: pytest.fail("measured again"))
    assert meaning.main(1, tmp_path, LITTLE).splitlines()[0] == text.splitlines()[0]


def test_the_table_has_means_and_extremes():
    found = [
        {"dense": {"accuracy": 99.0}, "ours": {"accuracy": 98.0, "aligned": 70.0, "twins": 20.0}},
        {"dense": {"accuracy": 97.5}, "ours": {"accuracy": 99.0, "aligned": 95.0}},
    ]
    heading, rule, dense, ours = (line.split(" | ") for line in table(found).splitlines())
    assert len(heading) == len(rule) == len(dense) == len(ours) == 1 + len(COLUMNS)
    assert heading[1] == "accuracy %"
    assert dense[:3] == ["| dense", "98.2 (97.5–99.0)", "–"]
    place = list(COLUMNS).index("twins") + 1
    assert (ours[1], ours[2], ours[place]) == ("98.5 (98.0–99.0)", "82 (70–95)", "20")
