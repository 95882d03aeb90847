"""Coverage: what sets of classes are worth, measured on samples of known classes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qpopt.io import AnyPath, replacing
from qpopt_torch.errors import LoaderError, shown

Flags = NDArray[np.bool_]

STRATA = ((1, 1), (2, 3), (4, 6), (7, 10), (11, 100), (101, None))
"""Sizes of sets that are looked at together."""
COUNTED = 20
"""Samples from which on the coverage of a stratum counts."""


@dataclass(frozen=True)
class Stratum:
    """The sets of similar size.

    Parameters
    ----------
    sizes
        What sizes these are, as text.
    n_samples
        How many sets there are.
    coverage
        The share of them that hold the true class; None where there are none.
    """

    sizes: str
    n_samples: int
    coverage: float | None


@dataclass(frozen=True)
class Coverage:
    """What sets of classes are worth; all shares are from 0 to 1.

    Parameters
    ----------
    wanted
        The coverage that was asked for, 1 − α.
    n_samples
        How many samples were looked at.
    coverage
        The share of sets that hold the true class.
    mean_size, median_size
        How many classes a set holds.
    singletons
        The share of sets of one class.
    class_coverage
        The coverage of every class; None for classes without samples.
    worst_class, worst_class_gap
        The class whose coverage is farthest from the one asked for, and how far it is.
    mean_class_gap
        The same in the mean over the classes.
    strata
        The coverage by size of the sets.
    worst_stratum_gap
        How far the coverage of a stratum of at least 20 samples is from the one asked for, at most;
        None where there is no such stratum.
    coherence
        How similar the classes of one set are to each other, in the mean over all pairs of all
        sets; None without similarities, or where no set holds two classes.
    mean_coherence
        The same in the mean over the sets of two and more.
    turned_away
        The share of samples for which `decide` says "none of these"; None if it was not asked.
    """

    wanted: float
    n_samples: int
    coverage: float
    mean_size: float
    median_size: float
    singletons: float
    class_coverage: tuple[float | None, ...] = field(repr=False)
    worst_class: int
    worst_class_gap: float
    mean_class_gap: float
    strata: tuple[Stratum, ...]
    worst_stratum_gap: float | None
    coherence: float | None = None
    mean_coherence: float | None = None
    turned_away: float | None = None

    @classmethod
    def of(
        cls,
        mask: ArrayLike,
        labels: ArrayLike,
        wanted: float,
        similarity: ArrayLike | None = None,
        *,
        turned_away: float | None = None,
    ) -> Coverage:
        """Measure sets.

        Parameters
        ----------
        mask
            Boolean, samples × classes: which classes are in the set of a sample.
        labels
            The true class of every sample.
        wanted
            The coverage that was asked for.
        similarity
            How similar classes are, classes × classes.
        turned_away
            As above.
        """
        inside, classes = np.asarray(mask, dtype=bool), np.asarray(labels, dtype=np.int64)
        if not len(inside):
            raise LoaderError("Sets cannot be measured without samples.")
        held, sizes = inside[np.arange(len(classes)), classes], inside.sum(axis=1)
        by_class = [held[classes == c] for c in range(inside.shape[1])]
        shares = [float(own.mean()) if len(own) else None for own in by_class]
        gaps = {c: abs(share - wanted) for c, share in enumerate(shares) if share is not None}
        worst = max(gaps, key=lambda c: gaps[c])
        strata = tuple(_stratum(held, sizes, *ends) for ends in STRATA)
        counted = [
            abs(one.coverage - wanted)
            for one in strata
            if one.coverage is not None and one.n_samples >= COUNTED
        ]
        pooled, mean = (None, None) if similarity is None else set_coherence(inside, similarity)
        return cls(
            wanted=wanted,
            n_samples=len(inside),
            coverage=float(held.mean()),
            mean_size=float(sizes.mean()),
            median_size=float(np.median(sizes)),
            singletons=float((sizes == 1).mean()),
            class_coverage=tuple(shares),
            worst_class=worst,
            worst_class_gap=gaps[worst],
            mean_class_gap=float(np.mean(list(gaps.values()))),
            strata=strata,
            worst_stratum_gap=max(counted, default=None),
            coherence=pooled,
            mean_coherence=mean,
            turned_away=turned_away,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the values as JSON can hold them."""
        values: Mapping[str, Any] = asdict(self)
        return dict(values)

    def save(self, path: AnyPath) -> None:
        """Write the values as a JSON file."""
        with replacing(path) as stream:
            stream.write(json.dumps(self.to_dict(), indent=1).encode())

    def __str__(self) -> str:
        rows = [
            ("Coverage", _percent(self.coverage), f"asked for: {_percent(self.wanted)}"),
            ("Mean size", f"{self.mean_size:.2f}", f"median {self.median_size:g}"),
            ("One class alone", _percent(self.singletons), "of the sets"),
            (
                "Farthest class",
                _percent(self.class_coverage[self.worst_class]),
                f"class {self.worst_class}; {_percent(self.mean_class_gap)} off in the mean",
            ),
            ("Farthest size", _percent(self.worst_stratum_gap), "off what was asked for"),
            ("Set coherence", _percent(self.coherence), "similarity within sets"),
            ("None of these", _percent(self.turned_away), "of the samples"),
        ]
        return "\n".join(f"{title:<17}{value:>8}  {said}" for title, value, said in rows)


def set_coherence(mask: ArrayLike, similarity: ArrayLike) -> tuple[float | None, float | None]:
    """Return how similar the classes of one set are: over all pairs, and in the mean over sets.

        Σ_j Σ_{c ≠ c' in set j} sim(c, c') / Σ_j |set j| (|set j| − 1)

    over the sets of two classes and more; None where there is none.

    Parameters
    ----------
    mask
        Boolean, samples × classes.
    similarity
        Any similarity of classes, classes × classes. The diagonal does not count.
    """
    inside = np.asarray(mask, dtype=np.float64)
    try:
        known = np.asarray(similarity, dtype=np.float64).copy()
    except (TypeError, ValueError, OverflowError):
        known = np.empty(0)
    n_classes = inside.shape[1]
    if known.shape != (n_classes, n_classes) or not np.isfinite(known).all():
        raise LoaderError(
            f"similarity must be {n_classes} × {n_classes} finite numbers, one for every pair of "
            f"classes, not {shown(similarity)}."
        )
    np.fill_diagonal(known, 0.0)
    totals = ((inside @ known) * inside).sum(axis=1)
    pairs = inside.sum(axis=1) * (inside.sum(axis=1) - 1)
    several = pairs > 0
    if not several.any():
        return None, None
    pooled = totals[several].sum() / pairs[several].sum()
    return float(pooled), float((totals[several] / pairs[several]).mean())


def _stratum(held: Flags, sizes: NDArray[np.int64], low: int, high: int | None) -> Stratum:
    chosen = (sizes >= low) & (sizes <= (sizes if high is None else high))
    name = f"> {low - 1}" if high is None else f"{low}" if low == high else f"{low}–{high}"
    n_samples = int(chosen.sum())
    return Stratum(name, n_samples, float(held[chosen].mean()) if n_samples else None)


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.1f} %"
