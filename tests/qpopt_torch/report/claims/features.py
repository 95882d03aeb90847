"""The gallery of features, and the page of each: where it fires, its values, who uses it."""

from __future__ import annotations

import re

import numpy as np

from tests.qpopt_torch.report.claims import measures
from tests.qpopt_torch.report.claims.checks import HUNDREDTH
from tests.qpopt_torch.report.claims.meanings import meaning
from tests.qpopt_torch.report.claims.reading import NUMBER, PERCENT, numbers


def feature_list(claims):
    for card in claims.open("features")["cards"]:
        users = np.flatnonzero(claims.truth.uses[:, claims.features[card["title"]]])
        for note in card["notes"]:
            count, _, listed = note.partition(": ")
            claims.say(int(count.split()[0]) == len(users), note)
            names = listed.removesuffix(" …")
            claims.say(listed.endswith(" …") == (len(users) > 4), note)
            claims.say(names == ", ".join(claims.class_names[c] for c in users[:4]), note)


def one_feature(claims, j):
    truth, seen = claims.truth, claims.open(f"feature/{j}")
    users = np.flatnonzero(truth.uses[:, j])
    claims.say(claims.features[seen["heading"]] == j, "the name of the feature")

    def lede(count, index):
        claims.say(int(count) == len(users), f"used by {count}")
        claims.say((index is None) == (truth.head.adapter is not None), "a mixture or not")
        if index is not None:
            claims.say(int(index) == truth.sparse.selection[j], f"number {index}")

    def few_of_a_class():
        claims.few_of_a_class(j)
        claims.say(len(seen["tiles"]) == len(claims.data["features"][j]["samples"]), "all tiles")

    patterns = {
        r"Used by (\d+) class(?:es)?\.(?: Number (\d+) of the dense model\.)?": lede,
        r"At most two samples of a class are shown\.": few_of_a_class,
        rf"The two modes share {PERCENT} of their area: contrastiveness {PERCENT}\.": (
            lambda *shown: modes(claims, j, *map(float, shown))
        ),
        r"All values are the same\.": lambda: claims.say(
            np.ptp(truth.shown.z[:, j]) < 1e-6, "same"
        ),
        r"classes that use itall otherstwo modes fittedsamples by value, heights by square root": (
            lambda: heights(claims, j, seen["bars"])
        ),
        **mixture(claims, j),
        **meaning(claims, j, seen),
    }
    for text in seen["paragraphs"]:
        claims.explain(text, patterns)
    claims.strongest(seen["tiles"], j)
    for table in (t for t in seen["tables"] if t["rows"][0][0] in ("Use it", "Do not use it")):
        usual_values(claims, j, table["rows"])
    histogram(claims, j, seen["labels"])


def usual_values(claims, j, rows):
    """Classes that use a feature, all of them, or those without it where it is highest."""
    uses, means = claims.truth.uses[:, j], claims.truth.means[:, j]
    used = rows[0][0] == "Use it"
    named = [claims.classes[name] for name, _ in rows[1:]]
    claims.say(all(uses[c] == used for c in named), rows[0][0])
    for c, (_, value) in zip(named, rows[1:], strict=True):
        if value == "–":
            claims.say(np.isnan(means[c]), "no usual value")
        else:
            claims.near(numbers(value)[0], means[c], f"usual value {value}")
    if used:
        claims.say(sorted(named) == np.flatnonzero(uses).tolist(), "all classes that use it")
    else:
        highest = np.sort(means[~uses & ~np.isnan(means)])[::-1][: len(named)]
        claims.say(np.allclose(means[named], highest, atol=0.0101), "where it is strongest")


def histogram(claims, j, labels):
    """The values that a histogram spans, its bars, and its two modes."""
    entry, values = claims.data["features"][j], claims.truth.shown.z[:, j]
    (label,) = (text for text in labels if text.startswith("Values of"))
    low, high = numbers(label.rpartition(" from ")[2])[:2]
    wide = 0.56 if np.ptp(values) < 1e-6 else 0.0501  # a constant gets a bin of width 1
    claims.near(low, values.min(), "least value", wide)
    claims.near(high, values.max(), "largest value", wide)
    inside = claims.truth.uses[claims.truth.shown.y, j]
    for key, members in (("users", values[inside]), ("others", values[~inside])):
        claims.say(sum(entry[key]) == len(members), f"samples of {key}")
        width = (high - low) / len(entry[key])
        around = width + HUNDREDTH
        centre = np.dot(entry[key], low + width * (np.arange(len(entry[key])) + 0.5))
        claims.near(
            centre / max(len(members), 1), members.mean() if len(members) else 0, key, around
        )


def heights(claims, j, bars):
    """The bars of a histogram: as high as the square root of the samples, those of users on top."""
    entry = claims.data["features"][j]
    others, users = ([high for kind, high in bars if kind == key] for key in ("others", "users"))
    known = np.array([entry["others"], entry["users"]], dtype=float)
    squares = np.array([np.square(others), np.square(np.add(others, users))])
    counts = np.array([known[0], known.sum(axis=0)])
    unit = squares.max() / counts.max()
    claims.say(np.allclose(squares, unit * counts, rtol=1e-3, atol=1e-6), "heights of the bars")


def modes(claims, j, shared, contrast):
    """The area that two modes share, and that they fit as well as any that are found otherwise."""
    fitted, values = claims.data["features"][j]["modes"], claims.truth.shown.z[:, j]
    claims.near(shared, 100 * measures.overlap(fitted), f"{shared} % in common", 0.11)
    claims.near(contrast, 100 - shared, f"contrastiveness {contrast} %", 0.0501)
    claims.near(sum(weight for _, _, weight in fitted), 1, "weights of the modes", 1e-3)
    one = measures.likelihood(values, [(values.mean(), values.std(), 1.0)])
    claims.say(measures.likelihood(values, fitted) > one - 1e-3, "two modes fit better than one")


def mixture(claims, j):
    """What an adapter mixes: features of the network go in one by one, and in one piece."""
    truth, start = claims.truth, int(claims.truth.sparse.selection[j])

    def mixed(count, named, correlation, parts):
        received = truth.mixed.numpy()
        claims.say((int(count), int(named)) == (received.shape[1], start), "mixed from")
        own = truth.shown.z[:, j]
        # A mixture that is never on has nothing in common with any feature.
        true = np.corrcoef(received[:, start], own)[0, 1] if np.ptp(own) > 1e-6 else 0.0
        claims.near(numbers(correlation)[0], true, f"correlation {correlation}", 0.02)
        name = claims.feature_names[j]
        claims.say((true < 0.8) == name.startswith("Mixture"), f"{name} is {true:.2f} alike")
        slopes = truth.slopes(j)
        found = re.findall(r"feature (\d+) \(([\d.]+) %\)", parts)
        claims.say(len(found) == min(3, len(slopes)), "three parts")
        for d, share in found:
            claims.near(
                float(share), 100 * slopes[int(d)] / max(slopes.sum(), 1e-12), f"part {d}", 0.5
            )
        least = min(slopes[int(d)] for d, _ in found)
        rest = np.delete(slopes, [int(d) for d, _ in found])
        claims.say(not len(rest) or rest.max() <= least * 1.02, "the largest parts")

    return {
        r"An adapter mixes it from (\d+) features of the frozen network, starting from feature "
        rf"(\d+); its correlation with that is ({NUMBER})\. Its largest parts: (.*)\.": mixed
    }
