"""What features and decisions do when one thing in a picture changes.

Of drawn birds everything can be changed by itself: a part taken off or exchanged, the background
replaced. So what a feature stands for need not be guessed from where it looks: take its part off,
and see whether it falls.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.stats import rankdata

from qpopt.control.progress import Bar
from qpopt_torch.data.batches import to_model
from qpopt_torch.data.drawn_birds import BirdSample, DrawnBirds
from qpopt_torch.metrics.parts import PartAlignment
from qpopt_torch.sparse.classifier import SparseClassifier

Floats = NDArray[np.float64]

BATCH = 64
"""Pictures that are looked at together."""


@dataclass(frozen=True, eq=False)
class Answers:
    """What a model says to some pictures.

    Parameters
    ----------
    features
        Pictures × features, normalised as the head adds them up.
    logits
        Pictures × classes.
    """

    features: Floats
    logits: Floats

    @property
    def predictions(self) -> NDArray[np.int64]:
        """The class of every picture."""
        classes: NDArray[np.int64] = self.logits.argmax(axis=1)
        return classes


@dataclass(frozen=True, eq=False)
class Interventions:
    """What a model says to pictures as they are, and with one thing changed.

    Parameters
    ----------
    present
        Pictures × variants: what the birds have.
    variant_parts
        The part of every variant.
    whole
        The pictures as they are.
    without
        By part: the part taken off.
    swapped
        By part: another variant in its place; each of them comes up about as often.
    elsewhere
        Another background, that of a picture of a class half-way round: where backgrounds go by
        species, its colour is the most different one.
    """

    present: NDArray[np.bool_]
    variant_parts: tuple[str, ...]
    whole: Answers
    without: dict[str, Answers]
    swapped: dict[str, Answers]
    elsewhere: Answers

    def fallen(self, changed: Answers) -> Floats:
        """Return how far features fall by a change, in their standard deviations as they are.

        Those that the head divides by are of the time before fine-tuning.
        """
        spread = self.whole.features.std(axis=0)
        drops = self.whole.features - changed.features
        in_deviations: Floats = drops / np.where(spread > 0, spread, 1.0)
        return in_deviations


@dataclass(frozen=True)
class FeatureEffect:
    """What happens where a feature's own part is changed, over the birds that have its variant.

    Parameters
    ----------
    feature, variant
        The feature, as a column of the selection, and the variant that it recognises.
    drop_without, drop_swapped
        How far it falls when the part is taken off or exchanged, in its standard deviations.
    others_without, others_swapped
        How far the features of other parts move meanwhile, up or down, in theirs.
    changed_without, changed_swapped
        The share of predictions that change, from 0 to 1.
    """

    feature: int
    variant: int
    drop_without: float
    drop_swapped: float
    others_without: float
    others_swapped: float
    changed_without: float
    changed_swapped: float


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


def intervene(
    model: SparseClassifier,
    birds: DrawnBirds,
    pictures: Sequence[int] | None = None,
    *,
    progress: bool = True,
) -> Interventions:
    """Show a model pictures of birds as they are, and with one thing changed at a time.

    Parameters
    ----------
    model
        A sparse classifier of these birds.
    birds
        Pictures that it was not trained with.
    pictures
        Their numbers; without them, ten of every species, as far as there are so many. Each is
        drawn and shown 2 + 2 × parts times, which takes about 0.1 s.
    progress
        Whether to show a progress bar on a terminal.
    """
    n = birds.n_per_species
    if pictures is None:
        pictures = [c * n + k for c in range(birds.n_species) for k in range(min(n, 10))]
    labels = np.array([number // n for number in pictures])
    ways: dict[tuple[str, str], Callable[[int], BirdSample]] = {("whole", ""): birds.sample}
    for part in birds.parts:
        ways["without", part] = partial(birds.without, part=part)
        ways["swapped", part] = partial(_swapped, birds, part)
    half_way = n * (birds.n_species // 2)
    ways["elsewhere", ""] = lambda i: birds.elsewhere(i, (i + half_way) % len(birds))
    answers = {}
    with Bar("interventions", len(ways), progress=progress) as bar:
        for way, change in ways.items():
            answers[way] = _answers(model, change, pictures)
            bar.advance()
    return Interventions(
        present=birds.attributes[labels],
        variant_parts=birds.attribute_parts,
        whole=answers["whole", ""],
        without={part: answers["without", part] for part in birds.parts},
        swapped={part: answers["swapped", part] for part in birds.parts},
        elsewhere=answers["elsewhere", ""],
    )


def feature_effects(seen: Interventions, alignment: PartAlignment) -> tuple[FeatureEffect, ...]:
    """Return what happens to every aligned feature when its part is taken off or exchanged.

    Features whose variant no picture shows are left out.
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
        effects.append(FeatureEffect(int(j), variant, *pairs))
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
    """
    parts, names = tuple(seen.without), np.array(seen.variant_parts)[alignment.best]
    rows, classes = np.arange(len(seen.present)), seen.whole.predictions
    terms = seen.whole.features * np.asarray(assignment, dtype=np.float64)[classes]
    told = np.stack([terms[:, names == part].sum(axis=1) for part in parts], axis=1)
    logit = seen.whole.logits[rows, classes]
    worth = np.stack([logit - seen.without[p].logits[rows, classes] for p in parts], axis=1)
    return _mean_defined(_rank_correlations(told, worth))


def background_independence(seen: Interventions) -> BackgroundIndependence:
    """Return what another background does to features and predictions."""
    kept = seen.whole.predictions == seen.elsewhere.predictions
    moved = np.abs(seen.fallen(seen.elsewhere))
    return BackgroundIndependence(100.0 * float(kept.mean()), float(moved.mean()))


def _answers(
    model: SparseClassifier, picture: Callable[[int], BirdSample], numbers: Sequence[int]
) -> Answers:
    """Return what a model says to pictures that are drawn one by one."""
    head = model.sparse_head
    features, logits = [], []
    with model.observe() as seen:
        for start in range(0, len(numbers), BATCH):
            images = [picture(number).image for number in numbers[start : start + BATCH]]
            model.network(to_model(torch.stack(images), model))
            features.append(head.normalise(seen.features).double().cpu().numpy())
            logits.append(seen.logits.double().cpu().numpy())
    return Answers(np.concatenate(features), np.concatenate(logits))


def _swapped(birds: DrawnBirds, part: str, number: int) -> BirdSample:
    """Return a picture with another variant of a part: the next one, or one further on."""
    known = birds.variants[part]
    own = birds.species.looks[number // birds.n_per_species][birds.parts.index(part)]
    step = 1 + number % (len(known) - 1)
    return birds.swapped(number, part, known[(own + step) % len(known)])


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
