from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from benchmarks.studies import levels
from benchmarks.studies.levels import HEADS, digits
from qpopt_torch import DenseTraining, FineTuning
from qpopt_torch.sparse.sets.scores import SCORES


def little(seed):
    """A study of a few digits and a network that hardly learns."""
    study = digits(seed)

    def network(n_classes):
        layers = nn.Conv2d(1, 12, 3, stride=2), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten()
        return nn.Sequential(*layers, nn.Linear(12, n_classes))

    return replace(
        study,
        train=tuple(part[:200] for part in study.train),
        network=network,
        dense=DenseTraining(epochs=1, decay_every=1, lr=0.02),
        tuning=FineTuning(epochs=1, decay_every=1, lr=1e-3),
        counts={"n_select": 5, "n_per_class": 2},
    )


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_three_tables(tmp_path, monkeypatch):
    monkeypatch.setitem(levels.STUDIES, "digits", little)
    text = levels.main("digits", 0, tmp_path)
    assert (tmp_path / "digits-0.md").read_text() == text
    *tables, last = text.strip().split("\n\n")
    rows = [[line.strip("| ").split(" | ") for line in table.splitlines()] for table in tables]
    assert last.startswith("digits, seed 0, ")
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


def test_the_known_classes_alone():
    study = digits(1)
    known = study.known()
    assert set(known.train[1].tolist()) == set(known.calibration[1].tolist()) == set(range(8))
    assert set(study.test[1].tolist()) == set(range(10))
    halves = len(study.calibration[1]), len(study.test[1])
    assert abs(halves[0] - halves[1]) <= 5
    assert np.allclose(np.diag(study.similarity), 1)
    assert torch.equal(known.train[0], study.train[0][study.train[1] < 8])
