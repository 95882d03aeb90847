"""What pages say of features of drawn birds: what each recognises, and what it needs for that.

Pictures are drawn anew with one thing changed, and shown to the network.
"""

from __future__ import annotations

import re
from functools import partial
from math import isqrt

import numpy as np
import torch
from scipy.stats import spearmanr

from tests.qpopt_torch.report.claims import measures
from tests.qpopt_torch.report.claims.reading import numbers

SHOWN = 10
"""Pictures of every species that are changed."""
SAID = (
    r"It (recognises one thing:|goes with one thing:|recognises nothing by itself; the nearest is) "
    r"(.+) \(AUROC ([\d.]+)\); the next is (.+) \(([\d.]+)\)\."
    r"(?: But it falls most without the (\w+), not the (\w+): the name is in doubt\.)?"
    r"(?: Its maximum lies on that part in (\d+) % of (\d+) pictures?; any place would in "
    r"(\d+) %\.)?"
)
SCALE = "In standard deviations of each feature, over birds that have the part; others are the"
WAYS = {"Its part is taken off": "without", "Another variant in its place": "swapped"}


class Meanings:
    """What the features of a model recognise, and what the changed pictures do to them."""

    def __init__(self, truth):
        self.truth, self.birds = truth, truth.birds
        birds, decided = self.birds, truth.decided
        self.curves = measures.curves(decided.features, birds.attributes[decided.y])
        known = np.nan_to_num(self.curves, nan=-1)
        self.best = np.argsort(-known, axis=1, kind="stable")[:, :2]
        self.parts = np.array(birds.attribute_parts)
        self.part = self.parts[self.best[:, 0]]
        self.aligned = known.max(axis=1) >= 0.95
        n = birds.n_per_species
        self.pictures = [c * n + k for c in range(birds.n_species) for k in range(min(n, SHOWN))]
        self.species = [i // n for i in self.pictures]
        self.whole = self.shown(birds.sample)
        self.changes = {}

    def shown(self, picture):
        """Return what the network makes of pictures that are drawn by a function."""
        return self.truth.look(torch.stack([picture(i).image for i in self.pictures]))

    def swap(self, part, number):
        """A picture with the next variant of a part, or the one after that, in turn."""
        variants = self.birds.variants[part]
        own = variants.index(self.birds.sample(number).variants[part])
        others = variants[own + 1 :] + variants[:own]
        return self.birds.swapped(number, part, others[number % len(others)])

    def changed(self, way, part):
        """Return what the network makes of all pictures with a part taken off or exchanged."""
        if (way, part) not in self.changes:
            draw = partial(self.birds.without, part=part)
            draw = draw if way == "without" else partial(self.swap, part)
            self.changes[way, part] = self.shown(draw)
        return self.changes[way, part]

    def has(self, j):
        """Return which of the pictures show birds with the variant that a feature recognises."""
        return self.birds.attributes[self.species, self.best[j, 0]].astype(bool)

    def effect(self, j, way):
        """Return how far a feature falls, how far others move, and how often decisions change."""
        has, changed = self.has(j), self.changed(way, self.part[j])
        spread = self.whole.z.std(axis=0)
        fallen = ((self.whole.z - changed.z) / np.where(spread > 0, spread, 1))[has]
        other = self.part != self.part[j]
        moved = np.abs(fallen[:, other]).mean() if other.any() else np.nan
        return fallen[:, j].mean(), moved, 100 * (self.whole.guesses != changed.guesses)[has].mean()

    def most(self, j):
        """Return the part without which a feature falls most."""
        falls = [
            (self.whole.z - self.changed("without", part).z)[self.has(j), j].mean()
            for part in self.birds.parts
        ]
        return self.birds.parts[int(np.argmax(falls))]

    def pointing(self, j):
        """Return for every map of a feature whether its maximum is on the part, and any place."""
        hits, chances = [], []
        for row in np.flatnonzero(self.has(j)):
            mask = self.birds.sample(self.pictures[row]).masks[self.part[j]]
            if mask.any():
                heat = self.whole.maps[row, j]
                on_part = touched(mask, isqrt(len(heat)))
                hits.append(on_part[heat.argmax()])
                chances.append(on_part.mean())
        return hits, chances

    def deletion(self):
        """Return how well the parts that sums name are those that count, by rank correlation."""
        birds, whole, uses = self.birds, self.whole, self.truth.uses
        found = []
        for row, c in enumerate(whole.guesses):
            terms = whole.z[row] * uses[c]
            told = [terms[self.part == part].sum() for part in birds.parts]
            bare = [self.changed("without", part).logits[row, c] for part in birds.parts]
            worth = whole.logits[row, c] - np.array(bare)
            if np.ptp(told) > 0 and np.ptp(worth) > 0:
                found.append(spearmanr(told, worth).statistic)
        return np.mean(found) if found else np.nan


def touched(mask, side):
    """Return which positions of a map, row by row, stand for pixels that show a part."""
    found = np.zeros((side, side), bool)
    for y, x in np.argwhere(mask):
        rows, columns = (
            [r for r in range(side) if r * n < (p + 1) * side and p * side < (r + 1) * n]
            for p, n in ((y, len(mask)), (x, mask.shape[1]))
        )
        found[np.ix_(rows, columns)] = True
    return found.ravel()


def meanings(claims):
    """Return what is known of the features; None where nothing is."""
    if claims.truth.birds is not None and claims.meanings is None:
        claims.meanings = Meanings(claims.truth)
    return claims.meanings


def meaning(claims, j, seen):
    """Return patterns for what is said of a feature, after checking what its part does."""
    if (known := meanings(claims)) is None:
        return {}
    variant, names = known.best[j, 0], known.birds.attribute_names

    def recognises(what, name, auroc, second, weaker, most, part, hits, n_pictures, chance):
        claims.say(what.endswith("one thing:") == known.aligned[j], f"{what} {name}")
        tried = known.aligned[j] and known.has(j).any()
        needed = known.most(j) if tried else known.part[j]
        claims.say((most or known.part[j]) == needed, f"{name} falls most without the {needed}")
        claims.say(what.startswith("goes with") == (most is not None), f"{what} {name}")
        claims.say(part in (None, known.part[j]), f"{name} is of the {part}")
        for shown, value in ((name, auroc), (second, weaker)):
            claims.near(float(value), known.curves[j, names.index(shown)], f"{shown} {value}")
        claims.near(float(auroc), known.curves[j, variant], f"the best is {name}")
        claims.near(float(weaker), known.curves[j, known.best[j, 1]], f"the next is {second}")
        pointed = known.aligned[j] and known.whole.maps is not None
        on_part, anywhere = known.pointing(j) if pointed else ([], [])
        claims.say(int(n_pictures or 0) == len(on_part), "maps of pictures that show the part")
        if hits is not None:
            claims.near(float(hits), 100 * np.mean(on_part), f"{hits} % on the part", 0.51)
            claims.near(float(chance), 100 * np.mean(anywhere), f"{chance} % by chance", 0.51)

    tables = [t for t in seen["tables"] if t["rows"][0][0] == "In the same picture"]
    claims.say(len(tables) == (known.aligned[j] and known.has(j).any()), "what its part does")
    for table in tables:
        claims.say([row[0] for row in table["rows"][1:]] == list(WAYS), "taken off and exchanged")
        for title, *row in table["rows"][1:]:
            fallen, moved, changed = known.effect(j, WAYS[title])
            claims.near(numbers(row[0])[0], fallen, f"{title}: it falls by {row[0]}")
            if row[1] == "–":
                claims.say(np.isnan(moved), f"{title}: there are no others")
            else:
                claims.near(numbers(row[1])[0], moved, f"{title}: others move by {row[1]}")
            claims.near(numbers(row[2])[0], changed, f"{title}: {row[2]} change", 0.51)
    return {SAID: recognises, rf"{re.escape(SCALE)} features of other parts\.": None}


def overview_of_meanings(claims, rows):
    """The same of all features, what stays before another background, and what tells twins."""
    if (known := meanings(claims)) is None:
        return
    birds, n = known.birds, known.birds.n_per_species
    shown = {title: value for title, value in rows.items() if value}
    told = {
        name: next((value for title, value in shown.items() if title.startswith(name)), None)
        for name in (
            "Names confirmed",
            "Variants found",
            "Background",
            "Own part",
            "Single",
            "Pointing",
            "Twins",
        )
    }
    needed = int((~np.isnan(known.curves).all(axis=0)).sum())
    found = len(set(known.best[known.aligned, 0].tolist()))
    claims.say(numbers(told["Variants found"]) == [found, needed], "variants found")
    half_way = n * (birds.n_species // 2)
    there = known.shown(lambda i: birds.elsewhere(i, (i + half_way) % len(birds)))
    kept = 100 * (known.whole.guesses == there.guesses).mean()
    claims.near(numbers(told["Background"])[0], kept, f"background {told['Background']}", 0.0501)

    def row(name, true, by):
        """A row with its figures; it is missing where one of them is not defined."""
        claims.say((told[name] is None) == bool(np.isnan(true).any()), f"{name}: {told[name]}")
        if told[name] is not None:
            for value, figure in zip(numbers(told[name]), true, strict=True):
                claims.near(value, figure, f"{name} {told[name]}", by)

    seen = [j for j in np.flatnonzero(known.aligned) if known.has(j).any()]
    effects = [known.effect(j, "without")[:2] for j in seen]
    sure = sum(known.most(j) == known.part[j] for j in seen)
    row("Names confirmed", [sure, len(seen)] if seen else [np.nan], 0)
    row("Own part", np.mean(effects, axis=0) if effects else [np.nan, np.nan], 0.0101)
    row("Single", [known.deletion()], 0.0101)
    games = [known.pointing(j) for j in seen] if known.whole.maps is not None else []
    pooled = [np.concatenate(values) for values in zip(*games, strict=True)]
    row("Pointing", [100 * v.mean() if len(v) else np.nan for v in pooled] or [np.nan] * 2, 0.51)
    by_part = sum(len(alone) == of_part > 0 for alone, of_part in told_apart(claims).values())
    row("Twins", [by_part, len(birds.twins)], 0)


def told_apart(claims):
    """Return by their classes what only one of two twins has, and how much of it is their part."""
    known, uses = meanings(claims), claims.truth.uses
    found = {}
    for twins in known.birds.twins:
        alone = np.flatnonzero(uses[twins.first] != uses[twins.second])
        of_part = known.aligned[alone] & (known.part[alone] == twins.part)
        found[twins.first, twins.second] = alone, int(of_part.sum())
    return found


def twins_table(claims, seen):
    """What tells twins apart, pair by pair, those told by their part first; return a pattern."""
    tables = [table["rows"] for table in seen["tables"] if table["rows"][0][1:2] == ["Part"]]
    birds = claims.truth.birds
    claims.say(len(tables) == (birds is not None and len(birds.twins) > 0), "a table of twins")
    shares = []
    true = {} if birds is None else told_apart(claims)

    def one(pair, part, by):
        """Check the words of a pair: who, the part, and the features of either."""
        twins = next(
            t
            for t in birds.twins
            if pair == f"{birds.class_names[t.first]} and {birds.class_names[t.second]}"
        )
        claims.say(part == twins.part, f"{pair} differ in the {part}")
        alone, of_part = true[twins.first, twins.second]
        sides = [
            [claims.features[name] for name in side.split(", ") if name != "nothing"]
            for side in by.split(" against ")
        ]
        for c, side in zip((twins.first, twins.second), sides, strict=True):
            own = [j for j in alone if claims.truth.uses[c, j]]
            claims.say(side == own, f"{claims.class_names[c]} has {by}")
        return len(alone), of_part

    for head, part, share in tables[0][1:] if tables else ():
        pair, by = head.split(" | ")
        n, of_part = one(pair, part, by)
        claims.say(numbers(share) == [of_part, n], f"{pair}: {share}")
        shares.append(of_part / n)
    claims.say(len(shares) == len(true), "all twins")
    claims.say(shares == sorted(shares, reverse=True), "the best told twins first")

    def first(pair, part, by):
        n, of_part = one(pair, part, by)
        claims.say(of_part / n == shares[0], f"{pair} are the best told")

    return {
        r"Begin with two that differ in one part: (.+) differ in the (.+)\. The model tells them "
        r"apart by (.+)\.": first,
        r"The features that tell two apart in the model, and how many of them recognise the part "
        r"in which they differ\.": None,
    }
