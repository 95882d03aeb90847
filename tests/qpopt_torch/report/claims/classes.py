"""The list of classes, and the page of each: samples, features, neighbours, mistakes."""

from __future__ import annotations

import numpy as np

from tests.qpopt_torch.report.claims.checks import MAPLESS
from tests.qpopt_torch.report.claims.reading import NUMBER, PERCENT, numbers


def class_list(claims):
    for card in claims.open("classes")["cards"]:
        right, n = recognised(claims, claims.classes[card["title"]])
        (note,) = card["notes"]

        def share(percent, of, right=right, n=n, note=note):
            claims.share(float(percent), right, n, note)
            claims.say(int(of) == n, note)

        def none(n=n, note=note):
            claims.say(n == 0, note)

        claims.explain(note, {rf"{PERCENT} of (\d+) recognised": share, "no samples": none})


def recognised(claims, c):
    """Return how many samples of a class are recognised, and how many there are."""
    of_class = claims.truth.decided.y == c
    return claims.confused(c, c), int(of_class.sum())


def one_class(claims, c):
    truth, seen = claims.truth, claims.open(f"class/{c}")
    right, n = recognised(claims, c)
    own = np.flatnonzero(truth.uses[c])
    common = (truth.uses & truth.uses[c]).sum(axis=1)
    near = np.delete(common, c)
    claims.say(claims.classes[seen["heading"]] == c, "the name of the class")

    def lede(shown_right, shown_n, n_features):
        claims.say((int(shown_right or 0), int(shown_n or 0)) == (right, n), "recognised")
        claims.say(int(n_features) == len(own), "the size of its sum")

    known = {
        r"(?:(\d+) of (\d+) samples recognised\. )?Its score is the sum of (\d+) features?\.": lede,
        r"usually.*": None,
        MAPLESS: None,
        r"No other class shares a feature with it\.": lambda: claims.say(not near.any(), "none"),
    }
    for text in seen["paragraphs"]:
        claims.explain(text, known)
    for table in seen["tables"]:
        if table["kind"].startswith("grid"):
            samples(claims, c, own, table["rows"][1:])
        else:
            shown = []
            for name, text, _ in table["rows"][1:]:
                shown.append(int(common[claims.classes[name]]))
                claims.say(numbers(text) == [shown[-1], len(own)], f"{name}: {text} in common")
            nearest = sorted(near[near > 0].tolist(), reverse=True)[: len(shown)]
            claims.say(shown == nearest, f"the nearest classes share {shown}")
    parts = [claims.features[part["name"]] for part in seen["parts"]]
    claims.say(parts == own.tolist(), "its features")
    for part in seen["parts"]:
        one_part(claims, c, part)
    for chip in seen["chips"]:
        name, _, count = chip.rpartition(" × ")
        claims.say(claims.confused(c, claims.classes[name]) == int(count), f"taken for {chip}")


def samples(claims, c, own, rows):
    """The samples of a class with the highest scores, as sums."""
    truth, scores = claims.truth, []
    for (total, *values), place in zip(rows, claims.data["classes"][c]["samples"], strict=True):
        index = claims.sample(place)
        claims.say(truth.shown.y[index] == c, "a sample of the class")
        claims.pictured(place, truth.shown)
        scores.append(truth.shown.logits[index, c])
        terms = [numbers(value)[0] for value in values]
        claims.sum_of(numbers(total)[0], terms, own, truth.shown, index)
    best = np.sort(truth.shown.logits[truth.shown.y == c, c])[::-1][: len(scores)]
    claims.say(np.allclose(scores, best, atol=1e-4), "the highest scores")


def one_part(claims, c, part):
    """What the page of a class says of one of its features."""
    truth, name = claims.truth, part["name"]
    j = claims.features[name]
    means, uses = truth.means[:, j], truth.uses[:, j]
    others = [d for d in np.flatnonzero(uses) if d != c]
    claims.say([claims.classes[chip] for chip in part["chips"]] == others, f"{name}: shared")

    def usual(here, elsewhere):
        claims.near(numbers(here)[0], means[c], f"usually {here} here")
        if elsewhere:
            claims.near(
                numbers(elsewhere)[0], np.nanmean(means[~uses]), f"{elsewhere} elsewhere", 0.02
            )

    patterns = {
        rf"usually ({NUMBER}) here(?:, ({NUMBER}) where it is not used)?": usual,
        "": lambda: claims.say(np.isnan(means[c]), "no samples"),
        "Also part of": lambda: claims.say(bool(others), "also part of"),
        "Part of no other class": lambda: claims.say(not others, "part of no other class"),
        "Strongest, at most two samples of a class": lambda: claims.few_of_a_class(j),
    }
    for text in part["notes"]:
        claims.explain(text, patterns)
    claims.strongest(part["tiles"], j)
