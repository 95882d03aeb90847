"""Every check of arguments and of data; each error says what is wrong, where, and what to do.

A check gets a label, a value and, where it serves several doors, the error to raise.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence, Sized
from math import comb, inf
from numbers import Integral, Real
from operator import index
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qpopt.errors import InfeasibleInstance, InvalidArgument, InvalidInstance, QpoptError

SYMMETRY_TOLERANCE = 1e-9
"""Largest |R − Rᵀ|, relative to max R, that counts as rounding."""

MOST_SHOWN = 100
"""Characters of a wrong value that an error shows."""

Assigned = NDArray[np.bool_] | NDArray[np.int8]
"""Classes × selected features: boolean, or −1, 0 and 1 where there are negatives."""

LARGEST = 1e100
"""Largest absolute value that data may have: sums and squares of it are far from overflow."""


def matrix(label: str, values: ArrayLike) -> NDArray[np.float64]:
    """Return `values` as a finite 2-D float64 copy with at least one row and one column."""
    array = _numbers(label, values)
    if array.ndim != 2 or 0 in array.shape:
        raise InvalidInstance(
            f"{label} must be a matrix of classes × features with at least one of each; "
            f"its shape is {array.shape}."
        )
    return array


def vector(label: str, values: ArrayLike, length: int) -> NDArray[np.float64]:
    """Return `values` as a finite float64 copy of shape (length,)."""
    array = _numbers(label, values)
    if array.shape != (length,):
        raise InvalidInstance(
            f"{label} must hold one value for each of the {length} features of A; "
            f"its shape is {array.shape}."
        )
    return array


def redundancy(values: Any, n_features: int) -> NDArray[np.float64]:
    """Return R as a dense copy that is exactly symmetric, non-negative, with a zero diagonal."""
    array = _numbers("R", values.toarray() if hasattr(values, "toarray") else values)
    if array.shape != (n_features, n_features):
        raise InvalidInstance(
            f"R must be {n_features} × {n_features}, one row and column for each feature of A; "
            f"its shape is {array.shape}."
        )
    if np.diagonal(array).any():
        first = int(np.flatnonzero(np.diagonal(array))[0])
        raise InvalidInstance(
            f"R[{first}, {first}] is {array[first, first]:g}, but a feature is not redundant with "
            "itself; set the diagonal of R to 0."
        )
    if array.min(initial=0.0) < 0:
        d, e = np.argwhere(array < 0)[0]
        raise InvalidInstance(
            f"R[{d}, {e}] is {array[d, e]:g}, but redundancy must not be below 0."
        )
    if np.array_equal(array, array.T):
        return array
    difference = np.abs(array - array.T)
    if difference.max() > SYMMETRY_TOLERANCE * array.max():
        d, e = np.unravel_index(int(difference.argmax()), difference.shape)
        raise InvalidInstance(
            f"R is not symmetric: R[{d}, {e}] is {array[d, e]:g} but R[{e}, {d}] is "
            f"{array[e, d]:g}; every pair needs one redundancy, for example (R + R.T) / 2."
        )
    upper = np.triu(array, 1)
    return upper + upper.T


def number(
    label: str,
    value: Any,
    *,
    least: float = -inf,
    most: float = LARGEST,
    error: type[QpoptError] = InvalidArgument,
) -> float:
    """Return a number between `least` and `most`."""
    # As a plain number: one of NumPy's small types cannot even be compared with large ones.
    given = value.item() if isinstance(value, np.generic) else value
    plain = isinstance(given, Real) and not isinstance(given, bool)
    if not plain or not least <= given <= most:
        kind = "a finite number" if least == -inf and most < inf else "a number"
        at_least = "" if least == -inf else f" of at least {least:g}"
        raise error(f"{label} must be {kind}{at_least}, not {shown(value)}.")
    return float(given)


def whole_number(
    label: str, value: Any, *, least: float = 0, error: type[QpoptError] = InvalidArgument
) -> int:
    """Return a whole number of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        at_least = "" if least == -inf else f" of at least {least}"
        raise error(f"{label} must be a whole number{at_least}, not {shown(value)}.")
    return int(value)


def one_of(label: str, value: Any, known: Sequence[str]) -> str:
    """Return one of the known words."""
    if not isinstance(value, str) or value not in known:
        raise InvalidArgument(f"{label} must be one of {', '.join(known)}, not {shown(value)}.")
    return value


def yes_or_no(label: str, value: Any) -> bool:
    """Return a truth value; numbers and words are not taken for one."""
    if not isinstance(value, bool):
        raise InvalidArgument(f"{label} must be True or False, not {shown(value)}.")
    return value


def path(label: str, value: Any) -> str | os.PathLike[str]:
    """Return the name of a file."""
    if not isinstance(value, str | os.PathLike):
        raise InvalidArgument(f"{label} must be the path of a file, not {shown(value)}.")
    return value


def place(value: Any) -> int:
    """Return an index; a truth value, which Python takes for one, raises TypeError."""
    if isinstance(value, bool):
        raise TypeError("A truth value is no index.")
    return index(value)


def shown(value: Any) -> str:
    """Return how a value looks, in one line that is not long."""
    text = " ".join(repr(value).split())
    return text if len(text) <= MOST_SHOWN else f"{text[: MOST_SHOWN - 1]}…"


def count(label: str, value: Any) -> int:
    """Return a positive whole number."""
    return whole_number(label, value, least=1, error=InvalidInstance)


