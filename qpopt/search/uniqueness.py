"""Compiled loops that estimate what it costs to make all classes distinct.

Of several classes with the same set the one that would lose most by its next best set keeps it. Each
of the others, in turn, takes the cheapest set that nobody has and that differs from its best one in
a single feature. The result is a real assignment, so the estimate is never too low, unless
a class finds no free set that near; then it is charged the most that such a set could cost.
"""

from __future__ import annotations

import numba
import numpy as np


@numba.njit(cache=True)
def uniqueness_cost(problem, state, table, place, entering):  # type: ignore[no-untyped-def]
    """Return the estimate for the state that a swap would lead to; `place` −1 means no swap.

    Afterwards `table.payer` and `table.paid` tell which classes pay how much.
    """
    k = problem.n_per_class
    table.stamp[0] += 1
    table.n_payers[0] = 0
    key = problem.key
    leaving = state.selected[place]
    values = problem.A_by_feature[entering]
    for c in range(problem.A.shape[0]):
        v, p = state.top_value[c], state.top_place[c]
        name = state.name[c]
        t, u = v[k - 1], v[k]
        if place >= 0:
            x, gone = values[c], state.value[c, place]
            if gone > t or (gone == t and place <= p[k - 1]):
                if x > u or (x == u and place < p[k]):
                    name += key[entering] - key[leaving]
                    last = place == p[k - 1]
                    t = min(x, (v[k - 2] if k > 1 else x) if last else t)
                else:
                    name += key[state.selected[p[k]]] - key[leaving]
                    t, u = u, max(x, v[k + 1])
            elif x > t or (x == t and place < p[k - 1]):
                name += key[entering] - key[state.selected[p[k - 1]]]
                t, u = (min(x, v[k - 2]) if k > 1 else x), t
            elif gone > u or (gone == u and place <= p[k]):
                u = max(x, v[k + 1])
            else:
                u = max(x, u)
        payer = _enter(table, name, t - u, c)
        if payer >= 0:
            table.payer[table.n_payers[0]] = payer
            table.n_payers[0] += 1
    cost = 0
    for i in range(table.n_payers[0]):
        c = table.payer[i]
        name = _list_after(problem, state, table, c, place, entering)
        table.paid[i] = _cheapest_free(table, name, k)
        cost += table.paid[i]
    return cost


@numba.njit(cache=True)
def _enter(table, name, gap, c):  # type: ignore[no-untyped-def]
    """Enter a class with its set; return who has to give up a set that is taken, or −1."""
    slot = _slot(table, name)
    if table.entered[slot] == table.stamp[0]:
        if gap <= table.gap[slot]:
            return c
        payer = table.member[slot]
        table.gap[slot], table.member[slot] = gap, c
        return payer
    table.entered[slot] = table.stamp[0]
    table.name[slot] = name
    table.gap[slot] = gap
    table.member[slot] = c
    return -1


@numba.njit(cache=True)
def _slot(table, name):  # type: ignore[no-untyped-def]
    """Return the slot that holds a set, or the empty one where it belongs."""
    mask = np.uint64(table.name.shape[0] - 1)
    slot = (name ^ (name >> np.uint64(32))) & mask
    while table.entered[slot] == table.stamp[0] and table.name[slot] != name:
        slot = (slot + np.uint64(1)) & mask
    return slot


@numba.njit(cache=True)
def _list_after(problem, state, table, c, place, entering):  # type: ignore[no-untyped-def]
    """Fill in the k + 2 best values of a class after the swap, and their keys; return its set."""
    k = problem.n_per_class
    n_list = k + 2
    n = 0
    pending = place >= 0
    x = problem.A_by_feature[entering, c]
    name = np.uint64(0)
    for rank in range(state.top_value.shape[1]):
        v, p = state.top_value[c, rank], state.top_place[c, rank]
        if pending and n < n_list and (x > v or (x == v and place < p)):
            table.list_value[n] = x
            table.list_key[n] = problem.key[entering]
            n += 1
            pending = False
        if n < n_list and p != place and p >= 0:
            table.list_value[n] = v
            table.list_key[n] = problem.key[state.selected[p]]
            n += 1
    if pending and n < n_list:
        table.list_value[n] = x
        table.list_key[n] = problem.key[entering]
        n += 1
    table.n_list[0] = n
    for rank in range(k):
        name += table.list_key[rank]
    return name


@numba.njit(cache=True)
def _cheapest_free(table, name, k):  # type: ignore[no-untyped-def]
    """Take the cheapest free set that differs in one feature; return what it costs."""
    value, key = table.list_value, table.list_key
    n = table.n_list[0]
    best = np.int64(2**62)
    best_slot = np.uint64(0)
    best_name = np.uint64(0)
    for entering in range(k, n):
        for leaving in range(k - 1, -1, -1):
            cost = value[leaving] - value[entering]
            if cost >= best:
                break
            other = name - key[leaving] + key[entering]
            slot = _slot(table, other)
            if table.entered[slot] != table.stamp[0]:
                best, best_slot, best_name = cost, slot, other
    if best == 2**62:
        return np.int64(value[0]) - value[n - 1]
    table.entered[best_slot] = table.stamp[0]
    table.name[best_slot] = best_name
    return best
