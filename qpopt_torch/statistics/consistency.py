"""Whether statistics are whole, which ones they are, and whether two are of the same samples."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from qpopt import InvalidInstance

if TYPE_CHECKING:
    from qpopt_torch.statistics.statistics import Statistics

OPTIONAL = ("locality", "center", "share_locality", "share_edge", "histograms")
"""Sums that are made where they are asked for, or where there are maps."""

REORDERED = 1e-5
"""Relative difference that another order of float32 operations may make in a sum."""


def check_statistics(arrays: Mapping[str, Any], n_positions: Any, rounding: Any) -> None:
    """Raise unless arrays of statistics, by name, have shapes and values that are possible.

    Raises
    ------
    InvalidInstance
        Naming the first array that has not.
    """
    n_classes, n_features = np.asarray(arrays["sums"]).shape
    bins = np.shape(arrays["histograms"])[2] if "histograms" in arrays else 0
    shapes: dict[str, tuple[int, ...]] = dict.fromkeys(
        ("shift", "squares", "minima", "scale", *OPTIONAL[:-1]), (n_features,)
    )
    shapes |= {
        "counts": (n_classes,),
        "sums": (n_classes, n_features),
        "histograms": (n_classes, n_features, bins),
    }
    for name, array in arrays.items():
        whole = name in ("counts", "histograms")
        if array.shape != shapes[name] or array.dtype.kind != ("i" if whole else "f"):
            raise InvalidInstance(f"{name} is {array.dtype} of the shape {array.shape}.")
        if not np.isfinite(array).all():
            raise InvalidInstance(f"{name} is not finite everywhere.")
        if name in ("counts", "histograms", "squares") and (array < 0).any():
            raise InvalidInstance(f"{name} has values below 0.")
    if not arrays["counts"].sum():
        raise InvalidInstance("there are no samples.")
    if ("histograms" in arrays) != ("scale" in arrays):
        raise InvalidInstance("histograms and scale come together or not.")
    if type(n_positions) is not int or n_positions < 0:
        raise InvalidInstance(f"n_positions is {n_positions!r}.")
    if not isinstance(rounding, float) or not 0 <= rounding < 1:
        raise InvalidInstance(f"rounding is {rounding!r}.")


def check_mergeable(first: Statistics, second: Statistics) -> None:
    """Raise InvalidInstance unless two are of the same classes, features and kinds of sums."""
    if first.sums.shape != second.sums.shape:
        raise InvalidInstance(
            f"Statistics of {first.n_classes} classes × {first.n_features} features cannot be "
            f"merged with {second.n_classes} × {second.n_features}."
        )
    for key in OPTIONAL:
        if (getattr(first, key) is None) != (getattr(second, key) is None):
            raise InvalidInstance(
                f"Only one of the two statistics has {key}; collect both in the same way."
            )
    if first.scale is not None and not all(
        np.array_equal(getattr(first, key), getattr(second, key)) for key in ("scale", "shift")
    ):
        raise InvalidInstance(
            "The histograms have different bins; collect the second part with like=the first."
        )


def fingerprint(statistics: Statistics) -> str:
    """Return the SHA-256 of all sums."""
    digest = hashlib.sha256()
    for name, value in sorted(vars(statistics).items()):
        if isinstance(value, np.ndarray):
            digest.update(f"{name} {value.dtype} {value.shape}".encode())
            digest.update(np.ascontiguousarray(value).tobytes())
    return digest.hexdigest()


def same_samples(first: Statistics, second: Statistics) -> bool:
    """Whether two statistics can be of the same samples, seen by the same features.

    Sums that were made in another order differ in their last digits.
    """
    if not np.array_equal(first.counts, second.counts):
        return False
    if first.sums.shape != second.sums.shape:
        return False
    n, spread = first.n_samples, np.maximum(first.std, second.std)
    size = spread + np.abs(first.mean) + np.finfo(float).tiny
    apart = np.abs(first.class_sums - second.class_sums).max(axis=0) / n
    return bool(
        (apart <= REORDERED * size).all()
        and (np.abs(first.std - second.std) <= REORDERED * size).all()
        and (np.abs(first.minima - second.minima) <= REORDERED * size * n).all()
    )
