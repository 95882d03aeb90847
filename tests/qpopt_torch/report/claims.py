"""Reads every claim on the pages of a report and compares it with the network itself.

A sentence that is not understood counts as false: nothing is said that is not checked.
"""

# Sentences of the page stand in one piece where that can be read.
# ruff: noqa: E501

from __future__ import annotations

import re
from dataclasses import dataclass, field

import numpy as np

from tests.qpopt_torch.report.truth import Truth

HUNDREDTH = 0.0101
"""How far a shown number may be off: rounded, or a difference of two that are."""
ENOUGH = 0.02
"""How much more, or less, than the shown change is tried."""
NUMBER = r"[+−-]?\d[\d,]*(?:\.\d+)?"
PERCENT = r"(\d+(?:\.\d+)?) %"

READ = """(name) => {
  const panel = document.getElementById(`panel-${name}`), all = (q, n = panel) => [...n.querySelectorAll(q)];
  const texts = (q, n = panel) => all(q, n).map((e) => e.textContent);
  const bare = (e) => { const copy = e.cloneNode(true); all("small", copy).forEach((s) => s.before(" | ")); return copy.textContent; };
  return {
    heading: panel.querySelector("h2").textContent,
    paragraphs: texts("p"),
    cards: all(".cards > li").map((e) => ({ title: texts(".card-title", e)[0], notes: texts(".note", e) })),
    parts: all(".parts > li").map((e) => ({ name: texts(".card-title", e)[0], notes: texts(".note", e), chips: texts(".chips a", e), tiles: texts("figcaption", e) })),
    chips: all(".chips a").filter((e) => !e.closest(".parts")).map((e) => e.textContent),
    tiles: all(".feature-top figcaption").map((e) => e.textContent),
    changes: all(".change").map((e) => ({ head: texts("p", e)[0], ways: texts("li", e), notes: texts("p.note", e) })),
    items: all("main li, li", panel).filter((e) => !e.closest(".change, .cards, .parts, .chips")).map((e) => e.textContent),
    tables: all("table").map((t) => ({ kind: t.className, caption: t.caption ? texts("a", t.caption)[0] : "", note: t.caption ? t.caption.textContent : "",
      rows: [...t.rows].map((r) => [...r.cells].map(bare)) })),
    cells: texts(".cell title"),
    labels: all("svg[aria-label]").map((e) => e.getAttribute("aria-label")),
  };
}"""


def numbers(text):
    """Return the numbers in a text, as they are shown."""
    return [float(found.replace("−", "-").replace(",", "")) for found in re.findall(NUMBER, text)]


