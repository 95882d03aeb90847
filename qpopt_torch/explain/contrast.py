"""A contrast of two classes: what they share and what tells them apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from qpopt_torch.errors import ModelError
from qpopt_torch.evidence.gather import Evidence, require_evidence
from qpopt_torch.evidence.sample import columns_in
from qpopt_torch.explain.explanation import Explanation
from qpopt_torch.explain.plotting import draw_feature, plain, subplots

SHOWN = 2


@dataclass(frozen=True, eq=False, repr=False)
class Contrast(Explanation):
    """Two classes side by side.

    Parameters
    ----------
    evidence
        What was gathered.
    first, second
        The numbers of the classes.
    shared, only_first, only_second
        Features of both and of one of them, as columns of the selection.
    """

    evidence: Evidence
    first: int
    second: int
    shared: tuple[int, ...]
    only_first: tuple[int, ...]
    only_second: tuple[int, ...]

    @property
    def title(self) -> str:
        """The names of the two classes."""
        names = self.evidence.names.classes
        return f"{names[self.first]} or {names[self.second]}"

    def to_dict(self) -> dict[str, Any]:
        """Return the features of both and of each, with their means in both classes."""
        names = self.evidence.names

        both = (self.first, self.second)
        signs = self.evidence.signs
        described = {
            part: [
                {
                    "feature": names.selection[j],
                    "name": names.features[j],
                    **({"absent": True} if signs[owner, j] < 0 else {}),
                    "means": [self.evidence.mean(c, j) for c in both],
                }
                for j in getattr(self, part)
            ]
            for part, owner in self._parts
        }
        return {"classes": [names.classes[c] for c in both], **described}

    @property
    def _parts(self) -> tuple[tuple[str, int], ...]:
        """The attributes that hold columns, and a class that has them."""
        first, second = self.first, self.second
        return (("shared", first), ("only_first", first), ("only_second", second))

    def summary(self) -> str:
        """Name what is shared and what differs."""
        names, signs = self.evidence.names, self.evidence.signs
        titles = ("Both", *(f"Only {names.classes[c]}" for c in (self.first, self.second)))
        lines = []
        for title, (part, owner) in zip(titles, self._parts, strict=True):
            terms = [names.term(j, int(signs[owner, j])) for j in getattr(self, part)]
            lines.append(f"{title}: {', '.join(terms) or 'nothing'}.")
        return "\n".join(lines)

    def figure(self) -> tuple[Any, Any]:
        """Draw each differing feature on samples of both classes."""
        evidence, names = self.evidence, self.evidence.names
        rows = [(j, c) for part, c in self._parts[1:] for j in getattr(self, part)]
        pairs = [
            (c, index) for c in (self.first, self.second) for index in evidence.of_class[c][:SHOWN]
        ]
        limits = evidence.heat_range
        fig, axes = subplots(len(rows), max(1, len(pairs)), 2.0, 2.1)
        for row, (j, owner) in enumerate(rows):
            term = names.term(j, int(evidence.signs[owner, j]))
            for place, (c, index) in enumerate(pairs):
                draw_feature(axes[row, place], evidence.samples[index], limits, j)
                axes[0, place].set_title(plain(names.classes[c], 26), fontsize=9)
            axes[row, 0].set_ylabel(
                f"{plain(term)}\nof {plain(names.classes[owner], 24)}", fontsize=8
            )
        return fig, axes


def explain_contrast(evidence: Evidence, first: int | str, second: int | str) -> Contrast:
    """Contrast two classes, given by numbers or names.

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
    >>> told = qpopt_torch.explain.explain_contrast(evidence, 0, 1)
    >>> len(told.shared) + len(told.only_first)
    2
    """
    require_evidence(evidence, "explain_contrast")
    a, b = (evidence.names.class_number(c) for c in (first, second))
    if a == b:
        raise ModelError("A contrast needs two different classes.")
    of_a, of_b = evidence.signs[a], evidence.signs[b]
    same = of_a == of_b
    parts = (same & (of_a != 0), ~same & (of_a != 0), ~same & (of_b != 0))
    return Contrast(evidence, a, b, *map(columns_in, parts))
