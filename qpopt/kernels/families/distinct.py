"""What classes gain at the most by distinct sets of given features.

Every class takes up to k features that it gains by. No two classes take the same k; with fewer than
k a class may do what others do, for what is missing of its set stands for features elsewhere, which
are not looked at. Sets are bits.
"""

from __future__ import annotations

import numpy as np

from qpopt.kernels.compiled import compiled

FURTHER = 3
"""Sets of k are made of the best k + 3 features; with a worse one a set is charged as if no other
class wanted it."""

TIE = 1e-13
"""Changes smaller than this, relative to the largest gain, are rounding."""


@compiled()
def distinct_gain(gains, k, used, chosen):
    """Return what the classes gain at the most by distinct sets of the features in `used`.

    Parameters
    ----------
    gains
        What every class gains by every feature, classes × features; below 0 is not taken.
    k
        The most features of a set.
    used
        The features, as bits.
    chosen
        Gets the sets, one a class.
    """
    n_classes, n_features = gains.shape
    falling = np.empty((n_classes, n_features))
    place = np.empty((n_classes, n_features), np.int64)
    count = np.zeros(n_classes, np.int64)
    total = 0.0
    for c in range(n_classes):
        for d in range(n_features):
            if (used >> d) & 1 and gains[c, d] > 0.0:
                i = count[c]
                while i > 0 and falling[c, i - 1] < gains[c, d]:
                    falling[c, i], place[c, i] = falling[c, i - 1], place[c, i - 1]
                    i -= 1
                falling[c, i], place[c, i] = gains[c, d], d
                count[c] += 1
        chosen[c] = 0
        for i in range(min(k, count[c])):
            total += falling[c, i]
            chosen[c] |= 1 << place[c, i]
    for c in range(n_classes):
        for other in range(c):
            if count[c] >= k and chosen[other] == chosen[c]:
                return _made_distinct(falling, place, count, k, chosen)
    return total


@compiled()
def _made_distinct(falling, place, count, k, chosen):
    """Return the same where best sets coincide: the best matching of classes and sets."""
    n_classes = falling.shape[0]
    most = 1
    for i in range(FURTHER):
        most = most * (k + i + 1) // (i + 1)
    value = np.empty((n_classes, most))
    number = np.empty((n_classes, most), np.int64)
    n_options = np.zeros(n_classes, np.int64)
    names = np.empty(n_classes * most, np.int64)
    n_names = 0
    # What is left of a class that takes no set of its own: its best k − 1 and something else.
    alone, lonely = np.zeros(n_classes), np.zeros(n_classes, np.int64)
    index = np.empty(k, np.int64)
    for c in range(n_classes):
        for i in range(min(k - 1, count[c])):
            alone[c] += falling[c, i]
            lonely[c] |= 1 << place[c, i]
        if count[c] < k:
            continue
        reach = min(count[c], k + FURTHER)
        if count[c] > reach:
            alone[c] += falling[c, reach]
            lonely[c] |= 1 << place[c, reach]
        for i in range(k):
            index[i] = i
        while True:
            worth, name = 0.0, 0
            for i in range(k):
                worth += falling[c, index[i]]
                name |= 1 << place[c, index[i]]
            if worth > alone[c]:
                j = 0
                while j < n_names and names[j] != name:
                    j += 1
                names[j] = name
                n_names = max(n_names, j + 1)
                value[c, n_options[c]], number[c, n_options[c]] = worth, j
                n_options[c] += 1
            i = k - 1
            while i >= 0 and index[i] == reach - k + i:
                i -= 1
            if i < 0:
                break
            index[i] += 1
            for j in range(i + 1, k):
                index[j] = index[j - 1] + 1
    choice = _matched(value, number, n_options, alone, n_names)
    total = 0.0
    for c in range(n_classes):
        r = choice[c]
        total += alone[c] if r < 0 else value[c, r]
        chosen[c] = lonely[c] if r < 0 else names[number[c, r]]
    return total


@compiled()
def _matched(value, number, n_options, alone, n_names):
    """Return the option that every class gets in a best matching, −1 for none.

    Classes come in one after the other, each along a best alternating path.
    """
    n_classes = value.shape[0]
    owner = np.full(n_names, -1)
    choice = np.full(n_classes, -1)
    gain = np.empty(n_classes)
    before = np.empty(n_classes, np.int64)
    taken = np.empty(n_classes, np.int64)
    tie = 0.0
    for c in range(n_classes):
        for r in range(n_options[c]):
            tie = max(tie, TIE * value[c, r])
    for c in range(n_classes):
        gain[:] = -np.inf
        gain[c] = 0.0
        # A best path visits no class twice, so as many rounds as classes find it.
        for _ in range(n_classes):
            changed = False
            for h in range(c + 1):
                for r in range(n_options[h]):
                    o = owner[number[h, r]]
                    if o < 0 or o in (h, c):
                        continue
                    by = gain[h] + value[h, r] - value[o, choice[o]]
                    if by > gain[o] + tie:
                        gain[o], before[o], taken[o] = by, h, r
                        changed = True
            if not changed:
                break
        best, end, last = -np.inf, c, -1
        for h in range(c + 1):
            if gain[h] + alone[h] > best:
                best, end, last = gain[h] + alone[h], h, -1
            for r in range(n_options[h]):
                if owner[number[h, r]] < 0 and gain[h] + value[h, r] > best:
                    best, end, last = gain[h] + value[h, r], h, r
        h, r = end, last
        for _ in range(n_classes):
            following, its = before[h], taken[h]
            choice[h] = r
            if r >= 0:
                owner[number[h, r]] = h
            if h == c:
                break
            h, r = following, its
    return choice
