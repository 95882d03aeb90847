"""What makes a feature wanted for its own sake, from the sums of the statistics."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qpopt import InvalidInstance
from qpopt.preprocessing import PublishedBias, center_from_sums, locality_from_sums
from qpopt_torch.errors import shown

if TYPE_CHECKING:
    from qpopt_torch.statistics.statistics import Statistics

Bias = Literal["locality", "center", "published", "none"]
BiasLike = Bias | ArrayLike | Callable[["Statistics"], ArrayLike]

NEEDED = {"locality": ("locality",), "center": ("center",)} | {
    "published": ("share_locality", "share_edge")
}
"""The sums that each kind is made of."""

logger = logging.getLogger("qpopt")


def raw_bias(statistics: Statistics, kind: BiasLike) -> NDArray[np.float64] | PublishedBias | None:
    """Return the bias of statistics; see `Statistics.bias`."""
    if not isinstance(kind, str):
        values = kind(statistics) if callable(kind) else kind
        try:
            return np.asarray(values, dtype=np.float64)
        except (TypeError, ValueError):
            raise InvalidInstance(f"bias must give numbers, not {shown(values)}.") from None
    if kind == "none":
        return None
    if kind not in NEEDED:
        raise InvalidInstance(
            f"bias must be {', '.join(NEEDED)}, none, an array or a function, not {shown(kind)}."
        )
    weighted = [getattr(statistics, name) for name in NEEDED[kind]]
    if any(sums is None for sums in weighted):
        missing = "have no maps on a grid"
        if statistics.locality is None:
            missing = "have no maps"
        elif kind == "published" and statistics.center is not None:
            missing = "were summed up without what it needs"
        logger.warning("The features %s, so %s is undefined: no bias is used.", missing, kind)
        return None
    n_samples = statistics.n_samples
    if kind == "published":
        locality, edge = weighted
        return PublishedBias(locality / n_samples, -edge)
    formula = locality_from_sums if kind == "locality" else center_from_sums
    return formula(weighted[0], statistics.class_sums.sum(axis=0), n_samples)
