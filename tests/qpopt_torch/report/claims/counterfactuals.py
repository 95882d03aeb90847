"""What would let another class win: tried in the network, a little more and a little less.

Whether a feature can do it at all, and which pair needs least, is found by trying many changes.
"""

from __future__ import annotations

import re
from itertools import combinations

import numpy as np

from tests.qpopt_torch.report.claims.checks import HUNDREDTH
from tests.qpopt_torch.report.claims.reading import NUMBER, numbers

ENOUGH = 0.02
"""How much more, or less, than the shown change is tried."""
SIZES = np.concatenate([np.geomspace(0.05, 50, 24), [1000.0]])
"""Changes that are tried, in deviations; no lead outweighs the last."""
SHARES = 25
"""In how many ways a change is shared by the two features of a pair."""

HEAD = re.compile(
    r"(.+) is (?:level with|([\d.]+) behind) (.+?)\. "
    r"(It would win with any one of these:|No single feature would "
    r"make it win; of all pairs, this one needs the smallest changes in sum:|No change of one or "
    r"two features would make it win\.)"
)
MOVE = re.compile(
    rf"(.+) (lower|higher) by more than ([\d.]+), (?:below|above) ({NUMBER})"
    rf"(?: \((no sample goes there|impossible): .* is ({NUMBER})\))?"
)
NOTE = re.compile(
    r"(?:(\d+) other features? would do, too\. )?"
    r"(?:No change of (.+) alone would: a third class stays ahead\.)?"
)


def change(claims, said, sample, totals):
    """Check what would let a class win, and return the class."""
    truth = claims.truth
    pred = int(truth.decided.guesses[sample])
    if (found := HEAD.fullmatch(said["head"])) is None:
        claims.say(False, f"not understood: {said['head']!r}")
        return None
    rival = claims.classes[found[1]]
    claims.say(claims.classes[found[3]] == pred, said["head"])
    if not {pred, rival} <= totals.keys():
        claims.say(False, f"no sums: {said['head']}")
        return rival
    lead = round(100 * (totals[pred] - totals[rival]))
    claims.say(round(100 * float(found[2] or 0)) == lead, said["head"])
    claims.say((found[2] is None) == level(truth, sample, rival, pred), said["head"])
    ways = [way(claims, text, sample, rival) for text in said["ways"]]
    ways = [moves for moves in ways if moves]
    alone = sufficient(truth, sample, rival)
    claims.say(len(ways) <= 5, "at most five are listed")
    if found[4].startswith("It would win"):
        claims.say(all(len(moves) == 1 for moves in ways), "single features")
        sizes = [abs(by) for ((_, by),) in ways]
        claims.say(sizes == sorted(sizes), "listed by size")
        notes(claims, said["notes"], alone, {j for ((j, _),) in ways}, rival, pred)
        return rival
    claims.say(not alone, f"no single feature: {said['head']}")
    claims.say(len(ways) == len(said["ways"]) == found[4].startswith("No single"), said["head"])
    size = sum(abs(by) for moves in ways for _, by in moves) if ways else SIZES[-1]
    claims.say(not smaller_pair(truth, sample, rival, size), f"no smaller pair: {said['ways']}")
    return rival


def level(truth, sample, *classes):
    """Return whether the network gives two classes the same sum, but for its rounding."""
    first, second = truth.logits(sample, np.zeros(truth.uses.shape[1]))[0, list(classes)]
    return bool(abs(first - second) < 1e-5)


def way(claims, text, sample, rival):
    """One way to win: a little more is enough, a little less is not."""
    moves = [move(claims, part, sample) for part in re.split(r", and (?=.* by more than)", text)]
    if None in moves:
        claims.say(False, f"not understood: {text!r}")
        return []
    changes = np.zeros((2, claims.truth.uses.shape[1]))
    for j, by in moves:
        # A change that is shown as 0.00 has a direction, too.
        changes[:, j] = by + np.copysign(ENOUGH, by), by - np.copysign(ENOUGH, by)
    more, less = claims.truth.winners(sample, changes)
    claims.say(more == rival, f"{claims.class_names[rival]} wins: {text}")
    claims.say(less != rival, f"{claims.class_names[rival]} wins with less: {text}")
    if len(moves) == 1 and np.copysign(1, moves[0][1]) < 0:
        possible(claims, text, sample, rival, moves[0][0])
    return moves


