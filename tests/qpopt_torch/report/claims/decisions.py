"""The list of decisions, and each in full: its sums, what misled, and what would change it."""

from __future__ import annotations

import re

import numpy as np

from tests.qpopt_torch.report.claims.counterfactuals import change, level
from tests.qpopt_torch.report.claims.levels import levels
from tests.qpopt_torch.report.claims.reading import NUMBER, numbers

MISLED = re.compile(rf"(.+) of (.+) is (only )?({NUMBER}); (?:in (.+) )?it is usually ({NUMBER})\.")


def decision_list(claims):
    seen, decided = claims.open("decisions"), claims.truth.decided
    wrong = decided.guesses != decided.y

    def some(shown, total):
        claims.say(int(shown) == min(96, wrong.sum()) and int(total) == wrong.sum(), "how many")

    def none():
        claims.say(not wrong.any(), "no wrong decisions")

    patterns = {
        r"(\d+) wrong decisions? of (\d+), the largest lead over the true class first"
        r"(?:; \d+ shown)?": some,
        r"\d+ right decisions?, drawn by chance(?:; \d+ shown)?": none,
        r"There are no (?:wrong|right) decisions\.": none,
    }
    for text in seen["paragraphs"]:
        claims.explain(text, patterns)
    rows = np.arange(len(decided.y))
    leads = decided.logits[rows, decided.guesses] - decided.logits[rows, decided.y]
    shown = [leads[claims.sample(entry["sample"])] for entry in claims.data["wrong"]]
    largest = np.sort(leads[wrong])[::-1][: len(shown)]
    claims.say(np.allclose(shown, largest, atol=1e-4), "the largest leads, in their order")
    for card, entry in zip(seen["cards"], claims.data["wrong"], strict=False):
        for note in card["notes"]:
            misled(claims, note.removeprefix("What misled: "), claims.sample(entry["sample"]))


def misled(claims, text, sample):
    """What misled: set to what is usual, no other feature takes more of the lead away."""
    truth, decided = claims.truth, claims.truth.decided
    label, pred = int(decided.y[sample]), int(decided.guesses[sample])
    if (found := MISLED.fullmatch(text.strip())) is None:
        claims.say(False, f"not understood: {text!r}")
        return
    name, owner, only, value, place, usual = found.groups()
    j, value, usual = claims.features[name], numbers(value)[0], numbers(usual)[0]
    claims.near(value, decided.z[sample, j], f"misled: {name} is {value}")
    claims.near(usual, truth.means[label, j], f"misled: usually {usual}")
    claims.say(claims.classes[owner] == (label if only else pred), f"misled: of {owner}")
    claims.say(place is None or claims.classes[place] == label, f"misled: in {place}")
    claims.say(truth.uses[claims.classes[owner], j], f"misled: {owner} has {name}")
    claims.say(not only or value <= usual, f"misled: only {value}, usually {usual}")
    logits = truth.logits(sample, np.diag(truth.means[label] - decided.z[sample]))
    leads = logits[:, pred] - logits[:, label]
    claims.say(leads[j] <= leads.min() + 1e-3, f"misled: another feature misled more than {name}")


def decision(claims, kind, place):
    truth, decided = claims.truth, claims.truth.decided
    seen = claims.open(f"decision/{kind}/{place}")
    sample = claims.sample(claims.data[kind][place]["sample"])
    claims.pictured(claims.data[kind][place]["sample"], decided)
    label, pred = int(decided.y[sample]), int(decided.guesses[sample])
    names = claims.class_names
    title = names[label] + ("" if label == pred else f" taken for {names[pred]}")
    claims.say(seen["heading"] == title, seen["heading"])
    claims.say((kind == "right") == (label == pred), f"a {kind} decision")
    inside = {text for one in seen["changes"] for text in (one["head"], *one["notes"])}
    inside |= set(levels(claims, seen["levels"], sample))

    def lede(number, named, winner):
        claims.say(int(number) == sample, "the sample")
        told = {claims.classes[name] for name in re.split(" and |, ", named or "") if name}
        shown = {claims.classes[t["caption"]] for t in seen["tables"] if t["kind"] == "sum"}
        alike = {c for c in shown - {pred} if level(truth, sample, c, pred)}
        claims.say(told == alike and winner in (None, names[pred]), f"level are {alike}")

    patterns = {
        r"Sample (\d+)\. The class with the highest sum wins\."
        r"(?: (.+) (?:is|are) level with (.+): nothing in this sample decides between them\.)?": (
            lede
        ),
        "What misled: (.*)": lambda what: misled(claims, what, sample),
        r"(?:Each change is by itself, all else as it is, and the class named then has the highest "
        r"sum of all classes\. Numbers are rounded to 0\.01 such that every sum adds up, so a "
        r"feature of two classes may differ by 0\.01 between them\.)?": None,
        r"A class stays possible as long as its most active features are those of the predicted "
        r"class\. What is not active is no evidence and opens no level\.": None,
    }
    for text in (text for text in seen["paragraphs"] if text not in inside):
        claims.explain(text, patterns)
    for text in seen["items"]:
        claims.say(False, f"not understood: {text!r}")
    totals = {}
    for table in (table for table in seen["tables"] if table["kind"] == "sum"):
        c = claims.classes[table["caption"]]
        role = "predicted" if c == pred else "true class" if c == label else "rival"
        claims.say(table["note"].endswith(f" {role}"), table["note"])
        *rows, last = table["rows"]
        own = [claims.features[row[0]] for row in rows]
        claims.say(own == np.flatnonzero(truth.uses[c]).tolist(), "the features of a sum")
        totals[c] = numbers(last[-1])[0]
        claims.sum_of(totals[c], [numbers(row[-1])[0] for row in rows], own, decided, sample)
    claims.say(totals[pred] == max(totals.values()), "the class with the highest sum wins")
    nearest = np.argsort(-decided.logits[sample], kind="stable")[: min(3, len(names))]
    least = decided.logits[sample, nearest].min() - 1e-4
    claims.say(
        all(decided.logits[sample, c] >= least or c == label for c in totals), "nearest rivals"
    )
    claims.say(label in totals, "the sum of the true class")
    changed = {change(claims, one, sample, totals) for one in seen["changes"]}
    claims.say(changed == set(totals) - {pred}, "a change for every rival")
