"""The metrics of a report as they are defined, from arrays of what a network gives."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
from scipy.special import softmax
from scipy.stats import norm


def accuracy(logits, y):
    return 100 * float((logits.argmax(axis=1) == y).mean())


def diversity(maps, logits, weights, *, even=True):
    """SID@5, or Diversity@5 where the strength of the maps is not evened out."""
    values = []
    for sample, guess in zip(maps, logits.argmax(axis=1), strict=True):
        top = [d for d in np.argsort(-weights[guess], kind="stable")[:5] if weights[guess, d]]
        flat = sample[top].astype(float)
        if even:
            flat = flat / np.maximum(np.abs(flat).mean(axis=1, keepdims=True), 1e-300)
        values.append(softmax(flat, axis=1).max(axis=0).sum() / len(top))
    return 100 * float(np.mean(values))


def independence(features, y):
    """A feature that never changes counts with the share of the most frequent class."""
    above = features - features.min(axis=0)
    silent = np.ptp(features, axis=0) < 1e-9
    above[:, silent] = 1.0
    shares = [above[y == c].sum(axis=0) / above.sum(axis=0) for c in np.unique(y)]
    return 100 * (1 - float(np.max(shares, axis=0).mean()))


def correlation(features):
    """A feature that is always 0 is like no other."""
    units = features / np.maximum(np.linalg.norm(features, axis=0), 1e-300)
    cosines = units.T @ units
    np.fill_diagonal(cosines, -1)
    return 100 * float(cosines.max(axis=1).mean())


def grounding(weights, attributes):
    return agreement(weights, cosines(attributes.astype(float)))


def agreement(weights, similarity):
    """How alike the classes that are most alike in truth are in the model."""
    first, second = np.triu_indices(len(weights), 1)
    of_truth, of_model = similarity[first, second], cosines(weights.astype(float))[first, second]
    top = np.argsort(-of_truth, kind="stable")[:25]
    return 100 * float(of_model[top].sum() / of_truth[top].sum())


def cosines(rows):
    norms = np.linalg.norm(rows, axis=1)
    return rows @ rows.T / np.outer(norms, norms)


def alignment(features, attributes):
    """How much the attribute that fits a feature best raises it."""
    rises = [
        features[has].mean(axis=0) - features[~has].mean(axis=0)
        for has in attributes.T.astype(bool)
        if has.any() and not has.all()
    ]
    activation = (features - features.min(axis=0)).mean(axis=0)
    changing = activation > 1e-9
    shares = np.max(rises, axis=0)[changing] / activation[changing]
    return 100 * float(shares.sum() / len(activation))


def curves(features, attributes):
    """The area under the curve of every feature and attribute, counted pair by pair, or NaN."""
    found = np.full((features.shape[1], attributes.shape[1]), np.nan)
    for a, has in enumerate(attributes.T.astype(bool)):
        if has.any() and not has.all():
            ahead = features[has][:, None] - features[~has][None]
            found[:, a] = ((ahead > 0) + 0.5 * (ahead == 0)).mean(axis=(0, 1))
    return found


def overlap(modes):
    """The area that two modes share, each with the weight 1; 1 where there is only one."""
    if not modes:
        return 1.0
    first, second = (NormalDist(mean, max(std, 1e-9)) for mean, std, _ in modes)
    x = np.unique(
        np.concatenate([m.mean + m.stdev * np.linspace(-9, 9, 4001) for m in (first, second)])
    )
    height = np.minimum(*(norm.pdf(x, m.mean, m.stdev) for m in (first, second)))
    return float(np.trapezoid(height, x))


def contrastiveness(features):
    """The mean of what two modes do not share, fitted to all features at once.

    Expectation maximisation, from the split of the values in two that leaves the least variance.
    """
    varying = features[:, np.ptp(features, axis=0) > 1e-9].astype(float)
    x = np.sort((varying - varying.mean(axis=0)) / varying.std(axis=0), axis=0)
    n, high = len(x), np.zeros(x.shape, bool)
    for column, members in zip(x.T, high.T, strict=True):
        within = [k * column[:k].var() + (n - k) * column[k:].var() for k in range(1, n)]
        members[np.argmin(within) + 1 :] = True
    share, last = np.stack([~high, high]).astype(float), np.full(x.shape[1], -np.inf)
    best, running = None, np.ones(x.shape[1], bool)
    for _ in range(500):
        mass = share.sum(axis=1) + 1e-300
        means = (share * x).sum(axis=1) / mass
        squares = (share * (x - means[:, None]) ** 2).sum(axis=1) / mass
        found = np.stack([means, np.sqrt(np.maximum(squares, 1e-6)), mass / n])
        best = found if best is None else np.where(running, found, best)
        logs = np.log(best[2])[:, None] + norm.logpdf(x, best[0][:, None], best[1][:, None])
        total = np.logaddexp(*logs)
        running &= total.mean(axis=0) - last >= 1e-8
        if not running.any():
            break
        share, last = np.exp(logs - total), total.mean(axis=0)
    each = [1 - overlap(modes.T.tolist()) for modes in np.moveaxis(best, 2, 0)]
    return 100 * sum(each) / features.shape[1]


def likelihood(values, modes):
    """The mean logarithm of the density that some modes give to values.

    Modes are rounded to be drawn, so none counts as narrower than a hundredth.
    """
    density = sum(w * norm.pdf(values, m, max(s, 0.01)) for m, s, w in modes)
    return float(np.log(density + 1e-300).mean())
