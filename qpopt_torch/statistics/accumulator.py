"""Adding up, in float64 and batch by batch, what the statistics are made of."""

from __future__ import annotations

import logging
from numbers import Integral
from typing import Any, NamedTuple

import torch
from torch import Tensor

from qpopt import InvalidArgument
from qpopt_torch.errors import shown

MOST_BINS = 2**16
"""More bins than any AUROC needs."""

MOST_BYTES = 8e9
"""Memory that histograms may take; everything else is smaller by the number of bins."""


SAID = 1e9
"""Bytes above which it is said what a pass takes."""

logger = logging.getLogger("qpopt")


class FeatureScale(NamedTuple):
    """What the first batch fixes for the whole pass.

    Parameters
    ----------
    shift
        Subtracted from every feature before it is summed. Near the mean, it keeps the sums of
        squares free of cancellation.
    scale
        The spread of every feature, by which the bins of its histogram are laid out.
    """

    shift: Tensor
    scale: Tensor

    @classmethod
    def of(cls, features: Tensor) -> FeatureScale:
        """Take mean and spread of the features of the first batch."""
        values = as_double(features)
        scale = values.std(0, unbiased=False)
        return cls(values.mean(0), torch.where(scale > 0, scale, torch.ones_like(scale)))


def checked_bins(bins: Any) -> int:
    """Return the number of bins of a histogram, or 0 for none."""
    whole = isinstance(bins, Integral) and not isinstance(bins, bool)
    if not whole or not (bins == 0 or 2 <= bins <= MOST_BINS):
        raise InvalidArgument(
            f"bins must be 0, or a whole number from 2 to {MOST_BINS}, not {shown(bins)}."
        )
    return int(bins)


