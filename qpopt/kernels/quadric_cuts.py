"""Compiled loops that look for cuts on X."""

from __future__ import annotations

import numba
import numpy as np

LEAST_GAIN = 1e-6


@numba.njit(cache=True)
def _grow(X, sign, pull, level, members, size, all_moves):  # type: ignore[no-untyped-def]
    """Change a cut, one feature at a time, while X violates it more; return (level, size).

    Parameters
    ----------
    X : features × features
    sign : 1 for features in `plus`, −1 for those in `minus`, else 0; changed
    pull : X · sign; changed
    level : the level of the cut
    members, size : the features of the cut; changed
    all_moves : also remove features, add to `minus` and change the level
    """
    n, largest = len(sign), len(members)
    while True:
        best, place, new = LEAST_GAIN, -1, 0
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
            for p in range(size):
                total += sign[members[p]] * X[members[p], members[p]]
            level = max(int(np.floor(total)), 0)


@numba.njit(cache=True)
def _violation(X, sign, pull, level, members, size):  # type: ignore[no-untyped-def]
    """Return the left side minus the right side of a cut."""
    value = -0.5 * level * (level + 1)
    for p in range(size):
        d = members[p]
        own = X[d, d]
        value += level * own if sign[d] > 0 else -(level + 1) * own
        value -= 0.5 * (sign[d] * pull[d] - own)
    return value


@numba.njit(cache=True)
def grow_cuts(X, partners, levels, low, found, found_signs, found_levels, violations):  # type: ignore[no-untyped-def]
    """Look for violated cuts from many starts; return how many were found.

    Every feature i starts one search in `minus` with each of its partners in `plus`, first with
    additions to `plus` only, then with all moves; and one alone in `plus` for every level.

    Parameters
    ----------
    X : features × features
    partners : features × some, the features to start with
    levels : the largest level to start with
    low : the least violation of a cut worth having
    found, found_signs : cuts × most members, filled in; the sign is 0 where there is none
    found_levels, violations : one for every cut, filled in
    """
    n, starts = partners.shape
    largest = found.shape[1]
    sign, pull = np.zeros(n, np.int64), np.zeros(n)
    members = np.zeros(largest, np.int64)
    count = 0
    for i in range(n):
        for start in range(starts + levels):
            sign[:] = 0
            if start < starts:
                j = partners[i, start]
                members[0], members[1], size, level = i, j, 2, 0
                sign[i], sign[j] = -1, 1
                for d in range(n):
                    pull[d] = X[j, d] - X[i, d]
            else:
                members[0], size, level = i, 1, start - starts + 1
                sign[i] = 1
                for d in range(n):
                    pull[d] = X[i, d]
            for stage in range(2):
                before = size
                level, size = _grow(X, sign, pull, level, members, size, stage == 1)
                value = _violation(X, sign, pull, level, members, size)
                if value <= low or size < 3 or (stage == 0 and size == before):
                    continue
                if stage == 0 and start >= starts:
                    continue
                for p in range(size):
                    found[count, p] = members[p]
                    found_signs[count, p] = sign[members[p]]
                found_levels[count], violations[count] = level, value
                count += 1
    return count
