"""From arguments to Demands: what is malformed, and what has no meaning together, is refused."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import pdist

from qpopt.errors import InfeasibleInstance, InvalidInstance
from qpopt.problem import validation
from qpopt.problem.constraints import ARGUMENTS, Average, Demands

ROUNDING_OF_RHO = 1e-9
"""What a product like 0.29 · 100 may lie below the whole number that is meant."""


def demands_of(
    A: NDArray[np.float64], n_select: int, n_per_class: int, given: Mapping[str, Any]
) -> Demands:
    """Return the demands that arguments make of an instance with this A and these counts.

    Raises
    ------
    InvalidInstance
        If an argument is malformed, or two of them do not go together.
    InfeasibleInstance
        If one of them alone cannot be met.
    """
    if unknown := sorted(set(given) - set(ARGUMENTS)):
        raise TypeError(f"There is no argument {unknown[0]!r}; demands are {', '.join(ARGUMENTS)}.")
    n_classes, n_features = A.shape
    values: dict[str, Any] = {
        name: _cells(name, cells, ("class", "feature"), (n_classes, n_features))
        for name in ("forbidden", "required")
        if (cells := given.get(name)) is not None
    }
    values["classes_per_feature"] = _range(given.get("classes_per_feature"), n_classes)
    values |= _pairs(A, given.get("pairs", ()), given.get("rho"))
    values["budget"] = _budget(given.get("budget"), n_classes, n_select, n_per_class)
    budget = values["budget"]
    largest = n_per_class
    if isinstance(budget, Average):
        largest = budget.most or n_select
    elif budget is not None:
        largest = max(budget)
    values["negative"] = _negative(given.get("negative"), largest)
    h = given.get("max_shared")
    if h is not None and validation.whole_number("max_shared", h, error=InvalidInstance) >= largest:
        raise InvalidInstance(
            f"max_shared is {h}, but a class has at most {largest} features, and no two have the "
            f"same: at most {largest - 1} are shared anyhow."
        )
    values["max_shared"] = None if h is None else int(h)
    demands = Demands(**values)
    _check_together(demands)
    return demands


def _cells(
    label: str, values: Any, of: tuple[str, str], ends: tuple[int, int]
) -> tuple[tuple[int, int], ...]:
    """Return distinct pairs of indices, sorted."""
    try:
        cells = {(validation.place(first), validation.place(second)) for first, second in values}
    except (TypeError, ValueError):
        kind = f"({of[0]}, {of[1]})"
        said = validation.shown(values)
        raise InvalidInstance(f"{label} must hold pairs {kind}, not {said}.") from None
    for cell in sorted(cells):
        for what, number, end in zip(of, cell, ends, strict=True):
            if not 0 <= number < end:
                raise InvalidInstance(f"{label} names {what} {number}; there are only {end}.")
    return tuple(sorted(cells))


def _range(values: Any, n_classes: int) -> tuple[int, int] | None:
    label = "classes_per_feature"
    if values is None:
        return None
    if not isinstance(values, Sequence) or isinstance(values, str) or len(values) != 2:
        said = validation.shown(values)
        raise InvalidInstance(f"{label} must be a pair (least, most), not {said}.")
    low, high = values
    low = 0 if low is None else validation.whole_number(label, low, error=InvalidInstance)
    high = n_classes if high is None else validation.count(label, high)
    if high > n_classes or low > high:
        raise InvalidInstance(
            f"{label} is ({low}, {high}): it must rise, and there are {n_classes} classes."
        )
    return None if (low, high) == (0, n_classes) else (low, high)


def _pairs(A: NDArray[np.float64], values: Any, rho: Any) -> dict[str, Any]:
    n_classes = len(A)
    most = n_classes * (n_classes - 1) // 2
    if rho is not None:
        if not (isinstance(values, tuple | int) and values in ((), 0)):
            raise InvalidInstance("Give pairs or rho, not both.")
        share = validation.number("rho", rho, least=0.0, error=InvalidInstance)
        wanted = int(share * n_classes + ROUNDING_OF_RHO)
        if wanted > most:
            raise InfeasibleInstance(
                f"rho = {share:g} asks for {wanted} pairs; {n_classes} classes have only {most}."
            )
        return {"pairs": closest_pairs(A, wanted)}
    if isinstance(values, int | np.integer) and not isinstance(values, bool):
        number = validation.whole_number("pairs", values, error=InvalidInstance)
        if number > most:
            raise InfeasibleInstance(
                f"pairs is {number}; {n_classes} classes have only {most} pairs."
            )
        return {"n_pairs": number}
    listed = list(values) if isinstance(values, Iterable) else values
    cells = _cells("pairs", listed, ("class", "class"), (n_classes, n_classes))
    for c, other in cells:
        if c == other:
            raise InvalidInstance(f"pairs joins class {c} with itself.")
    joined = {(min(cell), max(cell)) for cell in cells}
    if len(joined) < len(listed):
        raise InvalidInstance("pairs names a pair of classes twice.")
    return {"pairs": tuple(sorted(joined))}


def changes_sets(given: Mapping[str, Any]) -> bool:
    """Tell whether arguments change how many sets of features there are for the classes."""
    return given.get("budget") is not None or given.get("negative") is not None


def closest_pairs(A: NDArray[np.float64], n_pairs: int) -> tuple[tuple[int, int], ...]:
    """Return the pairs of rows of A that lie closest to each other; ties go to the first ones."""
    if not n_pairs:
        return ()
    nearest = np.argsort(pdist(A), kind="stable")[:n_pairs]
    first, second = np.triu_indices(len(A), 1)
    chosen = zip(first[nearest].tolist(), second[nearest].tolist(), strict=True)
    return tuple(sorted(chosen))


def _budget(
    values: Any, n_classes: int, n_select: int, n_per_class: int
) -> tuple[int, ...] | Average | None:
    if values is None:
        return None
    if isinstance(values, Mapping):
        if not set(values) <= {"least", "most"}:
            said = validation.shown(list(values))
            raise InvalidInstance(f"budget on average has the names least and most, not {said}.")
        values = Average(**values)
    if isinstance(values, Average):
        if max(values.least, values.most or 0) > n_select:
            raise InfeasibleInstance(
                f"budget lets a class have {values.least} to {values.most} features, but only "
                f"n_select = {n_select} are selected."
            )
        if not values.least <= n_per_class <= (values.most or n_select):
            raise InfeasibleInstance(
                f"budget lets a class have {values.least} to {values.most or n_select} features, "
                f"which cannot be n_per_class = {n_per_class} on average."
            )
        return values
    if isinstance(values, str) or not isinstance(values, Iterable):
        said = validation.shown(values)
        raise InvalidInstance(
            f"budget must be one number for each class or an Average, not {said}."
        )
    numbers = tuple(validation.count("a budget", value) for value in values)
    if len(numbers) != n_classes:
        raise InvalidInstance(f"budget has {len(numbers)} numbers for {n_classes} classes.")
    for c, number in enumerate(numbers):
        if number > n_select:
            raise InfeasibleInstance(
                f"budget gives class {c} {number} features, but only n_select = {n_select} are "
                "selected."
            )
    return None if set(numbers) == {n_per_class} else numbers


def _negative(values: Any, largest: int) -> tuple[int, float] | None:
    if values is None:
        return None
    given = values if isinstance(values, Sequence) else (values,)
    if isinstance(values, str) or not 1 <= len(given) <= 2:
        said = validation.shown(values)
        raise InvalidInstance(f"negative must be a pair (q, gamma), not {said}.")
    most = validation.whole_number("negative: q", given[0], error=InvalidInstance)
    gamma = validation.number("negative: gamma", (*given, 1.0)[1], least=0.0, error=InvalidInstance)
    if gamma == 0.0:
        raise InvalidInstance("negative: gamma must be above 0.")
    if most > largest:
        raise InvalidInstance(
            f"negative allows {most} features a class, but a class has at most {largest}."
        )
    return (most, gamma) if most else None


def _check_together(demands: Demands) -> None:
    """Refuse what has no meaning together."""
    paired = bool(demands.pairs or demands.n_pairs)
    budget = demands.budget
    if paired and isinstance(budget, Average):
        raise InvalidInstance("pairs need budgets that are fixed, not an Average.")
    if demands.n_pairs and budget is not None:
        raise InvalidInstance("pairs as a number needs the same budget for all classes.")
    for c, other in demands.pairs if budget is not None else ():
        assert isinstance(budget, tuple)
        if budget[c] != budget[other]:
            raise InvalidInstance(
                f"Classes {c} and {other} are a pair, but have {budget[c]} and {budget[other]} "
                "features: a pair needs equal budgets."
            )
    if demands.n_pairs and demands.max_shared is not None:
        raise InvalidInstance("pairs as a number and max_shared do not go together.")
    if demands.negative is not None and (paired or demands.max_shared is not None):
        what = "pairs" if paired else "max_shared"
        raise InvalidInstance(f"negative and {what} do not go together.")
