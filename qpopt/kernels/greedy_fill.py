"""The compiled loop that completes a selection feature by feature."""

from __future__ import annotations

import numpy as np

from qpopt.kernels.compiled import compiled
from qpopt.kernels.random import next_random
from qpopt.kernels.tabu import BARRED


@compiled(nogil=True)
def fill(problem, selected, n_have, allowed, breadth, random):
    """Add features to the first `n_have` of `selected` until it is full.

    Each time one of the `breadth` features with the largest marginal gain is drawn; 1 is the plain
    greedy rule. A class that has fewer than n_per_class features counts the missing ones as 0.
    """
    n_classes, n_features = problem.A.shape
    k = problem.n_per_class
    top = np.zeros((n_classes, k), np.int32)
    score = np.empty(n_features, np.int32)
    best = np.empty(breadth, np.int64)
    for j in range(n_features):
        score[j] = problem.b[j]
        if not allowed[j]:
            score[j] = BARRED
    for c in range(n_classes):
        row = problem.A[c]
        for j in range(n_features):
            score[j] += max(row[j], np.int32(0))
    for position in range(selected.shape[0]):
        if position < n_have:
            d = selected[position]
        else:
            n_best = _largest(score, best)
            d = best[next_random(random) % n_best]
            selected[position] = d
        redundancy = problem.R[d]
        for j in range(n_features):
            score[j] -= redundancy[j]
        score[d] = BARRED
        for c in range(n_classes):
            _improve(problem.A[c], top[c], problem.A[c, d], score)


@compiled()
def _improve(row, top, x, score):
    """Let a class use a value if it is large enough, and lower the scores accordingly."""
    k = top.shape[0]
    if x <= top[k - 1]:
        return
    t_old = top[k - 1]
    rank = k - 1
    while rank > 0 and top[rank - 1] < x:
        top[rank] = top[rank - 1]
        rank -= 1
    top[rank] = x
    t_new = top[k - 1]
    rise = np.int32(t_new - t_old)
    for j in range(row.shape[0]):
        score[j] += max(row[j], t_new) - max(row[j], t_old) - rise


@compiled()
def _largest(score, best):
    """Find the features with the largest scores, falling; return how many are not barred."""
    n_best = 0
    for j in range(score.shape[0]):
        x = score[j]
        if x < BARRED // 2 or (n_best == best.shape[0] and x <= score[best[n_best - 1]]):
            continue
        rank = min(n_best, best.shape[0] - 1)
        n_best = rank + 1
        while rank > 0 and score[best[rank - 1]] < x:
            best[rank] = best[rank - 1]
            rank -= 1
        best[rank] = j
    return n_best
