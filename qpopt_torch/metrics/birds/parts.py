"""Whether features are parts: which variant of which part each of them recognises, and where."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import rankdata

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

    def names(
        self, selection: Iterable[int], confirmed: Collection[int] | None = None
    ) -> dict[int, str]:
        """Return names for the aligned features, as `SparseClassifier.rename_features` takes them.

        They say how well, as in "red eye (0.99)". Where several recognise the same variant, the
        better ones come first and the others are numbered.

        Parameters
        ----------
        selection
            The indices of the features in the dense model, in the order of the rows.
        confirmed
            The rows whose names an intervention bears out, as `Meaning.confirmed` has them: all
            others come last and get a question mark. None where nothing was tried.
        """
        indices = list(selection)
        taken: dict[str, int] = {}
        names: dict[int, str] = {}
        tried = range(len(indices)) if confirmed is None else confirmed
        ranks = [(j not in tried, -auroc, j) for j, auroc in enumerate(self.best_aurocs.tolist())]
        for doubtful, auroc, j in sorted(rank for rank in ranks if self.aligned[rank[2]]):
            name = self.variant_names[self.best[j]]
            taken[name] = taken.get(name, 0) + 1
            number = f" {taken[name]}" if taken[name] > 1 else ""
            names[int(indices[j])] = f"{name}{number}{'?' * doubtful} ({-auroc:.2f})"
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

    Examples
    --------
    >>> from qpopt_torch.metrics import part_alignment
    >>> features = [[0.9, 0.1], [0.8, 0.7], [0.2, 0.4], [0.1, 0.2]]
    >>> has = [[1, 0], [0, 1]]  # two classes and two variants
    >>> print(part_alignment(features, [0, 0, 1, 1], has, ["red eye", "blue eye"]))
    1 of 2 features recognise one variant of a part (AUROC ≥ 0.95); 1 of 2 variants are found.
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
