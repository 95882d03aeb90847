"""What a decision is made of: sums of feature values, and what misled."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qpopt import InvalidArgument
from qpopt_torch.data.class_names import class_number
from qpopt_torch.errors import shown
from qpopt_torch.evidence.gather import require_evidence
from qpopt_torch.evidence.sample import Sample, columns_in
from qpopt_torch.explain.rounding import add_up

VISIBLE = 0.01
"""Deviations up to this do not show in numbers that are rounded to hundredths."""


@dataclass(frozen=True)
class Sum:
    """The logit of a class: the values of its features, added up.

    Parameters
    ----------
    number
        The class.
    columns, values
        Its features, as columns of the selection, and what they add: their values, negated for
        those that must be absent.
    absent
        Those of the columns that must be absent.
    constant
        What is added besides.
    """

    number: int
    columns: tuple[int, ...]
    values: tuple[float, ...]
    absent: frozenset[int] = frozenset()
    constant: float = 0.0

    @property
    def logit(self) -> float:
        """The sum."""
        return float(sum(self.values) + self.constant)

    @property
    def shown(self) -> tuple[int, tuple[int, ...]]:
        """The sum and its terms in hundredths, as they are shown: they add up.

        The constant, where there is one, comes last.
        """
        return add_up((*self.values, self.constant) if self.constant else self.values)

    def sign(self, column: int) -> int:
        """Return 1 for a feature of the class, −1 for one that must be absent."""
        return -1 if column in self.absent else 1


@dataclass(frozen=True)
class Misleading:
    """The feature behind a wrong decision.

    Parameters
    ----------
    column
        The feature, as a column of the selection.
    value, usual
        Its value here, and its mean in the true class.
    fired
        True if it is higher than usual, and so speaks for the predicted class; False if it is
        lower, and so does not speak for the true class.
    """

    column: int
    value: float
    usual: float
    fired: bool


def check_arguments(evidence: Any, label: Any, n_classes: int, n_rivals: Any) -> None:
    """Raise unless these are what `explain_decision` takes."""
    if evidence is not None:
        require_evidence(evidence, "explain_decision")
    if label is not None:
        class_number(-1 if isinstance(label, str) else label, n_classes, ())
    if isinstance(n_rivals, bool) or not isinstance(n_rivals, Integral) or n_rivals < 0:
        raise InvalidArgument(
            f"n_rivals must be a whole number of at least 0, not {shown(n_rivals)}."
        )


def sum_of(sample: Sample, assignment: NDArray[Any], c: int, constant: float = 0.0) -> Sum:
    """Return the logit of a class as a sum; −1 in the assignment takes a feature away."""
    columns = columns_in(assignment[c] != 0)
    absent = frozenset(j for j in columns if int(assignment[c, j]) < 0)
    values = (float(-sample.values[j] if j in absent else sample.values[j]) for j in columns)
    return Sum(c, columns, tuple(values), absent, constant)


def misleading_feature(
    sample: Sample, assignment: NDArray[Any], class_means: NDArray[np.float64]
) -> Misleading | None:
    """Return the feature that moved a wrong decision furthest away from what is usual.

    The lead of the predicted class over the true one is a sum over the features in which the two
    differ. Each is compared with its mean in the true class; the largest deviation in favour of
    the predicted class is the answer. There is none where all features are as usual or better, as
    far as shown numbers tell.
    """
    if sample.label == sample.prediction or np.isnan(class_means[sample.label]).any():
        return None
    usual = class_means[sample.label]
    sign = assignment[sample.prediction].astype(int) - assignment[sample.label].astype(int)
    pushed = np.where(sign == 0, -np.inf, sign * (sample.values - usual))
    column = int(pushed.argmax())
    if pushed[column] <= VISIBLE:
        return None
    return Misleading(
        column, float(sample.values[column]), float(usual[column]), bool(sign[column] > 0)
    )
