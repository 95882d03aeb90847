"""All classes in the order of a tree, and the pairs that differ in one feature."""

from __future__ import annotations

import numpy as np


def class_map(claims):
    uses, seen = claims.truth.uses, claims.open("map")
    true = {f"{claims.class_names[c]} uses {claims.feature_names[j]}" for c, j in np.argwhere(uses)}
    claims.say(set(seen["cells"]) == true, "the squares of the map")
    alone = (uses[:, None] & ~uses).sum(axis=2)
    near = np.argwhere(np.triu((alone == 1) & (alone.T == 1), 1))

    def count(shown):
        claims.say(int(shown) == len(near), f"{shown} pairs that differ in one feature")

    patterns = {
        "Classes that share many.*": None,
        r"(\d+) pairs? of classes(?:; \d+ shown)?": count,
        "There are none: all pairs differ in at least two.": lambda: count(0),
    }
    for text in seen["paragraphs"]:
        claims.explain(text, patterns)
    for first, has, second, other, _ in (row for t in seen["tables"] for row in t["rows"][1:]):
        a, b = claims.classes[first], claims.classes[second]
        only = [set(np.flatnonzero(uses[c] & ~uses[d])) for c, d in ((a, b), (b, a))]
        named = [{claims.features[has]}, {claims.features[other]}]
        claims.say(only == named, f"{first} has {has} where {second} has {other}")
    tree(claims)


def tree(claims):
    """Where branches meet: the mean share of features that two groups do not have in common."""
    uses = claims.truth.uses
    common = (uses[:, None] & uses).sum(axis=2) / np.maximum((uses[:, None] | uses).sum(axis=2), 1)
    groups = [[c] for c in range(len(uses))]
    for a, b, distance in claims.data["tree"]:
        mean = (1 - common[np.ix_(groups[a], groups[b])]).mean()
        claims.near(distance, mean, f"the distance of {groups[a]} and {groups[b]}")
        groups.append(groups[a] + groups[b])
    claims.say(sorted(groups[-1]) == list(range(len(uses))), "the tree has all classes")
