"""Sets that promise to hold the true class, and whether they do."""

import numpy as np
import pytest
import torch

from qpopt_torch import LoaderError, ModelError, conformal, fine_tune, load
from qpopt_torch.sparse.sets.answers import Answers, answers_of
from qpopt_torch.sparse.sets.calibration import calibrated
from qpopt_torch.sparse.sets.coverage import Coverage
from qpopt_torch.sparse.sets.predictor import Predictor
from qpopt_torch.training.settings import FineTuning
from tests.qpopt_torch.small import batches, cnn, sparse

SCORES = ("levels", "lac", "aps", "raps")
SETS = [[0, 1, 2], [0, 1, 3], [2, 3, 4], [3, 4, 5], [0, 4, 5], [1, 2, 6], [4, 6, 7], [5, 6, 7]]


def assignment(n_classes=8, n_features=8):
    rows = np.zeros((n_classes, n_features), dtype=bool)
    for row, members in zip(rows, SETS, strict=False):
        row[members] = True
    return rows


def drawn(rng, n, relu=True, n_classes=8):
    """Samples whose features are higher where their class has them, and hard to tell apart."""
    rows, labels = assignment(n_classes), rng.integers(0, n_classes, n)
    values = rng.normal(size=(n, 8)) + 1.2 * rows[labels]
    values = np.maximum(values, 0) if relu else values
    return Answers(values @ rows.T.astype(float), values, rows), labels


@pytest.mark.parametrize("by_class", [False, True])
@pytest.mark.parametrize("score", SCORES)
def test_a_thousand_splits_hold_the_promise(score, by_class):
    """The promise is of the mean over calibration sets; what is measured may miss it by chance."""
    rng = np.random.default_rng([SCORES.index(score), by_class])
    n, alpha = (96 if by_class else 40), 0.2
    shares, sizes = [], []
    for _ in range(1000):
        answers, labels = drawn(rng, n + 20, relu=bool(rng.integers(2)))
        found = calibrated(
            answers[:n], labels[:n], alpha, score, by_class, seed=int(rng.integers(9))
        )
        mask = Predictor(None, found).sets_of(answers[n:]).mask
        shares.append(mask[np.arange(20), labels[n:]].mean())
        sizes.append(mask.sum(axis=1).mean())
    error = np.std(shares) / np.sqrt(len(shares))
    assert np.mean(shares) >= 1 - alpha - 3 * error
    assert np.mean(sizes) < (7.9 if by_class else 6)  # not by holding everything
    if not by_class and score != "aps":
        assert np.mean(shares) < 1 - alpha + 0.09


def test_every_class_by_itself():
    """Where one class is harder, only the promise by class holds for it."""
    rng = np.random.default_rng(3)
    held = {False: [], True: []}
    for _ in range(150):
        answers, labels = drawn(rng, 500)
        answers.values[labels == 0] = np.maximum(rng.normal(size=((labels == 0).sum(), 8)), 0)
        answers = Answers(answers.evidence, answers.values, answers.assignment)
        for by_class, shares in held.items():
            found = calibrated(answers[:300], labels[:300], 0.2, "lac", by_class)
            mask = Predictor(None, found).sets_of(answers[300:]).mask
            shares += mask[labels[300:] == 0, 0].tolist()
    error = 0.4 / np.sqrt(len(held[True]) / 20)  # samples of one split are not independent
    assert np.mean(held[True]) >= 0.8 - 3 * error
    assert np.mean(held[False]) < 0.6


def test_few_of_a_class_means_always():
    rng = np.random.default_rng(0)
    answers, labels = drawn(rng, 400)
    labels = np.where(labels == 5, 4, labels)
    labels[:3] = 5
    found = calibrated(answers, labels, 0.2, "aps", by_class=True)
    predictor = Predictor(None, found)
    assert predictor.always == (5,)  # three, and four are needed
    assert predictor.sets_of(answers).mask[:, 5].all()
    labels[3] = 5
    assert Predictor(None, calibrated(answers, labels, 0.2, "aps", by_class=True)).always == ()


