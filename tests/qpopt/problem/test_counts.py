import pytest

from qpopt import InfeasibleInstance, InvalidInstance
from qpopt.problem.counts import check_counts


def test_counts_that_work():
    check_counts(10, 6, 4, 2)


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        ((10, 3, 11, 2), "only 10 features"),
        ((10, 3, 4, 5), "n_per_class is 5"),
        ((10, 7, 4, 2), "6 distinct sets"),
    ],
)
def test_counts_that_admit_no_solution(counts, message):
    with pytest.raises(InfeasibleInstance, match=message):
        check_counts(*counts)


def test_include_and_exclude_count():
    with pytest.raises(InfeasibleInstance, match="exclude leaves 3"):
        check_counts(5, 2, 4, 2, exclude=[0, 1])
    with pytest.raises(InvalidInstance, match="names feature 9"):
        check_counts(5, 2, 4, 2, include=[9])
    with pytest.raises(InvalidInstance, match="whole number"):
        check_counts(5, 2, 4.5, 2)
