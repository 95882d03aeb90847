import json

import numpy as np
import pytest

from qpopt_torch import LoaderError
from qpopt_torch.sparse.sets.coverage import Coverage, set_coherence

MASK = np.array([[1, 0, 0], [1, 1, 0], [1, 1, 1], [0, 1, 0]], dtype=bool)


def test_worked_out(tmp_path):
    found = Coverage.of(MASK, [0, 2, 2, 1], 0.9)
    assert (found.coverage, found.mean_size, found.median_size) == (0.75, 1.75, 1.5)
    assert found.singletons == 0.5
    assert found.class_coverage == (1.0, 1.0, 0.5)
    assert (found.worst_class, found.worst_class_gap) == (2, pytest.approx(0.4))
    assert found.mean_class_gap == pytest.approx((0.1 + 0.1 + 0.4) / 3)
    assert [(s.sizes, s.n_samples, s.coverage) for s in found.strata] == [
        *(("1", 2, 1.0), ("2–3", 2, 0.5), ("4–6", 0, None), ("7–10", 0, None)),
        *(("11–100", 0, None), ("> 100", 0, None)),
    ]
    assert found.worst_stratum_gap is None  # no stratum has twenty samples
    assert found.coherence is None
    found.save(tmp_path / "c.json")
    assert json.loads((tmp_path / "c.json").read_text())["worst_class"] == 2
    assert "75.0 %" in str(found)


def test_only_strata_of_twenty_count():
    mask = np.zeros((41, 5), dtype=bool)
    mask[:21, 0] = True
    mask[21:, :4] = True
    mask[40, 4] = True
    # 21 sets of one, of which 20 hold the class; 20 of four or five, all of which do.
    labels = [0] * 20 + [1] + [0] * 20
    found = Coverage.of(mask, labels, 0.9)
    assert found.worst_stratum_gap == pytest.approx(0.1)
    found = Coverage.of(mask[:40], labels[:40], 0.9)  # 19 of four
    assert found.worst_stratum_gap == pytest.approx(20 / 21 - 0.9)


def test_classes_without_samples():
    found = Coverage.of(MASK, [0, 1, 1, 1], 0.5)
    assert found.class_coverage == (1.0, 1.0, None)
    assert found.mean_class_gap == 0.5
    with pytest.raises(LoaderError, match="without samples"):
        Coverage.of(MASK[:0], [], 0.9)


def test_coherence_worked_out():
    # Sets of two and three: pair (0, 1) at 0.5; pairs 0.5, 0.2, 0.8, each counted both ways.
    similarity = np.array([[9.0, 0.5, 0.2], [0.5, 9, 0.8], [0.2, 0.8, 9]])
    pooled, mean = set_coherence(MASK, similarity)
    assert pooled == pytest.approx((2 * 0.5 + 2 * 1.5) / (2 + 6))
    assert mean == pytest.approx((0.5 + 0.5) / 2)
    pooled, mean = set_coherence(MASK[[1, 2, 2]], similarity + 1)
    assert (pooled, mean) == (pytest.approx(1.5), pytest.approx(1.5))
    assert set_coherence(MASK[[0, 3]], similarity) == (None, None)
    # One-sided similarities are averaged.
    pooled, _ = set_coherence([[True, True]], [[0, 0.2], [0.6, 0]])
    assert pooled == pytest.approx(0.4)
    for wrong in (np.eye(2), "cosine", np.full((3, 3), np.nan)):
        with pytest.raises(LoaderError, match="similarity must be 3 × 3"):
            set_coherence(MASK, wrong)
