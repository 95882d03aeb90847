"""Claims of a report: how they are counted, compared and looked up.

A sentence that is not understood counts as false: nothing is said that is not checked.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from tests.qpopt_torch.report.claims.reading import numbers, read
from tests.qpopt_torch.report.claims.truth import Truth
from tests.qpopt_torch.report.decoding import pixels

MAPLESS = (
    r"This model has no feature maps, so the values of the features are shown, not where they "
    r"fire\."
)
"""What stands in place of heat maps."""
HUNDREDTH = 0.0101
"""How far a shown number may be off: rounded, or a difference of two that are."""


@dataclass
class Claims:
    """The claims of one report: how many were checked, and which are false."""

    page: object
    truth: Truth
    most: int | None = None
    n_checked: int = 0
    false: list[str] = field(default_factory=list)

    def __post_init__(self):
        self.data, self.views = read(self.page, self.most)
        self.class_names, self.feature_names = (
            [entry["name"] for entry in self.data[key]] for key in ("classes", "features")
        )
        self.classes = {name: c for c, name in enumerate(self.class_names)}
        self.features = {name: j for j, name in enumerate(self.feature_names)}
        found = [entry["index"] for entry in self.data["features"]]
        self.where, self.meanings = "", None
        self.say(found == self.truth.sparse.selection.tolist(), "the features are in their order")

    def open(self, view):
        """Return what a view says; what is said of it from now on carries its name."""
        self.where = view
        return self.views[view]

    def say(self, holds, text):
        """Count a claim and keep it if it does not hold."""
        self.n_checked += 1
        if not holds:
            self.false.append(f"{self.where}: {text}")

    def near(self, shown, true, text, by=HUNDREDTH):
        self.say(abs(shown - true) <= by, f"{text} (in truth {true:.4f})")

    def share(self, percent, part, whole, text):
        """A share, of which all and none are said only where it is all or none."""
        true = 100 * part / whole
        self.say(abs(percent - true) < 1 and (percent in (0, 100)) == (true in (0, 100)), text)

    def explain(self, text, patterns):
        """Give a text to the first pattern that it fits; one that fits none is false."""
        for pattern, act in patterns.items():
            if found := re.fullmatch(pattern, text.strip(), re.DOTALL):
                if act is not None:
                    act(*found.groups())
                return
        self.say(False, f"not understood: {text!r}")

    def sample(self, place):
        """Return the index in its loader of a sample, given by its place on the page."""
        return self.data["samples"][place]["index"]

    def pictured(self, place, seen):
        """A row of numbers, or a picture, is that of the sample and of no other."""
        entry = self.data["samples"][place]
        x = seen.x[entry["index"]].double().numpy()
        if "row" in entry:
            shown = [float(value) for _, value in entry["row"]]
            self.say(np.allclose(shown, x.ravel(), rtol=1e-3), f"the numbers of {entry['index']}")
        elif "image" in entry:
            picture = pixels(self.data["images"][entry["image"]]).astype(float)
            picture = picture[..., :3].mean(axis=2) if picture.ndim == 3 else picture
            rows, columns = (
                (np.arange(n) + 0.5) * m // n
                for n, m in zip(picture.shape, x.shape[1:], strict=True)
            )
            same = x.mean(axis=0)[np.ix_(rows.astype(int), columns.astype(int))]
            alike = np.corrcoef(picture.ravel(), same.ravel())[0, 1]
            self.say(alike > 0.9, f"the picture of {entry['index']} ({alike:.2f} alike)")

    def confused(self, a, b):
        """Return how many samples of a class are taken for another."""
        decided = self.truth.decided
        return int(((decided.y == a) & (decided.guesses == b)).sum())

    def sum_of(self, total, values, columns, seen, index):
        """A sum with its terms: as shown, they add up; and they are those of the network."""
        self.say(
            round(100 * total) == sum(round(100 * v) for v in values), f"{values} add up to {total}"
        )
        same = (self.truth.uses == np.isin(np.arange(self.truth.uses.shape[1]), columns)).all(
            axis=1
        )
        self.near(total, seen.logits[index, same.argmax()], f"the sum {total}")
        for value, j in zip(values, columns, strict=True):
            self.near(value, seen.z[index, j], f"the term {value}")

    def strongest(self, tiles, j):
        """Tiles with a class and a value: the samples where a feature is highest."""
        shown = [numbers(tile.rpartition(" ")[2])[0] for tile in tiles]
        self.say(shown == sorted(shown, reverse=True), "the strongest come first")
        self.near(shown[0], self.truth.shown.z[:, j].max(), "the strongest", 0.0501)
        for tile, value, place in zip(
            tiles, shown, self.data["features"][j]["samples"], strict=False
        ):
            index = self.sample(place)
            self.near(value, self.truth.shown.z[index, j], tile, 0.0501)
            named = self.classes[tile.rpartition(" ")[0]]
            self.say(named == self.truth.shown.y[index], f"the class of {tile}")

    def few_of_a_class(self, j):
        """The samples of a feature: the highest of all, if at most two of a class count."""
        shown, kept, counts = self.truth.shown, [], Counter()
        for index in np.argsort(-shown.z[:, j], kind="stable"):
            if counts[shown.y[index]] < 2:
                kept.append(index)
                counts[shown.y[index]] += 1
        places = [self.sample(place) for place in self.data["features"][j]["samples"]]
        best = shown.z[kept[: len(places)], j]
        self.say(np.allclose(shown.z[places, j], best, atol=1e-4), "the strongest, two of a class")
