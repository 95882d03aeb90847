from math import inf

from benchmarks.studies.gaps import worse_with_more_time


def test_a_longer_limit_with_a_worse_bound_is_told():
    assert worse_with_more_time({10.0: inf, 20.0: 5.0, 60.0: 5.0}) == []
    assert worse_with_more_time({60.0: 4.0, 10.0: 5.0, 20.0: 6.0}) == [(10.0, 20.0)]
    assert worse_with_more_time({10.0: 1.0, 20.0: 2.0, 40.0: 1.5}) == [(10.0, 20.0), (10.0, 40.0)]
