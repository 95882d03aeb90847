"""What is read off an instance as it is: its sizes and the names of its classes and features."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


class Facts:
    """Sizes and names of an instance."""

    A: NDArray[np.float64]
    class_names: tuple[str, ...] | None
    feature_names: tuple[str, ...] | None

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return int(self.A.shape[0])

    @property
    def n_features(self) -> int:
        """The number of features to choose from."""
        return int(self.A.shape[1])

    def class_name(self, c: int) -> str:
        """Return the name of class `c`, or its number where there are no names."""
        return str(c) if self.class_names is None else self.class_names[c]

    def feature_name(self, d: int) -> str:
        """Return the name of feature `d`, or its number where there are no names."""
        return str(d) if self.feature_names is None else self.feature_names[d]
