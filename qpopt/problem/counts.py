"""Whether the four counts of an instance admit a solution, before any data is at hand."""

from __future__ import annotations

from collections.abc import Iterable

from qpopt.problem import validation as _checks


def check_counts(
    n_features: int,
    n_classes: int,
    n_select: int,
    n_per_class: int,
    *,
    include: Iterable[int] = (),
    exclude: Iterable[int] = (),
) -> None:
    """Raise unless some selection gives every class its own set of features.

    Parameters
    ----------
    n_features, n_classes, n_select, n_per_class
        The counts.
    include, exclude
        Features that every selection must and must not contain.

    Raises
    ------
    InvalidInstance
        If a count is no positive whole number, or a feature does not exist.
    InfeasibleInstance
        If no solution can exist.
    """
    _checks.feasible(
        n_classes,
        n_features,
        _checks.count("n_select", n_select),
        _checks.count("n_per_class", n_per_class),
        _checks.features("include", include, n_features),
        _checks.features("exclude", exclude, n_features),
    )
