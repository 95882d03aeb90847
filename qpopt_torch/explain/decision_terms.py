"""What a decision is made of: sums of feature values, what would change it, what misled."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from qpopt_torch.evidence.gather import Sample, columns_in


@dataclass(frozen=True)
class Sum:
    """The logit of a class: the values of its features, added up.

    Parameters
    ----------
    number
        The class.
    columns, values
        Its features, as columns of the selection, and their values.
    """

    number: int
    columns: tuple[int, ...]
    values: tuple[float, ...]

    @property
    def logit(self) -> float:
        """The sum."""
        return float(sum(self.values))


@dataclass(frozen=True)
class Change:
    """What would have to change for a rival to win.

    Parameters
    ----------
    rival
        The class.
    lead
        The logit of the predicted class minus that of the rival.
    lower, raise_
        Features of the predicted class alone and of the rival alone, as columns. Lowering one of
        the former, or raising one of the latter, by more than `lead` changes the decision.
    """

    rival: int
    lead: float
    lower: tuple[int, ...]
    raise_: tuple[int, ...]


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
        True if it is a feature of the predicted class that fired, False if it is one of the true
        class that is missing.
    """

    column: int
    value: float
    usual: float
    fired: bool


def sum_of(sample: Sample, assignment: NDArray[np.bool_], c: int) -> Sum:
    """Return the logit of a class as a sum."""
    columns = columns_in(assignment[c])
    return Sum(c, columns, tuple(float(sample.values[j]) for j in columns))


def change_to(sample: Sample, assignment: NDArray[np.bool_], rival: int) -> Change:
    """Return what would have to change for a rival of the predicted class to win."""
    own, other = assignment[sample.prediction], assignment[rival]
    lead = own @ sample.values - other @ sample.values
    return Change(rival, float(lead), columns_in(own & ~other), columns_in(other & ~own))


def misleading_feature(
    sample: Sample, assignment: NDArray[np.bool_], class_means: NDArray[np.float64]
) -> Misleading | None:
    """Return the feature that moved a wrong decision furthest away from what is usual.

    The lead of the predicted class over the true one is a sum over the features in which the two
    differ. Each is compared with its mean in the true class; the largest deviation in favour of
    the predicted class is the answer.
    """
    if sample.label == sample.prediction or np.isnan(class_means[sample.label]).any():
        return None
    usual = class_means[sample.label]
    sign = assignment[sample.prediction].astype(int) - assignment[sample.label].astype(int)
    pushed = np.where(sign == 0, -np.inf, sign * (sample.values - usual))
    column = int(pushed.argmax())
    return Misleading(
        column, float(sample.values[column]), float(usual[column]), bool(sign[column] > 0)
    )
