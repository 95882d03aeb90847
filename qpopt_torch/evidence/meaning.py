"""Meaning: all that is known of the features of a model whose pictures have a known truth."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.utils.data import DataLoader

from qpopt_torch.data.batches import batches, to_model
from qpopt_torch.data.drawn_birds import DrawnBirds
from qpopt_torch.metrics.alignment import RecognisedParts
from qpopt_torch.metrics.birds.causal import (
    BackgroundIndependence,
    FeatureEffect,
    background_independence,
    feature_effects,
    single_deletion,
)
from qpopt_torch.metrics.birds.interventions import intervene
from qpopt_torch.metrics.birds.parts import PartAlignment
from qpopt_torch.metrics.birds.pointing_game import Pointing, pointing
from qpopt_torch.metrics.birds.twins import TwinContrast, twin_contrasts
from qpopt_torch.sparse.classifier import SparseClassifier

BATCH = 64
"""Pictures that are looked at together."""
PER_SPECIES = 10
"""Pictures of every species that are changed, unless others are asked for."""


@dataclass(frozen=True, eq=False)
class Meaning:
    """What the features of a sparse classifier of drawn birds stand for.

    Parameters
    ----------
    alignment
        Which variant of which part every feature recognises.
    effects
        What happens to aligned features when their part is taken off or exchanged.
    pointing
        For every aligned feature, by its column: how often its maximum lies on its part, in the
        pictures of birds that have its variant; empty without feature maps.
    deletion
        Rank correlation, from −1 to 1, of what parts are said to count and what they do.
    background
        What another background changes.
    twins
        By which features twins are told apart.
    """

    alignment: PartAlignment
    effects: tuple[FeatureEffect, ...]
    pointing: dict[int, Pointing]
    deletion: float
    background: BackgroundIndependence
    twins: tuple[TwinContrast, ...]

    @property
    def hits(self) -> float:
        """How often the maximum of an aligned feature lies on its part, in percent."""
        return _weighted(self.pointing, "hits")

    @property
    def chance(self) -> float:
        """How often any place of the same maps does, in percent."""
        return _weighted(self.pointing, "chance")

    @property
    def confirmed(self) -> frozenset[int]:
        """The aligned features, by their columns, that fall most when their own part is off."""
        return frozenset(effect.feature for effect in self.effects if effect.confirmed)

    @property
    def telling(self) -> tuple[TwinContrast, ...]:
        """The twins, those first that are told apart best by the part in which they differ."""

        def rank(pair: TwinContrast) -> tuple[float, int, int]:
            confirmed = len(self.confirmed.intersection(pair.features))
            return pair.of_part / max(len(pair.features), 1), confirmed, pair.of_part

        return tuple(sorted(self.twins, key=rank, reverse=True))

    def __str__(self) -> str:
        named, n_features = int(self.alignment.aligned.sum()), len(self.alignment.aurocs)
        found, needed = len(self.alignment.found), int(self.alignment.needed.sum())
        return (
            f"{named} of {n_features} features recognise one variant of a part (AUROC ≥ "
            f"{self.alignment.threshold:g}), {len(self.confirmed)} of these fall most when just "
            f"that part is taken off; {found} of {needed} variants are found."
        )

    def names(self, selection: Iterable[int]) -> dict[int, str]:
        """Return names of the aligned features, those that are not confirmed with a question mark.

        Parameters
        ----------
        selection
            As in `PartAlignment.names`.
        """
        return self.alignment.names(selection, self.confirmed)

    @property
    def n_told(self) -> int:
        """How many twins differ in the model by nothing but the part in which they differ."""
        return sum(pair.told_by_part for pair in self.twins)

    @property
    def of_part(self) -> float:
        """The share of the features that tell twins apart that are of the differing part."""
        n_features = sum(len(pair.features) for pair in self.twins)
        n_own = sum(pair.of_part for pair in self.twins)
        return 100.0 * n_own / n_features if n_features else float("nan")

    def mean_effect(self, name: str) -> float:
        """Return the mean of a figure of the effects, by its name; NaN where there are none."""
        values = [getattr(effect, name) for effect in self.effects]
        return float(np.mean(values)) if values else float("nan")

    def percent(self) -> dict[str, float]:
        """Return the figures of the whole model; drops are in standard deviations."""
        return {
            "aligned": self.alignment.share,
            "confirmed": 100.0 * len(self.confirmed) / len(self.alignment.aurocs),
            "found": 100.0 * len(self.alignment.found) / int(self.alignment.needed.sum()),
            "own_drop": self.mean_effect("drop_without"),
            "other_drop": self.mean_effect("others_without"),
            "deletion": self.deletion,
            "background": self.background.kept,
            "pointing": self.hits,
            "of_part": self.of_part,
            "twins": 100.0 * self.n_told / len(self.twins) if self.twins else float("nan"),
        }


def meaning_of(
    model: SparseClassifier,
    birds: DrawnBirds,
    pictures: Sequence[int] | None = None,
    *,
    progress: bool = True,
) -> Meaning:
    """Find out what the features of a model mean, where every picture has its truth.

    Parameters
    ----------
    model
        A sparse classifier of these birds.
    birds
        Pictures that it was not trained with; all of them tell what features recognise.
    pictures
        The numbers of those that are changed and pointed at; without them, ten of every species,
        as far as there are so many.
    progress
        Whether to show progress bars on a terminal.
    """
    alignment = alignment_of(model, birds, progress=progress)
    n = birds.n_per_species
    if pictures is None:
        pictures = [c * n + k for c in range(birds.n_species) for k in range(min(n, PER_SPECIES))]
    seen = intervene(model, birds, pictures, progress=progress)
    assignment = model.assignment
    twins = twin_contrasts(birds.twins, birds.attribute_parts, alignment, assignment)
    return Meaning(
        alignment,
        feature_effects(seen, alignment),
        _pointing(model, birds, pictures, alignment),
        single_deletion(seen, alignment, assignment.astype(np.float64)),
        background_independence(seen),
        twins,
    )


def alignment_of(
    model: SparseClassifier, birds: DrawnBirds, *, progress: bool = True
) -> PartAlignment:
    """Return which variant of which part every feature of a model recognises.

    Parameters
    ----------
    model, birds, progress
        As in `meaning_of`.
    """
    metric = RecognisedParts(birds)
    loader: DataLoader[Any] = DataLoader(birds, BATCH)
    with model.observe() as seen:
        for x, labels in batches(loader, model, title="parts", progress=progress):
            model.network(x)
            metric.update(model.sparse_head.normalise(seen.features), labels)
    return metric.alignment()


def _pointing(
    model: SparseClassifier, birds: DrawnBirds, pictures: Sequence[int], alignment: PartAlignment
) -> dict[int, Pointing]:
    """Return how often the maximum of every aligned feature lies on its part."""
    samples = [birds.sample(number) for number in pictures]
    maps: list[NDArray[Any]] = []
    with model.observe() as seen:
        for start in range(0, len(samples), BATCH):
            images = [sample.image for sample in samples[start : start + BATCH]]
            model.network(to_model(torch.stack(images), model))
            if seen.maps is None or seen.maps.ndim != 4:
                return {}
            maps.append(seen.maps.float().cpu().numpy())
    values = np.concatenate(maps)
    found = {}
    for j in np.flatnonzero(alignment.aligned).tolist():
        variant = int(alignment.best[j])
        part = birds.attribute_parts[variant]
        rows = [i for i, one in enumerate(samples) if birds.attributes[one.label, variant]]
        if rows:
            masks = np.stack([samples[i].masks[part] for i in rows])
            found[j] = pointing(values[rows, j], masks)
    return found


def _weighted(games: dict[int, Pointing], name: str) -> float:
    """Return the mean of a figure over all maps; NaN where there are none."""
    n_maps = sum(game.n_maps for game in games.values())
    total = sum(getattr(game, name) * game.n_maps for game in games.values() if game.n_maps)
    return total / n_maps if n_maps else float("nan")
