"""The loops of the enumeration, compiled."""

from __future__ import annotations

import numba
import numpy as np

PLACES = 63
"""How many selected features fit into the bits of a number that names a set of them."""


@numba.njit(cache=True)
def better_selections(  # type: ignore[no-untyped-def]
    columns, R, Q, k, n_included, limit, steps, top, places, values, candidates, linear, gains,
    relaxed_values, relaxed, reserve, lengths, following, depth_now, found,
):  # fmt: skip
    """Go on with the depth-first search until `found` is full or `steps` are made.

    Parameters
    ----------
    columns, R, Q, k, n_included
        Similarity, features × classes; redundancy; what pairs add to the relaxed value, never more
        than 0 off the diagonal; features per class; features decided before.
    limit
        Selections whose value cannot exceed it are passed over.
    steps
        The most parts and selections to look at.
    top, places
        Per depth and class: the k + 1 best values so far and their places in the selection.
    values
        Per depth: the value of the features chosen so far.
    candidates, linear, gains, lengths
        Per depth: the features still to choose from, by falling gain; their bias less redundancy
        with those chosen; their gains; how many they are.
    relaxed_values, relaxed, reserve
        Per depth: the relaxed value of the features chosen so far; what each candidate adds to it;
        the most that all but one of those still to choose can add.
    following
        Per depth: the next candidate to choose, −1 where the depth was just entered.
    depth_now
        How many features are chosen.
    found
        Gets the selections.

    Returns
    -------
    tuple
        How many selections were found, and whether that was all.
    """
    m = values.shape[0]
    count = 0
    depth = depth_now[0]
    sets = np.empty(columns.shape[1], np.uint64)
    regret = np.empty(columns.shape[1])
    while depth >= 0:
        if steps == 0 or count == found.shape[0]:
            depth_now[0] = depth
            return count, False
        steps -= 1
        if following[depth] < 0:
            _sort_by_gain(
                columns, top[depth], k, candidates[depth], linear[depth], gains[depth],
                relaxed[depth], lengths[depth],
            )  # fmt: skip
            reserve[depth] = _largest_sum(relaxed[depth, : lengths[depth]], m - depth - 1)
            following[depth] = 0
        i = following[depth]
        left = m - depth
        reach = values[depth]
        if i + left <= lengths[depth]:
            for j in range(i, i + left):
                reach += gains[depth, j]
        if i + left > lengths[depth] or reach <= limit:
            depth -= 1
            continue
        following[depth] += 1
        if relaxed_values[depth] + relaxed[depth, i] + reserve[depth] <= limit:
            continue
        d = candidates[depth, i]
        if left == 1:
            if n_included + m <= PLACES:
                _sets_with(
                    columns[d], top[depth], places[depth], k, n_included + depth, sets, regret
                )
                reach -= _least_loss(sets, regret)
            if reach > limit:
                for j in range(depth):
                    found[count, j] = candidates[j, following[j] - 1]
                found[count, depth] = d
                count += 1
            continue
        _choose(
            columns[d], R[d], Q[d], k, n_included + depth, i, lengths[depth], top[depth],
            places[depth], candidates[depth], linear[depth], relaxed[depth], top[depth + 1],
            places[depth + 1], candidates[depth + 1], linear[depth + 1], relaxed[depth + 1],
        )  # fmt: skip
        values[depth + 1] = values[depth] + gains[depth, i]
        relaxed_values[depth + 1] = relaxed_values[depth] + relaxed[depth, i]
        lengths[depth + 1] = lengths[depth] - i - 1
        depth += 1
        following[depth] = -1
    depth_now[0] = depth
    return count, True


@numba.njit(cache=True)
def _sort_by_gain(  # type: ignore[no-untyped-def]
    columns, top, k, candidates, linear, gains, relaxed, n
):
    for i in range(n):
        gain = linear[i]
        column = columns[candidates[i]]
        for c in range(column.shape[0]):
            gain += max(0.0, column[c] - top[c, k - 1])
        gains[i] = gain
    # The order hardly changes from one depth to the next, which insertion likes.
    for i in range(1, n):
        gain, d, own, pairs = gains[i], candidates[i], linear[i], relaxed[i]
        j = i
        while j > 0 and gains[j - 1] < gain:
            gains[j], candidates[j] = gains[j - 1], candidates[j - 1]
            linear[j], relaxed[j] = linear[j - 1], relaxed[j - 1]
            j -= 1
        gains[j], candidates[j], linear[j], relaxed[j] = gain, d, own, pairs


@numba.njit(cache=True)
def _largest_sum(values, count):  # type: ignore[no-untyped-def]
    """Return the sum of the largest `count` values."""
    largest = np.full(count, -np.inf)
    for value in values:
        j = count
        while j > 0 and largest[j - 1] < value:
            if j < count:
                largest[j] = largest[j - 1]
            j -= 1
        if j < count:
            largest[j] = value
    total = 0.0
    for value in largest:
        total += value
    return total


@numba.njit(cache=True)
def _choose(  # type: ignore[no-untyped-def]
    column, redundancy, pairs, k, place, i, n, top, places, candidates, linear, relaxed, new_top,
    new_places, new_candidates, new_linear, new_relaxed,
):  # fmt: skip
    """Enter the next depth: the i-th candidate is chosen, those before it are not."""
    for c in range(column.shape[0]):
        value, at = column[c], k + 1
        while at > 0 and value > top[c, at - 1]:
            at -= 1
        for j in range(k + 1):
            if j < at:
                new_top[c, j], new_places[c, j] = top[c, j], places[c, j]
            elif j == at:
                new_top[c, j], new_places[c, j] = value, place
            else:
                new_top[c, j], new_places[c, j] = top[c, j - 1], places[c, j - 1]
    for j in range(i + 1, n):
        new_candidates[j - i - 1] = candidates[j]
        new_linear[j - i - 1] = linear[j] - redundancy[candidates[j]]
        new_relaxed[j - i - 1] = relaxed[j] + 2.0 * pairs[candidates[j]]


@numba.njit(cache=True)
def _sets_with(column, top, places, k, place, sets, regret):  # type: ignore[no-untyped-def]
    """Name the best set of every class once the last feature is chosen, and what leaving it costs.

    The best other set differs in one feature: the last one for the next one.
    """
    for c in range(column.shape[0]):
        name = np.uint64(0)
        for j in range(k - 1):
            name |= np.uint64(1) << np.uint64(places[c, j])
        if column[c] > top[c, k - 1]:
            name |= np.uint64(1) << np.uint64(place)
            last = column[c] if k == 1 else min(column[c], top[c, k - 2])
            regret[c] = last - top[c, k - 1]
        else:
            name |= np.uint64(1) << np.uint64(places[c, k - 1])
            regret[c] = top[c, k - 1] - max(column[c], top[c, k])
        sets[c] = name


@numba.njit(cache=True)
def _least_loss(sets, regret):  # type: ignore[no-untyped-def]
    """Return what uniqueness costs at the least: of the classes with one set, one may keep it."""
    n = sets.shape[0]
    loss = 0.0
    for c in range(n):
        largest = regret[c]
        total = largest
        first = True
        for other in range(n):
            if other != c and sets[other] == sets[c]:
                if other < c:
                    first = False
                    break
                total += regret[other]
                largest = max(largest, regret[other])
        if first:
            loss += total - largest
    return loss
