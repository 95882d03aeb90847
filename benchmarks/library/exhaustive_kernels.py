"""The inner loop of the enumeration, compiled."""

from __future__ import annotations

import numpy as np

from qpopt.kernels.compiled import compiled


@compiled()
def better_selections(A, R, b, n_per_class, objective, state, found):  # type: ignore[no-untyped-def]
    """Go on through the selections, in lexicographic order, until `found` is full.

    Parameters
    ----------
    A, R, b, n_per_class
        The instance.
    objective
        Selections whose value without uniqueness does not exceed it are passed over.
    state
        The next selection to look at; changed in place.
    found
        Gets the selections whose value exceeds the objective.

    Returns
    -------
    tuple
        How many were found, and whether all selections have been looked at.
    """
    n_classes, n_features = A.shape
    n_select = len(state)
    count = 0
    values = np.empty(n_select)
    while True:
        total = 0.0
        for i in range(n_select):
            total += b[state[i]]
            for j in range(i):
                total -= R[state[i], state[j]]
        for c in range(n_classes):
            for i in range(n_select):
                values[i] = A[c, state[i]]
            for k in range(n_per_class):
                best = k
                for i in range(k + 1, n_select):
                    if values[i] > values[best]:
                        best = i
                values[k], values[best] = values[best], values[k]
                total += values[k]
        # The margin covers what the order of summation may change.
        if total > objective - 1e-9 * max(1.0, abs(objective)):
            found[count] = state
            count += 1
        i = n_select - 1
        while i >= 0 and state[i] == n_features - n_select + i:
            i -= 1
        if i < 0:
            return count, True
        state[i] += 1
        for j in range(i + 1, n_select):
            state[j] = state[j - 1] + 1
        if count == len(found):
            return count, False
