"""Levels and sets: of every decision, and how often they hold the true class."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
from scipy.stats import binomtest

from qpopt_torch.sparse.sets.predictor import Predictor
from tests.qpopt_torch.report.claims.reading import NUMBER, PERCENT, numbers

TENTH = 0.0501
HEAD = re.compile(rf"Level (\d+): (?:(nothing more is active)|(.+) ({NUMBER}))")
NOTE = re.compile(
    rf"(?:Only (.+) is left|(\d+) of (\d+) classes are left)\. The level held the true class in "
    rf"{PERCENT} of (\d+) samples \(([\d.]+) to ([\d.]+)\)\."
)
SEEN = re.compile(
    rf"Level (\d+) is the deepest that held the true class in at least {PERCENT} of (\d+) "
    r"samples\. It leaves (\d+) class(?:es)?:"
)
CHOSEN = re.compile(rf"The set for {PERCENT} holds (\d+) class(?:es)?:")
PROMISED = re.compile(
    rf"At least {PERCENT} of such sets hold the true class(, whichever it is)?, for samples like "
    r"the (\d+) that calibrated them\."
)


def ladder(truth, values, winner):
    """Return the classes that every level of a sample leaves, by the definition with sets."""
    own = [np.flatnonzero(row) for row in truth.uses]
    order = [sorted(row.tolist(), key=lambda d: (-values[d], d)) for row in own]
    active = sum(values[d] > 0 for d in own[winner])
    levels = [set(range(len(own)))]
    for level in range(1, len(own[winner])):
        first = set(order[winner][: min(level, active)])
        alike = {c for c, row in enumerate(order) if set(row[: len(first)]) == first}
        levels.append(alike | {winner})
    return order[winner][:active], [*levels, {winner}]


def values_of(truth, seen):
    return np.maximum(seen.z, 0) if truth.head.relu else seen.z


def shares(claims):
    """How often every level holds the true class, and of how many samples."""
    truth, known = claims.truth, claims.truth.sparse.level_shares
    if known is not None:  # it was counted on samples that are not at hand
        return list(known.hits), known.n_samples
    decided = truth.decided
    found = [
        ladder(truth, z, int(c))[1]
        for z, c in zip(values_of(truth, decided), decided.guesses, strict=True)
    ]
    n_levels = len(found[0])
    counts = [
        sum(int(y) in levels[n] for y, levels in zip(decided.y, found, strict=True))
        for n in range(n_levels)
    ]
    return counts, len(found)


def held(claims, shown, level, counts):
    """A share of samples and its exact interval."""
    hits, n_samples = counts[0][level], counts[1]
    interval = binomtest(hits, n_samples).proportion_ci(method="exact")
    true = (hits / n_samples, interval.low, interval.high)
    for value, expected in zip(shown, true, strict=True):
        claims.near(value, 100 * expected, f"level {level} held the true class", TENTH)


def levels(claims, seen, sample):
    """The levels of a decision; return the paragraphs that were looked at."""
    truth, decided = claims.truth, claims.truth.decided
    winner = int(decided.guesses[sample])
    order, left = ladder(truth, values_of(truth, decided)[sample], winner)
    counts, names = shares_of(claims), claims.class_names
    told = [step["note"] for step in seen["steps"]]
    claims.say(len(seen["steps"]) == len(left) - 1, "a step for every level")
    for step in seen["steps"]:
        number, nothing, name, value = HEAD.fullmatch(step["head"]).groups()
        level = int(number)
        claims.say(bool(nothing) == (level > len(order)), step["head"])
        if not nothing:
            claims.say(claims.features[name] == order[level - 1], step["head"])
            z = values_of(truth, decided)[sample, order[level - 1]]
            claims.near(numbers(value)[0], z, step["head"])
        (
            only,
            some,
            every,
            *shown,
        ) = NOTE.fullmatch(step["note"]).groups()
        claims.say((only == names[winner]) if only else int(some) == len(left[level]), step["note"])
        claims.say(bool(only) == (len(left[level]) == 1), step["note"])
        claims.say(only or int(every) == len(names), step["note"])
        claims.say(int(shown[1]) == counts[1], step["note"])
        held(claims, [float(shown[0]), *map(float, shown[2:])], level, counts)
        gone = {claims.classes[name] for name in step["gone"]}
        claims.say(gone == left[level - 1] - left[level], f"what leaves at level {level}")
    for state in seen["states"]:
        told += [state["status"], state["promise"]]
        chosen(claims, state, sample, left, counts)
    return told


def chosen(claims, state, sample, left, counts):
    """What a reader sees who asks for some coverage."""
    truth, wanted = claims.truth, int(state["value"])
    members = {claims.classes[name] for name in state["members"]}
    predictor = truth.sparse.predictor
    if predictor is None:
        level, percent, n_samples, count = SEEN.fullmatch(state["status"]).groups()
        enough = [
            n for n, hits in enumerate(counts[0]) if round(100 * hits / counts[1], 1) >= wanted
        ]
        claims.say(int(level) == max([0, *enough]), state["status"])
        claims.say(int(percent) == wanted and int(n_samples) == counts[1], state["status"])
        claims.say(members == left[int(level)], f"members {state['members']}")
        claims.say(state["promise"].startswith("That is what was seen, not"), state["promise"])
    else:
        percent, count = CHOSEN.fullmatch(state["status"]).groups()
        known = predictor.calibration
        sets = Predictor(truth.sparse, replace(known, alpha=1 - wanted / 100))
        (found,) = sets(truth.decided.x[sample : sample + 1]).sets
        claims.say(int(percent) == wanted and members == set(found), f"members at {wanted} %")
        promised, whichever, n_samples = PROMISED.fullmatch(state["promise"]).groups()
        claims.say(int(promised) == wanted, state["promise"])
        claims.say(bool(whichever) == known.by_class, state["promise"])
        claims.say(int(n_samples) == len(known.scores) + known.n_first, state["promise"])
    claims.say(int(count) == len(members), state["status"])
    marked = {claims.classes[name] for name in state["marked"]}
    listed = {claims.classes[name] for name in state["listed"]}
    claims.say(marked == members & listed, f"marked {state['marked']}")


def shares_of(claims):
    """`shares`, counted once for all decisions."""
    if not hasattr(claims, "level_counts"):
        claims.level_counts = shares(claims)
    return claims.level_counts


def levels_table(claims, seen):
    """How often the levels hold the true class and how many classes they leave, on the overview."""
    (table,) = (t for t in seen["tables"] if t["rows"] and t["rows"][0][0] == "Level")
    decided, counts = claims.truth.decided, shares_of(claims)
    found = [
        [len(level) for level in ladder(claims.truth, z, int(c))[1]]
        for z, c in zip(values_of(claims.truth, decided), decided.guesses, strict=True)
    ]
    left = np.mean(found, axis=0)
    claims.say(len(table["rows"]) == 1 + len(left), "a row for every level")
    for level, (number, share, size) in enumerate(table["rows"][1:]):
        claims.say(int(number) == level, "levels in their order")
        held(claims, numbers(share), level, counts)
        claims.near(numbers(size)[0], left[level], f"level {level} leaves {size}", TENTH)


def levels_counted(claims, n_samples, calibrated):
    counts = shares_of(claims)
    claims.say(int(n_samples.replace(",", "")) == counts[1], "samples behind the levels")
    known = claims.truth.sparse.level_shares is not None
    claims.say(bool(calibrated) == known, "whether levels are calibrated")


def sets_measured(claims, wanted, n_samples, coverage, size, singletons):
    predictor, decided = claims.truth.sparse.predictor, claims.truth.decided
    claims.near(float(wanted), 100 * (1 - predictor.alpha), "what sets promise")
    claims.say(int(n_samples.replace(",", "")) == len(decided.y), "samples of sets")
    found = predictor(decided.x).sets
    right = [int(y) in one for y, one in zip(decided.y, found, strict=True)]
    claims.near(float(coverage), 100 * np.mean(right), "coverage of sets", TENTH)
    claims.near(float(size), np.mean([len(one) for one in found]), "mean size of sets")
    alone = 100 * np.mean([len(one) == 1 for one in found])
    claims.near(float(singletons), alone, "sets of one class", TENTH)
