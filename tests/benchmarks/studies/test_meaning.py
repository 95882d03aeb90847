from __future__ import annotations

import json

import pytest

from benchmarks.studies import meaning
from benchmarks.studies.meaning import (
    METHODS,
    N_PER_CLASS,
    N_SELECT,
    RESULT,
    ROWS,
    Effort,
    Task,
    rival,
    table,
)

LITTLE = Effort(pictures=2, test_pictures=1, epochs=1, fine_tuning=1)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_every_method_is_measured_once(tmp_path, monkeypatch):
    quick = {name: METHODS[name] for name in ("optimised", "random assignment")}
    first = {"optimised": quick["optimised"]}
    monkeypatch.setattr(meaning, "METHODS", first)
    monkeypatch.setattr(meaning, "TIME_LIMIT", 0.5)
    meaning.main(1, tmp_path, LITTLE)
    (file,) = tmp_path.glob("seed0-*.json")
    before = json.loads(file.read_text())
    assert list(before) == ["dense", *first]
    # What is there is not made again, neither the network nor the figures.
    monkeypatch.setattr(meaning, "METHODS", quick | {"optimised": None})
    monkeypatch.setattr(meaning, "train_dense", None)
    text = meaning.main(1, tmp_path, LITTLE)
    figures = json.loads(file.read_text())
    assert list(figures) == ["dense", *quick]
    assert {name: figures[name] for name in before} == before
    for method in quick:
        assert figures[method].keys() >= {"accuracy", "aligned", "background", "twins"}
        assert 0 <= figures[method]["aligned"] <= 100
    assert "aligned" not in figures["dense"]
    assert (tmp_path / RESULT).read_text() == text
    assert "Seeds 0 to 0" in text


def test_rivals_get_the_same_network_counts_and_training():
    given = {}
    task = Task("network", "loader", None, None, "tuning", 3)
    assert rival(lambda *args, **options: given.update(args=args, **options))(task) is None
    assert given["args"] == ("network", "loader")
    assert (given["n_select"], given["n_per_class"]) == (N_SELECT, N_PER_CLASS)
    assert (given["training"], given["seed"]) == ("tuning", 3)


def test_the_table_has_means_and_extremes():
    found = [
        {
            "dense": {"accuracy": 99.0},
            "ours": {"accuracy": 98.0, "part_alignment": 70.0, "twins": 20.0},
        },
        {"dense": {"accuracy": 97.5}, "ours": {"accuracy": 99.0, "part_alignment": 95.0}},
    ]
    heading, rule, *rows = (line.strip("| ").split(" | ") for line in table(found).splitlines())
    assert heading == ["dense", "ours"]
    assert len(rule) == 3
    told = {title: values for title, *values in rows}
    assert list(told) == [title for title, _ in ROWS.values()]
    assert told["accuracy %"] == ["98.2 (97.5–99.0)", "98.5 (98.0–99.0)"]
    assert told["aligned %"] == ["–", "82 (70–95)"]
    assert told["twins %"] == ["–", "20"]
