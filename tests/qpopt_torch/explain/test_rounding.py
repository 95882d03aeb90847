from hypothesis import given
from hypothesis import strategies as st

from qpopt_torch.explain.rounding import add_up, signed


def test_the_sum_that_was_off_by_a_hundredth():
    assert add_up([2.987, 0.418, 1.337, 1.798]) == (654, (299, 42, 133, 180))


@given(st.lists(st.floats(-50, 50), max_size=8))
def test_terms_add_up_and_stay_close(values):
    total, terms = add_up(values)
    assert sum(terms) == total
    assert abs(total - 100 * sum(values)) <= 0.5 + 1e-9
    assert all(
        abs(term - 100 * value) < 1 + 1e-9 for term, value in zip(terms, values, strict=True)
    )


def test_signed():
    assert [signed(n) for n in (-5, 0, 312)] == ["-0.05", "+0.00", "+3.12"]
