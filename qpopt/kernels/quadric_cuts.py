"""Compiled loops of the cuts on X: find, add and weigh them.

`entries` are the CutEntries of `qpopt.cuts.quadric`.
"""

from __future__ import annotations

import numpy as np

from qpopt.kernels.compiled import compiled


@compiled()
def _value(M, entries, r):
    total = 0.0
    for e in range(entries.start[r], entries.start[r + 1]):
        total += entries.weight[e] * M[entries.row[e], entries.column[e]]
    return total


@compiled()
def _add(M, entries, r, factor):
    for e in range(entries.start[r], entries.start[r + 1]):
        i, j = entries.row[e], entries.column[e]
        change = factor * entries.weight[e]
        if i == j:
            M[i, i] += change
        else:
            M[i, j] += 0.5 * change
            M[j, i] += 0.5 * change


@compiled()
def cut_values(M, entries):
    """Return Σ weight · M[row, column] over the entries of every cut."""
    result = np.empty(len(entries.squares))
    for r in range(len(result)):
        result[r] = _value(M, entries, r)
    return result


@compiled()
def add_cuts(M, entries, factor):
    """Add Σ_r factor_r · (the symmetric matrix of cut r) to M."""
    for r in range(len(factor)):
        if factor[r] != 0.0:
            _add(M, entries, r, factor[r])


@compiled()
def sweep_cuts(M, entries, prices, multipliers):
    """Choose the best multiplier of one cut after the other, the others being as they are.

    Parameters
    ----------
    M : free × free, what the cuts are to make smaller; changed: it gets what they add
    prices : what a unit of every multiplier costs
    multipliers : one for every cut, ≥ 0; changed
    """
    for r in range(len(multipliers)):
        old = multipliers[r]
        slope = prices[r] + _value(M, entries, r)
        multipliers[r] = max(0.0, old - slope / entries.squares[r])
        if multipliers[r] != old:
            _add(M, entries, r, multipliers[r] - old)


@compiled()
def _grow(X, sign, pull, level, members, size, all_moves, least_gain):
    """Change a cut, one feature at a time, while X violates it more; return (level, size).

    Parameters
    ----------
    X : features × features
    sign : 1 for features in `plus`, −1 for those in `minus`, else 0; changed
    pull : X · sign; changed
    level : the level of the cut
    members, size : the features of the cut; changed
    all_moves : also remove features, add to `minus` and change the level
    least_gain : what a change must add to the violation
    """
    n, largest = len(sign), len(members)
    while True:
        best, place, new = least_gain, -1, 0
        for d in range(n):
            own = X[d, d]
            if sign[d] == 0:
                if size == largest:
                    continue
                if level * own - pull[d] > best:
                    best, place, new = level * own - pull[d], d, 1
                if all_moves and pull[d] - (level + 1) * own > best:
                    best, place, new = pull[d] - (level + 1) * own, d, -1
            elif all_moves and size > 2:
                gain = pull[d] - own - level * own if sign[d] > 0 else level * own - pull[d]
                if gain > best:
                    best, place, new = gain, d, 0
        if place < 0:
            return level, size
        change = new - sign[place]
        sign[place] = new
        if new == 0:
            at = 0
            while members[at] != place:
                at += 1
            members[at] = members[size - 1]
            size -= 1
        else:
            members[size] = place
            size += 1
        for d in range(n):
            pull[d] += change * X[place, d]
        if all_moves:
            total = 0.0
            for d in members[:size]:
                total += sign[d] * X[d, d]
            level = max(int(np.floor(total)), 0)


@compiled()
def _violation(X, sign, pull, level, members):
    """Return the left side minus the right side of a cut."""
    value = -0.5 * level * (level + 1)
    for d in members:
        own = X[d, d]
        value += level * own if sign[d] > 0 else -(level + 1) * own
        value -= 0.5 * (sign[d] * pull[d] - own)
    return value


@compiled()
def grow_cuts(X, partners, highest, largest, lowest_violation, least_gain):
    """Look for violated cuts from many starts.

    Every feature i starts one search in `minus` with each of its partners in `plus`, first with
    additions to `plus` only, then with all moves; and one alone in `plus` for every level.

    Parameters
    ----------
    X : features × features
    partners : features × some, the features to start with
    highest : the largest level to start with
    largest : the most features of a cut
    lowest_violation : the least violation of a cut worth having
    least_gain : what a change of a cut must add to its violation

    Returns
    -------
    The features of every cut, their signs (0 where there is none), its level and its violation.
    """
    n, starts = partners.shape
    most = n * (2 * starts + highest)
    found, signs = np.zeros((most, largest), np.int64), np.zeros((most, largest), np.int64)
    levels, violations = np.zeros(most, np.int64), np.zeros(most)
    sign, pull = np.zeros(n, np.int64), np.zeros(n)
    members = np.zeros(largest, np.int64)
    count = 0
    for i in range(n):
        for start in range(starts + highest):
            sign[:] = 0
            members[0] = i
            if start < starts:
                j = partners[i, start]
                members[1], size, level = j, 2, 0
                sign[i], sign[j] = -1, 1
                pull[:] = X[j] - X[i]
            else:
                size, level = 1, start - starts + 1
                sign[i] = 1
                pull[:] = X[i]
            for stage in range(2):
                before = size
                level, size = _grow(X, sign, pull, level, members, size, stage == 1, least_gain)
                value = _violation(X, sign, pull, level, members[:size])
                if value <= lowest_violation or size < 3:
                    continue
                if stage == 0 and (size == before or start >= starts):
                    continue
                found[count, :size] = members[:size]
                signs[count, :size] = sign[members[:size]]
                levels[count], violations[count] = level, value
                count += 1
    return found[:count], signs[:count], levels[:count], violations[:count]
