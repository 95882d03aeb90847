"""Whether features are parts: which variant of which part each of them recognises, and where."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import rankdata

from qpopt_torch.data.birds.species import Twins
from qpopt_torch.errors import LoaderError

Floats = NDArray[np.float64]

ALIGNED = 0.95
"""AUROC from which a feature counts as recognising a variant."""


@dataclass(frozen=True, eq=False)
class PartAlignment:
    """How well every feature tells every variant from all others.

    Parameters
    ----------
    aurocs
        Features × variants: the chance that the feature is higher in a sample that has the variant
        than in one that has not. NaN for variants that all samples have, or none.
    variant_names
        What the variants are called.
    threshold
        From which AUROC a feature counts as aligned.
    """

    aurocs: Floats
    variant_names: tuple[str, ...]
    threshold: float = ALIGNED

    @property
    def needed(self) -> NDArray[np.bool_]:
        """Which variants some samples have and others have not: those that classes need."""
        return np.array(~np.isnan(self.aurocs).all(axis=0))

    @property
    def order(self) -> NDArray[np.int64]:
        """Features × variants: for every feature the variants, the best recognised first."""
        return np.argsort(-np.nan_to_num(self.aurocs, nan=-1.0), axis=1, kind="stable")

    @property
    def best(self) -> NDArray[np.int64]:
        """The variant that each feature recognises best."""
        return self.order[:, 0]

    @property
    def best_aurocs(self) -> Floats:
        """How well it does."""
        return self._ranked(0)

    @property
    def second_aurocs(self) -> Floats:
        """How well each feature recognises the second best: what is near the best is no name."""
        return self._ranked(1)

    @property
    def aligned(self) -> NDArray[np.bool_]:
        """Which features recognise one variant."""
        return self.best_aurocs >= self.threshold

    @property
    def share(self) -> float:
        """The share of aligned features, in percent."""
        return 100.0 * float(self.aligned.mean())

    @property
    def found(self) -> tuple[int, ...]:
        """The variants that some aligned feature recognises best; at most those needed."""
        return tuple(sorted(set(self.best[self.aligned].tolist())))

    def names(self, selection: Iterable[int]) -> dict[int, str]:
        """Return names for the aligned features, as `SparseClassifier.rename_features` takes them.

        They say how well, as in "red eye (0.99)". Where several recognise the same variant, the
        better ones come first and the others are numbered.

        Parameters
        ----------
        selection
            The indices of the features in the dense model, in the order of the rows.
        """
        indices = list(selection)
        taken: dict[str, int] = {}
        names: dict[int, str] = {}
        for j in np.argsort(-self.best_aurocs, kind="stable")[: int(self.aligned.sum())]:
            name = self.variant_names[self.best[j]]
            taken[name] = taken.get(name, 0) + 1
            number = f" {taken[name]}" if taken[name] > 1 else ""
            names[int(indices[j])] = f"{name}{number} ({self.best_aurocs[j]:.2f})"
        return names

    def __str__(self) -> str:
        aligned, needed = int(self.aligned.sum()), int(self.needed.sum())
        return (
            f"{aligned} of {len(self.aurocs)} features recognise one variant of a part (AUROC ≥ "
            f"{self.threshold:g}); {len(self.found)} of {needed} variants are found."
        )

    def _ranked(self, place: int) -> Floats:
        ranked: Floats = np.take_along_axis(self.aurocs, self.order[:, place : place + 1], axis=1)
        return ranked[:, 0]


def part_alignment(
    features: ArrayLike,
    labels: ArrayLike,
    attributes: ArrayLike,
    variant_names: Sequence[str],
    *,
    threshold: float = ALIGNED,
) -> PartAlignment:
    """Find out which variant of which part every feature recognises.

    Parameters
    ----------
    features
        Samples × features.
    labels
        The class of every sample.
    attributes
        Classes × variants, 0/1: what the classes have.
    variant_names
        What the variants are called.
    threshold
        From which AUROC a feature counts as aligned.

    Raises
    ------
    LoaderError
        If the shapes do not fit.
    """
    values = np.asarray(features, dtype=np.float64)
    has = np.asarray(attributes).astype(bool)
    classes = np.asarray(labels)
    if values.ndim != 2 or classes.shape != (len(values),):
        raise LoaderError(
            f"The features have the shape {values.shape} and the labels {classes.shape}; every "
            "sample needs one row of features and one label."
        )
    if has.ndim != 2 or has.shape[1] != len(variant_names):
        raise LoaderError(
            f"The attributes have the shape {has.shape}; they need one column for each of the "
            f"{len(variant_names)} variants."
        )
    return PartAlignment(auroc(values, has[classes]), tuple(variant_names), threshold)


def auroc(values: Floats, present: NDArray[np.bool_]) -> Floats:
    """Return the AUROC of every feature for every property; equal values count half.

    Parameters
    ----------
    values
        Samples × features.
    present
        Samples × properties.

    Returns
    -------
    array
        Features × properties; NaN where all samples have the property, or none.
    """
    n_with = present.sum(axis=0)
    n_pairs = n_with * (len(present) - n_with)
    # The sum of ranks counts, for every sample with the property, the samples below it.
    ranks = rankdata(values, axis=0).T @ present
    above = ranks - n_with * (n_with + 1) / 2
    result: Floats = np.where(n_pairs > 0, above / np.maximum(n_pairs, 1), np.nan)
    return result


@dataclass(frozen=True)
class Pointing:
    """How often the maximum of a feature map lies on its part.

    Parameters
    ----------
    hits
        The share of maps whose maximum lies on the part, in percent.
    chance
        What any position of the same maps would give, in percent.
    n_maps
        How many maps were looked at: those whose part is to be seen.
    """

    hits: float
    chance: float
    n_maps: int


def pointing(maps: ArrayLike, masks: ArrayLike) -> Pointing:
    """Play the pointing game with exact masks.

    A position of a map stands for a block of pixels, and lies on the part if the block shows
    anything of it. Of several maxima the first counts.

    Parameters
    ----------
    maps
        One map for each case: cases × height × width.
    masks
        Where the part is that the map should show: cases × height × width of the picture, no
        smaller than the maps. Cases whose mask is empty are left out.

    Raises
    ------
    LoaderError
        If the shapes do not fit.
    """
    values, shown = np.asarray(maps, dtype=np.float64), np.asarray(masks).astype(bool)
    fits = values.ndim == 3 and shown.ndim == 3 and len(values) == len(shown)
    if not fits or (np.array(shown.shape) < values.shape).any():
        raise LoaderError(
            f"The maps have the shape {values.shape} and the masks {shown.shape}; both need one "
            "for each case, and masks must not be smaller than maps."
        )
    rows, columns = (_blocks(shown.shape[axis], values.shape[axis]) for axis in (1, 2))
    on_part = np.stack([shown[:, r, c].any(axis=(1, 2)) for r in rows for c in columns], axis=1)
    seen = on_part.any(axis=1)
    if not seen.any():
        return Pointing(float("nan"), float("nan"), 0)
    places = values[seen].reshape(int(seen.sum()), -1).argmax(axis=1)
    hits = on_part[seen][np.arange(len(places)), places]
    chance = float(on_part[seen].mean())
    return Pointing(100.0 * float(hits.mean()), 100.0 * chance, len(places))


def _blocks(n_pixels: int, n_positions: int) -> list[slice]:
    """Return which pixels along a side every position of a map stands for, shared ones in both."""
    edges = [(k * n_pixels, (k + 1) * n_pixels) for k in range(n_positions)]
    return [slice(a // n_positions, -(-b // n_positions)) for a, b in edges]


@dataclass(frozen=True)
class TwinContrast:
    """Whether a model tells twins apart by the part in which they differ.

    Parameters
    ----------
    first, second
        The classes.
    part
        The part in which they differ.
    features
        The features that one class has and the other has not, as columns of the selection.
    of_part
        How many of them recognise a variant of this part.
    """

    first: int
    second: int
    part: str
    features: tuple[int, ...]
    of_part: int

    @property
    def told_by_part(self) -> bool:
        """Whether the one differing part is all that differs in the model."""
        return len(self.features) > 0 and self.of_part == len(self.features)


def twin_contrasts(
    twins: Iterable[Twins],
    variant_parts: Sequence[str],
    alignment: PartAlignment,
    assignment: ArrayLike,
) -> tuple[TwinContrast, ...]:
    """Return which features tell twins apart, and how many of them are of the part that does.

    Parameters
    ----------
    twins
        As `DrawnBirds.twins` has them.
    variant_parts
        The part of every variant.
    alignment
        Which variants the features recognise; only those of aligned features count.
    assignment
        Classes × features, 0/1.
    """
    has = np.asarray(assignment).astype(bool)
    parts = np.array(variant_parts)[alignment.best]
    contrasts = []
    for pair in twins:
        differing = np.flatnonzero(has[pair.first] != has[pair.second])
        own = (parts[differing] == pair.part) & alignment.aligned[differing]
        columns = tuple(differing.tolist())
        contrasts.append(TwinContrast(pair.first, pair.second, pair.part, columns, int(own.sum())))
    return tuple(contrasts)
