"""Compiled loops that estimate what it costs to make all classes distinct.

An auction: every class begins with its best set, and where that is taken, the class bids for it or
for a set that differs from it in one feature, whichever leaves it best off at current prices. Who
is outbid bids again. A raise is at least `step`, which bounds how far the outcome is from the best
one over these sets. The outcome is a real assignment, so the estimate is not too low, unless a
class finds no set that near; it is then charged the most that such a set could cost.

What a relaxation may count on is another bound: the multipliers of an overlap cut, see
`qpopt.cuts.overlap`.

The helpers take single arrays: handing whole tuples of arrays to them takes longer than their work.
"""

from __future__ import annotations

import numpy as np

from qpopt.kernels.compiled import compiled

NEARLY_INFINITE = np.int64(2**61)


@compiled()
def uniqueness_cost(problem, state, auction, place, entering):
    """Return the estimate for the state that a swap would lead to; `place` −1 means no swap.

    Afterwards `auction.paid` tells how much every class pays, and `auction.looked` has been counted
    up by the sets that were looked at.
    """
    k, key = problem.n_per_class, problem.key
    auction.stamp[0] += 1
    stamp, raise_by = auction.stamp[0], auction.step[0]
    entered, names, price, owner = auction.entered, auction.name, auction.price, auction.owner
    paid, waiting, best_name = auction.paid, auction.waiting, auction.best_name
    list_value, list_key = auction.list_value, auction.list_key
    top_value, top_place, selected = state.top_value, state.top_place, state.selected
    came = problem.A_by_feature[entering]
    best_name[:] = state.name
    if place >= 0:
        gone = problem.A_by_feature[selected[place]]
        _rename(top_value, top_place, selected, key, k, place, entering, came, gone, best_name)
    n_waiting = _open(entered, names, price, owner, stamp, best_name, waiting)
    paid[:] = 0
    cost = np.int64(0)
    bids_left = auction.most_bids
    while n_waiting > 0:
        n_waiting -= 1
        c = waiting[n_waiting]
        n_list = _list_after(
            top_value[c], top_place[c], selected, key, place, came[c], key[entering],
            list_value, list_key,
        )  # fmt: skip
        outbid = _bid(
            list_value[:n_list], list_key, entered, names, price, owner, paid, stamp,
            best_name[c], c, k, raise_by, bids_left <= 0,
        )  # fmt: skip
        auction.looked[0] += k * (n_list - k) + 1
        bids_left -= 1
        cost += paid[c]
        if outbid >= 0:
            cost -= paid[outbid]
            paid[outbid] = 0
            waiting[n_waiting] = outbid
            n_waiting += 1
    return cost


@compiled()
def _open(entered, names, price, owner, stamp, best_name, waiting):
    """Give every class its best set; list the classes that come too late, return their number."""
    n_waiting = 0
    for c in range(best_name.shape[0]):
        slot = _slot(entered, names, stamp, best_name[c])
        if entered[slot] == stamp:
            waiting[n_waiting] = c
            n_waiting += 1
        else:
            entered[slot] = stamp
            names[slot] = best_name[c]
            price[slot] = 0
            owner[slot] = c
    return n_waiting


@compiled()
def _rename(top_value, top_place, selected, key, k, place, entering, came, gone, best_name):
    """Change the names of the classes' best sets to those after a swap."""
    key_came, key_gone = key[entering], key[selected[place]]
    for c in range(best_name.shape[0]):
        t, t_place = top_value[c, k - 1], top_place[c, k - 1]
        x = came[c]
        if gone[c] > t or (gone[c] == t and place <= t_place):
            u, u_place = top_value[c, k], top_place[c, k]
            if x > u or (x == u and place < u_place):
                best_name[c] += key_came - key_gone
            else:
                best_name[c] += key[selected[u_place]] - key_gone
        elif x > t or (x == t and place < t_place):
            best_name[c] += key_came - key[selected[t_place]]


@compiled()
def _slot(entered, names, stamp, name):
    """Return the slot that holds a set, or the empty one where it belongs."""
    mask = np.uint64(names.shape[0] - 1)
    slot = (name ^ (name >> np.uint64(32))) & mask
    while entered[slot] == stamp and names[slot] != name:
        slot = (slot + np.uint64(1)) & mask
    return slot


@compiled()
def _list_after(top_value, top_place, selected, key, place, x, key_came, list_value, list_key):
    """List the best values of a class after a swap, falling, and the keys of their features."""
    most = list_value.shape[0]
    n = 0
    pending = place >= 0
    for rank in range(top_value.shape[0]):
        v, p = top_value[rank], top_place[rank]
        if pending and n < most and (x > v or (x == v and place < p)):
            list_value[n] = x
            list_key[n] = key_came
            n += 1
            pending = False
        if n < most and p != place and p >= 0:
            list_value[n] = v
            list_key[n] = key[selected[p]]
            n += 1
    return n


@compiled()
def _bid(value, key, entered, names, price, owner, paid, stamp, name, c, k, step, last):
    """Let a class take what leaves it best off; return the class that loses its set, or −1.

    The `last` bids of an auction that takes too long go to free sets only.
    """
    n = value.shape[0]
    # Paying `nowhere` is always possible. A burden is cost plus price.
    nowhere = np.int64(value[0]) - value[n - 1]
    best_slot, best_name, best_cost = _slot(entered, names, stamp, name), name, np.int64(0)
    best, second = price[best_slot], nowhere
    away = last or best > nowhere
    if away:
        best, second, best_cost = nowhere, NEARLY_INFINITE, nowhere
    for came in range(k, n):
        for gone in range(k - 1, -1, -1):
            cost = np.int64(value[gone]) - value[came]
            if cost >= second:
                break
            other = name - key[gone] + key[came]
            slot = _slot(entered, names, stamp, other)
            burden = cost
            if entered[slot] == stamp:
                burden = NEARLY_INFINITE if last else cost + price[slot]
            if burden < best:
                best, second, away = burden, best, False
                best_slot, best_name, best_cost = slot, other, cost
            elif burden < second:
                second = burden
    paid[c] = best_cost
    if away:
        return -1
    if entered[best_slot] != stamp:
        entered[best_slot] = stamp
        names[best_slot] = best_name
        price[best_slot] = 0
        owner[best_slot] = -1
    price[best_slot] += min(second, nowhere) - best + step
    outbid = owner[best_slot]
    owner[best_slot] = c
    return outbid


@compiled()
def _overlap_value(rows, weight, n_per_class, thresholds, sigma, order, taken):
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


@compiled()
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
        value, slope = _overlap_value(rows, weight, n_per_class, now, at, order, taken)
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
            value, slope = _overlap_value(rows, weight, n_per_class, now, at, order, taken)
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
