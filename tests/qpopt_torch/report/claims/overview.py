"""The first section: how good the model is, how it was found, and how to read the rest."""

from __future__ import annotations

import re
from base64 import b64decode

import numpy as np
import torch

from tests.qpopt_torch.report.claims import measured, measures
from tests.qpopt_torch.report.claims.levels import (
    levels_counted,
    levels_table,
    sets_measured,
)
from tests.qpopt_torch.report.claims.meanings import overview_of_meanings, twins_table
from tests.qpopt_torch.report.claims.reading import PERCENT, numbers

TENTH = 0.0501


def overview(claims):
    truth, seen = claims.truth, claims.open("overview")
    served = truth.uses.sum(axis=0)
    per_class, single = truth.uses.sum(axis=1).mean(), int((served <= 1).sum())
    needed = served.mean() < 2 or single > len(served) / 5
    of_model, of_dense = measured.of_model(truth), measured.of_dense(truth)
    n_samples = len(truth.decided.y)

    def lede(n_classes, size, n_features, mean, lonely, of, recognised, n_decided, dense):
        claims.say(int(n_classes) == len(truth.uses), "number of classes")
        claims.near(float(size), per_class, "features of a class")
        claims.say(int(n_features) == int(of or n_features) == len(served), "number of features")
        claims.near(float(mean), served.mean(), "classes a feature", TENTH)
        claims.say(int(lonely or 0) == single, f"features of one class: {lonely}")
        claims.near(float(recognised), of_model["Accuracy"], "accuracy", TENTH)
        claims.say(int(n_decided.replace(",", "")) == n_samples, "number of samples")
        claims.say((dense is None) == (truth.dense is None), "compared with the dense model")
        if dense is not None:
            claims.near(float(dense), of_dense["Accuracy"], "dense accuracy", TENTH)

    def advice(mean, lonely, n_features):
        claims.near(float(mean), served.mean(), "classes a feature")
        found = int(lonely or 0), int(n_features or len(served))
        claims.say(found in ((single, len(served)), (0, len(served))), "features of one class")
        claims.say(needed, "advice without need")

    def samples(diverse, n_decided, n_train):
        claims.say(int(n_decided.replace(",", "")) == n_samples, "samples behind the accuracy")
        claims.say(bool(diverse) == (truth.decided.maps is not None), "diversity")
        claims.say(bool(n_train) == truth.from_training, "training samples are named")
        if n_train:
            claims.say(int(n_train.replace(",", "")) == len(truth.shown.y), "training samples")

    def unlike(first, nothing_below, n_shown, low, high, which):
        claims.say(bool(first) == bool(adapter), "the units of a mixture")
        claims.say(bool(nothing_below) == truth.off_below_zero(), "what is below the average")
        claims.say(int(n_shown.replace(",", "")) == len(truth.shown.y), "samples that show")
        distinct = len({tuple(row) for row in truth.uses})
        said = which == "Two classes never"
        claims.say((distinct == len(truth.uses)) == said, f"{which} have the same features")
        own = truth.uses @ truth.decided.z[0]
        claims.say(np.allclose(own, truth.decided.logits[0], atol=1e-3), "a score is the plain sum")
        means = truth.shown.z.mean(axis=0)
        claims.near(numbers(low)[0], means.min(), "the least average")
        claims.near(numbers(high)[0], means.max(), "the largest average")

    def proven(known):
        solution = truth.sparse.solution
        claims.say(bool(known) == (solution.bound is not None), "a bound is proven")

    def heat(approximate):
        claims.say(with_maps, "heat maps")
        claims.say(bool(approximate) == bool(adapter and adapter.hidden), "what maps add up to")
        heat_levels(claims)

    adapter = truth.head.adapter
    with_maps = bool(claims.data["grid"])
    patterns = {
        r"(\d+) classes, each the plain sum of ([\d.]+) out of (\d+) features\. A feature "
        r"serves ([\d.]+) classes on average(?:; (\d+) of (\d+) serves? no more than one)?\. "
        rf"{PERCENT} of ([\d,]+) samples are recognised(?:; by the dense model {PERCENT})?\.": lede,
        r"Little is shared: a feature serves ([\d.]+) classes on average(?:, and (\d+) of (\d+) "
        r"serves? no more than one)?\. (?:Set n_select|With so few classes).*": advice,
        r"Accuracy( and diversity)? on ([\d,]+) samples(?:, the rest on ([\d,]+) training "
        r"samples)?\.": samples,
        r"The score of a class is the sum of the values of its features, nothing else\. A value "
        r"is in fixed units: 0 is the average that the feature( it was mixed from first)? had "
        r"in the dense model over its training samples, \+2 is two deviations above it\."
        r"( What is below that average counts as 0\.)? Over the "
        r"([\d,]+) samples that show the features here, the averages lie between (\S+) "
        r"and (\S+)\. (Two classes never|Some classes) have the same features, so (?:a "
        r"difference between classes always has a name|nothing tells them apart)\.": unlike,
        r"Heat maps show where a feature fires\. Their strength can be compared between the images "
        r"of one feature: nothing is shown up to the feature's median, full colour near its "
        r"maximum\. In an image where the feature is weak the whole map is paler, and nothing is "
        r"left of it at 0\.( They are the adapter's answer to every place by itself; it is not "
        r"linear, so they do not add up to the value of the feature\.)?": heat,
        r"A decision is explained feature by feature, the most active first; level 2 keeps the "
        r"classes whose two most active features are the same\. How often a level holds the true "
        r"class, with the exact 95 % interval, was counted on ([\d,]+) (calibration )?"
        r"samples\.": lambda *said: levels_counted(claims, *said),
        rf"Sets for {PERCENT}: of these ([\d,]+) samples, {PERCENT} have the true class in "
        rf"theirs\. A set holds ([\d.]+) classes on average; {PERCENT} hold one alone\.": (
            lambda *said: sets_measured(claims, *said)
        ),
        r"This model has no feature maps, so the report shows how strong a feature is, not where "
        r"it fires\.": lambda: claims.say(not with_maps, "no maps"),
        r"The objective says how well the chosen features and their assignment suit the classes; "
        r"it is not the accuracy\."
        r"( No other choice of as many exceeds the proven bound\.)?": proven,
        r"What these pictures show is known exactly, and each part can be taken off or exchanged\. "
        r"The figure in a name, as in “red eye \(0\.99\)”, is the share of all pairs of pictures, "
        r"one with that variant and one without, in which the feature is higher in the first "
        r"\(AUROC\)\. A question mark says that the feature falls more when another part is taken "
        r"off\.": lambda: claims.say(truth.birds is not None, "known pictures"),
        r"A name with a question mark, as in “(.+)”, is a guess: of all attributes that people "
        r"named, the feature follows this one most\. r is how far it rises where the attribute is "
        r"present, by the mean of what it has above its least value\.": (
            lambda name: guesses(claims, name)
        ),
        r"Objective \(solid\) and bound \(dashed\) over time": None,
    }
    patterns |= twins_table(claims, seen)
    for text in seen["paragraphs"]:
        claims.explain(text, patterns)
    if needed:
        said = any(text.startswith("Little is shared") for text in seen["paragraphs"])
        claims.say(said, "few features are shared and nothing is said")
    each = [100 * (1 - measures.overlap(entry["modes"])) for entry in claims.data["features"]]
    of_model["Contrastiveness"] = float(np.mean(each))
    metrics_table(claims, seen, of_model, of_dense)
    levels_table(claims, seen)
    figures = {**of_model, "Features": len(served), "Features per class": per_class}
    for title, value in seen["figures"]:
        claims.near(numbers(value)[0], figures[title], f"{title} {value}", TENTH)
    solve_table(claims, seen)


