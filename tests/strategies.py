"""Hypothesis strategies for instances and solutions."""

from __future__ import annotations

from math import comb

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from qpopt import Instance

VALUES = st.floats(-10, 10, allow_nan=False, width=32)


@st.composite
def sizes(draw, max_features=10, max_classes=6):
    """Draw n_classes, n_features, n_select, n_per_class for which a solution exists."""
    n_classes = draw(st.integers(1, max_classes))
    n_features = draw(st.integers(1, max_features))
    fitting = [
        (m, k) for m in range(1, n_features + 1) for k in range(1, m + 1) if comb(m, k) >= n_classes
    ]
    if not fitting:
        n_classes, fitting = 1, [(n_features, 1)]
    n_select, n_per_class = draw(st.sampled_from(fitting))
    return n_classes, n_features, n_select, n_per_class


@st.composite
def redundancies(draw, n_features):
    """Draw a symmetric non-negative matrix with a zero diagonal."""
    n_pairs = n_features * (n_features - 1) // 2
    R = np.zeros((n_features, n_features))
    values = st.one_of(st.just(0.0), st.floats(0, 5, allow_nan=False, width=32))
    R[np.triu_indices(n_features, 1)] = draw(hnp.arrays(np.float64, n_pairs, elements=values))
    return R + R.T


@st.composite
def instances(draw, max_features=10, max_classes=6):
    """Draw a small instance that has a solution, sometimes with included and excluded features."""
    n_classes, n_features, n_select, n_per_class = draw(sizes(max_features, max_classes))
    order = draw(st.permutations(range(n_features)))
    n_include = draw(st.integers(0, n_select))
    n_exclude = draw(st.integers(0, n_features - n_select))
    return Instance(
        draw(hnp.arrays(np.float64, (n_classes, n_features), elements=VALUES)),
        draw(redundancies(n_features)),
        draw(hnp.arrays(np.float64, n_features, elements=VALUES)),
        n_select,
        n_per_class,
        include=order[:n_include],
        exclude=order[n_features - n_exclude :],
    )


@st.composite
def raw_similarities(draw, max_features=12, max_classes=6):
    """Draw a raw similarity matrix with columns that may be zero or equal."""
    n_classes = draw(st.integers(1, max_classes))
    n_features = draw(st.integers(1, max_features))
    return draw(hnp.arrays(np.float64, (n_classes, n_features), elements=VALUES))
