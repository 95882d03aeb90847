"""Compiled loops of `prepare`. They use no fast-math, so results do not depend on the machine."""

from __future__ import annotations

import numpy as np

from qpopt.kernels.compiled import compiled
from qpopt.kernels.random import next_random

TILE_ROWS = 8
TILE_COLUMNS = 512


@compiled()
def positive_gram(units):
    """Return max(0, units' units) without its diagonal, each sum taken row by row.

    Works in tiles that stay in the first-level cache.
    """
    n_rows, n = units.shape
    result = np.zeros((n, n))
    tile = np.empty((TILE_ROWS, TILE_COLUMNS))
    for first in range(0, n, TILE_ROWS):
        height = min(TILE_ROWS, n - first)
        for left in range(first, n, TILE_COLUMNS):
            width = min(TILE_COLUMNS, n - left)
            tile[:] = 0.0
            for c in range(n_rows):
                for i in range(height):
                    factor = units[c, first + i]
                    for j in range(width):
                        tile[i, j] += factor * units[c, left + j]
            for i in range(height):
                for j in range(width):
                    if left + j > first + i and tile[i, j] > 0.0:
                        result[first + i, left + j] = tile[i, j]
                        result[left + j, first + i] = tile[i, j]
    return result


@compiled()
def greedy_clique(adjacent, fixed, allowed, size):
    """Drop the node with the fewest neighbours until the rest is a clique or too small.

    Returns the clique as a mask; it holds fewer than `size` nodes when none was found.
    """
    n = adjacent.shape[0]
    alive = allowed.copy()
    degree = np.zeros(n, dtype=np.int64)
    n_alive = 0
    for i in range(n):
        if alive[i]:
            n_alive += 1
            for j in range(n):
                if alive[j] and adjacent[i, j]:
                    degree[i] += 1
    while n_alive >= size:
        worst = -1
        complete = True
        for i in range(n):
            if alive[i]:
                if degree[i] < n_alive - 1:
                    complete = False
                if not fixed[i] and (worst < 0 or degree[i] < degree[worst]):
                    worst = i
        if complete or worst < 0:
            break
        alive[worst] = False
        n_alive -= 1
        for j in range(n):
            if adjacent[worst, j]:
                degree[j] -= 1
    return alive


