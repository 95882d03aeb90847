"""What explanations are worth, from the definitions: pairs, alignment, maps, and deletion."""

from __future__ import annotations

from itertools import combinations
from math import isqrt

import numpy as np
import torch
from scipy.ndimage import gaussian_filter, map_coordinates


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
            changing = np.ptp(features[:, d]) > 0  # what does not change follows nothing
            found = [
                (values[present].mean() - values[~present].mean()) / activation if changing else 0.0
                for present in has.T
                if present.any() and not present.all()
            ]
            best += [max(found)] if found else []
    return {"Local alignment": 100 * float(np.mean(best))} if best else {}


def on_the_object(seen, uses, masks):
    """How much heat, and how many maxima of maps, lie on what pictures are of, by title."""
    shares, hits = [], []
    for maps, guess, mask in zip(seen.maps, seen.guesses, masks, strict=True):
        inside = grown(at_positions(mask, isqrt(maps.shape[1])))
        heat = maps[uses[guess]].sum(axis=0)
        heat = heat - heat.min()
        shares.append(heat[inside].sum() / heat.sum() if heat.sum() > 0 else 0.0)
        hits += [inside[one.argmax()] for one in maps[uses[guess]] if np.ptp(one) > 0]
    return {"Plausibility": 100 * float(np.mean(shares)), "Pointing": 100 * float(np.mean(hits))}


def at_positions(mask, side):
    """Which positions of a map stand for pixels of which half are in a mask."""
    found = np.zeros((side, side), bool)
    for row, column in np.ndindex(side, side):
        y, x = (
            slice(p * n // side, -(-(p + 1) * n // side))
            for p, n in zip((row, column), mask.shape, strict=True)
        )
        found[row, column] = mask[y, x].mean() >= 0.5
    return found


def grown(inside):
    """A mask and all that touches it, corners too, row by row."""
    wide = np.pad(inside, 1)
    rows, columns = inside.shape
    near = [wide[y : y + rows, x : x + columns] for y in range(3) for x in range(3)]
    return np.any(near, axis=0).ravel()


def deletion(truth, n_samples):
    """How much farther a feature falls than others where its map is highest and is blurred."""
    own, others, seen = [], [], truth.decided
    for i in range(min(n_samples, len(seen.y))):
        x, values = seen.x[i].double().numpy(), seen.z[i]
        spread = 0.1 * max(x.shape[1:])
        reach = min(int(3 * spread), min(x.shape[1:]) - 1)
        blurred = gaussian_filter(x, (0, spread, spread), mode="nearest", radius=(0, reach, reach))
        active = np.flatnonzero(truth.uses[seen.guesses[i]] & (values > 0))
        for j in active:
            large = enlarged(seen.maps[i, j], x.shape[1:]).ravel()
            there = np.zeros(large.size, bool)
            there[np.argsort(-large, kind="stable")[: round(0.2 * large.size)]] = True
            shown = np.where(there.reshape(x.shape[1:]), blurred, x)
            after = truth.look(torch.tensor(shown[None], dtype=seen.x.dtype)).z[0]
            fallen = (values - after) / np.where(values > 0, values, 1)
            own.append(fallen[j])
            others += [fallen[[d for d in active if d != j]].mean()] if len(active) > 1 else []
    return 100 * float(np.mean(own) - np.mean(others))


def enlarged(values, size):
    """A map at the size of a picture, straight lines between the centres of its positions."""
    side = isqrt(len(values))
    places = [np.clip((np.arange(n) + 0.5) * side / n - 0.5, 0, side - 1) for n in size]
    return map_coordinates(values.reshape(side, side), np.meshgrid(*places, indexing="ij"), order=1)
