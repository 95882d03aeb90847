import numpy as np

from qpopt.search.population import Population, PopulationParams

SIZE = PopulationParams().size


def population(*members, fixed=()):
    elite = Population(np.random.default_rng(0), frozenset(fixed))
    for objective, *features in members:
        elite.add(objective, np.array(features))
    return elite


def test_keeps_the_best_in_order():
    distinct = [(float(i), *range(10 * i, 10 * i + 4)) for i in range(SIZE + 3)]
    elite = population(*distinct)
    assert elite.full
    assert [objective for objective, _ in elite.members] == [
        float(i) for i in range(SIZE + 2, 2, -1)
    ]


def test_of_two_that_are_alike_only_the_better_stays():
    elite = population((1.0, 1, 2, 3), (2.0, 1, 2, 4), (1.5, 1, 2, 5))
    assert elite.members == [(2.0, frozenset({1, 2, 4}))]


def test_counts_how_often_nothing_new_came():
    elite = population((1.0, 1, 2, 3), (1.0, 1, 2, 3), (0.5, 1, 2, 3))
    assert elite.failures == 2
    elite.add(3.0, np.array([7, 8, 9]))
    assert elite.failures == 0


def test_recombines_what_is_common_with_what_differs():
    elite = population((1.0, 1, 2, 3, 4), (2.0, 1, 2, 5, 6))
    common, either = elite.recombine()
    assert common.tolist() == [1, 2]
    assert either.tolist() == [3, 4, 5, 6]


def test_a_disturbed_member_keeps_what_must_be_included():
    elite = population((1.0, *range(20)), fixed=[3, 4])
    for _ in range(20):
        part = elite.disturb().tolist()
        assert {3, 4} <= set(part) <= set(range(20))
        assert len(part) == len(set(part)) < 20
