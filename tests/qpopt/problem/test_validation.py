from math import inf, nan

import numpy as np
import pytest

from qpopt import InfeasibleInstance, InvalidArgument, InvalidInstance, bound, generate
from qpopt.problem.validation import (
    check_counts,
    number,
    one_of,
    path,
    whole_number,
    yes_or_no,
)


@pytest.mark.parametrize("value", ["3", None, True, nan, inf, [1.0], 1j, -0.5])
def test_what_is_no_number_of_at_least_0(value):
    with pytest.raises(InvalidArgument, match="seconds must be a number of at least 0, not"):
        number("seconds", value, least=0.0)


def test_numbers_of_any_kind_are_taken():
    assert number("target", -3) == -3.0
    assert number("target", np.float32(0.5)) == 0.5
    assert number("time_limit", inf, least=0.0, most=inf) == inf
    with pytest.raises(InvalidArgument, match="target must be a finite number, not inf"):
        number("target", inf)


@pytest.mark.parametrize("value", ["3", None, False, 2.0, -1])
def test_what_is_no_whole_number(value):
    with pytest.raises(InvalidArgument, match="steps must be a whole number of at least 0, not"):
        whole_number("steps", value, least=0)
    assert whole_number("steps", np.int64(7), least=0) == 7


def test_words_truth_values_and_paths(tmp_path):
    assert one_of("form", "b", ("a", "b")) == "b"
    assert yes_or_no("callbacks", False) is False
    assert path("certificate", tmp_path) == tmp_path
    with pytest.raises(InvalidArgument, match=r"form must be one of a, b, not \['a'\]"):
        one_of("form", ["a"], ("a", "b"))
    with pytest.raises(InvalidArgument, match="callbacks must be True or False, not 'no'"):
        yes_or_no("callbacks", "no")
    with pytest.raises(InvalidArgument, match="certificate must be the path of a file, not 3"):
        path("certificate", 3)


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        (bound, {"time_limit": "long"}),
        (bound, {"time_limit": -1}),
        (bound, {"kind": 3}),
        (bound, {"objective": "12"}),
    ],
)
def test_functions_refuse_before_they_begin(function, arguments):
    ((name, value),) = arguments.items()
    with pytest.raises(InvalidArgument, match=f"^{name} must be .*, not {value!r}"):
        function(generate(20, 4, 5, 2), **arguments)


def test_counts_that_work():
    assert check_counts(10, 6, 4, 2, include=[3, 1]) == (4, 2, (1, 3), ())


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
