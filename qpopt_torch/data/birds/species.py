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

TRIES = 48
"""Combinations to choose each species from."""
APART = 3
"""Parts in which species that are no twins should differ; in two they always do."""

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
    and whose variants are the rarest so far: so all variants are about equally common.

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
            n_variants = len(PARTS[part].variants)
            changed[part] = (changed[part] + 1 + draws.below(n_variants - 1)) % n_variants
            if min((_apart(changed, other) for other in looks[:-1]), default=APART) > 1:
                break
            part = draws.below(len(PARTS))
        twins.append(Twins(len(looks) - 1, len(looks), PARTS[part].name))
        looks.append(tuple(changed))
    return Species(tuple(looks), tuple(twins))


def _next(looks: list[Looks], draws: Draws) -> Looks:
    """Return a further combination, at least two parts away from all others."""
    best: tuple[int, int] | None = None
    chosen: Looks = ()
    tried = 0
    while best is None or tried < TRIES:
        tried += 1
        one = tuple(draws.below(len(part.variants)) for part in PARTS)
        distance = min((_apart(one, other) for other in looks), default=APART)
        if distance < 2:
            continue
        # How often the variants are there already, weighed by how many the part has.
        common = sum(
            len(part.variants) * sum(other[k] == one[k] for other in looks) ** 2
            for k, part in enumerate(PARTS)
        )
        if best is None or (min(distance, APART), -common) > best:
            best, chosen = (min(distance, APART), -common), one
    return chosen


def _apart(one: Sequence[int], other: Sequence[int]) -> int:
    """Return in how many parts two combinations differ."""
    return sum(a != b for a, b in zip(one, other, strict=True))


def class_names(species: Species) -> tuple[str, ...]:
    """Return a name for every species that no other species could have.

    A name is made of variants, as few as tell the species from all others, the tail last:
    "red-eyed fork-tail". Those of twins hold the part in which they differ.
    """
    needed: dict[int, int] = {}
    numbers = {part.name: k for k, part in enumerate(PARTS)}
    for pair in species.twins:
        needed[pair.first] = needed[pair.second] = numbers[pair.part]
    names = []
    tail = PARTS.index(TAIL)
    for c, own in enumerate(species.looks):
        must = {tail, needed.get(c, tail)}
        # Each starts with another part, or all names would tell of beaks.
        others = [(k + c) % len(PARTS) for k in range(len(PARTS))]
        others = [k for k in others if k not in must]
        for n_more in range(len(must) == 1, len(others) + 1):
            found = next(
                (
                    must | set(more)
                    for more in combinations(others, n_more)
                    if _unique(species.looks, c, must | set(more))
                ),
                None,
            )
            if found is not None:
                break
        assert found is not None, "all parts together are unique"
        ordered = [*sorted(found - {tail}), tail]
        names.append(" ".join(PARTS[k].variants[own[k]].phrase for k in ordered))
    return tuple(names)


def _unique(looks: Sequence[Looks], c: int, parts: set[int]) -> bool:
    """Whether no other species has the same variants of some parts."""
    return not any(
        all(other[k] == looks[c][k] for k in parts) for e, other in enumerate(looks) if e != c
    )
