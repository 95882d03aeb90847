"""Plausibility and pointing: whether maps lie on what a picture is of."""

from __future__ import annotations

from operator import add
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor

from qpopt_torch.errors import LoaderError
from qpopt_torch.metrics.metric import Metric


class Plausibility(Metric):
    """Plausibility: the share of a decision's heat that lies on what the picture is of.

    With the predicted class ĉ and the maps M,

        G = Σ_d w_ĉd M^d,  G ← G − min G,  mean over samples of Σ G · mask / Σ G,

    0 where G is the same everywhere. The mask is taken to the positions of the maps, where a
    position is in when half of it is, and dilated once by 3 × 3. A map that is shifted, or
    multiplied by a positive number like all others, changes nothing.

    Parameters
    ----------
    weights
        w, classes × features.
    """

    title = "Plausibility"
    meaning = "the heat of a decision lies on what the picture is of"
    percent: ClassVar[float] = 100.0
    states: ClassVar = {"total": add, "n_samples": add}

    def __init__(self, weights: Tensor) -> None:
        self.weights = weights.double().cpu()
        self.total, self.n_samples = 0.0, 0

    def update(self, maps: Tensor, logits: Tensor, masks: Tensor) -> None:
        """Add a batch: maps N × D × rows × columns, logits, and masks N × height × width."""
        values = maps.detach().double().cpu()
        inside = at_positions(masks, values)
        heat = torch.einsum("nd,ndyx->nyx", self.weights[logits.argmax(1).cpu()], values)
        heat = heat - heat.amin((1, 2), keepdim=True)
        sums = heat.sum((1, 2))
        on_it = (heat * inside).sum((1, 2))
        shares = torch.where(sums > 0, on_it / torch.where(sums > 0, sums, 1.0), 0.0)
        self.total += float(shares.sum())
        self.n_samples += len(values)

    def compute(self) -> float:
        """Return the share; NaN without samples."""
        return self.total / self.n_samples if self.n_samples else float("nan")


class PointingGame(Metric):
    """Pointing: how often the maximum of a feature of the decision lies on what the picture is of.

    Over all samples and features of the predicted class whose map is not the same everywhere; the
    mask is that of `Plausibility`, and of several maxima the first counts. Each map may be shifted
    and multiplied by a positive number.

    Parameters
    ----------
    weights
        Classes × features; a feature belongs to a class where they are not 0.
    """

    title = "Pointing"
    meaning = "maxima of features lie on what the picture is of"
    percent: ClassVar[float] = 100.0
    states: ClassVar = {"hits": add, "n_maps": add}

    def __init__(self, weights: Tensor) -> None:
        self.used = (weights != 0).cpu()
        self.hits = self.n_maps = 0

    def update(self, maps: Tensor, logits: Tensor, masks: Tensor) -> None:
        """Add a batch; arguments as for `Plausibility`."""
        values = maps.detach().cpu()
        inside = at_positions(masks, values).flatten(1).bool()
        flat = values.flatten(2)
        counted = self.used[logits.argmax(1).cpu()] & (flat.amax(2) > flat.amin(2))
        hits = inside.gather(1, flat.argmax(2)) & counted
        self.hits += int(hits.sum())
        self.n_maps += int(counted.sum())

    def compute(self) -> float:
        """Return the share; NaN without maps."""
        return self.hits / self.n_maps if self.n_maps else float("nan")


def at_positions(masks: Tensor, maps: Tensor) -> Tensor:
    """Return masks at the positions of maps, dilated once by 3 × 3, as 0 and 1.

    Parameters
    ----------
    masks
        N × height × width, from 0 to 1.
    maps
        N × features × rows × columns; only the shape counts.

    Raises
    ------
    LoaderError
        If the shapes do not fit.
    """
    shapes = tuple(masks.shape), tuple(maps.shape)
    if masks.ndim != 3 or maps.ndim != 4 or len(masks) != len(maps):
        raise LoaderError(
            f"Masks have the shape {shapes[0]} and maps {shapes[1]}; every sample needs one mask, "
            "height × width, and maps of rows and columns."
        )
    size = (maps.shape[2], maps.shape[3])
    parts = F.adaptive_avg_pool2d(masks.double().cpu()[:, None], size)
    return F.max_pool2d((parts >= 0.5).double(), 3, 1, 1)[:, 0]