def guesses(claims, example):
    """Names of attributes: of all of them the feature follows this one most, as far as it says."""
    truth = claims.truth
    claims.say(example in claims.features, f"{example} is a name")
    values = np.maximum(truth.shown.z, 0) if truth.head.relu else truth.shown.z
    present = truth.attributes[truth.shown.y] > 0.5
    for name, j in claims.features.items():
        if (found := re.fullmatch(r"(.+)\? \(r (\d+\.\d\d)\)(?: \d+)?", name)) is None:
            continue
        above = values[:, j] - values[:, j].min()
        rises = [
            (above[there].mean() - above[~there].mean()) / above.mean() if 0 < there.mean() < 1
            else -np.inf
            for there in present.T
        ]  # fmt: skip
        claims.near(float(found[2]), max(rises), name)
        best = truth.asked["attribute_names"].index(found[1])
        claims.say(rises[best] > max(rises) - 1e-6, f"{name} is followed most")


def heat_levels(claims):
    """What the heat maps hold: nothing up to the median, all there is near the maximum."""
    kept = [claims.data["samples"][i] for i in range(len(claims.data["samples"]))]
    maps = np.stack([np.frombuffer(b64decode(sample["maps"]), np.uint8) for sample in kept])
    by_feature = maps.reshape(len(kept), len(claims.features), -1).swapaxes(0, 1)
    flat = by_feature.reshape(len(claims.features), -1)
    claims.say((np.median(flat, axis=1) <= 12).all(), "nothing is shown up to the median")
    silent = np.ptp(claims.truth.decided.maps, axis=(0, 2)) < 1e-6
    claims.say((silent | (flat.max(axis=1) >= 150)).all(), "full colour near the maximum")


