"""Compiled loops that build the state of the swap search and carry out a swap."""

from __future__ import annotations

import numpy as np

from qpopt.kernels.compiled import compiled

NOTHING = np.int32(-(2**29))
"""Stands for the value of a feature that is not there; less than every real one."""


@compiled()
def rebuild(problem, state):
    """Fill in the state of the selection in `state.selected`."""
    n_classes, n_features = problem.A.shape
    n_select = state.selected.shape[0]
    k = problem.n_per_class
    state.chosen[:] = False
    state.charge[:] = 0
    state.gain[:] = 0
    state.used[:] = 0
    state.total[0] = 0
    for place in range(n_select):
        d = state.selected[place]
        state.chosen[d] = True
        state.total[0] += problem.b[d] - state.charge[d]
        redundancy = problem.R[d]
        row = state.exchange[place]
        for j in range(n_features):
            row[j] = redundancy[j]
            state.charge[j] += redundancy[j]
        for c in range(n_classes):
            state.value[c, place] = problem.A_by_feature[d, c]
    for c in range(n_classes):
        rank_all(state.value[c], state.top_value[c], state.top_place[c])
        state.name[c] = np.uint64(0)
        row = problem.A[c]
        t, u = state.top_value[c, k - 1], state.top_value[c, k]
        for j in range(n_features):
            state.gain[j] += max(row[j], t) - t
        for rank in range(k):
            place = state.top_place[c, rank]
            _add_clamped(state.exchange[place], row, t, u)
            state.used[place] += state.top_value[c, rank]
            state.total[0] += state.top_value[c, rank]
            state.name[c] += problem.key[state.selected[place]]


@compiled()
def rank_all(values, top_value, top_place):
    """Find the largest values, falling; equal ones in the order of their places."""
    n_top = top_value.shape[0]
    top_value[:] = NOTHING
    top_place[:] = -1
    for place in range(values.shape[0]):
        x = values[place]
        rank = n_top
        while rank > 0 and top_value[rank - 1] < x:
            rank -= 1
        for r in range(n_top - 1, rank, -1):
            top_value[r] = top_value[r - 1]
            top_place[r] = top_place[r - 1]
        if rank < n_top:
            top_value[rank] = x
            top_place[rank] = place


@compiled()
def swap(problem, state, place, entering, work):
    """Put the feature `entering` in the place of the one that is there.

    `work` is scratch space for one value a feature.
    """
    n_classes, n_features = problem.A.shape
    k = problem.n_per_class
    leaving = state.selected[place]
    state.total[0] += (
        problem.b[entering]
        - problem.b[leaving]
        - state.charge[entering]
        + state.charge[leaving]
        + problem.R[leaving, entering]
    )
    came, went = problem.R[entering], problem.R[leaving]
    row = state.exchange[place]
    for j in range(n_features):
        difference = np.int32(came[j] - went[j])
        state.charge[j] += difference
        row[j] += difference
    state.selected[place] = entering
    state.chosen[leaving] = False
    state.chosen[entering] = True
    before_value = np.empty_like(state.top_value[0])
    before_place = np.empty_like(state.top_place[0])
    for c in range(n_classes):
        top_value, top_place = state.top_value[c], state.top_place[c]
        gone, x = state.value[c, place], problem.A_by_feature[entering, c]
        state.value[c, place] = x
        last_value, last_place = top_value[-1], top_place[-1]
        listed = gone > last_value or (gone == last_value and place <= last_place)
        if not listed and (x < last_value or (x == last_value and place > last_place)):
            continue
        before_value[:] = top_value
        before_place[:] = top_place
        _rank_again(state.value[c], top_value, top_place, place, x, listed)
        changed = False
        for rank in range(k + 1):
            changed |= before_value[rank] != top_value[rank]
            changed |= before_place[rank] != top_place[rank] or top_place[rank] == place
        if changed:
            _follow(problem, state, c, place, leaving, before_value, before_place, work)


@compiled()
def _rank_again(values, top_value, top_place, place, x, listed):
    """Update the ranking of a class in which `place` has got the value `x`."""
    n_top = top_value.shape[0]
    n_known = n_top
    if listed:
        n_known = 0
        for rank in range(n_top):
            if top_place[rank] != place:
                top_value[n_known] = top_value[rank]
                top_place[n_known] = top_place[rank]
                n_known += 1
    rank = n_known
    while rank > 0 and (
        top_value[rank - 1] < x or (top_value[rank - 1] == x and top_place[rank - 1] > place)
    ):
        rank -= 1
    if rank == n_known:
        # The new value is not among the ones known: look for the next largest of all.
        edge_value, edge_place = top_value[n_known - 1], top_place[n_known - 1]
        best, best_place = NOTHING, -1
        for other in range(values.shape[0]):
            v = values[other]
            behind = v < edge_value or (v == edge_value and other > edge_place)
            if v > best and behind:
                best, best_place = v, other
        top_value[n_top - 1] = best
        top_place[n_top - 1] = best_place
        return
    for r in range(min(n_known, n_top - 1), rank, -1):
        top_value[r] = top_value[r - 1]
        top_place[r] = top_place[r - 1]
    top_value[rank] = x
    top_place[rank] = place


@compiled()
def _follow(problem, state, c, place, leaving, before_value, before_place, work):
    """Carry a change of the ranking of class `c` into everything that sums over classes."""
    k = problem.n_per_class
    top_value, top_place = state.top_value[c], state.top_place[c]
    row, exchange = problem.A[c], state.exchange
    t_old, u_old = before_value[k - 1], before_value[k]
    t_new, u_new = top_value[k - 1], top_value[k]
    _compare(row, t_old, u_old, t_new, u_new, state.gain, work)
    for rank in range(k):
        state.total[0] += top_value[rank] - before_value[rank]
        p = before_place[rank]
        state.used[p] -= before_value[rank]
        state.name[c] -= problem.key[leaving if p == place else state.selected[p]]
        if _holds(top_place, k, p):
            _add(exchange[p], work)
        else:
            _subtract_clamped(exchange[p], row, t_old, u_old)
    for rank in range(k):
        p = top_place[rank]
        state.used[p] += top_value[rank]
        state.name[c] += problem.key[state.selected[p]]
        if not _holds(before_place, k, p):
            _add_clamped(exchange[p], row, t_new, u_new)


@compiled()
def _compare(row, t_old, u_old, t_new, u_new, gain, difference):
    """Fill in how the clamped values of a class change, and update the gains."""
    rise = np.int32(t_new - t_old)
    for j in range(row.shape[0]):
        a = row[j]
        difference[j] = min(max(a, u_new), t_new) - min(max(a, u_old), t_old)
        gain[j] += max(a, t_new) - max(a, t_old) - rise


@compiled()
def _holds(places, k, place):
    found = False
    for rank in range(k):
        found |= places[rank] == place
    return found


@compiled()
def _add(target, values):
    for j in range(target.shape[0]):
        target[j] += values[j]


@compiled()
def _add_clamped(target, row, t, u):
    for j in range(target.shape[0]):
        target[j] += min(max(row[j], u), t)


@compiled()
def _subtract_clamped(target, row, t, u):
    for j in range(target.shape[0]):
        target[j] -= min(max(row[j], u), t)
