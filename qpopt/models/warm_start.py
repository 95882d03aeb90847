"""From a selection and its assignment to values for all variables of a model."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from qpopt.models.compiled import CompiledModel
from qpopt.models.paper import Tightening
from qpopt.problem.instance import Instance
from qpopt.problem.solution import Candidate


def start_vector(
    instance: Instance,
    model: CompiledModel,
    candidate: Candidate,
    tightening: Tightening | None = None,
) -> NDArray[np.float64]:
    """Return the values that a solution gives to the variables of a formulation of the instance.

    `tightening` is what a model of the published scheme was built with.
    """
    x = np.zeros(model.n_variables)
    s = model.block("s", x)
    w = model.block("w", x)
    s[candidate.selection] = 1.0
    w[:, candidate.selection] = candidate.assignment > 0
    if "v" in model.blocks:
        model.block("v", x)[:, candidate.selection] = candidate.assignment < 0
    if "u" in model.blocks:
        _pairs(instance, model, x, w)
    if "z" in model.blocks:
        first, second = np.array(instance.pairs).T
        model.block("z", x)[:] = (w[first] * w[second]).reshape(model.blocks["z"].shape)
    if "y" in model.blocks:
        pairs, _ = instance.redundant_pairs()
        model.block("y", x)[:] = s[pairs[:, 0]] * s[pairs[:, 1]]
    if tightening is not None and tightening.equal:
        equal = np.array(tightening.equal)
        within = w[:, list(tightening.features)]
        products = within[equal[:, 0]] * within[equal[:, 1]]
        model.block("p", x)[:] = products.reshape(model.blocks["p"].shape)
    return x


def _pairs(
    instance: Instance,
    model: CompiledModel,
    x: NDArray[np.float64],
    w: NDArray[np.float64],
) -> None:
    """Set what tells which features two classes do not share, and which pairs are counted."""
    joined = instance.pairs or tuple(combinations(range(instance.n_classes), 2))
    first, second = np.array(joined).T
    apart = np.maximum(w[first] - w[second], 0.0)
    model.block("u", x)[:] = apart.reshape(model.blocks["u"].shape)
    if "e" in model.blocks:
        model.block("e", x)[:] = apart.sum(axis=1) <= 1
