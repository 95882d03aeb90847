"""The loops of the enumeration, compiled."""

from __future__ import annotations

import numpy as np

from qpopt.kernels.compiled import compiled

PLACES = 63
"""How many selected features fit into the bits of a number that names a set of them."""


@compiled()
def better_selections(problem, stack, limit, steps, found):
    """Go on with the depth-first search until `found` is full or `steps` are made.

    Parameters
    ----------
    problem, stack : an EnumerationProblem and an EnumerationStack of `qpopt.search.enumeration`
    limit : selections whose value cannot exceed it are passed over
    steps : the most parts and selections to look at
    found : gets the selections

    Returns
    -------
    How many selections were found, and whether that was all.
    """
    m, columns = stack.values.shape[0], problem.columns
    gains, relaxed, following, lengths = stack.gains, stack.relaxed, stack.following, stack.lengths
    count = 0
    depth = stack.depth[0]
    sets = np.empty(columns.shape[1], np.uint64)
    regret = np.empty(columns.shape[1])
    while depth >= 0:
        if steps == 0 or count == found.shape[0]:
            stack.depth[0] = depth
            return count, False
        steps -= 1
        if following[depth] < 0:
            _sort_by_gain(problem, stack, depth)
            stack.reserve[depth] = _largest_sum(relaxed[depth, : lengths[depth]], m - depth - 1)
            following[depth] = 0
        i = following[depth]
        left = m - depth
        reach = stack.values[depth]
        if i + left <= lengths[depth]:
            for j in range(i, i + left):
                reach += gains[depth, j]
        if i + left > lengths[depth] or reach <= limit:
            depth -= 1
            continue
        following[depth] += 1
        if stack.relaxed_values[depth] + relaxed[depth, i] + stack.reserve[depth] <= limit:
            continue
        if left == 1:
            d = stack.candidates[depth, i]
            place = problem.n_included + depth
            if place < PLACES:
                top, places = stack.top[depth], stack.places[depth]
                _sets_with(columns[d], top, places, problem.n_per_class, place, sets, regret)
                reach -= _least_loss(sets, regret)
            if reach > limit:
                for j in range(m):
                    found[count, j] = stack.candidates[j, following[j] - 1]
                count += 1
            continue
        _choose(problem, stack, depth, i)
        depth += 1
        following[depth] = -1
    stack.depth[0] = depth
    return count, True


@compiled()
def _sort_by_gain(problem, stack, depth):
    k, top, gains = problem.n_per_class, stack.top[depth], stack.gains[depth]
    candidates, linear, relaxed = stack.candidates[depth], stack.linear[depth], stack.relaxed[depth]
    for i in range(stack.lengths[depth]):
        gain = linear[i]
        column = problem.columns[candidates[i]]
        for c in range(column.shape[0]):
            gain += max(0.0, column[c] - top[c, k - 1])
        gains[i] = gain
    # The order hardly changes from one depth to the next, which insertion likes.
    for i in range(1, stack.lengths[depth]):
        gain, d, own, pairs = gains[i], candidates[i], linear[i], relaxed[i]
        j = i
        while j > 0 and gains[j - 1] < gain:
            gains[j], candidates[j] = gains[j - 1], candidates[j - 1]
            linear[j], relaxed[j] = linear[j - 1], relaxed[j - 1]
            j -= 1
        gains[j], candidates[j], linear[j], relaxed[j] = gain, d, own, pairs


@compiled()
def _largest_sum(values, count):
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


@compiled()
def _choose(problem, stack, depth, i):
    """Fill in the next depth: the i-th candidate is chosen, those before it are not."""
    k, d, new = problem.n_per_class, stack.candidates[depth, i], depth + 1
    top, places = stack.top[depth], stack.places[depth]
    new_top, new_places = stack.top[new], stack.places[new]
    column, redundancy, pairs = problem.columns[d], problem.R[d], problem.Q[d]
    for c in range(column.shape[0]):
        value, at = column[c], k + 1
        while at > 0 and value > top[c, at - 1]:
            at -= 1
        for j in range(k + 1):
            if j == at:
                new_top[c, j], new_places[c, j] = value, problem.n_included + depth
            else:
                old = j if j < at else j - 1
                new_top[c, j], new_places[c, j] = top[c, old], places[c, old]
    n = stack.lengths[depth] - i - 1
    for j in range(n):
        other = stack.candidates[depth, i + 1 + j]
        stack.candidates[new, j] = other
        stack.linear[new, j] = stack.linear[depth, i + 1 + j] - redundancy[other]
        stack.relaxed[new, j] = stack.relaxed[depth, i + 1 + j] + 2.0 * pairs[other]
    stack.lengths[new] = n
    stack.values[new] = stack.values[depth] + stack.gains[depth, i]
    stack.relaxed_values[new] = stack.relaxed_values[depth] + stack.relaxed[depth, i]


@compiled()
def _sets_with(column, top, places, k, place, sets, regret):
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


@compiled()
def _least_loss(sets, regret):
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