def check_memory(bins: int, n_classes: int, n_features: int) -> None:
    """Raise if the histograms would take more memory than most machines have to spare."""
    each = torch.int32.itemsize * n_classes * n_features
    if bins * each > MOST_BYTES:
        most = int(MOST_BYTES // each)
        advice = f"use at most {most} bins, or " if most > 1 else ""
        raise InvalidArgument(
            f"Histograms of {bins} bins for {n_classes} classes × {n_features} features take "
            f"{bins * each / 1e9:.1f} GB, more than {MOST_BYTES / 1e9:g} GB; {advice}the "
            "similarity pearson, which needs none."
        )


def say_memory(sums: Accumulator) -> None:
    """Say what a pass takes, where that is more than a machine may have to spare."""
    size = sum(value.nbytes for value in vars(sums).values() if isinstance(value, Tensor))
    if size > SAID:
        logger.info("The sums of this pass take %.1f GB, on every process.", size / 1e9)


class Accumulator:
    """Sums over samples: add batches, then read the attributes.

    Parameters
    ----------
    n_classes
        The number of classes.
    scale
        Shift and scale of the features.
    bins
        Bins of the histograms by class and feature; 0 for none.
    chunk
        Entries of feature maps that are worked on at a time: few enough to stay in the cache.

    Attributes
    ----------
    counts, shift, sums, squares, minima, n_positions, histograms, scale, rounding
        As in `Statistics`.
    locality, center
        Σ max(softmax over positions) · f and Σ f / (1 + distance of the maximum to the edge);
        None before any maps were added, and `center` also where positions form no grid.
    share_locality, share_edge
        Σ max(softmax over positions) · u and Σ [the maximum lies on the edge] · u, u the share of
        f in the sum of the features of the sample; None where the two above are.
    """

    def __init__(
        self, n_classes: int, scale: FeatureScale, bins: int = 0, *, chunk: int = 2**19
    ) -> None:
        self.shift, self.chunk = scale.shift, chunk
        self.scale = scale.scale if bins else None
        n_features = len(scale.shift)
        zeros = scale.shift.new_zeros
        self.counts = zeros(n_classes, dtype=torch.int64)
        self.sums = zeros(n_classes, n_features)
        self.squares = zeros(n_features)
        self.minima = torch.full_like(scale.shift, torch.inf)
        self.locality: Tensor | None = None
        self.center: Tensor | None = None
        self.share_locality: Tensor | None = None
        self.share_edge: Tensor | None = None
        self.n_positions = 0
        self.rounding = 0.0
        shape = (n_classes, n_features, bins)
        self.histograms = zeros(shape, dtype=torch.int32) if bins else None

    def add(
        self, features: Tensor, labels: Tensor, maps: Tensor | None = None, *, grid: bool = True
    ) -> None:
        """Add a batch; arguments as in `Statistics.from_features`.

        `grid` says whether neighbouring positions in the maps are neighbours in the input.
        """
        if features.is_floating_point():
            self.rounding = max(self.rounding, torch.finfo(features.dtype).eps)
        values = as_double(features)
        labels = labels.to(values.device)
        shifted = values - self.shift
        self.counts += torch.bincount(labels, minlength=len(self.counts))
        self.sums.index_add_(0, labels, shifted)
        self.squares += (shifted * shifted).sum(0)
        if len(values):
            self.minima = torch.minimum(self.minima, values.amin(0))
        if self.histograms is not None and self.scale is not None:
            self._add_to_histograms(self.histograms, shifted / self.scale, labels)
        if maps is not None:
            self._add_maps(values, maps, grid)

    @staticmethod
    def _add_to_histograms(histograms: Tensor, standard: Tensor, labels: Tensor) -> None:
        n_features, bins = histograms.shape[1:]
        # A logistic curve gives bins of about equal weight, and room for every value to come.
        share = torch.sigmoid(1.7 * standard)
        which = (share * bins).long().clamp_(max=bins - 1)
        columns = torch.arange(n_features, device=which.device) * bins
        flat = (labels[:, None] * (n_features * bins) + columns + which).flatten()
        ones = torch.ones_like(flat, dtype=histograms.dtype)
        histograms.view(-1).index_add_(0, flat, ones)

    def _add_maps(self, values: Tensor, maps: Tensor, grid: bool) -> None:
        n_positions = maps[0, 0].numel() if len(maps) else 0
        self.n_positions = max(self.n_positions, n_positions)
        distance = edge_distance(maps.shape[2:]).to(values) if grid else None
        step = max(1, self.chunk // max(1, maps.shape[1] * n_positions))
        for first in range(0, len(maps), step):
            positions = maps[first : first + step].flatten(2)
            chunk = values[first : first + step]
            whole = chunk.sum(1, keepdim=True)
            share = torch.where(whole != 0, chunk / whole, torch.zeros_like(chunk))
            highest, where = positions.max(2)
            # Softmax is largest where the map is, and there it is 1 / Σ exp(map − its maximum).
            total = as_double(positions).sub(as_double(highest)[..., None]).exp_().sum(2)
            self._add_up("locality", chunk / total)
            self._add_up("share_locality", share / total)
            if distance is not None:
                away = distance[where.to(distance.device)]
                self._add_up("center", chunk / (1 + away))
                self._add_up("share_edge", share * (away == 0))

    def _add_up(self, name: str, terms: Tensor) -> None:
        """Add terms, samples × features, to a sum that begins with its first ones."""
        known, added = getattr(self, name), terms.sum(0)
        setattr(self, name, added if known is None else known + added)


def as_double(values: Tensor) -> Tensor:
    """Return the values in float64; on the CPU if their device has no such type."""
    return (values.cpu() if values.device.type == "mps" else values).double()


def edge_distance(shape: torch.Size | tuple[int, ...]) -> Tensor:
    """Return for every position of a grid, flattened, its distance to the nearest edge.

    A position on the edge has the distance 0.
    """
    axes = [torch.minimum(torch.arange(size), torch.arange(size).flip(0)) for size in shape]
    return torch.stack(torch.meshgrid(*axes, indexing="ij")).amin(0).flatten().double()
