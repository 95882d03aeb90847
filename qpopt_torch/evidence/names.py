"""What classes and features are called."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from copy import copy
from numbers import Integral
from typing import Any

from qpopt_torch.data.class_names import (
    checked_class_names,
    class_number,
    known_class_names,
)
from qpopt_torch.errors import ModelError, require_sparse, shown
from qpopt_torch.metrics.birds.parts import PartAlignment
from qpopt_torch.sparse.classifier import SparseClassifier


class Names:
    """The names of the classes and of the selected features of a sparse classifier.

    Parameters
    ----------
    model
        Its own names are used where `class_names` gives none.
    class_names
        Names of the classes.
    loader
        A loader whose data set may know the names of its classes; the last resort but numbers.

    Raises
    ------
    ModelError
        If the names do not fit.
    """

    def __init__(
        self,
        model: SparseClassifier,
        class_names: Sequence[str] | None = None,
        loader: Iterable[Any] | None = None,
    ) -> None:
        require_sparse(model, "An explanation")
        n_classes = model.head.n_classes
        known = known_class_names(model.network, loader, n_classes)
        candidates: tuple[Any, ...] = (class_names, model.class_names, known, range(n_classes))
        given = next(names for names in candidates if names is not None)
        self.classes = checked_class_names(given, n_classes) or ()
        self.selection = tuple(model.selection.tolist())
        self.given = dict(model.feature_names)
        self.plain = tuple(model.feature_name(d) for d in self.selection)
        self.features = self.plain
        self.adapter = model.sparse_head.adapter

    def recognise(self, alignment: PartAlignment, confirmed: Collection[int] | None = None) -> None:
        """Name features by the variants that they recognise, but for those with a name.

        Parameters
        ----------
        alignment, confirmed
            What they recognise, and what `PartAlignment.names` takes beside it. What was known
            before is forgotten.
        """
        names = alignment.names(self.selection, confirmed) | self.given
        pairs = zip(self.selection, self.plain, strict=True)
        self.features = tuple(names.get(d, plain) for d, plain in pairs)

    def term(self, column: int, sign: int) -> str:
        """Return what a class has: a feature by its name, or that there is none of it."""
        return self.features[column] if sign > 0 else f"no {self.features[column]}"

    def turned(self, absent: Iterable[int]) -> Names:
        """Return the same names, with that there is none of it for some columns."""
        other, columns = copy(self), set(absent)
        other.features = tuple(
            self.term(j, -1 if j in columns else 1) for j in range(len(self.features))
        )
        return other

    def class_number(self, c: int | str) -> int:
        """Return the number of a class given by number or name."""
        return class_number(c, len(self.classes), self.classes)

    def feature_column(self, d: int | str) -> int:
        """Return the column of a feature given by its index in the dense model or its name."""
        if isinstance(d, str) and d in self.features:
            return self.features.index(d)
        if isinstance(d, Integral) and not isinstance(d, bool) and d in self.selection:
            return self.selection.index(int(d))
        known = ", ".join(map(str, self.selection))
        raise ModelError(f"Feature {shown(d)} is not selected; the selected features are {known}.")
