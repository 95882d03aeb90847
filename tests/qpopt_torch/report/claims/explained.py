"""What explanations are worth, from the definitions: classes that differ in one feature each."""

from __future__ import annotations

from itertools import combinations

import numpy as np


def contrastive_pairs(uses):
    """The share of class pairs of as many features that share all but one, in percent."""
    sets = [set(np.flatnonzero(row)) for row in uses]
    pairs = list(combinations(sets, 2))
    close = [len(a) == len(b) == len(a & b) + 1 for a, b in pairs]
    return 100 * float(np.mean(close)) if pairs else 0.0


def local_alignment(features, labels, attributes, uses):
    """Among the classes that share all but one feature with a class: what raises its features.

    By its title; nothing where no two such classes differ in an attribute.
    """
    best = []
    for own in uses:
        shared = (uses & own).sum(axis=1)
        rows = np.isin(labels, np.flatnonzero(shared >= own.sum() - 1))
        for d in np.flatnonzero(own):
            values, has = features[rows, d], attributes[labels[rows]]
            activation = features[:, d].mean() - features[:, d].min()
            found = [
                (values[present].mean() - values[~present].mean()) / activation
                for present in has.T
                if present.any() and not present.all()
            ]
            best += [max(found)] if found else []
    return {"Local alignment": 100 * float(np.mean(best))} if best else {}
