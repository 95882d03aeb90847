"""DrawnBirds: pictures of birds that do not exist, of which everything is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from types import MappingProxyType
from typing import Any, Literal, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.utils.data import Dataset

from qpopt import InvalidArgument
from qpopt_torch.data.birds.anatomy import PARTS
from qpopt_torch.data.birds.chance import Draws
from qpopt_torch.data.birds.drawing import Drawing
from qpopt_torch.data.birds.nuisance import Nuisance
from qpopt_torch.data.birds.scenes import OWNER, Scene
from qpopt_torch.data.birds.species import ATTRIBUTE_NAMES, class_names, make_species
from qpopt_torch.errors import shown

T = TypeVar("T")
Split = Literal["train", "test"]
Background = Literal["free", "by_species"]

MOST_SPECIES = 200
"""There are 12,288 combinations; this many species differ clearly."""
SIZES = (16, 1024)
"""Sides of a picture between which a bird can be seen and drawn."""
SPLITS: tuple[Split, ...] = ("train", "test")
BACKGROUNDS: tuple[Background, ...] = ("free", "by_species")
PART_NAMES = tuple(part.name for part in PARTS)


@dataclass(frozen=True, eq=False)
class BirdSample:
    """One picture and its truth.

    Parameters
    ----------
    image
        3 × size × size, from 0 to 1.
    label
        The number of the species; that of the bird before anything was changed.
    variants
        The name of the variant of every part that the bird has, by the name of the part.
    coverage
        What share of every pixel shows a part, size × size, by the name of the part: whole
        sixteenths, which add up to at most 1.
    hidden
        The parts with a leaf in front of them.
    background
        The species whose colour the background has; None where it is free.
    """

    image: Tensor
    label: int
    variants: dict[str, str]
    coverage: dict[str, NDArray[np.float32]]
    hidden: tuple[str, ...]
    background: int | None

    @property
    def masks(self) -> dict[str, NDArray[np.bool_]]:
        """The pixels that show anything of a part, by its name; empty where it is not seen."""
        return {name: share > 0 for name, share in self.coverage.items()}


class DrawnBirds(Dataset[tuple[Tensor, int]]):
    """Drawn birds: each species has one variant of every part, and every picture its truth.

    Items are pictures, float32, 3 × size × size, from 0 to 1, with the number of the species. They
    come species by species and are the same for the same arguments on every machine. A picture of
    64 × 64 takes about a millisecond.

    Parameters
    ----------
    n_species
        How many classes.
    n_per_species
        How many pictures of each.
    size
        Height and width of the pictures.
    seed
        Fixes the species and, with the split, the pictures.
    pairs
        The share of the species that come as twins, which differ in exactly one part.
    background
        `free`, or `by_species`: in training every species has its own colour of background, and in
        the test any species' colour at random. A model that looks at it fails there.
    split
        `train` or `test`: other pictures of the same species.
    occlusion
        The chance that a leaf hides a part, for each part by itself.
    nuisance
        How much the pictures of one species differ.
    cache
        Whether to keep every picture after its first use: 3 × size² bytes each, 25 MB for 2,000
        pictures of 64 × 64.

    Attributes
    ----------
    class_names
        What the species are called: names that say what they are.
    attributes, attribute_names, attribute_parts
        What they have: species × variants of all parts; what these variants are called, and the
        part of each.
    parts, variants
        The names of the parts, and by these the names of their variants.
    twins
        The pairs of species that differ in one part only, and in which.

    Raises
    ------
    InvalidArgument
        If an argument makes no sense.

    Examples
    --------
    >>> import qpopt_torch
    >>> birds = qpopt_torch.DrawnBirds(4, 2, size=32)
    >>> image, label = birds[3]
    >>> image.shape, label, len(birds)
    (torch.Size([3, 32, 32]), 1, 8)
    """

    def __init__(
        self,
        n_species: int = 20,
        n_per_species: int = 100,
        size: int = 64,
        seed: int = 0,
        pairs: float = 0.5,
        background: Background = "free",
        split: Split = "train",
        *,
        occlusion: float = 0.0,
        nuisance: Nuisance | None = None,
        cache: bool = True,
    ) -> None:
        self.n_species = _whole("n_species", n_species, 2, MOST_SPECIES)
        self.n_per_species = _whole("n_per_species", n_per_species, 1)
        self.size = _whole("size", size, *SIZES)
        self.seed = _whole("seed", seed, 0)
        self.pairs, self.occlusion = _share("pairs", pairs), _share("occlusion", occlusion)
        self.background = _word("background", background, BACKGROUNDS)
        self.split = _word("split", split, SPLITS)
        self.nuisance = Nuisance() if nuisance is None else nuisance
        if not isinstance(self.nuisance, Nuisance):
            raise InvalidArgument(f"nuisance must be a Nuisance, not {shown(nuisance)}.")
        if not isinstance(cache, bool):
            raise InvalidArgument(f"cache must be True or False, not {shown(cache)}.")
        self.species = make_species(self.n_species, self.seed, self.pairs)
        self.twins = self.species.twins
        self.attributes = self.species.attributes
        self.class_names = class_names(self.species)
        self.attribute_names = ATTRIBUTE_NAMES
        self.attribute_parts = tuple(part.name for part in PARTS for _ in part.variants)
        self.parts = PART_NAMES
        self.variants = {part.name: tuple(one.name for one in part.variants) for part in PARTS}
        self.kept: dict[int, NDArray[np.uint8]] | None = {} if cache else None

    def __len__(self) -> int:
        return self.n_species * self.n_per_species

    def __getitem__(self, index: int) -> tuple[Tensor, int]:
        number = self._number(index)
        pixels = None if self.kept is None else self.kept.get(number)
        if pixels is None:
            pixels = self._drawing(number).pixels()
            if self.kept is not None:
                self.kept[number] = pixels
        return _tensor(pixels), number // self.n_per_species

    def sample(self, index: int) -> BirdSample:
        """Return a picture with its truth."""
        return self._sample(self._number(index))

    def without(self, index: int, part: str) -> BirdSample:
        """Return the same picture of a bird that lacks a part."""
        return self._sample(self._number(index), {_part(part): None})

    def swapped(self, index: int, part: str, variant: str) -> BirdSample:
        """Return the same picture with another variant of a part, given by its name."""
        k = _part(part)
        known = self.variants[part]
        chosen = known.index(_word(f"The variant of {part}", variant, known))
        return self._sample(self._number(index), {k: chosen})

    def elsewhere(self, index: int, other: int) -> BirdSample:
        """Return the same bird, pose and light before the background of another picture."""
        return self._sample(self._number(index), backdrop=self._number(other))

    def _number(self, index: int) -> int:
        if not -len(self) <= index < len(self):
            raise IndexError(f"There is no picture {index}; there are {len(self)}.")
        return int(index) % len(self)

    def _looks(self, number: int, changed: Mapping[int, int | None]) -> list[int | None]:
        """Return the variants of a picture, some of them changed."""
        own = self.species.looks[number // self.n_per_species]
        return [changed.get(k, variant) for k, variant in enumerate(own)]

    def _key(self, number: int) -> tuple[int, ...]:
        """Return what names a picture: the same one however many others there are."""
        return (self.seed, 3, SPLITS.index(self.split), *divmod(number, self.n_per_species))

    def _background(self, number: int) -> int | None:
        """Return the species whose background a picture has."""
        if self.background == "free":
            return None
        if self.split == "train":
            return number // self.n_per_species
        return Draws(*self._key(number), OWNER).below(self.n_species)

    def _drawing(
        self,
        number: int,
        changed: Mapping[int, int | None] = MappingProxyType({}),
        backdrop: int | None = None,
    ) -> Drawing:
        owner = self._background(number if backdrop is None else backdrop)
        return Drawing(
            self._looks(number, changed),
            Scene(self.nuisance, self._key(number)),
            self.size,
            backdrop=None if backdrop is None else Scene(self.nuisance, self._key(backdrop)),
            hue=None if owner is None else owner / self.n_species,
            occlusion=self.occlusion,
        )

    def _sample(
        self,
        number: int,
        changed: Mapping[int, int | None] = MappingProxyType({}),
        backdrop: int | None = None,
    ) -> BirdSample:
        drawing = self._drawing(number, changed, backdrop)
        shares = drawing.coverage()
        return BirdSample(
            image=_tensor(drawing.pixels()),
            label=number // self.n_per_species,
            variants={
                part.name: part.variants[own].name
                for part, own in zip(PARTS, self._looks(number, changed), strict=True)
                if own is not None
            },
            coverage=dict(zip(self.parts, shares, strict=True)),
            hidden=tuple(self.parts[k] for k in drawing.hidden),
            background=self._background(number if backdrop is None else backdrop),
        )


def _tensor(pixels: NDArray[np.uint8]) -> Tensor:
    return torch.from_numpy(pixels).permute(2, 0, 1).float() / 255


def _part(name: str) -> int:
    return PART_NAMES.index(_word("The part", name, PART_NAMES))


def _whole(label: str, value: Any, least: int, most: int | None = None) -> int:
    plain = isinstance(value, Integral) and not isinstance(value, bool)
    if not plain or value < least or (most is not None and value > most):
        limits = f"of at least {least}" if most is None else f"from {least} to {most}"
        raise InvalidArgument(f"{label} must be a whole number {limits}, not {shown(value)}.")
    return int(value)


def _share(label: str, value: Any) -> float:
    plain = isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
    if not plain or not 0 <= value <= 1:
        raise InvalidArgument(f"{label} must be a number from 0 to 1, not {shown(value)}.")
    return float(value)


def _word(label: str, value: Any, known: Sequence[T]) -> T:
    if value not in known:
        raise InvalidArgument(
            f"{label} must be one of {', '.join(map(str, known))}, not {shown(value)}."
        )
    return known[known.index(value)]
