"""Two classes side by side: what they share, what tells them apart, how often they are confused."""

from __future__ import annotations

import re

import numpy as np

from tests.qpopt_torch.report.claims.checks import MAPLESS
from tests.qpopt_torch.report.claims.meanings import meanings
from tests.qpopt_torch.report.claims.reading import numbers

MISTAKES = r"(\d+) samples? of (.+?) (?:was|were) taken for (.+?)\.(?= \d+ samples? of |$)"


def contrast(claims, a, b):
    truth, seen = claims.truth, claims.open(f"contrast/{a}/{b}")
    both = truth.uses[a] & truth.uses[b]
    said = {}

    def lede(shared, size, mistakes, part):
        claims.say((int(shared), int(size)) == (both.sum(), truth.uses[a].sum()), "they share")
        for count, first, second in re.findall(MISTAKES, mistakes):
            said[claims.classes[first], claims.classes[second]] = int(count)
        pairs = {} if truth.birds is None else pairs_of(truth.birds)
        claims.say(part == pairs.get((a, b)), f"they differ in the {part}")

    patterns = {
        r"They share (\d+) of (\d+) features\.(.*?)"
        r"(?: In truth they differ in the (.+), nothing else\.)?": lede,
        MAPLESS: None,
    }
    for text in seen["paragraphs"]:
        claims.explain(text, patterns)
    true = {pair: claims.confused(*pair) for pair in ((a, b), (b, a))}
    claims.say(said == {pair: n for pair, n in true.items() if n}, f"confused {said}")
    told = []
    for title, table in zip(
        (title for title in seen["titles"] if title.startswith("What")), seen["tables"], strict=True
    ):
        for row in (row for row in table["rows"][1:] if row[0]):
            told.append(one_row(claims, a, b, row))
            claims.say(both[told[-1]] == (title == "What they share"), f"{row[0]} under {title}")
    if (known := meanings(claims)) is not None:
        part = pairs_of(known.birds).get((a, b))
        ours = [known.aligned[j] and known.part[j] == part for j in told if not both[j]]
        claims.say(ours == sorted(ours, reverse=True), "what is of their part comes first")
    all_of_them = np.flatnonzero(truth.uses[a] | truth.uses[b])
    claims.say(sorted(told) == all_of_them.tolist(), "all their features")


def pairs_of(birds):
    """Return the part in which twins differ, by their classes in either order."""
    one_way = {(t.first, t.second): t.part for t in birds.twins}
    return one_way | {(b, a): part for (a, b), part in one_way.items()}


def one_row(claims, a, b, row):
    """A feature, whose it is, what is usual in both classes, and its values on samples."""
    truth, (head, *cells) = claims.truth, row
    name, owner, usual = head.split(" | ", 2)
    j = claims.features[name]
    users = [c for c in (a, b) if truth.uses[c, j]]
    named = "of both" if len(users) == 2 else f"of {claims.class_names[users[0]]}"
    claims.say(owner == named, f"{name} {owner}")
    for c, part in zip((a, b), usual.removeprefix("usually ").split(" | "), strict=True):
        if part == "–":
            claims.say(np.isnan(truth.means[c, j]), f"{name} has no usual value")
        else:
            claims.near(numbers(part)[0], truth.means[c, j], f"{name} usually {part}")
    side = cells.index("")  # between the classes; as many samples of either as it has
    kept = [claims.data["classes"][c]["samples"] for c in (a, b)]
    places = [p for samples in kept for p in samples[: max(2, side)]]
    for cell, place in zip(filter(None, cells), places, strict=True):
        value = truth.shown.z[claims.sample(place), j]
        claims.near(numbers(cell)[0], value, f"{name} is {cell}")
    return j
