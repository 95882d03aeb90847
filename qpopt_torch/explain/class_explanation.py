"""A class: the few features that it is made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from qpopt_torch.evidence.gather import Evidence, require_evidence
from qpopt_torch.evidence.sample import columns_in
from qpopt_torch.explain.explanation import Explanation
from qpopt_torch.explain.plotting import draw_feature, draw_picture, plain, short, subplots

SHOWN = 3


@dataclass(frozen=True, eq=False, repr=False)
class ClassExplanation(Explanation):
    """A class, its features, samples that show them, and the other classes that share them.

    Parameters
    ----------
    evidence
        What was gathered.
    number
        The number of the class.
    columns
        Its features, as columns of the selection.
    """

    evidence: Evidence
    number: int
    columns: tuple[int, ...]

    @property
    def title(self) -> str:
        """The name of the class."""
        return f"Class {self.evidence.names.classes[self.number]}"

    def shared_with(self, column: int) -> tuple[int, ...]:
        """Return the other classes that use a feature in the same way."""
        signs = self.evidence.signs[:, column]
        users = columns_in(signs == signs[self.number])
        return tuple(c for c in users if c != self.number)

    def sign(self, column: int) -> int:
        """Return 1 for a feature of the class, −1 for one that must be absent."""
        return int(self.evidence.signs[self.number, column])

    def to_dict(self) -> dict[str, Any]:
        """Return class, features, their means and the samples that show them."""
        names = self.evidence.names
        return {
            "class": names.classes[self.number],
            "number": self.number,
            "samples": list(self.evidence.of_class[self.number]),
            "features": [
                {
                    "feature": names.selection[j],
                    "name": names.features[j],
                    **({"absent": True} if self.sign(j) < 0 else {}),
                    "mean": self.evidence.mean(self.number, j),
                    "shared_with": [names.classes[c] for c in self.shared_with(j)],
                    "strongest": list(self.evidence.of_feature[j]),
                }
                for j in self.columns
            ],
        }

    def summary(self) -> str:
        """Name the features and who shares them."""
        names = self.evidence.names
        lines = []
        for j in self.columns:
            others = [names.classes[c] for c in self.shared_with(j)]
            more = f" and {len(others) - 4} more" if len(others) > 4 else ""
            shared = f"shared with {', '.join(others[:4])}{more}" if others else "of no other class"
            must = " must be absent" if self.sign(j) < 0 else ""
            lines.append(f"{names.features[j]}{must}: {shared}.")
        return "\n".join(lines)

    def figure(self) -> tuple[Any, Any]:
        """Draw samples of the class, plain and with the map of each feature; then the strongest.

        The last row shows, for each feature, the sample of any class where it is highest.
        """
        evidence, names = self.evidence, self.evidence.names
        shown = evidence.of_class[self.number][:SHOWN]
        limits = evidence.heat_range
        fig, axes = subplots(len(shown) + 1, len(self.columns) + 1, 1.7, 1.8)
        for row, index in enumerate(shown):
            sample = evidence.samples[index]
            draw_picture(axes[row, 0], sample.picture)
            for place, j in enumerate(self.columns, start=1):
                draw_feature(axes[row, place], sample, limits, j)
        axes[-1, 0].axis("off")
        axes[-1, 0].text(0.5, 0.5, "strongest\nof any class", ha="center", va="center", fontsize=8)
        for place, j in enumerate(self.columns, start=1):
            axes[0, place].set_title(plain(names.term(j, self.sign(j))), fontsize=9)
            strongest = evidence.samples[evidence.of_feature[j][0]]
            name = short(names.classes[strongest.label], 24)
            draw_feature(axes[-1, place], strongest, limits, j, name)
        fig.suptitle(plain(self.title), fontsize=11)
        return fig, axes


def explain_class(evidence: Evidence, c: int | str) -> ClassExplanation:
    """Explain a class, given by number or name, by its features.

    Examples
    --------
    >>> import torch
    >>> from torch import nn
    >>> import qpopt_torch
    >>> layers = nn.Conv2d(3, 12, 5, stride=2), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten()
    >>> model = nn.Sequential(*layers, nn.Linear(12, 4))
    >>> birds = qpopt_torch.DrawnBirds(4, 2, size=32, pairs=1.0)
    >>> loader = torch.utils.data.DataLoader(birds, 8)
    >>> sparse = qpopt_torch.sparsify(
    ...     model, loader, n_select=4, n_per_class=2, training=None, progress=False
    ... )
    >>> evidence = qpopt_torch.explain.gather(sparse, loader, progress=False)
    >>> told = qpopt_torch.explain.explain_class(evidence, 0)
    >>> len(told.columns)
    2
    """
    require_evidence(evidence, "explain_class")
    number = evidence.names.class_number(c)
    return ClassExplanation(evidence, number, columns_in(evidence.assignment[number]))
