"""Scores of hand-made samples, and by their definitions with loops."""

import numpy as np
import pytest

from qpopt_torch import ModelError
from qpopt_torch.sparse.sets.answers import Answers
from qpopt_torch.sparse.sets.depths import Depths
from qpopt_torch.sparse.sets.quantiles import quantile, rank
from qpopt_torch.sparse.sets.scores import (
    PENALTIES,
    SCORES,
    Aps,
    Lac,
    Levels,
    Raps,
    score_from,
)

ASSIGNMENT = np.array([[1, 1, 1, 0, 0], [1, 1, 0, 1, 0], [1, 0, 1, 0, 1], [0, 0, 1, 1, 1]])


def of_shares(*shares):
    """Answers whose softmax is given."""
    logits = np.log(np.array(shares))
    return Answers(logits, np.zeros((len(logits), 5)), np.zeros((logits.shape[1], 5)))


def of_values(values, assignment=ASSIGNMENT):
    values = np.asarray(values, dtype=float)
    return Answers(values @ np.asarray(assignment, dtype=float).T, values, assignment)


def test_lac_and_aps_worked_out():
    answers = of_shares([0.5, 0.3, 0.2], [0.25, 0.5, 0.25])
    assert Lac()(answers) == pytest.approx(np.array([[0.5, 0.7, 0.8], [0.75, 0.5, 0.75]]))
    # Ties count together: both quarters have the sum of all.
    exact = Answers(np.log([[0.25, 0.5, 0.25]]), np.zeros((1, 1)), np.zeros((3, 1)))
    assert Aps()(answers)[0] == pytest.approx([0.5, 0.8, 1.0])
    assert Aps()(exact)[0] == pytest.approx([1.0, 0.5, 1.0])


def test_raps_worked_out():
    answers = of_shares([0.5, 0.3, 0.15, 0.05])
    assert Raps(0.1, 2)(answers)[0] == pytest.approx([0.5, 0.8, 1.05, 1.2])
    exact = Answers(np.zeros((1, 3)), np.zeros((1, 1)), np.zeros((3, 1)))
    assert Raps(0.1, 1)(exact)[0] == pytest.approx([1.2, 1.2, 1.2])


def test_levels_worked_out():
    # Order 0, 1, 2, 3, 4. Class 0 wins; 1 shares two features, 2 one, 3 none.
    answers = of_values([[3.0, 2, 1, 0.5, 0.25]])
    # n = 1: of class 0 the features 2 and 3, of class 1 its second and third, of class 2 its
    # second alone (j = 1), of class 3, which is not in level 1, its first; and it misses one.
    gained = [2 + 1, 2 + 0.5, 1, 1]
    assert Levels(1)(answers)[0] == pytest.approx(
        [1 / (1 + g) + m for g, m in zip(gained, (0, 0, 0, 1), strict=True)]
    )
    # n = 2: class 1 has its third feature, class 2 misses a level and has its second.
    assert Levels(2)(answers)[0] == pytest.approx([1 / 2, 1 / 1.5, 1 + 1 / 2, 2 + 1 / 2])
    # n = 0: what is shared and the next feature.
    assert Levels(0)(answers)[0] == pytest.approx([1 / 7, 1 / 6.5, 1 / 5, 1 / 2])


def test_levels_where_little_is_active():
    # Only feature 0 is active: at level 2 the classes that have it miss nothing.
    answers = of_values([[3.0, 0, 0, 0, 0], [0.0] * 5])
    assert Levels(2)(answers).tolist() == [[1.0, 1.0, 1.0, 2.0], [1.0] * 4]
    # What is below 0 counts as 0.
    below = of_values([[3.0, -1, -2, -3, -4]])
    assert Levels(2)(below).tolist() == [[1.0, 1.0, 1.0, 2.0]]