@pytest.mark.parametrize(("alpha", "needed"), [(0.1, 9), (0.05, 19), (0.01, 99)])
@pytest.mark.parametrize("score", SCORES)
def test_too_few_samples(score, alpha, needed):
    answers, labels = drawn(np.random.default_rng(0), 400)
    enough = needed if score in ("lac", "aps") else 2 * needed
    calibrated(answers[:enough], labels[:enough], alpha, score)
    with pytest.raises(LoaderError, match=rf"at least {needed} .*there are {enough - 1}\."):
        calibrated(answers[: enough - 1], labels[: enough - 1], alpha, score)
    with pytest.raises(LoaderError, match=f"at least {needed} calibration samples of a class"):
        calibrated(answers[:enough], labels[:enough], alpha, score, by_class=True)


def test_sets_hold_the_prediction_and_are_in_order():
    rng = np.random.default_rng(1)
    calibration, labels = drawn(rng, 200)
    answers, _ = drawn(rng, 300)
    for score in SCORES:
        predictor = Predictor(None, calibrated(calibration, labels, 0.1, score))
        found = predictor.sets_of(answers)
        values = predictor.calibration.score(answers)
        for own, inside, row, c in zip(
            found.sets, found.mask, values, answers.predicted, strict=True
        ):
            assert own[0] == c
            assert set(own) == set(np.flatnonzero(inside))
            assert (np.diff(row[list(own[1:])]) >= 0).all()
    # A prediction that no score would let in is in its set by itself.
    never = calibrated(calibration, labels, 0.1, "lac")
    never.scores[:] = -1.0
    found = Predictor(None, never).sets_of(answers)
    assert found.sets == [(int(c),) for c in answers.predicted]


def test_quantiles_worked_out():
    """Nine samples at α = 0.1: the largest score of a true class is the limit."""
    answers, labels = drawn(np.random.default_rng(2), 9)
    found = calibrated(answers, labels, 0.1, "lac")
    shares = np.exp(answers.logits) / np.exp(answers.logits).sum(axis=1, keepdims=True)
    scores = 1 - shares[np.arange(9), labels]
    limits = Predictor(None, found).limits
    assert limits == pytest.approx(np.full(8, scores.max()))
    # At α = 0.3 it is the ⌈10 · 0.7⌉ = 7th.
    assert found.quantiles(0.3) == pytest.approx(np.full(8, np.sort(scores)[6]))


def test_halves_are_apart(monkeypatch):
    """What sets the quantile is not what fixed the score."""
    answers, labels = drawn(np.random.default_rng(4), 101)
    found = calibrated(answers, labels, 0.1, "levels", seed=5)
    order = np.random.default_rng(5).permutation(101)
    assert (found.n_first, len(found.scores)) == (50, 51)
    second = order[50:]
    scores = found.score(answers[second])
    assert found.scores == pytest.approx(scores[np.arange(51), labels[second]])
    assert found.labels.tolist() == labels[second].tolist()


def test_one_class():
    answers = Answers(np.ones((30, 1)), np.ones((30, 2)), np.ones((1, 2), dtype=bool))
    for score in SCORES:
        found = Predictor(None, calibrated(answers, np.zeros(30, dtype=int), 0.1, score))
        assert found.sets_of(answers).sets == [(0,)] * 30
        mask = found.sets_of(answers).mask
        assert Coverage.of(mask, np.zeros(30, dtype=int), 0.9).coverage == 1


def test_all_scores_equal(caplog):
    answers = Answers(np.zeros((30, 4)), np.zeros((30, 8)), assignment(4))
    for score in SCORES:
        caplog.clear()
        found = Predictor(None, calibrated(answers, np.arange(30) % 4, 0.1, score))
        assert found.sets_of(answers).mask.all()
        assert "All scores of all samples are equal" in caplog.text


def test_what_is_turned_away():
    """At most α of a class's samples, in the mean over calibration sets, lie below its limit."""
    rng, shares = np.random.default_rng(6), []
    for _ in range(300):
        answers, labels = drawn(rng, 260)
        found = calibrated(answers[:200], labels[:200], 0.1, "lac", abstain=0.1)
        evidence = answers.evidence[np.arange(200, 260), labels[200:]]
        shares.append((evidence < found.least[labels[200:]]).mean())
    assert np.mean(shares) <= 0.1 + 3 * np.std(shares) / np.sqrt(300)
    assert np.mean(shares) > 0.03


