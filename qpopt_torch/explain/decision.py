"""A decision: the logits of the predicted class and its rivals as sums of feature values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qpopt_torch.errors import require_sparse
from qpopt_torch.evidence.gather import Evidence, standard_units
from qpopt_torch.evidence.names import Names
from qpopt_torch.evidence.pictures import ToImage
from qpopt_torch.evidence.sample import Sample
from qpopt_torch.evidence.showing import Show, checked_show
from qpopt_torch.evidence.weighing import require_sums
from qpopt_torch.explain import decision_terms as terms
from qpopt_torch.explain.counterfactuals import Change, Move, Reach, change_to
from qpopt_torch.explain.explanation import Explanation
from qpopt_torch.explain.hierarchy import Hierarchy, hierarchy_of
from qpopt_torch.explain.looking import look
from qpopt_torch.explain.plotting import draw_feature, draw_picture, draw_values, plain, subplots
from qpopt_torch.explain.rounding import signed
from qpopt_torch.sparse.classifier import SparseClassifier
from qpopt_torch.sparse.sets.level_shares import LevelShares

RIVALS = 2


@dataclass(frozen=True, eq=False, repr=False)
class Decision(Explanation):
    """The decision on one sample.

    Parameters
    ----------
    names, sample
        Names of classes and features, and the sample; its label is -1 if it is not known.
    sums
        The predicted class and its nearest rivals, the highest logit first.
    changes
        What would have to change, for every rival.
    hierarchy
        The decision from general to specific, level by level.
    limits
        Values at which the heat maps begin and end, n_select × 2; None for those of each map.
    misleading
        The feature that misled; None for right decisions and where there is nothing to compare
        with.
    """

    names: Names
    sample: Sample
    sums: tuple[terms.Sum, ...]
    changes: tuple[Change, ...]
    hierarchy: Hierarchy
    limits: NDArray[np.float64] | None = None
    misleading: terms.Misleading | None = None

    @property
    def label(self) -> int | None:
        """The true class, or None if it is not known."""
        return self.sample.label if self.sample.label >= 0 else None

    @property
    def title(self) -> str:
        """The predicted class and, if it is another one, the true class."""
        predicted = self.names.classes[self.sums[0].number]
        if self.label is None or self.label == self.sums[0].number:
            return f"Decision for {predicted}"
        return f"Decision for {predicted} instead of {self.names.classes[self.label]}"

    def to_dict(self) -> dict[str, Any]:
        """Return the sums, the changes, what misled, the levels and the tree."""
        features, classes = self.names.features, self.names.classes
        wrong = None if self.misleading is None else asdict(self.misleading)
        if wrong is not None:
            wrong["name"] = features[wrong.pop("column")]
        return {
            "predicted": classes[self.sums[0].number],
            "label": None if self.label is None else classes[self.label],
            "classes": [
                {
                    "class": classes[total.number],
                    "logit": total.logit,
                    "terms": [
                        {
                            "feature": self.names.selection[j],
                            "name": features[j],
                            **({"absent": True} if j in total.absent else {}),
                            "value": value,
                        }
                        for j, value in zip(total.columns, total.values, strict=True)
                    ],
                    **({"constant": total.constant} if total.constant else {}),
                }
                for total in self.sums
            ],
            "changes": [
                {
                    "rival": classes[change.rival],
                    "lead": change.lead,
                    "ways": [
                        [
                            {
                                "feature": self.names.selection[move.column],
                                "name": features[move.column],
                                "by_more_than": move.by,
                                "reach": move.reach.name.lower(),
                            }
                            for move in way
                        ]
                        for way in change.ways
                    ],
                    "more": change.n_more,
                }
                for change in self.changes
            ],
            "misleading": wrong,
            **self.hierarchy.to_dict(self._opened),
        }

    def summary(self) -> str:
        """Say what the logits are, what would change the decision, what misled and the levels."""
        features, classes = self.names.features, self.names.classes
        lines = []
        for total in self.sums:
            logit, shown = total.shown
            terms = [self.names.term(j, total.sign(j)) for j in total.columns]
            terms += ["class bias"] if total.constant else []
            added = " ".join(
                f"{signed(value)} ({term})" for term, value in zip(terms, shown, strict=True)
            )
            lines.append(f"{classes[total.number]}: {logit / 100:.2f} = {added}")
        lines += [self._said(change) for change in self.changes]
        if self.misleading is not None and self.label is not None:
            wrong = self.misleading
            lines.append(
                f"What misled: {features[wrong.column]} is {wrong.value:+.2f} and in "
                f"{classes[self.label]} usually {wrong.usual:+.2f}."
            )
        return "\n".join(lines + self.hierarchy.lines(self._opened))

    @property
    def _opened(self) -> Names:
        """The names of what opens levels: what is active below 0 is so by its absence."""
        if not any(total.absent for total in self.sums):
            return self.names
        return self.names.turned(np.flatnonzero(self.sample.values < 0).tolist())

    def shown_value(self, move: Move, rival: int) -> int:
        """Return the value of a feature to change, in hundredths, as the sum of its class has it.

        What is to rise is a feature of the rival; what is to fall, mostly of the predicted class.
        """
        for total in self.sums:
            if move.column in total.columns and (move.falls or total.number == rival):
                shown = total.shown[1][total.columns.index(move.column)]
                return total.sign(move.column) * shown
        return round(100 * float(self.sample.values[move.column]))

    def _said(self, change: Change) -> str:
        """Say what would have to change for one rival."""
        features, classes = self.names.features, self.names.classes
        lead = self.sums[0].shown[0] - self._total(change.rival)
        where = "level with" if change.level else f"{lead / 100:.2f} behind"
        begin = (
            f"{classes[change.rival]} is {where} {classes[self.sums[0].number]} and would win with "
        )
        if not change.ways:
            most = "one or two features" if change.pairs else "a single feature"
            return f"{begin}no change of {most}."

        def said(move: Move) -> str:
            moved = "lower" if move.falls else "higher"
            limit = "" if move.limit is None else f" {move.limit:+.2f}"
            note = {Reach.UNSEEN: f" (samples reach{limit})"}
            note |= {Reach.IMPOSSIBLE: f" (impossible: at least{limit})"}
            by = f"{abs(move.shown) / 100:.2f}"
            return f"{features[move.column]} {moved} by more than {by}{note.get(move.reach, '')}"

        if len(change.ways[0]) > 1:
            return f"{begin}no single feature, but {' and '.join(map(said, change.ways[0]))}."
        more = f", or {change.n_more} more" if change.n_more else ""
        return f"{begin}{' or '.join(said(move) for (move,) in change.ways)}{more}."

    def _total(self, number: int) -> int:
        """Return the sum of a shown class in hundredths."""
        return next(total.shown[0] for total in self.sums if total.number == number)

    def figure(self) -> tuple[Any, Any]:
        """Draw a row for each class (the input, heat maps, the sum), and the tree below."""
        n_columns = max(len(total.columns) for total in self.sums) + 2
        fig, axes = subplots(len(self.sums) + 1, n_columns, 1.8, 2.0)
        self.hierarchy.draw(axes[-1], self._opened)
        every = [0.0, *(value for total in self.sums for value in total.values)]
        classes = self.names.classes
        for row, total in zip(axes, self.sums, strict=False):
            draw_picture(row[0], self.sample.picture)
            row[0].set_title(f"{plain(classes[total.number], 22)} {total.logit:.2f}", fontsize=9)
            for axis in row[1:-1]:
                axis.axis("off")
            named = [self.names.term(j, total.sign(j)) for j in total.columns]
            for axis, j, name in zip(row[1:-1], total.columns, named, strict=False):
                axis.axis("on")
                draw_feature(axis, self.sample, self.limits, j)
                axis.set_title(plain(name), fontsize=8)
            title = f"adds up to {total.logit:.2f}"
            title += f", class bias {total.constant:+.2f}" if total.constant else ""
            draw_values(row[-1], named, total.values, title, (min(every), max(every)))
        return fig, axes


def explain_decision(
    model: SparseClassifier,
    x: Any,
    *,
    label: int | None = None,
    n_rivals: int = RIVALS,
    evidence: Evidence | None = None,
    class_names: Sequence[str] | None = None,
    to_image: ToImage | None = None,
    show: Show | None = None,
) -> Decision:
    """Explain the decision of a model on one input.

    Parameters
    ----------
    model
        The sparse classifier.
    x, label
        One input, with or without the batch axis; a mapping or tuple where the model takes several.
        Its true class, if it is known.
    n_rivals
        How many of the next classes are compared.
    evidence
        Gives names, the scale of the heat maps, and what is usual in a class.
    class_names, to_image, show
        As in `gather`; the names of the evidence come first.

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
    >>> told = qpopt_torch.explain.explain_decision(sparse, birds[0][0])
    >>> winner = told.sums[0]
    >>> winner.number == int(sparse(birds[0][0][None]).argmax())
    True
    """
    require_sparse(model, "explain_decision")
    require_sums(model.sparse_head, signed=True)
    terms.check_arguments(evidence, label, model.head.n_classes, n_rivals)
    names = Names(model, class_names) if evidence is None else evidence.names
    batch, seen = look(model, x)
    values = standard_units(model, seen)
    sample = Sample.of(
        0, -1 if label is None else label, values, batch, seen, checked_show(to_image, show)
    )
    options: dict[str, Any] = {"n_rivals": n_rivals, "shares": model.level_shares}
    if not model.sparse_head.adds_up:
        options["constants"] = model.sparse_head.constants.double().cpu().numpy()
    return decision_on(sample, model.assignment, names, evidence, **options)


def decision_on(
    sample: Sample,
    assignment: NDArray[Any],
    names: Names,
    evidence: Evidence | None = None,
    *,
    n_rivals: int = RIVALS,
    shares: LevelShares | None = None,
    constants: NDArray[np.float64] | None = None,
) -> Decision:
    """Explain the decision on a sample whose features are known."""
    added = np.zeros(len(assignment)) if constants is None else constants
    logits = assignment @ sample.values + added
    # The model's own prediction comes first even where rounding lets another class draw level.
    order = [sample.prediction]
    order += [int(c) for c in np.argsort(-logits, kind="stable") if c != sample.prediction]
    shown = order[: 1 + n_rivals]
    known = sample.label >= 0
    if known and sample.label not in shown:
        shown.append(sample.label)
    sums = tuple(terms.sum_of(sample, assignment, c, float(added[c])) for c in shown)
    changes = tuple(change_to(sample, assignment, c, evidence, added) for c in shown[1:])
    levels = hierarchy_of(sample, assignment, shares, logits)
    if evidence is None:
        return Decision(names, sample, sums, changes, levels)
    misled = terms.misleading_feature(sample, assignment, evidence.class_means) if known else None
    return Decision(names, sample, sums, changes, levels, evidence.heat_range, misled)