def metrics_table(claims, seen, of_model, of_dense):
    """Every metric with its direction; that of the dense model where its network is at hand."""
    (table,) = (t for t in seen["tables"] if t["rows"] and t["rows"][0][0] == "Metric")
    told = set()
    for name, value, *dense in table["rows"][1:]:
        title = next(key for key in sorted(of_model, key=len, reverse=True) if name.startswith(key))
        told.add(title)
        claims.near(numbers(value)[0], of_model[title], f"{title} {value}", 0.11)
        best = "lower" if title == "Correlation" else "higher"
        claims.say(name.endswith(f"{best} is better"), f"which way is good: {name}")
        if dense and title in of_dense and dense[0] != "–":
            claims.near(numbers(dense[0])[0], of_dense[title], f"dense {title} {dense[0]}", 0.11)
    claims.say(told == of_model.keys(), f"metrics {told}")


def solve_table(claims, seen):
    """The gap follows from objective and bound; the plot spans what the solve reported."""
    rows = {row[0]: row[1] for table in seen["tables"] for row in table["rows"] if len(row) == 2}
    solution = claims.truth.sparse.solution
    overview_of_meanings(claims, rows)
    if "Objective" in rows:
        claims.near(numbers(rows["Objective"])[0], solution.objective, "objective", 6e-5)
    if "Gap" in rows:
        objective, bound = (numbers(rows[key])[0] for key in ("Objective", "Proven bound"))
        true = 100 * max(bound - objective, 0) / max(abs(objective), 1e-10)
        claims.near(numbers(rows["Gap"])[0], true, "gap", 0.0151)
    for label in seen["labels"]:
        low, high, seconds = numbers(label)
        heights = [
            v for point in solution.trace for v in point[1:] if v is not None and abs(v) < 1e300
        ]
        claims.near(low, min(heights), label, TENTH)
        claims.near(high, max(heights), label, TENTH)
        claims.near(seconds, solution.trace[-1][0], label, TENTH)
    settings_table(claims, rows)


def settings_table(claims, rows):
    """Sizes as the network has them, what an adapter hides, and what counts as 0."""
    truth = claims.truth
    sizes = truth.uses.sum(axis=1)
    adapter, received = truth.head.adapter, truth.received(truth.decided.x[:1])
    hidden = None if adapter is None else adapter.hidden
    path = f"{hidden} hidden units" if hidden else "linear"
    bottoms = [truth.floor(j) for j in range(truth.uses.shape[1])]
    path += ", with ReLU" if adapter is not None and None not in bottoms else ""
    known = {
        "Classes": str(len(truth.uses)),
        "n_select": str(truth.uses.shape[1]),
        "n_per_class": " to ".join(map(str, sorted({int(sizes.min()), int(sizes.max())}))),
        "Features to choose from": str(received.numel()),
        "Adapter": None if adapter is None else path,
        "Features below their mean": "count as 0" if truth.off_below_mean() else None,
    }
    for key, value in known.items():
        claims.say(rows.get(key) == value, f"{key} {rows.get(key)}")
    if truth.decided.maps is None:
        claims.say(rows["Feature layer"] == "none", "a feature layer without maps")
        return
    shown = truth.output_of(rows["Feature layer"]).flatten(2)
    maps = shown.mean(2), shown.amax(2)
    claims.say(any(torch.allclose(each, received, atol=1e-4) for each in maps), "feature layer")
