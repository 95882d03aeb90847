"""The best set of features for classes that pay for each feature once, and share it.

Features are decided one after the other, with before without. While some are open, every class
counts with its best features, less its share of the price of those that are open.
"""

from __future__ import annotations

import numpy as np

from qpopt.kernels.compiled import compiled
from qpopt.kernels.families.distinct import distinct_gain


@compiled()
def best_use(gains, prices, k, most_parts):
    """Return the most that the classes gain by distinct sets, less the prices of what they use.

    Parameters
    ----------
    gains, k
        As for `distinct_gain`.
    prices
        The price of every feature, ≥ 0.
    most_parts
        After so many parts nothing more is taken apart.

    Returns
    -------
    tuple
        A value that nothing exceeds, the best features found as bits, and the set of every class.
    """
    n_classes, n_features = gains.shape
    open_gains = np.empty_like(gains)
    for d in range(n_features):
        total = 0.0
        for c in range(n_classes):
            total += max(gains[c, d], 0.0)
        for c in range(n_classes):
            share = max(gains[c, d], 0.0) / total if total > 0.0 else 0.0
            open_gains[c, d] = gains[c, d] - prices[d] * share
    best, left, best_used = 0.0, 0.0, 0
    sets, chosen = np.zeros(n_classes, np.int64), np.zeros(n_classes, np.int64)
    used_of = np.zeros(n_features + 2, np.int64)
    decided = np.zeros(n_features + 2, np.int64)
    top = np.empty(k)
    waiting, n_parts = 1, 0
    while waiting > 0:
        waiting -= 1
        used, first = used_of[waiting], decided[waiting]
        n_parts += 1
        paid = 0.0
        for d in range(first):
            if (used >> d) & 1:
                paid += prices[d]
        bound = _best_sums(gains, open_gains, used, first, top) - paid
        if bound <= best:
            continue
        if n_parts > most_parts:
            left = max(left, bound)
        elif first == n_features:
            value = distinct_gain(gains, k, used, chosen) - paid
            if value > best:
                best, best_used = value, used
                sets[:] = chosen
        else:
            used_of[waiting], decided[waiting] = used, first + 1
            used_of[waiting + 1], decided[waiting + 1] = used | (1 << first), first + 1
            waiting += 2
    return max(best, left), best_used, sets


@compiled()
def _best_sums(gains, open_gains, used, first, top):
    """Add up the best features of every class; the first ones are decided, the others open."""
    n_classes, n_features = gains.shape
    k = top.shape[0]
    total = 0.0
    for c in range(n_classes):
        count = 0
        for d in range(n_features):
            if d >= first:
                value = open_gains[c, d]
            elif (used >> d) & 1:
                value = gains[c, d]
            else:
                continue
            if value <= 0.0 or (count == k and value <= top[k - 1]):
                continue
            i = min(count, k - 1)
            count = min(count + 1, k)
            while i > 0 and top[i - 1] < value:
                top[i] = top[i - 1]
                i -= 1
            top[i] = value
        for i in range(count):
            total += top[i]
    return total
