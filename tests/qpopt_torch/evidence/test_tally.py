from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import qpopt_torch.evidence.gather as gathering
from qpopt_torch.evidence.tally import Draw, Tally
from qpopt_torch.explain import explain_class, gather
from tests.qpopt_torch.readable import small_loader, small_sparse
from tests.qpopt_torch.report.decoding import data_of


def made(n, seed=0):
    rng = np.random.default_rng(seed)
    labels, predictions = rng.integers(0, 4, (2, n))
    return labels, predictions, rng.normal(size=(n, 3)).astype(np.float32)


@given(st.lists(st.integers(0, 9), min_size=1, max_size=8), st.integers(1, 40))
def test_what_is_kept_is_what_came(sizes, n_kept):
    """Whatever the batches, each sample that is kept is one that came, once and in order."""
    whole, draw = made(sum(sizes)), Draw(n_kept)
    for part in np.split(np.arange(sum(sizes)), np.cumsum(sizes)[:-1]):
        draw.add(*(values[part] for values in whole))
    drawn = draw.drawn()
    assert len(drawn.places) == min(n_kept, sum(sizes))
    assert (np.diff(drawn.places) > 0).all()
    for kept, came in zip(drawn[1:], whole, strict=True):
        np.testing.assert_array_equal(kept, came[drawn.places])


def test_all_samples_have_the_same_chance_and_memory_does_not_grow():
    draw, most = Draw(1000), 0
    for start in range(0, 40_000, 100):
        draw.add(*made(100, start))
        most = max(most, draw.n_held)
    assert most <= 1000 + 250
    shares = np.histogram(draw.drawn().places, 10, (0, 40_000))[0]
    assert shares.sum() == 1000
    assert abs(shares - 100).max() < 5 * np.sqrt(90)  # five standard deviations


def test_the_tally_is_that_of_all_samples():
    labels, predictions, values = whole = made(500)
    tally = Tally.empty(4, 3)
    for part in np.array_split(np.arange(500), 7):
        tally.add(*(each[part] for each in whole))
    assert tally.n_samples == 500
    for c in range(4):
        assert tally.counts[c] == (labels == c).sum()
        assert tally.hits[c] == ((labels == c) & (predictions == c)).sum()
        np.testing.assert_allclose(tally.sums[c], values[labels == c].sum(0, np.float64))
    np.testing.assert_array_equal((tally.least, tally.largest), (values.min(0), values.max(0)))
    pairs = Counter(zip(labels.tolist(), predictions.tolist(), strict=True))
    assert tally.mistakes == {pair: n for pair, n in pairs.items() if pair[0] != pair[1]}


def test_of_more_samples_than_fit_figures_are_of_all(monkeypatch):
    sparse, loader = small_sparse(), small_loader()
    every = gather(sparse, loader, progress=False)
    monkeypatch.setattr(gathering, "Draw", lambda: Draw(10))
    few = gather(sparse, loader, progress=False)
    assert len(few.values) == len(few.labels) == len(few.predictions) == 10
    np.testing.assert_array_equal(few.values, every.values[few.places])
    assert repr(few) == repr(every)
    assert few.class_means.tobytes() == every.class_means.tobytes()
    assert (few.of_class, few.of_feature, few.wrong) == (
        every.of_class,
        every.of_feature,
        every.wrong,
    )
    assert explain_class(few, 1).to_dict() == explain_class(every, 1).to_dict()


def test_a_report_of_more_samples_than_fit(monkeypatch, tmp_path):
    sparse, loader = small_sparse(), small_loader()
    pages = [sparse.report(tmp_path / "all.html", loader, progress=False)]
    monkeypatch.setattr(gathering, "Draw", lambda: Draw(9))
    pages.append(sparse.report(tmp_path / "few.html", loader, progress=False))
    whole, part = (data_of(page)[1] for page in pages)
    for key in ("classes", "confusions", "means", "assignment"):
        assert whole[key] == part[key], key
    for data, n_samples in ((whole, 21), (part, 9)):
        drawn = [sum(feature["users"]) + sum(feature["others"]) for feature in data["features"]]
        assert set(drawn) == {n_samples}
