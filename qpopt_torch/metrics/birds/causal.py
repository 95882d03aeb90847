"""What features and decisions do when one thing in a picture changes.

Of drawn birds everything can be changed by itself: a part taken off or exchanged, the background
replaced. So what a feature stands for need not be guessed from where it looks: take its part off,
and see whether it falls.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from qpopt_torch.metrics.birds.interventions import Interventions
from qpopt_torch.metrics.birds.parts import PartAlignment

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class FeatureEffect:
    """What happens where a feature's own part is changed, over the birds that have its variant.

    Parameters
    ----------
    feature, variant
        The feature, as a column of the selection, and the variant that it recognises.
    part, most
        The part of the variant, and the part whose taking off makes the feature fall most.
    drop_without, drop_swapped
        How far it falls when the part is taken off or exchanged, in its standard deviations.
    others_without, others_swapped
        How far the features of other parts move meanwhile, up or down, in theirs.
    changed_without, changed_swapped
        The share of predictions that change, from 0 to 1.
    """

    feature: int
    variant: int
    part: str
    most: str
    drop_without: float
    drop_swapped: float
    others_without: float
    others_swapped: float
    changed_without: float
    changed_swapped: float

    @property
    def confirmed(self) -> bool:
        """Whether the feature needs the part that it is named after more than any other."""
        return self.most == self.part


@dataclass(frozen=True)
class BackgroundIndependence:
    """What another background does to the same bird.

    Parameters
    ----------
    kept
        The share of predictions that stay, in percent.
    moved
        How far features move in the mean, up or down, in their standard deviations.
    """

    kept: float
    moved: float


def feature_effects(seen: Interventions, alignment: PartAlignment) -> tuple[FeatureEffect, ...]:
    """Return what happens to every aligned feature when its part is taken off or exchanged.

    Features whose variant no picture shows are left out.

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
    >>> from qpopt_torch.metrics import PartAlignment, feature_effects, intervene
    >>> aurocs = torch.full((4, len(birds.attribute_names)), 0.5).numpy()
    >>> aurocs[1, birds.attributes.any(axis=0).argmax()] = 1.0
    >>> alignment = PartAlignment(aurocs, birds.attribute_names)
    >>> effects = feature_effects(intervene(sparse, birds, progress=False), alignment)
    >>> [effect.feature for effect in effects]
    [1]
    """
    parts = np.array(seen.variant_parts)
    effects = []
    for j in np.flatnonzero(alignment.aligned):
        variant = int(alignment.best[j])
        part, rows = seen.variant_parts[variant], seen.present[:, variant]
        if not rows.any():
            continue
        others = parts[alignment.best] != part
        figures = []
        for changed in (seen.without[part], seen.swapped[part]):
            fallen = seen.fallen(changed)[rows]
            moved = np.abs(fallen[:, others]).mean() if others.any() else np.nan
            flipped = (seen.whole.predictions != changed.predictions)[rows]
            figures.append((fallen[:, j].mean(), moved, flipped.mean()))
        pairs = [float(value) for pair in zip(*figures, strict=True) for value in pair]
        drops = {name: seen.fallen(bare)[rows, j].mean() for name, bare in seen.without.items()}
        most = max(drops, key=lambda name: drops[name])
        effects.append(FeatureEffect(int(j), variant, part, most, *pairs))
    return tuple(effects)


def single_deletion(seen: Interventions, alignment: PartAlignment, assignment: Floats) -> float:
    """Return how well the parts that an explanation names are those that matter.

    For each picture, the explanation gives every part the sum of those features of the predicted
    class that recognise one of its variants; taking the part off shows what it is worth: how far
    the logit of this class falls. The result is the rank correlation of the two over the parts,
    from −1 to 1, in the mean over the pictures in which both vary; NaN where there is none.

    Parameters
    ----------
    seen
        What the model says.
    alignment
        Which variants its features recognise; all features count, aligned or not.
    assignment
        Classes × features, 0/1.

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
    >>> from qpopt_torch.metrics import PartAlignment, intervene, single_deletion
    >>> aurocs = torch.rand(4, len(birds.attribute_names)).numpy()
    >>> alignment = PartAlignment(aurocs, birds.attribute_names)
    >>> seen = intervene(sparse, birds, progress=False)
    >>> abs(single_deletion(seen, alignment, sparse.assignment)) <= 1
    True
    """
    parts, names = tuple(seen.without), np.array(seen.variant_parts)[alignment.best]
    rows, classes = np.arange(len(seen.present)), seen.whole.predictions
    terms = seen.whole.features * np.asarray(assignment, dtype=np.float64)[classes]
    told = np.stack([terms[:, names == part].sum(axis=1) for part in parts], axis=1)
    logit = seen.whole.logits[rows, classes]
    worth = np.stack([logit - seen.without[p].logits[rows, classes] for p in parts], axis=1)
    return _mean_defined(_rank_correlations(told, worth))


def background_independence(seen: Interventions) -> BackgroundIndependence:
    """Return what another background does to features and predictions.

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
    >>> from qpopt_torch.metrics import background_independence, intervene
    >>> found = background_independence(intervene(sparse, birds, progress=False))
    >>> 0 <= found.kept <= 100
    True
    """
    kept = seen.whole.predictions == seen.elsewhere.predictions
    moved = np.abs(seen.fallen(seen.elsewhere))
    return BackgroundIndependence(100.0 * float(kept.mean()), float(moved.mean()))


def _rank_correlations(first: Floats, second: Floats) -> Floats:
    """Return Spearman's correlation of the rows of two matrices; NaN where one is constant."""
    a, b = (rankdata(values, axis=1) for values in (first, second))
    a, b = a - a.mean(axis=1, keepdims=True), b - b.mean(axis=1, keepdims=True)
    lengths = np.sqrt((a * a).sum(axis=1) * (b * b).sum(axis=1))
    products = (a * b).sum(axis=1)
    products[lengths == 0] = np.nan
    correlations: Floats = products / np.where(lengths > 0, lengths, 1)
    return correlations


def _mean_defined(values: Floats) -> float:
    defined = values[~np.isnan(values)]
    return float(defined.mean()) if len(defined) else float("nan")
