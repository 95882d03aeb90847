import pytest

from benchmarks.studies.scale.simulation import (
    EPOCHS,
    PUBLISHED,
    VALIDATION,
    Data,
    Measured,
    alone_share,
    histograms,
    hours,
    speed,
)

KNOWN = Measured(forward=0.25, collect=1.2, step=1.5, saving=0.01, solve=60.0, write=30.0)


def test_the_formula_by_hand():
    """A million samples of 2,000 classes on eight machines of eight."""
    found = hours(Data("made", 1_000_000, 2000), 64, KNOWN)
    seconds = 8 * 16621.0
    assert found.collect == pytest.approx(0.3e6 / seconds / 3600)
    assert found.solve == pytest.approx(1 / 60)
    assert found.fine_tune == pytest.approx(EPOCHS * 1.515e6 / seconds / 3600)
    assert found.report == pytest.approx((VALIDATION * 0.3 / 2470 + 60.0) / 3600)
    assert found.total == pytest.approx(sum(found))
    assert alone_share(found) == pytest.approx((found.solve + found.report) / found.total)


def test_more_gpus_are_faster_and_lose_nothing_between_machines():
    assert [speed(p) for p in (1, 8)] == list(PUBLISHED.values())
    assert speed(64) == 8 * speed(8)
    assert speed(8) < 8 * speed(1)


def test_histograms_of_many_classes():
    assert histograms(Data("made", 1, 1000), 2048) == pytest.approx(64 * 4 * 2048 * 1000 / 1e9)
