"""What pages say of features of drawn birds: what each recognises, and what it needs for that."""

from __future__ import annotations

import re

import numpy as np
import torch

from tests.qpopt_torch.report.claims import measures
from tests.qpopt_torch.report.claims.reading import numbers

SHOWN = 10
"""Pictures of every species that are changed."""
SAID = (
    r"It recognises (one thing:|nothing by itself; the nearest is) (.+) \(AUROC ([\d.]+)\); the "
    r"next is (.+) \(([\d.]+)\)\.(?: Its maximum lies on that part in (\d+) % of (\d+) pictures?; "
    r"any place would in \d+ %\.)?"
)
SCALE = "In standard deviations of each feature, over birds that have the part; others are the"


def meaning(claims, j, seen):
    """Return patterns for what is said of a feature, after checking what its part does."""
    birds = claims.truth.birds
    if birds is None:
        return {}
    curves = measures.curves(
        claims.truth.decided.features, birds.attributes[claims.truth.decided.y]
    )
    best = np.argsort(-np.nan_to_num(curves, nan=-1), axis=1, kind="stable")[:, :2]
    variant, names = int(best[j, 0]), birds.attribute_names

    def recognises(what, name, auroc, second, weaker, hits, n_pictures):
        claims.say((what == "one thing:") == (curves[j, variant] >= 0.95), f"{what} {name}")
        for shown, value in ((name, auroc), (second, weaker)):
            claims.near(float(value), curves[j, names.index(shown)], f"{shown} {value}")
        claims.near(float(auroc), curves[j, variant], f"the best is {name}")
        claims.near(float(weaker), curves[j, best[j, 1]], f"the next is {second}")
        if hits is not None:
            claims.say(int(n_pictures) <= len(shown_pictures(birds)), "pictures with the part")

    for table in (t for t in seen["tables"] if t["rows"][0][0] == "In the same picture"):
        rows = {row[0]: row[1:] for row in table["rows"][1:]}
        without(claims, j, variant, best[:, 0], rows["Its part is taken off"])
    return {SAID: recognises, rf"{re.escape(SCALE)} features of other parts\.": None}


def shown_pictures(birds):
    """Return the numbers of the pictures that are changed."""
    n = birds.n_per_species
    return [c * n + k for c in range(birds.n_species) for k in range(min(n, SHOWN))]


def answers(claims, samples):
    """Return values and decisions of pictures."""
    found = claims.truth.look(torch.stack([sample.image for sample in samples]))
    return found.z, found.guesses


def without(claims, j, variant, best, row):
    """A part is taken off: how far its feature falls, others move, and decisions change."""
    birds, parts = claims.truth.birds, np.array(claims.truth.birds.attribute_parts)
    pictures = shown_pictures(birds)
    whole, guesses = answers(claims, [birds.sample(i) for i in pictures])
    bare, others = answers(claims, [birds.without(i, parts[variant]) for i in pictures])
    spread = whole.std(axis=0)
    fallen = (whole - bare) / np.where(spread > 0, spread, 1)
    has = np.array([birds.attributes[i // birds.n_per_species, variant] for i in pictures], bool)
    claims.near(numbers(row[0])[0], fallen[has, j].mean(), f"falls by {row[0]}")
    if row[1] != "–":
        other = parts[best] != parts[variant]
        claims.near(numbers(row[1])[0], np.abs(fallen[has][:, other]).mean(), f"others {row[1]}")
    claims.near(numbers(row[2])[0], 100 * (guesses != others)[has].mean(), f"{row[2]} change", 0.51)


def overview_of_meanings(claims, rows):
    """The same of all features: what is found, and what stays before another background."""
    birds = claims.truth.birds
    if birds is None:
        return
    decided = claims.truth.decided
    curves = measures.curves(decided.features, birds.attributes[decided.y])
    best = np.argmax(np.nan_to_num(curves, nan=-1), axis=1)
    aligned = curves[np.arange(len(best)), best] >= 0.95
    needed = int((~np.isnan(curves).all(axis=0)).sum())
    shown = {title: value for title, value in rows.items() if title.startswith("Variants found")}
    (found,) = shown.values()
    claims.say(numbers(found) == [len(set(best[aligned].tolist())), needed], f"found {found}")
    pictures, n = shown_pictures(birds), birds.n_per_species
    _, here = answers(claims, [birds.sample(i) for i in pictures])
    _, there = answers(claims, [birds.elsewhere(i, (i + n) % len(birds)) for i in pictures])
    (kept,) = (value for title, value in rows.items() if title.startswith("Background"))
    claims.near(numbers(kept)[0], 100 * (here == there).mean(), f"background {kept}", 0.0501)
