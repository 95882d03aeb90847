"""Which birds there are: combinations of variants, some of them twins, and what they are called."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from qpopt_torch.data.birds.anatomy import PARTS
from qpopt_torch.data.birds.body_parts import TAIL
from qpopt_torch.data.birds.chance import Draws

TRIES = 500
"""Combinations to choose each species from."""
APART = 3
"""Parts in which species that are no twins should differ; in two they always do."""

N_VARIANTS = tuple(len(part.variants) for part in PARTS)

EVEN = np.multiply.outer(N_VARIANTS, N_VARIANTS)
np.fill_diagonal(EVEN, N_VARIANTS)
"""One of so many species has two given variants, or one of them, if all are equally common."""

Looks = tuple[int, ...]
"""The number of the variant of every part, in the order of `PARTS`."""


@dataclass(frozen=True)
class Twins:
    """Two species that differ in exactly one part.

    Parameters
    ----------
    first, second
        Their class numbers.
    part
        The name of the part.
    """

    first: int
    second: int
    part: str


@dataclass(frozen=True, eq=False)
class Species:
    """All species of a data set.

    Parameters
    ----------
    looks
        Of every species.
    twins
        The pairs that differ in one part.
    """

    looks: tuple[Looks, ...]
    twins: tuple[Twins, ...]

    @property
    def attributes(self) -> NDArray[np.bool_]:
        """Species × variants of all parts, one after the other."""
        return np.array(
            [
                [
                    number == own
                    for part, own in zip(PARTS, looks, strict=True)
                    for number in range(len(part.variants))
                ]
                for looks in self.looks
            ]
        )


ATTRIBUTE_NAMES = tuple(
    f"{variant.name} {part.name}" for part in PARTS for variant in part.variants
)
"""What every variant is called, in the order of the attributes."""


def make_species(n_species: int, seed: int, pairs: float) -> Species:
    """Draw species, twins first.

    Each is the one of some combinations that is farthest from the others, up to `APART` parts,
    and whose variants come the least often together so far: so all variants are about equally
    common, and no variant of one part goes along with one of another part.

    Parameters
    ----------
    n_species
        How many.
    seed
        Fixes them.
    pairs
        The share of them that come as twins.
    """
    looks: list[Looks] = []
    twins: list[Twins] = []
    n_pairs = min(int(pairs * n_species / 2 + 0.5), n_species // 2)
    order = Draws(seed, 0)
    differing: list[int] = []
    for k in range(n_species - n_pairs):
        looks.append(_next(looks, Draws(seed, 1, k)))
        if k >= n_pairs:
            continue
        if not differing:  # every part is the difference once before any is again
            differing = sorted(range(len(PARTS)), key=lambda _: order.share())
        part = differing.pop()
        draws = Draws(seed, 2, k)
        while True:
            changed = list(looks[-1])
            n_variants = N_VARIANTS[part]
            changed[part] = (changed[part] + 1 + draws.below(n_variants - 1)) % n_variants
            if min((_apart(changed, other) for other in looks[:-1]), default=APART) > 1:
                break
            part = draws.below(len(PARTS))
        twins.append(Twins(len(looks) - 1, len(looks), PARTS[part].name))
        looks.append(tuple(changed))
    return Species(tuple(looks), tuple(twins))


def _next(looks: list[Looks], draws: Draws) -> Looks:
    """Return a further combination, at least two parts away from all others."""
    known = np.array(looks, dtype=np.int64).reshape(-1, len(PARTS))
    while True:
        tried = np.array([[draws.below(n) for n in N_VARIANTS] for _ in range(TRIES)])
        same = tried[:, None, :] == known
        distance = np.minimum((~same).sum(axis=2).min(axis=1, initial=APART), APART)
        # How many species have each two of the variants together, or one: the more even the
        # better, or one variant could stand for another.
        counts = same.astype(np.int64)
        together = np.matmul(counts.transpose(0, 2, 1), counts)
        common = ((together * EVEN) ** 2).sum(axis=(1, 2))
        best = min(range(TRIES), key=lambda k: (-int(distance[k]), int(common[k])))
        if distance[best] >= 2:
            return tuple(tried[best].tolist())


def _apart(one: Sequence[int], other: Sequence[int]) -> int:
    """Return in how many parts two combinations differ."""
    return sum(a != b for a, b in zip(one, other, strict=True))


def class_names(species: Species) -> tuple[str, ...]:
    """Return a name for every species that fits no other.

    A name is made of variants, as few as tell the species from all others, the tail last:
    "red-eyed fork-tail". Twins are named alike, by the part in which they differ and others.
    """
    looks, tail = species.looks, PARTS.index(TAIL)
    numbers = {part.name: k for k, part in enumerate(PARTS)}
    groups = [({pair.first, pair.second}, {numbers[pair.part], tail}) for pair in species.twins]
    paired = {c for group, _ in groups for c in group}
    groups += [({c}, {tail}) for c in range(len(looks)) if c not in paired]
    names = [""] * len(looks)
    for group, must in groups:
        parts = _telling(looks, group, must)
        for c in group:
            phrases = [PARTS[k].variants[looks[c][k]].phrase for k in sorted(parts - {tail})]
            names[c] = " ".join([*phrases, PARTS[tail].variants[looks[c][tail]].phrase])
    return tuple(names)


def _telling(looks: Sequence[Looks], group: set[int], must: set[int]) -> set[int]:
    """Return as few parts as tell some species from all others, two or more, `must` among them."""
    # Each starts with another part, or all names would tell of beaks.
    turned = [(k + min(group)) % len(PARTS) for k in range(len(PARTS))]
    others = [k for k in turned if k not in must]
    choices = (
        must | set(more)
        for n_more in range(2 - len(must), len(others) + 1)
        for more in combinations(others, n_more)
    )
    return next(parts for parts in choices if all(_unique(looks, c, parts) for c in group))


def _unique(looks: Sequence[Looks], c: int, parts: set[int]) -> bool:
    """Whether no other species has the same variants of some parts."""
    return not any(
        all(other[k] == looks[c][k] for k in parts) for e, other in enumerate(looks) if e != c
    )