def features(label: str, values: Iterable[int], n_features: int) -> tuple[int, ...]:
    """Return distinct feature indices in rising order."""
    try:
        indices = sorted(place(value) for value in values)
    except TypeError:
        raise InvalidInstance(f"{label} must hold feature indices, not {shown(values)}.") from None
    for d in indices:
        if not 0 <= d < n_features:
            raise InvalidInstance(f"{label} names feature {d}; there are only {n_features}.")
    if len(set(indices)) < len(indices):
        raise InvalidInstance(f"{label} names a feature twice.")
    return tuple(indices)


def names(label: str, values: Sequence[str] | None, length: int) -> tuple[str, ...] | None:
    """Return names as strings, one for each class or feature."""
    if values is None:
        return None
    if isinstance(values, str) or not isinstance(values, Sized) or len(values) != length:
        raise InvalidInstance(f"{label} must hold {length} names, one for each.")
    return tuple(str(value) for value in values)


def check_counts(
    n_features: int,
    n_classes: int,
    n_select: int,
    n_per_class: int,
    *,
    include: Iterable[int] = (),
    exclude: Iterable[int] = (),
    alike: bool = True,
) -> tuple[int, int, tuple[int, ...], tuple[int, ...]]:
    """Return n_select, n_per_class, include and exclude if a solution can exist.

    `alike` says that every class has `n_per_class` features, and none by its absence.

    Raises
    ------
    InvalidInstance
        If a count is no positive whole number, or a feature does not exist.
    InfeasibleInstance
        If no selection gives every class its own set of features.
    """
    n_select, n_per_class = count("n_select", n_select), count("n_per_class", n_per_class)
    include = features("include", include, n_features)
    exclude = features("exclude", exclude, n_features)
    if n_select > n_features:
        raise InfeasibleInstance(
            f"n_select is {n_select}, but there are only {n_features} features."
        )
    if n_per_class > n_select:
        raise InfeasibleInstance(
            f"n_per_class is {n_per_class}, but only n_select = {n_select} features are selected."
        )
    if both := set(include) & set(exclude):
        raise InfeasibleInstance(f"Feature {min(both)} is both in include and in exclude.")
    if len(include) > n_select:
        raise InfeasibleInstance(
            f"include names {len(include)} features, but only n_select = {n_select} are selected."
        )
    if n_features - len(exclude) < n_select:
        raise InfeasibleInstance(
            f"exclude leaves {n_features - len(exclude)} of {n_features} features, "
            f"but n_select is {n_select}."
        )
    if alike and (n_sets := comb(n_select, n_per_class)) < n_classes:
        raise InfeasibleInstance(
            f"{n_select} features taken {n_per_class} at a time give {n_sets} distinct sets, fewer "
            f"than the {n_classes} classes; raise n_select or change n_per_class."
        )
    return n_select, n_per_class, include, exclude


def selection(values: ArrayLike, n_features: int) -> NDArray[np.int64]:
    """Return a selection, given as indices or as a boolean mask, as indices in the same order."""
    array = _plain_array("A selection", values)
    if array.dtype == bool and array.shape == (n_features,):
        return np.flatnonzero(array)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise InvalidInstance(
            f"A selection is a list of feature indices or a boolean mask of {n_features} values; "
            f"got {array.dtype} of shape {array.shape}."
        )
    features("A selection", array.tolist(), n_features)
    return array.astype(np.int64)


def assignment(
    values: ArrayLike, n_classes: int, selected: NDArray[np.int64], n_features: int
) -> Assigned:
    """Return an assignment as classes × selected features: int8 with negatives, else boolean."""
    array = _plain_array("An assignment", values)
    if array.shape == (n_classes, n_features) and n_features != len(selected):
        array = array[:, selected]
    if array.shape != (n_classes, len(selected)):
        raise InvalidInstance(
            f"An assignment has the shape {n_classes} × {len(selected)} (classes × selected "
            f"features) or {n_classes} × {n_features}; got {array.shape}."
        )
    return signs("An assignment", array)


def signs(label: str, array: NDArray[Any], error: type[QpoptError] = InvalidInstance) -> Assigned:
    """Return what holds 0, 1 and −1 as int8, or as boolean where there is no −1."""
    if array.dtype == bool:
        return array.copy()
    if not np.isin(array, (0, 1, -1)).all():
        raise error(f"{label} holds only 0 and 1, and −1 for a negative.")
    return array.astype(np.int8) if (array == -1).any() else array.astype(bool)


def _plain_array(label: str, values: ArrayLike) -> NDArray[Any]:
    try:
        return np.asarray(values)
    except ValueError as error:
        raise InvalidInstance(f"{label} must be an array: {error}.") from None


def _numbers(label: str, values: ArrayLike) -> NDArray[np.float64]:
    """Return a C-ordered float64 copy of sensible numbers, without negative zeros."""
    if isinstance(values, np.ma.MaskedArray) and values.mask.any():
        raise InvalidInstance(f"{label} is a masked array; fill in what is masked.")
    try:
        given = np.asarray(values)
        numeric = given.dtype.kind in "biufO"
        array = np.array(given, dtype=np.float64 if numeric else None, order="C")
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidInstance(f"{label} must hold numbers: {error}.") from None
    if not numeric:
        raise InvalidInstance(f"{label} must hold numbers, not {given.dtype}.")
    if not -LARGEST <= array.min(initial=0.0) <= array.max(initial=0.0) <= LARGEST:
        bad = ~(np.abs(array) <= LARGEST)
        where = tuple(int(i) for i in np.argwhere(bad)[0])
        raise InvalidInstance(
            f"{label}[{', '.join(map(str, where))}] is {array[where]} ({int(bad.sum())} such "
            f"entries in all); {label} must be finite and of a size that can be added up."
        )
    array += 0.0
    return array