def test_of_a_model(tmp_path):
    data, model = batches(sizes=(30, 30)), sparse()
    answers, labels = answers_of(model, data, title="", progress=False)
    x = torch.cat([x for x, _ in data])
    torch.testing.assert_close(torch.tensor(answers.logits).float(), model(x))
    assert np.allclose(answers.evidence, answers.logits, atol=1e-4)
    predictor = conformal(model, data, alpha=0.1, score="levels", progress=False)
    assert model.predictor is predictor
    assert repr(predictor).endswith("calibrated on 30 + 30 samples)")
    found = predictor(x)
    assert found.mask.shape == (60, 4)
    assert found.mask.any(axis=1).all()
    decided, guesses = predictor.decide(x), model(x).argmax(1).tolist()
    assert all(c is None or c == guess for c, guess in zip(decided, guesses, strict=True))
    away = [
        e < predictor.calibration.least[c]
        for e, c in zip(answers.evidence.max(1), guesses, strict=True)
    ]
    assert [c is None for c in decided] == away
    measured = predictor.evaluate(data, similarity=np.eye(4), progress=False)
    assert measured == Coverage.of(
        found.mask, labels, 0.9, np.eye(4), turned_away=float(np.mean(away))
    )
    levels = model.calibrate_levels(data, progress=False)
    model.save(tmp_path)
    again = load(tmp_path, cnn())
    assert again.level_shares == levels
    assert again.predictor(x).sets == found.sets
    assert again.predictor.decide(x) == decided
    assert again.predictor.calibration.to_dict() == predictor.calibration.to_dict()
    # One sample is a batch of one.
    assert predictor(x[:1]).sets == found.sets[:1]


def test_other_weights_are_not_taken_for_calibrated(tmp_path, caplog):
    data, model = batches(sizes=(30, 30)), sparse()
    model.calibrate_levels(data, progress=False)
    conformal(model, data, score="lac", progress=False)
    fine_tune(model, data, FineTuning(epochs=1, lr=1e-3), progress=False)
    model.save(tmp_path)
    assert "weights have changed" in caplog.text
    assert load(tmp_path, cnn()).predictor is None
    # What is measured now is kept, what was measured then is not.
    model.calibrate_levels(data, progress=False)
    assert model.predictor is None
    model.save(tmp_path)
    assert load(tmp_path, cnn()).level_shares == model.level_shares


@pytest.mark.parametrize(
    "wrong",
    [{"alpha": 0}, {"alpha": 1.0}, {"alpha": "a"}, {"score": "thr"}, {"abstain": 2}, {"seed": -1}],
)
def test_wrong_arguments(wrong):
    with pytest.raises(ModelError, match=next(iter(wrong))):
        conformal(sparse(), batches(), **wrong)


def test_numbers_that_are_not_finite():
    model = sparse()
    with torch.no_grad():
        model.network[0].weight.fill_(torch.nan)
    with pytest.raises(ModelError, match="not finite"):
        conformal(model, batches(sizes=(30,)), progress=False)
    with pytest.raises(ModelError, match="not finite"):
        sparse().calibrate_levels(
            [(torch.full((4, 3, 9, 9), torch.inf), torch.arange(4))], progress=False
        )


@pytest.mark.parametrize(
    ("key", "value"),
    [
        *(("score", "thr"), ("fixed", {"level": -1}), ("alpha", 2), ("scores", [1.0])),
        *(("labels", None), ("least", [0.0]), ("scores", "much"), ("n_first", -1)),
    ],
)
def test_files_that_cannot_be(key, value):
    model = sparse()
    conformal(model, batches(sizes=(30, 30)), progress=False)
    model.calibrate_levels(batches(), progress=False)
    known = model.calibration()
    known["sets"][key] = value
    with pytest.raises(ModelError, match=r"damaged|no score|must be"):
        model.restore_calibration(known)
    known = model.calibration()
    known["levels"]["hits"].append(0)
    with pytest.raises(ModelError, match="number of levels"):
        model.restore_calibration(known)
