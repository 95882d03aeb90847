"""The compiled loop that finds the multipliers of an overlap cut."""

from __future__ import annotations

import numba
import numpy as np


@numba.njit(cache=True)
def _value(rows, weight, n_per_class, thresholds, sigma, order, taken):
    """Return what the cut gives at the weights, and its slope against sigma; fill in `taken`.

    `taken` tells how much every class takes: the slope against a threshold is n_per_class less it.
    """
    q, n = rows.shape
    pairs = (n_per_class - 1) * q * (q - 1) / 2
    total, slope = n_per_class * thresholds.sum() + sigma * pairs, pairs
    taken[:] = 0.0
    for d in range(n):
        if weight[d] == 0.0:
            continue
        for c in range(q):
            own = rows[c, d] - thresholds[c]
            j = c
            while j > 0 and rows[order[j - 1], d] - thresholds[order[j - 1]] < own:
                order[j] = order[j - 1]
                j -= 1
            order[j] = c
        reached, best, number = 0.0, 0.0, 0
        for j in range(q):
            reached += rows[order[j], d] - thresholds[order[j]] - sigma * j
            if reached > best:
                best, number = reached, j + 1
        total += weight[d] * best
        slope -= weight[d] * number * (number - 1) / 2
        for j in range(number):
            taken[order[j]] += weight[d]
    return total, slope


@numba.njit(cache=True)
def improve_multipliers(rows, weight, n_per_class, thresholds, sigma, hope, steps):
    """Improve thresholds and sigma ≥ 0 by steps against the slope; return the best and their value.

    Parameters
    ----------
    rows : classes × columns
    weight : how much every column is selected
    n_per_class : columns of a class
    thresholds, sigma : where to start
    hope : by how much the value may fall at first; less after some steps in vain
    steps : how many
    """
    q = rows.shape[0]
    order, taken = np.empty(q, np.int64), np.empty(q)
    best, best_sigma, best_thresholds = np.inf, sigma, thresholds.copy()
    now, at = thresholds.copy(), sigma
    direction, sigma_direction = np.zeros(q), 0.0
    vain = 0
    for _ in range(steps):
        value, slope = _value(rows, weight, n_per_class, now, at, order, taken)
        if value < best - 0.05 * hope:
            vain = 0
        else:
            vain += 1
        if value < best:
            best, best_sigma = value, at
            best_thresholds[:] = now
        if vain > 8:
            hope, vain = 0.5 * hope, 0
            value, at = best, best_sigma
            now[:] = best_thresholds
            value, slope = _value(rows, weight, n_per_class, now, at, order, taken)
            direction[:], sigma_direction = 0.0, 0.0
        # Part of the last direction is kept where it points the other way.
        new = n_per_class - taken
        if at == 0.0 and slope > 0.0:
            slope = 0.0
        along = (new * direction).sum() + slope * sigma_direction
        past = (direction * direction).sum() + sigma_direction**2
        keep = -1.5 * along / past if along < 0.0 else 0.0
        direction = new + keep * direction
        sigma_direction = slope + keep * sigma_direction
        square = (direction * direction).sum() + sigma_direction**2
        if square == 0.0:
            break
        length = (value - best + hope) / square
        now -= length * direction
        at = max(0.0, at - length * sigma_direction)
    return best_thresholds, best_sigma, best