@dataclass
class Claims:
    """The claims of one report: how many were checked, and which are false."""

    page: object
    truth: Truth
    n_checked: int = 0
    false: list[str] = field(default_factory=list)

    def __post_init__(self):
        self.data = self.page.evaluate("JSON.parse(document.getElementById('data').textContent)")
        names = [[entry["name"] for entry in self.data[key]] for key in ("classes", "features")]
        self.classes, self.features = ({n: i for i, n in enumerate(each)} for each in names)
        found = [entry["index"] for entry in self.data["features"]]
        self.say(found == self.truth.sparse.selection.tolist(), "the features are in their order")
        self.where = ""

    def say(self, holds, text):
        """Count a claim and keep it if it does not hold."""
        self.n_checked += 1
        if not holds:
            self.false.append(f"{self.where}: {text}")

    def near(self, shown, true, text, by=HUNDREDTH):
        self.say(abs(shown - true) <= by, f"{text} (in truth {true:.4f})")

    def read(self, view):
        """Open a view and return what it says."""
        self.where = view
        panel = {"class": "classes", "feature": "features", "decision": "decisions"}
        name = view.split("/")[0]
        self.page.evaluate(
            "(hash) => new Promise((done) => {"
            "  if (location.hash === hash) return done();"
            "  addEventListener('hashchange', () => done(), { once: true });"
            "  location.hash = hash;"
            "})",
            f"#/{view}",
        )
        return self.page.evaluate(READ, panel.get(name, name))

    def explain(self, text, patterns):
        """Give a text to the first pattern that it fits; one that fits none is false."""
        for pattern, act in patterns.items():
            if found := re.fullmatch(pattern, text.strip(), re.DOTALL):
                if act is not None:
                    act(*found.groups())
                return
        self.say(False, f"not understood: {text!r}")

    def share(self, percent, part, whole, text):
        true = 100 * part / whole
        self.say(abs(percent - true) < 1 and (percent in (0, 100)) == (true in (0, 100)), text)

    def check_all(self):
        """Check every page."""
        self.overview()
        self.class_list()
        for c in range(len(self.classes)):
            self.one_class(c)
        for j in range(len(self.features)):
            self.one_feature(j)
        self.feature_list()
        for a, b in self.contrasts():
            self.contrast(a, b)
        for kind in ("wrong", "right"):
            for place in range(len(self.data[kind])):
                self.decision(kind, place)
        self.decision_list()
        self.map()
        return self

    def overview(self):
        truth, seen = self.truth, self.read("overview")
        served = truth.uses.sum(axis=0)
        single, right = int((served <= 1).sum()), truth.decided.guesses == truth.decided.y
        accuracy, per_class = 100 * right.mean(), truth.uses.sum(axis=1).mean()

        def lede(n_classes, size, n_features, mean, lonely, _, recognised, n_samples, dense):
            self.say(int(n_classes) == len(truth.uses), "number of classes")
            self.near(float(size), per_class, "features of a class")
            self.say(int(n_features) == len(served), "number of features")
            self.near(float(mean), served.mean(), "classes a feature", 0.0501)
            self.say(int(lonely or 0) == single, f"features of one class: {lonely}")
            self.near(float(recognised), accuracy, "accuracy", 0.0501)
            self.say(int(n_samples.replace(",", "")) == len(right), "number of samples")

        def advice(mean, lonely, n_features):
            self.near(float(mean), served.mean(), "classes a feature")
            self.say(
                (int(lonely or 0), int(n_features or len(served))) == (single, len(served)), ""
            )
            self.say(served.mean() < 2 or single > len(served) / 5, "advice without need")

        def samples(n_decided, n_train):
            self.say(int(n_decided.replace(",", "")) == len(right), "samples behind the accuracy")
            if n_train:
                self.say(int(n_train.replace(",", "")) == len(truth.shown.y), "training samples")

        def unlike(*_):
            distinct = len({tuple(row) for row in truth.uses})
            self.say(distinct == len(truth.uses), "two classes never have the same features")

        patterns = {
            r"(\d+) classes, each the plain sum of ([\d.]+) out of (\d+) features\. A feature "
            r"serves ([\d.]+) classes on average(?:; (\d+) of (\d+) serve no more than one)?\. "
            rf"{PERCENT} of ([\d,]+) samples are recognised(?:; by the dense model {PERCENT})?\.": lede,
            r"Little is shared: a feature serves ([\d.]+) classes on average(?:, and (\d+) of (\d+) "
            r"serve no more than one)?\. (?:Set n_select|With so few classes).*": advice,
            r"Accuracy(?: and diversity)? on ([\d,]+) samples(?:, the rest on ([\d,]+) training "
            r"samples)?\.": samples,
            r"The score of a class is the sum of the values.*Two classes never have the same.*": unlike,
            r"Heat maps show where.*|This model has no feature maps.*|Objective \(solid\).*": None,
        }
        for text in seen["paragraphs"]:
            self.explain(text, patterns)
        if served.mean() < 2 or single > len(served) / 5:
            said = any(text.startswith("Little is shared") for text in seen["paragraphs"])
            self.say(said, "few features are shared and nothing is said")
        rows = {row[0]: row[1] for table in seen["tables"] for row in table["rows"] if len(row) > 1}
        (shown,) = (value for key, value in rows.items() if key.startswith("Accuracy"))
        self.near(numbers(shown)[0], accuracy, "accuracy in the table", 0.0501)

    def recognised(self, c):
        of_class = self.truth.decided.y == c
        return int((self.truth.decided.guesses[of_class] == c).sum()), int(of_class.sum())

    def class_list(self):
        for card in self.read("classes")["cards"]:
            right, n = self.recognised(self.classes[card["title"]])
            (note,) = card["notes"]
            self.explain(
                note,
                {
                    rf"{PERCENT} of (\d+) recognised": lambda p, m, right=right, n=n, note=note: (
                        self.share(float(p), right, n, note),
                        self.say(int(m) == n, note),
                    ),
                    "no samples": lambda n=n, note=note: self.say(n == 0, note),
                },
            )

    def one_class(self, c):
        truth, seen = self.truth, self.read(f"class/{c}")
        right, n = self.recognised(c)
        own = np.flatnonzero(truth.uses[c])
        self.say(self.classes[seen["heading"]] == c, "the name of the class")

        def lede(shown_right, shown_n, n_features):
            self.say((int(shown_right or 0), int(shown_n or 0)) == (right, n), "recognised")
            self.say(int(n_features) == len(own), "the size of its sum")

        known = {
            r"(?:(\d+) of (\d+) samples recognised\. )?Its score is the sum of (\d+) features?\.": lede,
            r"usually.*|This model has no feature maps.*": None,
            r"No other class shares a feature with it\.": lambda: self.say(
                not (truth.uses @ truth.uses[c])[np.arange(len(truth.uses)) != c].any(), "none near"
            ),
        }
        for text in seen["paragraphs"]:
            self.explain(text, known)
        grids = [table for table in seen["tables"] if table["kind"].startswith("grid")]
        for (total, *values), sample in zip(
            grids[0]["rows"][1:] if grids else [], self.data["classes"][c]["samples"], strict=True
        ):
            index = self.data["samples"][sample]["index"]
            self.say(truth.shown.y[index] == c, "a sample of the class")
            self.sum_of(numbers(total)[0], [numbers(v)[0] for v in values], own, truth.shown, index)
        self.say(
            [self.features[part["name"]] for part in seen["parts"]] == own.tolist(), "features"
        )
        for part in seen["parts"]:
            self.class_part(c, part)
        tables = [table for table in seen["tables"] if table["kind"] == "plain"]
        for name, common, _ in tables[0]["rows"][1:] if tables else []:
            shared = int((truth.uses[c] & truth.uses[self.classes[name]]).sum())
            self.say(numbers(common) == [shared, len(own)], f"{name}: {common} in common")
        for chip in seen["chips"]:
            name, _, count = chip.rpartition(" × ")
            self.say(self.confused(c, self.classes[name]) == int(count), f"taken for {chip}")

    def class_part(self, c, part):
        j, means = self.features[part["name"]], self.truth.means[:, self.features[part["name"]]]
        others = [d for d in np.flatnonzero(self.truth.uses[:, j]) if d != c]
        self.say(
            [self.classes[name] for name in part["chips"]] == others, f"{part['name']}: shared"
        )
        away = means[~self.truth.uses[:, j]]

        def usual(here, elsewhere):
            self.near(numbers(here)[0], means[c], f"usually {here} here")
            if elsewhere:
                self.near(numbers(elsewhere)[0], np.nanmean(away), f"{elsewhere} elsewhere", 0.02)

        patterns = {
            rf"usually ({NUMBER}) here(?:, ({NUMBER}) where it is not used)?": usual,
            "": None,
            "Also part of": lambda: self.say(bool(others), "also part of"),
            "Part of no other class": lambda: self.say(not others, "part of no other class"),
            "Strongest in any class": None,
        }
        for text in part["notes"]:
            self.explain(text, patterns)
        self.strongest(part["tiles"], j)

    def strongest(self, tiles, j):
        """Tiles with a class and a value: the samples where a feature is highest."""
        shown = [numbers(tile.rpartition(" ")[2])[0] for tile in tiles]
        self.say(shown == sorted(shown, reverse=True), "the strongest come first")
        self.near(shown[0], self.truth.shown.z[:, j].max(), "the strongest", 0.0501)
        for tile, value, sample in zip(
            tiles, shown, self.data["features"][j]["samples"], strict=False
        ):
            index = self.data["samples"][sample]["index"]
            self.near(value, self.truth.shown.z[index, j], tile, 0.0501)
            named = self.classes[tile.rpartition(" ")[0]]
            self.say(named == self.truth.shown.y[index], f"the class of {tile}")

    def sum_of(self, total, values, columns, seen, index):
        """A sum with its terms: as shown, they add up; and they are those of the network."""
        self.say(
            round(100 * total) == sum(round(100 * v) for v in values), f"{values} add up to {total}"
        )
        c = next(
            c
            for c, row in enumerate(self.truth.uses)
            if np.array_equal(np.flatnonzero(row), columns)
        )
        self.near(total, seen.logits[index, c], f"the sum {total}")
        for value, j in zip(values, columns, strict=True):
            self.near(value, seen.z[index, j], f"the term {value}")

    def confused(self, a, b):
        decided = self.truth.decided
        return int(((decided.y == a) & (decided.guesses == b)).sum())

    def one_feature(self, j):
        truth, seen = self.truth, self.read(f"feature/{j}")
        users, means = np.flatnonzero(truth.uses[:, j]), truth.means[:, j]
        self.say(self.features[seen["heading"]] == j, "the name of the feature")

        def lede(count, index):
            self.say(int(count) == len(users), f"used by {count}")
            self.say((index is None) == (truth.head.adapter is not None), "a mixture or not")
            if index is not None:
                self.say(int(index) == truth.sparse.selection[j], f"number {index}")

        patterns = {
            r"Used by (\d+) class(?:es)?\.(?: Number (\d+) of the dense model\.)?": lede,
            r"At most two samples of a class are shown\.": None,
            rf"The two modes are {PERCENT} apart \(contrastiveness\)\.": None,
            r"classes that use itall otherstwo modes fitted.*": None,
            **self.mixture(j),
        }
        for text in seen["paragraphs"]:
            self.explain(text, patterns)
        self.strongest(seen["tiles"], j)
        for table in seen["tables"]:
            used = table["rows"][0][0] == "Use it"
            names = [self.classes[name] for name, _ in table["rows"][1:]]
            self.say(all(truth.uses[c, j] == used for c in names), table["rows"][0][0])
            self.say(not used or sorted(names) == users.tolist(), "all classes that use it")
            for c, (_, value) in zip(names, table["rows"][1:], strict=True):
                if value == "–":
                    self.say(np.isnan(means[c]), "no usual value")
                else:
                    self.near(numbers(value)[0], means[c], f"usual value {value}")
        self.modes(j, seen)

    def modes(self, j, seen):
        """The values that a histogram spans."""
        (label,) = (text for text in seen["labels"] if text.startswith("Values of"))
        low, high = numbers(label.split(" from ")[-1])[:2]
        values = self.truth.shown.z[:, j]
        wide = 0.56 if np.ptp(values) < 1e-6 else 0.0501  # a constant gets a bin of width 1
        self.near(low, values.min(), "least value", wide)
        self.near(high, values.max(), "largest value", wide)

    def mixture(self, j):
        """What an adapter mixes: features of the network go in one by one, and in one piece."""
        truth, start = self.truth, int(self.truth.sparse.selection[j])

        def mixed(count, named, correlation, parts):
            self.say((int(count), int(named)) == (truth.received.shape[1], start), "mixed from")
            true = np.corrcoef(truth.received[:, start], truth.shown.z[:, j])[0, 1]
            self.near(numbers(correlation)[0], true, f"correlation {correlation}", 0.02)
            name = list(self.features)[j]
            self.say((true < 0.8) == name.startswith("Mixture"), f"{name} is {true:.2f} alike")
            slopes = truth.slopes(j)
            for d, share in re.findall(r"feature (\d+) \(([\d.]+) %\)", parts):
                self.near(float(share), 100 * slopes[int(d)] / slopes.sum(), f"part {d}", 0.5)

        return {
            r"An adapter mixes it from (\d+) features of the frozen network, starting from feature "
            rf"(\d+); its correlation with that is ({NUMBER})\. Its largest parts: (.*)\.": mixed
        }

    def feature_list(self):
        for card in self.read("features")["cards"]:
            users = np.flatnonzero(self.truth.uses[:, self.features[card["title"]]])
            for note in card["notes"]:
                count, _, listed = note.partition(": ")
                self.say(int(count.split()[0]) == len(users), note)
                names = listed.removesuffix(" …")
                shown = ", ".join(self.data["classes"][c]["name"] for c in users[:4])
                self.say(names == shown, note)

    def contrasts(self):
        """Pairs to look at: those that are confused, and of every class the next one."""
        n = len(self.classes)
        found = {(a, b) for a, b, _ in self.data["confusions"]} | {
            (c, (c + 1) % n) for c in range(n)
        }
        return sorted(found)

    def contrast(self, a, b):
        truth, seen = self.truth, self.read(f"contrast/{a}/{b}")
        both = truth.uses[a] & truth.uses[b]
        said = {}

        def lede(shared, size, mistakes):
            self.say((int(shared), int(size)) == (both.sum(), truth.uses[a].sum()), "they share")
            sentence = (
                r"(\d+) samples? of (.+?) (?:was|were) taken for (.+?)\.(?= \d+ samples? of |$)"
            )
            for count, first, second in re.findall(sentence, mistakes):
                said[self.classes[first], self.classes[second]] = int(count)

        for text in seen["paragraphs"]:
            self.explain(
                text,
                {r"They share (\d+) of (\d+) features\.(.*)": lede, "This model has no.*": None},
            )
        true = {pair: self.confused(*pair) for pair in ((a, b), (b, a))}
        self.say(said == {pair: n for pair, n in true.items() if n}, f"confused {said}")
        rows = [row for t in seen["tables"] for row in t["rows"][1:] if row[0]]
        told = set()
        for head, *cells in rows:
            name, owner, usual = head.split(" | ", 2)
            j = self.features[name]
            told.add(j)
            users = [c for c in (a, b) if truth.uses[c, j]]
            named = "of both" if len(users) == 2 else f"of {self.data['classes'][users[0]]['name']}"
            self.say(owner == named, f"{name} {owner}")
            values = [
                None if part == "–" else numbers(part)[0]
                for part in usual.removeprefix("usually ").split(" | ")
            ]
            for c, value in zip((a, b), values, strict=True):
                if value is not None:
                    self.near(value, truth.means[c, j], f"{name} usually {value}", 0.0501)
            samples = [s for c in (a, b) for s in self.data["classes"][c]["samples"][:3]]
            for cell, sample in zip(filter(None, cells), samples, strict=True):
                index = self.data["samples"][sample]["index"]
                self.near(numbers(cell)[0], truth.shown.z[index, j], f"{name} is {cell}")
        self.say(told == set(np.flatnonzero(truth.uses[a] | truth.uses[b])), "all their features")

    def misled(self, text, sample):
        """What misled: set to what is usual, no other feature takes more of the lead away."""
        decided = self.truth.decided
        label, pred = int(decided.y[sample]), int(decided.guesses[sample])
        patterns = rf"(.+) of (.+) is (only )?({NUMBER}); (?:in (.+) )?it is usually ({NUMBER})\."
        found = re.fullmatch(patterns, text.strip())
        if found is None:
            self.say(False, f"not understood: {text!r}")
            return
        name, owner, only, value, place, usual = found.groups()
        j, value, usual = self.features[name], numbers(value)[0], numbers(usual)[0]
        self.near(value, decided.z[sample, j], f"misled: {name} is {value}")
        self.near(usual, self.truth.means[label, j], f"misled: usually {usual}")
        self.say(self.classes[owner] == (label if only else pred), f"misled: of {owner}")
        self.say(place is None or self.classes[place] == label, f"misled: in {place}")
        self.say(self.truth.uses[self.classes[owner], j], f"misled: {owner} has {name}")
        self.say(not only or value <= usual, f"misled: only {value}, usually {usual}")

        def lead(k):
            change = {k: self.truth.means[label, k] - decided.z[sample, k]}
            logits = self.truth.logits(decided.x[sample : sample + 1], change)[0]
            return logits[pred] - logits[label]

        least = min(lead(k) for k in range(len(self.features)))
        self.say(lead(j) <= least + 1e-3, f"misled: another feature misled more than {name}")

    def decision(self, kind, place):
        truth, decided = self.truth, self.truth.decided
        seen = self.read(f"decision/{kind}/{place}")
        sample = self.data["samples"][self.data[kind][place]["sample"]]["index"]
        label, pred = int(decided.y[sample]), int(decided.guesses[sample])
        names = [entry["name"] for entry in self.data["classes"]]
        title = names[label] + ("" if label == pred else f" taken for {names[pred]}")
        self.say(seen["heading"] == title, seen["heading"])
        self.say((kind == "right") == (label == pred), f"a {kind} decision")
        inside = {text for change in seen["changes"] for text in (change["head"], *change["notes"])}
        for text in seen["paragraphs"]:
            if text not in inside:
                self.explain(
                    text,
                    {
                        r"Sample (\d+)\. The class with the highest sum wins\.": lambda i: self.say(
                            int(i) == sample, "the sample"
                        ),
                        "What misled: (.*)": lambda what: self.misled(what, sample),
                        "Each change is by itself.*|": None,
                    },
                )
        for text in seen["items"]:
            self.say(False, f"not understood: {text!r}")
        totals = {}
        for table in seen["tables"]:
            if table["kind"] == "sum":
                c = self.classes[table["caption"]]
                role = "predicted" if c == pred else "true class" if c == label else "rival"
                self.say(table["note"].endswith(f" {role}"), table["note"])
                *rows, last = table["rows"]
                own = [self.features[row[0]] for row in rows]
                self.say(own == np.flatnonzero(truth.uses[c]).tolist(), "the features of a sum")
                totals[c] = numbers(last[-1])[0]
                self.sum_of(totals[c], [numbers(r[-1])[0] for r in rows], own, decided, sample)
        self.say(
            max(totals, key=totals.get) == pred or len(set(totals.values())) < len(totals), "wins"
        )
        changed = {self.change(change, sample, totals) for change in seen["changes"]}
        self.say(changed == set(totals) - {pred}, "a change for every rival")

    def change(self, change, sample, totals):
        """What would let a class win: tried in the network, a little more and a little less."""
        truth, decided = self.truth, self.truth.decided
        pred, n_select = int(decided.guesses[sample]), truth.uses.shape[1]
        found = re.fullmatch(
            r"(.+) is ([\d.]+) behind (.+?)\. (It would win with any one of these:|No single "
            r"feature would make it win; this pair is the smallest change that would:|No change of one or "
            r"two features would make it win\.)",
            change["head"],
        )
        if found is None:
            self.say(False, f"not understood: {change['head']!r}")
            return None
        rival = self.classes[found[1]]
        self.say(self.classes[found[3]] == pred, change["head"])
        if not {pred, rival} <= totals.keys():
            self.say(False, f"no sums: {change['head']}")
            return rival
        self.say(
            round(100 * float(found[2])) == round(100 * (totals[pred] - totals[rival])),
            change["head"],
        )
        alone = {j for j in range(n_select) if self.could_win(sample, rival, [j])}
        named = set()
        for text in change["ways"]:
            moves = [
                self.move(part, sample) for part in re.split(r", and (?=.* by more than)", text)
            ]
            if None in moves:
                self.say(False, f"not understood: {text!r}")
                continue
            for more, wins in ((ENOUGH, True), (-ENOUGH, False)):
                changes = {j: by + more * np.sign(by) for j, by in moves}
                self.say(
                    (truth.winner(sample, changes) == rival) == wins, f"{found[1]} wins: {text}"
                )
            if len(moves) == 1:
                named.add(moves[0][0])
        if found[4].startswith("It would win"):
            self.notes(change["notes"], alone, named, rival, pred)
        else:
            self.say(not alone, f"no single feature: {change['head']}")
            pairs = [(i, j) for j in range(n_select) for i in range(j)]
            together = any(self.could_win(sample, rival, pair) for pair in pairs)
            self.say(together == bool(change["ways"]), change["head"])
        return rival

    def notes(self, notes, alone, named, rival, pred):
        """How many more features would do, and which would not."""
        more, idle = 0, set()
        for text in notes:
            found = re.fullmatch(
                r"(?:(\d+) other features? would do, too\. )?"
                r"(?:No change of (.+) alone would: a third class stays ahead\.)?",
                text,
            )
            self.say(found is not None, f"not understood: {text!r}")
            if found is not None:
                more = int(found[1] or 0)
                idle = {self.features[name] for name in re.split(", | or ", found[2] or "") if name}
        self.say(named <= alone and len(alone - named) == more, f"{more} other features")
        differs = set(np.flatnonzero(self.truth.uses[rival] != self.truth.uses[pred]))
        self.say(idle == differs - alone, f"no change of {idle} alone")

    def could_win(self, sample, rival, columns):
        """Whether a class wins with some change of some features, however large."""
        changes = {j: MOST if self.truth.uses[rival, j] else -MOST for j in columns}
        return self.truth.winner(sample, changes) == rival

    def move(self, text, sample):
        """A change of one feature: which, by how much, up to where, and whether that can be."""
        found = re.fullmatch(
            rf"(.+) (lower|higher) by more than ([\d.]+), (?:below|above) ({NUMBER})"
            rf"(?: \((no sample goes there|impossible): .* is ({NUMBER})\))?",
            text.strip(),
        )
        if found is None:
            return None
        name, way, by, to, mark, limit = found.groups()
        j, size, goal = self.features[name], float(by), numbers(to)[0]
        signed = -size if way == "lower" else size
        self.near(goal, self.truth.decided.z[sample, j] + signed, text, 0.02)
        values = self.truth.shown.z[:, j]
        end = values.min() if way == "lower" else values.max()
        if mark is None:
            self.say(
                values.min() - 0.02 <= goal <= values.max() + 0.02, f"samples go there: {text}"
            )
        elif mark == "impossible":
            self.near(
                numbers(limit)[0], float(-self.truth.head.mean[j] / self.truth.head.std[j]), text
            )
            self.say(goal <= numbers(limit)[0] + 0.02, text)
            self.say(end > numbers(limit)[0] - HUNDREDTH, text)
        else:
            self.near(numbers(limit)[0], end, text)
            self.say(goal <= end + 0.02 if way == "lower" else goal >= end - 0.02, text)
        return j, signed

    def decision_list(self):
        seen, wrong = self.read("decisions"), self.truth.decided.guesses != self.truth.decided.y
        for text in seen["paragraphs"]:
            self.explain(
                text,
                {
                    r"(\d+) wrong decisions? of (\d+), .*": lambda n, m: self.say(
                        int(n) <= int(m) == wrong.sum(), "the number of wrong decisions"
                    ),
                    r"\d+ right decisions?, drawn by chance.*": lambda: self.say(
                        not wrong.any(), ""
                    ),
                },
            )
        for card, entry in zip(seen["cards"], self.data["wrong"], strict=False):
            sample = self.data["samples"][entry["sample"]]["index"]
            for note in card["notes"]:
                self.misled(note.removeprefix("Misled by "), sample)

    def map(self):
        uses, seen = self.truth.uses, self.read("map")
        cells = {tuple(text.split(" uses ", 1)) for text in seen["cells"]}
        names = [list(self.classes), list(self.features)]
        true = {(names[0][c], names[1][j]) for c, j in np.argwhere(uses)}
        self.say(cells == true, "the squares of the map")
        distance = (uses[:, None] ^ uses).sum(axis=2)
        shared = (uses[:, None] & uses).sum(axis=2)
        sizes = uses.sum(axis=1)
        near = np.argwhere(np.triu((distance == 2) & (shared == sizes[:, None] - 1), 1))

        def count(shown):
            self.say(int(shown) == len(near), f"{shown} pairs that differ in one feature")

        for text in seen["paragraphs"]:
            self.explain(
                text,
                {
                    "Classes that share many.*": None,
                    r"(\d+) pairs? of classes(?:; \d+ shown)?": count,
                    "There are none: all pairs differ in at least two.": lambda: count(0),
                },
            )
        for first, has, second, other, _ in (row for t in seen["tables"] for row in t["rows"][1:]):
            a, b = self.classes[first], self.classes[second]
            i, j = self.features[has], self.features[other]
            alone = [set(np.flatnonzero(uses[c] & ~uses[d])) for c, d in ((a, b), (b, a))]
            self.say(alone == [{i}, {j}], f"{first} has {has} where {second} has {other}")


MOST = 1000.0
"""A change, in deviations, that no lead outweighs."""
