from itertools import combinations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qpopt.preprocessing.epsilon import clique_threshold, greedy_threshold_clique
from tests.strategies import redundancies


def smallest_largest(R, size, include=(), exclude=()):
    """Return the exact optimum by trying all subsets."""
    return min(
        max((R[d, e] for d, e in combinations(members, 2)), default=0.0)
        for members in combinations(range(len(R)), size)
        if set(include) <= set(members) and not set(exclude) & set(members)
    )


@settings(max_examples=60)
@given(st.integers(1, 9).flatmap(redundancies), st.data())
def test_finds_the_optimum_of_tiny_graphs(R, data):
    n = len(R)
    size = data.draw(st.integers(1, n))
    order = data.draw(st.permutations(range(n)))
    include = tuple(order[: data.draw(st.integers(0, size))])
    exclude = tuple(order[n - data.draw(st.integers(0, n - size)) :])
    steps = data.draw(st.sampled_from([None, 0]))
    found = clique_threshold(R, size, include=include, exclude=exclude, steps=steps)
    assert found.proven
    assert len(set(found.clique.tolist())) == size
    assert set(include) <= set(found.clique.tolist())
    assert not set(exclude) & set(found.clique.tolist())
    largest = R[np.ix_(found.clique, found.clique)].max()
    assert largest < found.epsilon
    assert not ((largest < R) & (found.epsilon > R)).any()
    assert largest == smallest_largest(R, size, include, exclude)
    assert found.epsilon <= found.greedy_epsilon


def test_agrees_with_exact_cliques_on_a_larger_graph():
    R = np.abs(np.random.default_rng(3).standard_normal((40, 40)))
    R = np.triu(R, 1) + np.triu(R, 1).T
    found = clique_threshold(R, 8)
    assert found.proven

    def has_clique(threshold):
        graph = nx.Graph(np.argwhere(np.triu(threshold > R, 1)).tolist())
        return max(len(clique) for clique in nx.find_cliques(graph)) >= 8

    assert has_clique(found.epsilon)
    assert not has_clique(R[np.ix_(found.clique, found.clique)].max())


def test_never_worse_than_greedy_and_often_better():
    R = np.abs(np.random.default_rng(0).standard_normal((150, 150)))
    R = np.triu(R, 1) + np.triu(R, 1).T
    everything = np.ones(150, dtype=bool)
    greedy = greedy_threshold_clique(R, 12, ~everything, everything)
    start = clique_threshold(R, 12, steps=0)
    np.testing.assert_array_equal(start.clique, np.sort(greedy))
    assert start.epsilon == start.greedy_epsilon
    assert clique_threshold(R, 12).epsilon < start.epsilon


def test_the_exact_search_ends_what_greedy_began():
    R = np.abs(np.random.default_rng(0).standard_normal((60, 60)))
    R = np.triu(R, 1) + np.triu(R, 1).T
    found = clique_threshold(R, 9, steps=0)
    assert found.proven
    assert found.epsilon == clique_threshold(R, 9).epsilon < found.greedy_epsilon


def test_a_proof_that_would_take_long_is_given_up():
    """Two features at most of each of twelve rings of five fit together; colours do not show it."""
    ring = np.zeros((5, 5))
    for i in range(5):
        ring[i, (i + 1) % 5] = ring[(i + 1) % 5, i] = 0.5
    R = np.kron(np.eye(12), ring)
    R[R == 0] = 0.1
    np.fill_diagonal(R, 0.0)
    found = clique_threshold(R, 25)
    assert (R[np.ix_(found.clique, found.clique)].max(), found.proven) == (0.5, False)


def test_the_seed_decides():
    R = np.abs(np.random.default_rng(1).standard_normal((200, 200)))
    R = np.triu(R, 1) + np.triu(R, 1).T
    once, again = (clique_threshold(R, 14, seed=5, steps=300) for _ in range(2))
    np.testing.assert_array_equal(once.clique, again.clique)
    others = [clique_threshold(R, 14, seed=seed, steps=300).clique for seed in range(6)]
    assert len({tuple(clique) for clique in others}) > 1


def test_no_redundancy_at_all():
    found = clique_threshold(np.zeros((6, 6)), 4)
    assert 0 < found.epsilon < 1e-9


def test_recomputing_with_other_rounding_gives_the_same_graph():
    from qpopt import redundancy

    A = np.random.default_rng(5).standard_normal((9, 60))
    units = A / np.linalg.norm(A, axis=0)
    found = clique_threshold(redundancy(A), 6)
    ours, theirs = redundancy(A) < found.epsilon, np.maximum(units.T @ units, 0) < found.epsilon
    off_diagonal = ~np.eye(60, dtype=bool)
    np.testing.assert_array_equal(ours[off_diagonal], theirs[off_diagonal])


@pytest.mark.parametrize("n_select", [20, 50, 100])
def test_real_instance(n_select):
    from benchmarks.library.sources import DATA
    from qpopt import redundancy

    with np.load(DATA / "cub-resnet50.npz") as data:
        R = redundancy(data["A"])
    found = clique_threshold(R, n_select, steps=20_000)
    assert R[np.ix_(found.clique, found.clique)].max() < found.epsilon < found.greedy_epsilon
