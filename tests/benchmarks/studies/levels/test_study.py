from __future__ import annotations

import pytest

from benchmarks.errors import BenchmarkError
from benchmarks.studies.levels import study
from benchmarks.studies.levels.study import HEADS, averaged
from qpopt_torch.sparse.sets.scores import SCORES
from tests.benchmarks.studies.levels.little import little


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_three_tables(tmp_path, monkeypatch):
    monkeypatch.setitem(study.STUDIES, "digits", little)
    parts = ["heads", "sets", "unknown"]
    text = study.main("digits", [0], parts, {}, tmp_path)
    assert (tmp_path / "digits.md").read_text() == text
    *tables, last = text.strip().split("\n\n")
    rows = [[line.strip("| ").split(" | ") for line in table.splitlines()] for table in tables]
    assert last.startswith("digits, seeds 0, ")
    heads, sets, unknown = (part[2:] for part in rows)
    assert [row[0] for row in heads] == ["dense", *HEADS]
    for row in heads[1:]:
        held = [float(value) for value in row[4:]]
        assert held == sorted(held, reverse=True)
    assert [row[0] for row in sets] == [*SCORES, *SCORES]
    assert all(1 <= float(row[3]) <= 10 for row in sets)
    # What is asked for at 95 % holds no less than at 90 %.
    for score in SCORES:
        at = [float(row[2]) for row in sets if row[0] == score]
        assert at[1] >= at[0] - 5
    assert [row[0] for row in unknown][:3] == ["evidence", *(r[0] for r in unknown[1:3])]
    assert all(0 <= float(row[1]) <= 100 for row in unknown[:3])
    # What was measured is read again, and nothing is trained for it.
    monkeypatch.setitem(study.STUDIES, "digits", None)
    assert study.main("digits", [0], parts, {}, tmp_path).split("commit")[0] in text


def test_means_over_seeds():
    first = [["head", "accuracy"], ["plain", "90.0"], ["ReLU", "–"], ["sets", "1.25"]]
    second = [["head", "accuracy"], ["plain", "92.0"], ["ReLU", "–"], ["sets", "1.75"]]
    assert averaged([first]) == averaged([first, first]) == first
    assert averaged([first, second]) == [
        *(["head", "accuracy"], ["plain", "91.0 ± 1.0"]),
        *(["ReLU", "–"], ["sets", "1.50 ± 0.25"]),
    ]
    # A seed in which nothing was there does not count.
    assert averaged([[["–"]], [["0.50"]], [["0.70"]]]) == [["0.60 ± 0.10"]]


def test_what_is_not_known(tmp_path):
    with pytest.raises(BenchmarkError, match="data must be one of digits, birds, images"):
        study.main("cars", [0], ["heads"], {}, tmp_path)
    with pytest.raises(BenchmarkError, match="no part 'tails'; there are heads, sets, unknown"):
        study.main("digits", [0], ["tails"], {}, tmp_path)
    with pytest.raises(BenchmarkError, match="Images need --from-layer"):
        study.main("images", [0], ["heads"], {}, tmp_path)
