import pytest

from benchmarks.runs.measures import gap_to_best, primal_gap, primal_integral


def test_gap_to_best():
    assert gap_to_best(90.0, 100.0) == pytest.approx(0.1)
    assert gap_to_best(101.0, 100.0) == pytest.approx(-0.01)
    assert gap_to_best(-12.0, -10.0) == pytest.approx(0.2)
    assert gap_to_best(None, 100.0) is None
    assert gap_to_best(1.0, None) is None


def test_primal_gap_lies_between_0_and_1():
    assert primal_gap(90.0, 100.0) == pytest.approx(0.1)
    assert primal_gap(-20.0, -10.0) == pytest.approx(0.5)
    assert primal_gap(-1.0, 10.0) == 1.0
    assert primal_gap(0.0, 10.0) == 1.0
    assert primal_gap(101.0, 100.0) == 0.0
    assert primal_gap(None, 100.0) == primal_gap(1.0, None) == 1.0


def test_primal_integral_adds_up_the_steps():
    # gap 1 for 2 s, 0.5 for 3 s, 0.1 for 5 s
    assert primal_integral([(2.0, 50.0), (5.0, 90.0)], 100.0, 10.0) == pytest.approx(4.0)
    assert primal_integral([], 100.0, 10.0) == 10.0
    assert primal_integral([(0.0, 100.0)], 100.0, 10.0) == 0.0


def test_primal_integral_ends_at_the_limit():
    assert primal_integral([(2.0, 50.0), (12.0, 100.0)], 100.0, 10.0) == pytest.approx(6.0)


def test_primal_integral_never_rises_again():
    worse = [(0.0, 80.0), (5.0, 60.0)]
    assert primal_integral(worse, 100.0, 10.0) == pytest.approx(2.0)
