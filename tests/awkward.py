"""A hypothesis strategy for small instances of every awkward kind."""

from __future__ import annotations

from math import comb

import numpy as np
from hypothesis import strategies as st

from qpopt import Instance

SIMILARITIES = ("real", "ties", "negative", "equal rows", "zero")
REDUNDANCIES = ("none", "sparse", "dense", "ties")
BIASES = ("none", "real")


@st.composite
def counts(draw, max_features=8, max_classes=5):
    """Draw (n_features, n_classes, n_select, n_per_class) for which a solution exists.

    Uniqueness often binds for every class: then there are as many classes as sets, or nearly.
    """
    n_features = draw(st.integers(2, max_features))
    n_select = draw(st.one_of(st.just(n_features), st.integers(1, n_features)))
    n_per_class = draw(
        st.one_of(st.just(1), st.just(max(1, n_select - 1)), st.integers(1, n_select))
    )
    most = min(max_classes, comb(n_select, n_per_class))
    n_classes = draw(st.one_of(st.just(most), st.integers(1, most)))
    return n_features, n_classes, n_select, n_per_class


@st.composite
def awkward_instances(draw, max_features=8, max_classes=5, fixed=True):
    """Draw an instance; with `fixed` some features may have to be in or out of the selection."""
    n_features, n_classes, n_select, n_per_class = draw(counts(max_features, max_classes))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    A = _similarity(draw(st.sampled_from(SIMILARITIES)), rng, n_classes, n_features)
    R = _redundancy(draw(st.sampled_from(REDUNDANCIES)), rng, n_features)
    b = np.zeros(n_features)
    if draw(st.sampled_from(BIASES)) == "real":
        b = rng.uniform(-1, 1, n_features)
    include, exclude = (), ()
    if fixed and draw(st.booleans()):
        order = rng.permutation(n_features)
        n_include = draw(st.integers(0, min(2, n_select)))
        n_exclude = draw(st.integers(0, min(2, n_features - n_select)))
        include = order[:n_include].tolist()
        exclude = order[n_include : n_include + n_exclude].tolist()
    return Instance(A, R, b, n_select, n_per_class, include=include, exclude=exclude)


def _similarity(kind, rng, n_classes, n_features):
    shape = (n_classes, n_features)
    if kind == "real":
        return rng.uniform(-2, 10, shape)
    if kind == "ties":
        return rng.integers(0, 3, shape).astype(float)
    if kind == "negative":
        return -rng.uniform(0, 5, shape)
    if kind == "equal rows":
        return np.tile(rng.uniform(0, 5, n_features), (n_classes, 1))
    return np.zeros(shape)


def _redundancy(kind, rng, n_features):
    shape = (n_features, n_features)
    if kind == "none":
        return np.zeros(shape)
    if kind == "ties":
        values = rng.integers(0, 3, shape).astype(float)
    else:
        values = rng.uniform(0.1, 3, shape)
        if kind == "sparse":
            values *= rng.random(shape) < 0.3
    upper = np.triu(values, 1)
    return upper + upper.T
