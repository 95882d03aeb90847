"""The state of the swap search: a selection, and what every swap of two features would change.

Let v₁ ≥ v₂ ≥ … be the selected values of a class, t = v_k the last one it uses and u = v_{k+1} the
first one it does not. Putting j in the place of i changes what the class is worth by

    (a_j − t)⁺                          if it does not use i,
    (a_j − t)⁺ + clamp(a_j, u, t) − a_i  if it does,

so the change over all classes is a gain for j, a matrix over (i, j) that sums clamps, and a loss
for i. A swap alters these only through the classes whose k + 1 best values it alters.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from qpopt.kernels.swap import rebuild
from qpopt.search.integer_instance import IntegerInstance


class SwapState(NamedTuple):
    """A selection and everything that is kept up to date with it, in the units of a problem.

    A place is a position in `selected`. Equal values are ranked by their place, so that the state
    is a function of `selected` alone.

    Parameters
    ----------
    selected
        The feature in every place.
    chosen
        Mask of the selected features.
    value
        Classes × places: the similarity of the feature in every place.
    top_value, top_place
        Classes × (n_listed + 1): the largest values and their places, −1 for none.
    name
        One number for each class that stands for its set: the sum of the features' keys.
    gain
        For every feature Σ_c (a_cj − t_c)⁺.
    charge
        For every feature its redundancy with the selected ones.
    exchange
        Places × features: Σ clamp(a_cj, u_c, t_c) over the classes that use the place, plus the
        redundancy of the two features.
    used
        For every place the sum of its values in the classes that use it.
    total
        Z in units, without the cost of uniqueness; one element.
    """

    selected: NDArray[np.int64]
    chosen: NDArray[np.bool_]
    value: NDArray[np.int32]
    top_value: NDArray[np.int32]
    top_place: NDArray[np.int32]
    name: NDArray[np.uint64]
    gain: NDArray[np.int32]
    charge: NDArray[np.int32]
    exchange: NDArray[np.int32]
    used: NDArray[np.int32]
    total: NDArray[np.int64]


def new_state(problem: IntegerInstance, selection: NDArray[np.int64]) -> SwapState:
    """Build the state of a selection from scratch."""
    n_classes, n_features = problem.A.shape
    n_select = len(selection)
    n_top = problem.n_listed + 1
    state = SwapState(
        np.array(selection, np.int64),
        np.zeros(n_features, np.bool_),
        np.zeros((n_classes, n_select), np.int32),
        np.zeros((n_classes, n_top), np.int32),
        np.zeros((n_classes, n_top), np.int32),
        np.zeros(n_classes, np.uint64),
        np.zeros(n_features, np.int32),
        np.zeros(n_features, np.int32),
        np.zeros((n_select, n_features), np.int32),
        np.zeros(n_select, np.int32),
        np.zeros(1, np.int64),
    )
    rebuild(problem, state)
    return state
