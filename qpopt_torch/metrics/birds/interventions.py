"""Pictures as they are, and with one thing changed at a time, shown to a model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from numpy.typing import NDArray

from qpopt.control.progress import Bar
from qpopt_torch.data.batches import to_model
from qpopt_torch.data.drawn_birds import BirdSample, DrawnBirds
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
    >>> from qpopt_torch.metrics import intervene
    >>> seen = intervene(sparse, birds, progress=False)
    >>> seen.whole.features.shape, sorted(seen.without) == sorted(birds.parts)
    ((8, 4), True)
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
