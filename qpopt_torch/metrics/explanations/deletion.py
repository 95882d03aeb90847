"""Deletion per feature: whether a feature falls when the place is blurred where its map is high."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor

from qpopt_torch.data.batches import batches
from qpopt_torch.data.inputs import call
from qpopt_torch.data.unpacking import unpacked
from qpopt_torch.errors import ModelError
from qpopt_torch.metrics.metric import Metric
from qpopt_torch.sparse.classifier import SparseClassifier

DELETED = 0.2
"""The share of the picture that is blurred."""
BLUR = 0.1
"""Deviation of the blur, as a share of the longer side."""


@dataclass(frozen=True)
class Deletion:
    """What blurring does, each figure a share of the value that a feature had.

    Parameters
    ----------
    drop, others
        How far a feature falls where its own map is highest, and how far the other active features
        of the predicted class do meanwhile.
    random_drop, random_others
        The same where a random region of equal size is blurred.
    n_features
        How many pairs of a sample and an active feature were looked at.
    """

    drop: float
    others: float
    random_drop: float
    random_others: float
    n_features: int

    @property
    def own(self) -> float:
        """How much farther a feature falls than the others: drop − others."""
        return self.drop - self.others

    @property
    def random_own(self) -> float:
        """The same for a random region."""
        return self.random_drop - self.random_others


class OwnDrop(Metric):
    """How much farther features fall than others where their map is high, as a metric."""

    title = "Deletion"
    meaning = "features fall, more than others do, where their maps are blurred"
    percent: ClassVar[float] = 100.0

    def __init__(self, found: Deletion) -> None:
        self.found = found

    def compute(self) -> float:
        """Return drop − others, as a share of what features were."""
        return self.found.own


def deletion_test(
    model: SparseClassifier,
    loader: Iterable[Any],
    n_samples: int = 64,
    *,
    seed: int = 0,
    progress: bool = True,
) -> Deletion:
    """Blur every picture where the map of a feature is high, and see which features fall.

    For each active feature d of the predicted class, the fifth of the picture where its map is
    highest is replaced by a blurred copy; drop = (f̃_d − f̃_d after) / f̃_d. All features may be
    multiplied by positive numbers.

    Parameters
    ----------
    model
        A sparse classifier of images, with feature maps.
    loader
        Batches of images and labels; the first samples are taken.
    n_samples
        How many. Each is shown to the model twice for every active feature of its class.
    seed
        Of the random regions.
    progress
        Whether to show a progress bar on a terminal.

    Examples
    --------
    >>> import torch
    >>> from torch import nn
    >>> import qpopt_torch
    >>> layers = nn.Conv2d(3, 12, 5, stride=2), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten()
    >>> model = nn.Sequential(*layers, nn.Linear(12, 4))
    >>> birds = qpopt_torch.DrawnBirds(4, 2, size=32, pairs=1.0)
    >>> loader = torch.utils.data.DataLoader(birds, 8)
    >>> sparse = qpopt_torch.sparsify(
    ...     model, loader, n_select=4, n_per_class=2, training=None, progress=False
    ... )
    >>> found = qpopt_torch.metrics.deletion_test(sparse, loader, n_samples=4, progress=False)
    >>> 0 <= found.n_features <= 8
    True
    """
    chance = torch.Generator().manual_seed(seed)
    own: list[list[Tensor]] = [[], []]
    others: list[list[Tensor]] = [[], []]
    left, loader = n_samples, unpacked(loader, model.unpack)
    with model.observe() as seen:
        for x, _ in batches(loader, model, title="deletion", progress=progress):
            x = x[:left]
            left -= len(x)
            call(model, x)
            if not isinstance(x, Tensor) or seen.maps is None or {seen.maps.ndim, x.ndim} != {4}:
                raise ModelError("Deletion needs images and feature maps of rows and columns.")
            maps, values = seen.maps, _values(model, seen.features)
            classes = model.sparse_head.assignment[seen.logits.argmax(1)] > 0
            active, blurred = classes & (values > 0), _blurred(x)
            for i, j in active.nonzero().tolist():
                regions = _highest(maps[i, j], x), _random(maps[i, j], x, chance)
                model(torch.stack([torch.where(r, blurred[i], x[i]) for r in regions]))
                fallen = (values[i] - _values(model, seen.features)) / values[i]
                rest = active[i].clone()
                rest[j] = False
                for way, row in enumerate(fallen):
                    own[way].append(row[j])
                    if rest.any():
                        others[way].append(row[rest].mean())
            if left <= 0:
                break
    here, there = ((_mean(own[way]), _mean(others[way])) for way in (0, 1))
    return Deletion(*here, *there, len(own[0]))


def _values(model: SparseClassifier, features: Tensor) -> Tensor:
    return model.sparse_head.normalise(features.detach()).double()


def _blurred(x: Tensor) -> Tensor:
    """Return images blurred by a Gaussian, edges repeated."""
    deviation = BLUR * max(x.shape[-2:])
    reach = min(int(3 * deviation), min(x.shape[-2:]) - 1)
    places = torch.arange(-reach, reach + 1, dtype=x.dtype, device=x.device)
    kernel = torch.exp(-0.5 * (places / deviation) ** 2)
    kernel = (kernel / kernel.sum()).expand(x.shape[1], 1, -1)
    padded = F.pad(x, (reach,) * 4, mode="replicate")
    rows = F.conv2d(padded, kernel[..., None, :], groups=x.shape[1])
    return F.conv2d(rows, kernel[..., None], groups=x.shape[1])


def _highest(values: Tensor, x: Tensor) -> Tensor:
    """Return the fifth of an image where a map, made as large as it, is highest."""
    size = x.shape[-2:]
    large = F.interpolate(values[None, None].double(), size, mode="bilinear", align_corners=False)
    flat = large.flatten()
    chosen = torch.zeros_like(flat, dtype=torch.bool)
    chosen[flat.argsort(descending=True, stable=True)[: max(1, round(DELETED * len(flat)))]] = True
    return chosen.view(size)


def _random(values: Tensor, x: Tensor, chance: torch.Generator) -> Tensor:
    """Return a region of the same size and of like grain, at random."""
    noise = torch.rand(values.shape, generator=chance)
    return _highest(noise.to(values), x)


def _mean(values: list[Tensor]) -> float:
    return float(torch.stack(values).mean()) if values else float("nan")