def by_definition(values, assignment, level):
    """The score of one sample, with lists."""
    depths = Depths.of([values], assignment, [(values @ assignment.T).argmax()])
    shared, active, scores = depths.shared[0], int(depths.active[0]), []
    for c in range(len(assignment)):
        own = [max(0.0, values[d]) for d in depths.order[0, c] if d >= 0]
        j = int(shared[c])
        g = sum(own[level:j]) + (own[j] if j < len(own) else 0.0)
        scores.append(max(0, min(level, active) - j) + 1 / (1 + g))
    return scores


@pytest.mark.parametrize("seed", range(20))
def test_levels_follow_the_definition(seed):
    rng = np.random.default_rng(seed)
    sets = rng.permutation([[0, 1, 2], [0, 1, 3], [0, 2, 4], [1, 2, 3], [2, 3, 4], [0, 3, 4]])
    assignment = np.zeros((5, 5))
    for row, members in zip(assignment, sets, strict=False):
        row[members[: 3 if seed % 2 else int(rng.integers(1, 4))]] = 1
    values = np.maximum(rng.normal(size=(8, 5)), 0 if seed % 3 else -9)
    for level in range(3):
        found = Levels(level)(of_values(values, assignment))
        for row, each in zip(values, found, strict=True):
            assert each == pytest.approx(by_definition(row, assignment, level))
        if seed % 2 and seed % 3:  # the predicted class has the smallest score of all
            winners = (values @ assignment.T).argmax(1)
            assert (found[np.arange(8), winners] <= found.min(1) + 1e-12).all()


def test_what_raps_takes_from_its_samples():
    rng = np.random.default_rng(1)
    logits = rng.normal(size=(60, 6)) * 2
    labels = np.array([rng.choice(6, p=p) for p in np.exp(logits) / np.exp(logits).sum(1)[:, None]])
    answers = Answers(logits, np.zeros((60, 1)), np.zeros((6, 1)))
    score = Raps.fixed(answers, labels, 0.1)
    ranks = sorted((logits[i] >= logits[i, y]).sum() for i, y in enumerate(labels))
    # The upper quantile of 60 ranks: position 0.9 · 59 = 53.1, so the 55th smallest.
    assert score.free_ranks == ranks[54]
    rows = np.arange(60)

    def size(penalty):
        values = Raps(penalty, score.free_ranks)(answers)
        return (values <= quantile(values[rows, labels], 0.1)).sum() / 60

    assert size(score.penalty) == min(map(size, PENALTIES))


def test_what_levels_takes_from_its_samples():
    values = np.tile([3.0, 2, 1, 0.5, 0.25], (20, 1))
    answers = of_values(values)
    # Level 1 holds classes 0, 1, 2; level 2 holds 0, 1. Of 20 samples ⌈21 · 0.9⌉ = 19 are needed.
    assert rank(20, 0.1) == 19
    for n_out, level in ((1, 2), (2, 1)):
        labels = np.array([0] * (20 - n_out) + [2] * n_out)
        assert Levels.fixed(answers, labels, 0.1).level == level
    assert Levels.fixed(answers, np.array([0] * 17 + [3] * 3), 0.1).level == 0
    # The last level is never chosen, however often the model is right.
    assert Levels.fixed(answers, np.zeros(20, dtype=int), 0.1).level == 2


def test_stored_scores():
    for score in (Lac(), Aps(), Raps(0.2, 3), Levels(2)):
        again = score_from(score.name, score.to_dict())
        assert type(again) is type(score)
        assert again.to_dict() == score.to_dict()
    assert list(SCORES) == ["levels", "lac", "aps", "raps"]
    wrong = [("thr", {}), ("lac", {"level": 1}), ("levels", {}), ("levels", {"level": 1.5})]
    for name, values in [*wrong, ("raps", {"penalty": -1.0, "free_ranks": 1})]:
        with pytest.raises(ModelError, match="no score"):
            score_from(name, values)


def test_what_is_not_finite_is_refused():
    with pytest.raises(ModelError, match="not finite"):
        Answers(np.array([[0.0, np.nan]]), np.zeros((1, 2)), np.eye(2))
