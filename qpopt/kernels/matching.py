"""Compiled loops of the exact assignment: best subsets of a row, and the matching of rows to sets.

The matching treats classes with the same row as one group with as many units, so that thousands of
equal classes cost no more than a few. A group knows only the beginning of its list of sets, best
first; what lies beyond is bounded by the last value known, and asked for when the bound decides.
"""

from __future__ import annotations

import heapq

import numpy as np

from qpopt.kernels.compiled import compiled


@compiled()
def best_subsets(values, size, count):
    """Return the best subsets of falling `values`, by sum: positions, one subset a row.

    Every subset but the first has one parent: the lowest position that is not at its start moves
    back by one. So each subset is made exactly once, after its parent, whose sum is not smaller.
    """
    n_values = values.shape[0]
    pool = np.empty((2 * count + 2, size), np.int32)
    lowest_moved = np.empty(2 * count + 2, np.int64)
    for i in range(size):
        pool[0, i] = i
    lowest_moved[0] = size
    n_pool = 1
    heap = [(0.0, 0)]
    chosen = np.empty((count, size), np.int32)
    n_chosen = 0
    while n_chosen < count and len(heap) > 0:
        node = heapq.heappop(heap)[1]
        chosen[n_chosen] = pool[node]
        n_chosen += 1
        lowest = lowest_moved[node]
        for moving in range(max(lowest - 1, 0), min(lowest + 1, size)):
            limit = n_values if moving == size - 1 else pool[node, moving + 1]
            if pool[node, moving] + 1 < limit:
                pool[n_pool] = pool[node]
                pool[n_pool, moving] += 1
                lowest_moved[n_pool] = moving
                total = 0.0
                for i in range(size):
                    total += values[pool[n_pool, i]]
                heapq.heappush(heap, (-total, n_pool))
                n_pool += 1
    return chosen[:n_chosen]


@compiled()
def insert_units(
    pending, first, sets, values, lengths, complete, owner, owner_value, utility, spent, most
):  # fmt: skip
    """Give each pending unit a set along a cheapest alternating path, while the lists suffice.

    Parameters
    ----------
    pending, first
        The groups of the units to insert, and the first one not yet inserted.
    sets, values, lengths, complete
        Per group: its best sets in falling order, what they are worth to it, how many are known,
        and whether those are all.
    owner, owner_value, utility
        The state. Per set: the group that has it or −1, and what it is worth there. Per group:
        its dual value; the price of a set is its owner's value less its owner's utility.
    spent, most
        How many groups and sets were looked at, one element that is counted up; beyond `most` no
        further unit is begun.

    Returns
    -------
    tuple
        The first unit not inserted, and the group whose list must become longer for it, or −1.
    """
    n_groups = utility.shape[0]
    distance = np.empty(n_groups)
    settled = np.empty(n_groups, np.bool_)
    previous = np.empty(n_groups, np.int64)
    taken = np.empty(n_groups, np.int64)
    taken_value = np.empty(n_groups)
    for unit in range(first, pending.shape[0]):
        if spent[0] > most:
            return unit, -1
        start = pending[unit]
        distance[:] = np.inf
        settled[:] = False
        distance[start] = 0.0
        end_distance, end_group, end_set, end_value = np.inf, -1, -1, 0.0
        while True:
            g = -1
            nearest = end_distance
            spent[0] += n_groups
            for h in range(n_groups):
                if not settled[h] and distance[h] < nearest:
                    g, nearest = h, distance[h]
            if g < 0:
                break
            settled[g] = True
            for rank in range(lengths[g] + 1):
                spent[0] += 1
                if rank == lengths[g]:
                    # Beyond the list no set is worth more than the last one of it.
                    beyond = nearest + max(utility[g] - values[g, rank - 1], 0.0)
                    if not complete[g] and beyond < end_distance:
                        end_distance, end_group, end_set = beyond, g, -1
                    break
                t = sets[g, rank]
                h = owner[t]
                if h == g:
                    continue
                # Prices are never negative, so this is the least that any later set can cost.
                regret = utility[g] - values[g, rank]
                if nearest + regret > end_distance:
                    break
                if h < 0:
                    reached = nearest + max(regret, 0.0)
                    if reached < end_distance or end_set < 0:
                        end_distance, end_group, end_set = reached, g, t
                        end_value = values[g, rank]
                    break
                reached = nearest + max(regret + owner_value[t] - utility[h], 0.0)
                if reached < distance[h]:
                    distance[h] = reached
                    previous[h] = g
                    taken[h] = t
                    taken_value[h] = values[g, rank]
        if end_set < 0:
            return unit, end_group
        for h in range(n_groups):
            if distance[h] < end_distance:
                utility[h] -= end_distance - distance[h]
        g, t, value = end_group, end_set, end_value
        while True:
            owner[t] = g
            owner_value[t] = value
            if g == start:
                break
            t, value = taken[g], taken_value[g]
            g = previous[g]
    return pending.shape[0], -1
