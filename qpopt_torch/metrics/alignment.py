"""Whether features follow attributes that people have named."""

from __future__ import annotations

from operator import add
from typing import ClassVar

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from qpopt_torch.data.drawn_birds import DrawnBirds
from qpopt_torch.metrics.birds.parts import PartAlignment, part_alignment
from qpopt_torch.metrics.metric import GroupMetric, Metric


class FeatureAlignment(GroupMetric):
    """Feature alignment: how much the best-fitting attribute raises a feature.

        mean_d max_a (mean f_d where a is present − mean f_d where a is absent)
                     / mean(f_d − min f_d)

    Attributes that are always or never present are left out; a feature that never changes counts 0.
    """

    title = "Feature alignment"
    meaning = "how far a feature rises with the attribute that suits it best, 100 % being its mean"

    def __init__(self, n_features: int, n_attributes: int) -> None:
        super().__init__(1 + n_attributes, n_features)

    def update(self, features: Tensor, attributes: Tensor) -> None:
        """Add a batch: pooled features and 0/1 attributes, both with one row a sample."""
        # The first group are all samples.
        self.add(features, F.pad(attributes.double(), (1, 0), value=1.0))

    def compute(self) -> float:
        """Return the alignment in percent; NaN where no attribute is ever both."""
        n_samples, sums = self.counts[0], self.sums[0]
        varying = (self.counts > 0) & (self.counts < n_samples)
        if not varying.any():
            return float("nan")
        n_present, sums_present = self.counts[varying, None], self.sums[varying]
        with_it = sums_present / n_present
        without_it = (sums - sums_present) / (n_samples - n_present)
        best = (with_it - without_it).amax(dim=0)
        activation = sums / n_samples - self.minima
        changing = activation > 1e-12 * self.minima.abs().clamp(min=1e-300)
        aligned = torch.where(changing, best / torch.where(changing, activation, 1.0), 0.0)
        return 100.0 * float(aligned.mean())


class RecognisedParts(Metric):
    """Part alignment: the share of features that recognise one variant of one part.

    It needs data whose parts are known, and keeps the features of all samples: ranks are exact.

    Parameters
    ----------
    birds
        Where the samples come from.
    """

    title = "Part alignment"
    meaning = "features that recognise one variant of one part (AUROC ≥ 0.95)"
    states: ClassVar = {"features": add, "labels": add}

    def __init__(self, birds: DrawnBirds) -> None:
        self.birds = birds
        self.features: list[NDArray[np.float64]] = []
        self.labels: list[NDArray[np.int64]] = []

    def update(self, features: Tensor, labels: Tensor) -> None:
        """Add a batch: pooled features and classes."""
        self.features.append(features.detach().double().cpu().numpy())
        self.labels.append(labels.cpu().numpy())

    def alignment(self) -> PartAlignment:
        """Return which variant every feature recognises, over all samples so far."""
        features, labels = np.concatenate(self.features), np.concatenate(self.labels)
        return part_alignment(features, labels, self.birds.attributes, self.birds.attribute_names)

    def compute(self) -> float:
        """Return the share in percent; NaN without samples."""
        return self.alignment().share if self.features else float("nan")


def birds_of(loader: object) -> DrawnBirds | None:
    """Return the drawn birds that a loader reads; None if its parts are not known."""
    data = getattr(loader, "dataset", None)
    return data if isinstance(data, DrawnBirds) else None
