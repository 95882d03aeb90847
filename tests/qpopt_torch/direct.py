"""The formulas of the statistics, written as they are defined, sample by sample."""

from __future__ import annotations

import numpy as np


def locality(features, maps):
    """Return Σ_j max(S_j^d) f_jd / (n Σ_j f_jd) with plain loops."""
    n, n_features = features.shape
    bias = np.zeros(n_features)
    for d in range(n_features):
        total = 0.0
        for j in range(n):
            values = np.exp(maps[j, d] - maps[j, d].max())
            total += (values / values.sum()).max() * features[j, d]
        bias[d] = total / (n * features[:, d].sum())
    return bias


def center(features, maps):
    """Return − Σ_j f_jd / (1 + e_jd) / (n Σ_j f_jd) with plain loops."""
    n, n_features = features.shape
    bias = np.zeros(n_features)
    for d in range(n_features):
        total = 0.0
        for j in range(n):
            where = np.unravel_index(maps[j, d].argmax(), maps[j, d].shape)
            sizes = maps[j, d].shape
            e = min(min(i, size - 1 - i) for i, size in zip(where, sizes, strict=True))
            total += features[j, d] / (1 + e)
        bias[d] = -total / (n * features[:, d].sum())
    return bias


def published(features, maps):
    """Return Σ_j max(S_j^d) u_jd / n and − Σ_j [maximum on the border] u_jd with plain loops."""
    n, n_features = features.shape
    local, edge = np.zeros(n_features), np.zeros(n_features)
    for j in range(n):
        for d in range(n_features):
            share = features[j, d] / sum(features[j])
            values = np.exp(maps[j, d] - maps[j, d].max())
            local[d] += (values / values.sum()).max() * share / n
            where = np.unravel_index(maps[j, d].argmax(), maps[j, d].shape)
            sizes = maps[j, d].shape
            if any(i in (0, size - 1) for i, size in zip(where, sizes, strict=True)):
                edge[d] -= share
    return local, edge


def pearson(features, labels, n_classes):
    """Return the correlation of every feature with the labels of every class."""
    return np.array(
        [
            [np.corrcoef(column, labels == c)[0, 1] for column in features.T]
            for c in range(n_classes)
        ]
    )
