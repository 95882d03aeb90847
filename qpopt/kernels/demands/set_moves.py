"""Compiled loops that repair and improve the sets of classes that must, or must not, be alike.

What is wrong comes first, what sets are worth second: a move is made if less is wrong after it, or
as much and the sets are worth more. `rules` are those of `qpopt.problem.assigning.alike`.
"""

from __future__ import annotations

import numpy as np

from qpopt.kernels.compiled import compiled

FAR_AWAY = -1e300


@compiled()
def best_pair(first, second, size, row, other_row):
    """Fill in the best two sets that share all but one feature each; rows of 0 and 1.

    Each feature can be in the common part, or in one of the sets only.
    """
    n = first.shape[0]
    both = first + second
    order = np.argsort(-both)
    best = FAR_AWAY
    best_d, best_e = -1, -1
    for d in range(n):
        for e in range(n):
            if e == d:
                continue
            total, taken, position = first[d] + second[e], 0, 0
            while taken < size - 1 and position < n:
                i = order[position]
                position += 1
                if i != d and i != e:
                    total += both[i]
                    taken += 1
            if taken == size - 1 and total > best:
                best, best_d, best_e = total, d, e
    row[:] = False
    other_row[:] = False
    if best_d < 0:
        return
    taken, position = 0, 0
    while taken < size - 1:
        i = order[position]
        position += 1
        if i != best_d and i != best_e:
            row[i] = True
            other_row[i] = True
            taken += 1
    row[best_d] = True
    other_row[best_e] = True


@compiled()
def _wrong(shared, is_pair, most):
    """Return by how much what two classes share is wrong."""
    if is_pair:
        return abs(shared - most)
    return max(shared - most, 0)


@compiled()
def _cell(rules, c, j, taken):
    """Return 1 where taking a feature, or leaving it, breaks a demand on this very assignment."""
    if taken:
        return 0 if rules.allowed[c, j] else 1
    return 1 if rules.required[c, j] else 0


@compiled()
def _shared(member):
    n_classes, n = member.shape
    shared = np.zeros((n_classes, n_classes), np.int64)
    for c in range(n_classes):
        for other in range(c):
            count = 0
            for j in range(n):
                if member[c, j] and member[other, j]:
                    count += 1
            shared[c, other] = count
            shared[other, c] = count
    return shared


@compiled()
def _wrong_with(rules, member, shared, c):
    """Return how much is wrong with a class, and with it and any other."""
    wrong = 0
    for other in range(member.shape[0]):
        if other != c:
            wrong += _wrong(shared[c, other], rules.pair[c, other], rules.most[c, other])
    for j in range(member.shape[1]):
        wrong += _cell(rules, c, j, member[c, j])
    return wrong


@compiled()
def _best_exchange(rules, member, shared, c, now):
    """Return the best exchange of one feature: what it puts right, its gain, and both features.

    These are −1 where none is better.
    """
    n_classes, n = member.shape
    least, most_gain, out, into = now, rules.least_gain, -1, -1
    for x in range(n):
        if not member[c, x]:
            continue
        for y in range(n):
            if member[c, y]:
                continue
            gain = rules.values[c, y] - rules.values[c, x]
            if least == 0 and gain <= most_gain:
                continue
            wrong = 0
            for other in range(n_classes):
                if other != c:
                    common = shared[c, other]
                    if member[other, x]:
                        common -= 1
                    if member[other, y]:
                        common += 1
                    wrong += _wrong(common, rules.pair[c, other], rules.most[c, other])
                    if wrong > least:
                        break
            if wrong > least:
                continue
            for j in range(n):
                taken = j == y or (member[c, j] and j != x)
                wrong += _cell(rules, c, j, taken)
            if wrong < least or (wrong == least and gain > most_gain):
                least, most_gain, out, into = wrong, gain, x, y
    return now - least, most_gain, out, into


@compiled()
def _repair(rules, member, shared, most_moves):
    """Make the exchange that puts most right and costs least, as long as there is one."""
    for _ in range(most_moves):
        best, best_gain, best_class, out, into = 0, 0.0, -1, -1, -1
        for c in range(member.shape[0]):
            now = _wrong_with(rules, member, shared, c)
            if now == 0:
                continue
            less, gain, x, y = _best_exchange(rules, member, shared, c, now)
            if less > best or (less == best and less > 0 and gain > best_gain):
                best, best_gain, best_class, out, into = less, gain, c, x, y
        if best_class < 0:
            return
        _exchange(member, shared, best_class, out, into)


@compiled()
def _exchange(member, shared, c, out, into):
    for other in range(member.shape[0]):
        if other != c:
            change = 0
            if member[other, out]:
                change -= 1
            if member[other, into]:
                change += 1
            shared[c, other] += change
            shared[other, c] += change
    member[c, out] = False
    member[c, into] = True


@compiled()
def _wrong_of(rules, member, shared, classes):
    """Return what is wrong with some classes, among them and with all others."""
    wrong = 0
    for c in classes:
        wrong += _wrong_with(rules, member, shared, c)
    return wrong


@compiled()
def _move_unit(rules, member, shared, classes):
    """Exchange a feature in all sets of joined classes that have it, if that is better."""
    n = member.shape[1]
    changed = np.zeros(len(classes), np.bool_)
    now = _wrong_of(rules, member, shared, classes)
    for x in range(n):
        for y in range(n):
            if x == y:
                continue
            gain, count = 0.0, 0
            for i in range(len(classes)):
                c = classes[i]
                changed[i] = member[c, x] and not member[c, y]
                if changed[i]:
                    gain += rules.values[c, y] - rules.values[c, x]
                    count += 1
            if count < 2 or (now == 0 and gain <= rules.least_gain):
                continue
            for i in range(len(classes)):
                if changed[i]:
                    _exchange(member, shared, classes[i], x, y)
            wrong = _wrong_of(rules, member, shared, classes)
            if wrong < now or (wrong == now and gain > rules.least_gain):
                return True
            for i in range(len(classes)):
                if changed[i]:
                    _exchange(member, shared, classes[i], y, x)
    return False


@compiled(nogil=True)
def improve_sets(rules, member, sweeps):
    """Repair and improve sets until nothing helps; return how much is still wrong."""
    n_classes = member.shape[0]
    shared = _shared(member)
    _repair(rules, member, shared, n_classes)
    for _ in range(sweeps):
        moved = False
        for c in range(n_classes):
            now = _wrong_with(rules, member, shared, c)
            _, _, out, into = _best_exchange(rules, member, shared, c, now)
            if out >= 0:
                _exchange(member, shared, c, out, into)
                moved = True
        for u in range(len(rules.start) - 1):
            if rules.start[u + 1] - rules.start[u] > 1:
                classes = rules.joined[rules.start[u] : rules.start[u + 1]]
                if _move_unit(rules, member, shared, classes):
                    moved = True
        if not moved:
            break
    return _wrong_of(rules, member, shared, np.arange(n_classes))
