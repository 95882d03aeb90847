"""Statistics: all that qpopt needs to know about the features of a network, in a few sums."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from qpopt import Instance, InvalidInstance, prepare
from qpopt.io import AnyPath, opened_archive, save_archive
from qpopt.preprocessing import (
    PublishedBias,
    auroc_from_histograms,
    pearson_from_sums,
)
from qpopt_torch.data.batches import check_features
from qpopt_torch.data.class_names import checked_class_names
from qpopt_torch.errors import shown
from qpopt_torch.network.head import Head
from qpopt_torch.statistics.accumulator import Accumulator, FeatureScale, checked_bins
from qpopt_torch.statistics.bias import BiasLike, raw_bias
from qpopt_torch.statistics.consistency import OPTIONAL, check_mergeable, check_statistics

NOISE = 8
"""Roundings of its mean that the deviation of a feature must exceed for it to have any signal."""

logger = logging.getLogger("qpopt")

Floats = NDArray[np.float64]
Similarity = Literal["pearson", "auroc"]


@dataclass(frozen=True, eq=False)
class Statistics:
    """Sums over the samples of a data set; those of two halves can be merged.

    Parameters
    ----------
    counts
        Samples of every class.
    shift
        What was subtracted from every feature before summing.
    sums
        Sums of the shifted features, classes × features.
    squares
        Sums of the squares of the shifted features.
    minima
        The smallest value of every feature, not shifted.
    locality, center, share_locality, share_edge
        The sums of the kinds of bias, the last two those of `published`; None where the features
        have no maps (for `center` and `share_edge`: no maps on a grid).
    n_positions
        Positions of a feature map; 0 without maps.
    histograms, scale
        Samples by class, feature and bin, and what the bins were laid out by; None if not asked.
    head
        The head whose features these are, or None.
    class_names
        Names of the classes, or None.
    rounding
        The relative precision of the type that the features had; 0 where they are exact.
    """

    counts: NDArray[np.int64]
    shift: Floats
    sums: Floats
    squares: Floats
    minima: Floats
    locality: Floats | None = None
    center: Floats | None = None
    n_positions: int = 0
    histograms: NDArray[np.int32] | None = None
    scale: Floats | None = None
    head: Head | None = None
    class_names: tuple[str, ...] | None = None
    rounding: float = 0.0
    share_locality: Floats | None = None
    share_edge: Floats | None = None

    @classmethod
    def of(
        cls, sums: Accumulator, class_names: Sequence[str] | None, head: Head | None = None
    ) -> Statistics:
        """Take the sums of an accumulator."""
        arrays: dict[str, Any] = {
            field.name: value.cpu().numpy()
            for field in fields(cls)
            if isinstance(value := getattr(sums, field.name, None), Tensor)
        }
        names = checked_class_names(class_names, len(sums.counts))
        arrays |= {"n_positions": sums.n_positions, "rounding": sums.rounding}
        return cls(**arrays, head=head, class_names=names)

    @classmethod
    def from_features(
        cls,
        features: ArrayLike,
        labels: ArrayLike,
        *,
        n_classes: int | None = None,
        maps: ArrayLike | None = None,
        bins: int = 0,
        class_names: Sequence[str] | None = None,
    ) -> Statistics:
        """Compute the statistics of features that are at hand.

        Parameters
        ----------
        features
            N × features.
        labels
            The class of every sample.
        n_classes
            The number of classes; without it, one more than the largest label.
        maps
            N × features × positions (one or several axes), or None.
        bins, class_names
            As in `collect`.
        """
        values, classes = check_features(features, labels, n_classes)
        found = int(classes.max()) + 1 if n_classes is None else n_classes
        sums = Accumulator(found, FeatureScale.of(values), checked_bins(bins))
        sums.add(values, classes, None if maps is None else torch.as_tensor(np.asarray(maps)))
        return cls.of(sums, class_names)

    @property
    def n_samples(self) -> int:
        """The number of samples."""
        return int(self.counts.sum())

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return int(self.sums.shape[0])

    @property
    def n_features(self) -> int:
        """The number of features."""
        return int(self.sums.shape[1])

    @property
    def mean(self) -> Floats:
        """The mean of every feature."""
        mean: Floats = self.shift + self.sums.sum(axis=0) / self.n_samples
        return mean

    @property
    def std(self) -> Floats:
        """The population standard deviation of every feature; 0 where it is mere rounding."""
        shifted_mean = self.sums.sum(axis=0) / self.n_samples
        std: Floats = np.sqrt(np.maximum(self.squares / self.n_samples - shifted_mean**2, 0.0))
        return np.where(std > NOISE * self.rounding * np.abs(self.mean), std, 0.0)

    @property
    def class_sums(self) -> Floats:
        """The sums of the features themselves, classes × features."""
        sums: Floats = self.sums + self.counts[:, None] * self.shift
        return sums

    def merge(self, other: Statistics) -> Statistics:
        """Return the statistics of both sets of samples together.

        Raises
        ------
        InvalidInstance
            If the two are not of the same classes, features and kinds of sums.
        """
        check_mergeable(self, other)
        moved, totals = other.shift - self.shift, other.sums.sum(axis=0)
        known = [key for key in OPTIONAL if getattr(self, key) is not None]
        optional = {key: getattr(self, key) + getattr(other, key) for key in known}
        return replace(
            self,
            counts=self.counts + other.counts,
            sums=self.sums + other.sums + other.counts[:, None] * moved,
            squares=self.squares + other.squares + 2 * moved * totals + other.n_samples * moved**2,
            minima=np.minimum(self.minima, other.minima),
            rounding=max(self.rounding, other.rounding),
            **optional,
        )

    def similarity(self, kind: Similarity = "pearson") -> Floats:
        """Return raw similarity, classes × features: Pearson correlation or AUROC.

        Constant features, those that vary by mere rounding among them, get 0 or, as AUROC, 0.5.

        Raises
        ------
        InvalidInstance
            If a class has no samples, or AUROC is asked for and there are no histograms.
        """
        constant = self.std == 0
        if kind == "pearson":
            sums, squares = (np.where(constant, 0.0, v) for v in (self.sums, self.squares))
            return pearson_from_sums(self.counts, sums, squares, class_names=self.class_names)
        if kind != "auroc":
            raise InvalidInstance(f"similarity must be pearson or auroc, not {shown(kind)}.")
        if self.histograms is None:
            raise InvalidInstance("AUROC needs histograms: collect the statistics with bins=64.")
        if constant.any():
            logger.warning("%d features are constant over all samples.", int(constant.sum()))
        found = auroc_from_histograms(self.histograms, class_names=self.class_names)
        return np.where(constant, 0.5, found)

    def bias(self, kind: BiasLike = "locality") -> Floats | PublishedBias | None:
        """Return a raw bias, or None for none.

        Parameters
        ----------
        kind
            `locality`, `center`, `published`, `none`, one value per feature, or a function of the
            statistics that returns those. Where the features have no maps, the first three give
            None and say so once.
        """
        return raw_bias(self, kind)

    def instance(
        self,
        n_select: int,
        n_per_class: int,
        *,
        similarity: Similarity | ArrayLike = "pearson",
        bias: BiasLike = "locality",
        **options: Any,
    ) -> Instance:
        """Return the instance of choosing `n_select` features, `n_per_class` for every class.

        Parameters
        ----------
        n_select, n_per_class
            The counts.
        similarity, bias
            As in the methods of these names; or raw similarity itself, classes × features, such as
            `exact_auroc` gives.
        options
            Further arguments of `qpopt.prepare`, demands such as `forbidden` among them.
        """
        kind = bias if isinstance(bias, str) else "custom"
        named: Any = similarity if isinstance(similarity, str) else None
        kinds = {"similarity": named or "custom", "bias": kind, "n_samples": self.n_samples}
        options["provenance"] = {**kinds, **options.get("provenance", {})}
        options.setdefault("class_names", self.class_names)
        if named == "auroc":
            options.setdefault("neutral", 0.5)
        options |= {"n_select": n_select, "n_per_class": n_per_class}
        A = similarity if named is None else self.similarity(named)
        if np.shape(A) != self.sums.shape:
            raise InvalidInstance(
                f"similarity has the shape {np.shape(A)}; the statistics are of {self.n_classes} "
                f"classes × {self.n_features} features."
            )
        return prepare(A, self.bias(bias), **options)

    def save(self, path: AnyPath) -> None:
        """Write the statistics to one .npz file without pickles."""
        meta = {
            "n_positions": self.n_positions,
            "head": None if self.head is None else self.head.to_dict(),
            "class_names": self.class_names,
            "rounding": self.rounding,
        }
        arrays = {key: value for key, value in vars(self).items() if isinstance(value, np.ndarray)}
        save_archive(path, "statistics", meta, arrays)

    @classmethod
    def load(cls, path: AnyPath) -> Statistics:
        """Read statistics that `save` wrote.

        Raises
        ------
        InvalidFile
            If the file is missing, damaged, not statistics, or of a newer format.
        """
        with opened_archive(path, "statistics") as (arrays, meta):
            head = meta["head"]
            plain = {key: meta[key] for key in ("n_positions", "rounding")}
            held = {key: arrays[key] for key in arrays if key != "meta"}
            check_statistics(held, **plain)
            names = checked_class_names(meta["class_names"], len(held["counts"]))
            found = None if head is None else Head.from_dict(head)
            return cls(**held, **plain, head=found, class_names=names)
