"""All classes in the order of a tree, and the pairs that differ in one feature."""

from __future__ import annotations

from collections import Counter

import numpy as np


def class_map(claims):
    uses, seen = claims.truth.uses, claims.open("map")
    if len(uses) > claims.data["map_rows"]:
        squares_of_groups(claims, seen["cells"])
    else:
        true = {(claims.class_names[c], claims.feature_names[j]) for c, j in np.argwhere(uses)}
        shown = {tuple(text.split(" uses ")) for text in seen["cells"]}
        claims.say(shown == true, "the squares of the map")
    alone = (uses[:, None] & ~uses).sum(axis=2)
    near = np.argwhere(np.triu((alone == 1) & (alone.T == 1), 1))

    def count(shown):
        claims.say(int(shown) == len(near), f"{shown} pairs that differ in one feature")

    patterns = {
        r"Classes that share many features stand together(?:\. A square means that a class uses a "
        r"feature\.|, and here many classes make one row\. The darker a square, the more of them "
        r"use the feature\. A row opens\.)": None,
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


def squares_of_groups(claims, cells):
    """Each square says what a group of the tree says, and the groups together have every class."""
    uses, groups = claims.truth.uses, [{c} for c in range(len(claims.truth.uses))]
    for a, b, *_ in claims.data["tree"]:
        groups.append(groups[a] | groups[b])
    true = {
        f"{count} of {len(group)} use {name}"
        for group in groups[len(uses) :]
        for name, count in zip(claims.feature_names, uses[list(group)].sum(axis=0), strict=True)
    }
    totals = Counter()
    for text in cells:
        count, _, rest = text.partition(" of ")
        alone = " uses " in text
        claims.say(alone or text in true, f"the square of a group: {text}")
        totals[rest.partition(" use ")[2] if not alone else text.partition(" uses ")[2]] += (
            1 if alone else int(count)
        )
    claims.say(
        totals == Counter(dict(zip(claims.feature_names, uses.sum(axis=0).tolist(), strict=True))),
        "every class is in one row",
    )


def tree(claims):
    """Where branches meet: the mean share of features that two groups do not have in common."""
    uses = claims.truth.uses
    common = (uses[:, None] & uses).sum(axis=2) / np.maximum((uses[:, None] | uses).sum(axis=2), 1)
    groups = [[c] for c in range(len(uses))]
    for a, b, distance, size in claims.data["tree"]:
        mean = (1 - common[np.ix_(groups[a], groups[b])]).mean()
        claims.near(distance, mean, f"the distance of {groups[a]} and {groups[b]}")
        groups.append(groups[a] + groups[b])
        claims.say(size == len(groups[-1]), f"{size} classes in a group")
    claims.say(sorted(groups[-1]) == list(range(len(uses))), "the tree has all classes")