@compiled()
def tabu_clique(adjacent, fixed, allowed, members, steps, patience, state):
    """Look for a clique among subsets of one size by swapping one node in and one out.

    Each step takes out a member with the fewest neighbours inside and takes in a node with the
    most, both barred from moving back for a while that shrinks as the subset nears a clique. A
    worsening step is sometimes replaced by a random one. After `patience` steps without a new best
    the subset is rebuilt from the nodes that moved least.

    Parameters
    ----------
    adjacent : bool matrix
    fixed, allowed : bool masks, nodes that must stay in and nodes that may come in
    members : int64 array, the subset; changed in place
    steps : the number of swaps to make at the most
    patience : the number of swaps without improvement before a rebuild
    state : one-element uint64 random state

    Returns
    -------
    The number of steps made; `members` is a clique if it is less than `steps`.
    """
    n = adjacent.shape[0]
    size = members.shape[0]
    wanted = size * (size - 1) // 2
    inside = np.zeros(n, dtype=np.bool_)
    degree = np.zeros(n, dtype=np.int64)
    barred = np.zeros(n, dtype=np.int64)
    moves = np.zeros(n, dtype=np.int64)
    candidates = np.empty(n, dtype=np.int64)
    leaving = np.empty(size, dtype=np.int64)
    for member in members:
        inside[member] = True
    edges = _count_degrees(adjacent, members, degree)
    best = edges
    idle = 0
    spread = max(size // 40, 6)
    for step in range(steps):
        if edges == wanted:
            return step
        if idle > patience:
            _rebuild(adjacent, fixed, allowed, members, inside, degree, moves, candidates, state)
            edges = _count_degrees(adjacent, members, degree)
            barred[:] = 0
            best = edges
            idle = 0
            continue
        lowest = size
        n_leaving = 0
        for position in range(size):
            u = members[position]
            if barred[u] <= step and not fixed[u]:
                if degree[u] < lowest:
                    lowest = degree[u]
                    n_leaving = 0
                if degree[u] == lowest:
                    leaving[n_leaving] = position
                    n_leaving += 1
        highest = -1
        n_entering = 0
        for v in range(n):
            if allowed[v] and not inside[v] and barred[v] <= step and degree[v] >= highest:
                if degree[v] > highest:
                    highest = degree[v]
                    n_entering = 0
                candidates[n_entering] = v
                n_entering += 1
        if n_leaving == 0 or n_entering == 0:
            barred[:] = 0
            idle += 1
            continue
        # Among the best pairs one that is not joined gains one edge more.
        position = leaving[next_random(state) % n_leaving]
        v = candidates[next_random(state) % n_entering]
        offset = next_random(state) % n_entering
        found = False
        for i in range(n_leaving):
            for j in range(n_entering):
                candidate = candidates[(j + offset) % n_entering]
                if not adjacent[members[leaving[i]], candidate]:
                    position, v, found = leaving[i], candidate, True
                    break
            if found:
                break
        u = members[position]
        change = degree[v] - degree[u] - adjacent[u, v]
        missing = wanted - edges
        if change < 0 and next_random(state) % 1000 < min(1000 * (missing + 2) // n, 100):
            position = next_random(state) % size
            w = next_random(state) % n
            if allowed[w] and not inside[w] and not fixed[members[position]]:
                v = w
            else:
                position = leaving[next_random(state) % n_leaving]
            u = members[position]
            change = degree[v] - degree[u] - adjacent[u, v]
        members[position] = v
        inside[u] = False
        inside[v] = True
        for j in range(n):
            degree[j] += np.int64(adjacent[v, j]) - np.int64(adjacent[u, j])
        edges += change
        moves[u] += 1
        moves[v] += 1
        hold = min(wanted - edges, 10)
        barred[u] = step + 1 + hold + next_random(state) % spread
        barred[v] = step + 1 + (6 * hold) // 10 + next_random(state) % max(6 * spread // 10, 1)
        if edges > best:
            best = edges
            idle = 0
        else:
            idle += 1
    return steps


@compiled()
def _count_degrees(adjacent, members, degree):
    """Fill in how many members every node is joined to; return the edges among the members."""
    degree[:] = 0
    for member in members:
        for j in range(adjacent.shape[0]):
            degree[j] += adjacent[member, j]
    edges = 0
    for member in members:
        edges += degree[member]
    return edges // 2


@compiled()
def _rebuild(adjacent, fixed, allowed, members, inside, degree, moves, candidates, state):
    """Start over with the fixed nodes, then always the best-joined node that moved least."""
    n = adjacent.shape[0]
    inside[:] = False
    degree[:] = 0
    n_members = 0
    for v in range(n):
        if fixed[v]:
            members[n_members] = v
            n_members += 1
    for position in range(n_members):
        inside[members[position]] = True
        for j in range(n):
            degree[j] += adjacent[members[position], j]
    while n_members < members.shape[0]:
        best_degree = -1
        fewest = 0
        count = 0
        for v in range(n):
            if allowed[v] and not inside[v]:
                better = degree[v] > best_degree or (degree[v] == best_degree and moves[v] < fewest)
                if better:
                    best_degree = degree[v]
                    fewest = moves[v]
                    count = 0
                if degree[v] == best_degree and moves[v] == fewest:
                    candidates[count] = v
                    count += 1
        v = candidates[next_random(state) % count]
        members[n_members] = v
        n_members += 1
        inside[v] = True
        for j in range(n):
            degree[j] += adjacent[v, j]
