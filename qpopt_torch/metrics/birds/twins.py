"""Whether species that differ in one part are told apart by it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from qpopt_torch.data.birds.species import Twins
from qpopt_torch.metrics.birds.parts import PartAlignment


@dataclass(frozen=True)
class TwinContrast:
    """Whether a model tells twins apart by the part in which they differ.

    Parameters
    ----------
    first, second
        The classes.
    part
        The part in which they differ.
    features
        The features that one class has and the other has not, as columns of the selection.
    of_part
        How many of them recognise a variant of this part.
    """

    first: int
    second: int
    part: str
    features: tuple[int, ...]
    of_part: int

    @property
    def told_by_part(self) -> bool:
        """Whether the one differing part is all that differs in the model."""
        return len(self.features) > 0 and self.of_part == len(self.features)


def twin_contrasts(
    twins: Iterable[Twins],
    variant_parts: Sequence[str],
    alignment: PartAlignment,
    assignment: ArrayLike,
) -> tuple[TwinContrast, ...]:
    """Return which features tell twins apart, and how many of them are of the part that does.

    Parameters
    ----------
    twins
        As `DrawnBirds.twins` has them.
    variant_parts
        The part of every variant.
    alignment
        Which variants the features recognise; only those of aligned features count.
    assignment
        Classes × features, 0/1.

    Examples
    --------
    >>> import numpy as np
    >>> import qpopt_torch
    >>> from qpopt_torch.metrics import PartAlignment, twin_contrasts
    >>> birds = qpopt_torch.DrawnBirds(2, 1, size=32, pairs=1.0)
    >>> part = birds.twins[0].part
    >>> aurocs = np.array([[p == part for p in birds.attribute_parts]] * 2, dtype=float)
    >>> alignment = PartAlignment(aurocs, birds.attribute_names)
    >>> told = twin_contrasts(birds.twins, birds.attribute_parts, alignment, [[1, 0], [0, 1]])
    >>> told[0].told_by_part
    True
    """
    has = np.asarray(assignment).astype(bool)
    parts = np.array(variant_parts)[alignment.best]
    contrasts = []
    for pair in twins:
        differing = np.flatnonzero(has[pair.first] != has[pair.second])
        own = (parts[differing] == pair.part) & alignment.aligned[differing]
        columns = tuple(differing.tolist())
        contrasts.append(TwinContrast(pair.first, pair.second, pair.part, columns, int(own.sum())))
    return tuple(contrasts)