def possible(claims, text, sample, rival, j):
    """A feature that has to fall, and its least value: does the class win there?"""
    truth = claims.truth
    floor = truth.floor(j)
    if floor is None:
        return
    change = np.zeros((1, truth.uses.shape[1]))
    change[0, j] = floor - truth.decided.z[sample, j]
    totals = truth.logits(sample, change)[0]
    ahead = totals[rival] - np.delete(totals, rival).max()
    claims.say((ahead <= 1e-5) == ("impossible" in text), f"at its least value: {text}")


def sufficient(truth, sample, rival):
    """Return the features of which some change, of any size, lets a class win."""
    n_select = truth.uses.shape[1]
    signed = np.concatenate([SIZES, -SIZES])
    changes = np.einsum("s,jk->jsk", signed, np.eye(n_select)).reshape(-1, n_select)
    wins = truth.winners(sample, changes).reshape(n_select, -1) == rival
    return set(np.flatnonzero(wins.any(axis=1)).tolist())


def smaller_pair(truth, sample, rival, size):
    """Return whether two features let a class win with clearly less, added up, than a size."""
    n_select, total = truth.uses.shape[1], 0.92 * size - ENOUGH
    if total <= 0:
        return False
    pairs = list(combinations(range(n_select), 2))
    changes = np.zeros((len(pairs), 4, SHARES, n_select))
    first = np.linspace(0, total, SHARES)
    for tried, (i, j) in zip(changes, pairs, strict=True):
        for row, (a, b) in zip(tried, ((1, 1), (1, -1), (-1, 1), (-1, -1)), strict=True):
            row[:, i], row[:, j] = a * first, b * (total - first)
    wins = truth.winners(sample, changes.reshape(-1, n_select).astype(np.float32)) == rival
    return bool(wins.any())


def notes(claims, texts, alone, named, rival, pred):
    """How many more features would do, and which would not."""
    more, idle = 0, set()
    for text in texts:
        found = NOTE.fullmatch(text)
        claims.say(found is not None, f"not understood: {text!r}")
        if found is not None:
            more = int(found[1] or 0)
            idle = {claims.features[name] for name in re.split(", | or ", found[2] or "") if name}
    claims.say(named <= alone and len(alone - named) == more, f"{more} other features")
    differs = set(np.flatnonzero(claims.truth.uses[rival] != claims.truth.uses[pred]).tolist())
    claims.say(idle == differs - alone, f"no change of {idle} alone")


def move(claims, text, sample):
    """A change of one feature: which, by how much, up to where, and whether that can be."""
    if (found := MOVE.fullmatch(text.strip())) is None:
        return None
    truth = claims.truth
    name, direction, by, to, mark, limit = found.groups()
    j, goal = claims.features[name], numbers(to)[0]
    falls = direction == "lower"
    signed = -float(by) if falls else float(by)
    claims.near(goal, truth.decided.z[sample, j] + signed, text, 0.02)
    values = truth.shown.z[:, j]
    end = values.min() if falls else values.max()
    if mark is None:
        # It is beyond the goal that the class wins: a sample has to be there, or further.
        within = goal >= end - 0.02 if falls else goal <= end + 0.02
        claims.say(within, f"samples go there: {text}")
    elif mark == "impossible":
        floor = truth.floor(j)
        if floor is None:
            floor = float(-truth.head.mean[j] / truth.head.std[j])
        claims.near(numbers(limit)[0], floor, text)
        claims.say(goal <= floor + 0.02 and end > floor - HUNDREDTH, text)
        claims.say(truth.least[j] >= floor - 1e-4, f"no input gives less: {text}")
    else:
        claims.near(numbers(limit)[0], end, text)
        claims.say(goal <= end + 0.02 if falls else goal >= end - 0.02, text)
    return j, signed
