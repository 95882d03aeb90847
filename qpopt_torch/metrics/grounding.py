"""Whether classes that are alike in the world are alike in the model."""

from __future__ import annotations

import torch
from torch import Tensor

from qpopt_torch.metrics.metric import Metric


class StructuralGrounding(Metric):
    """`structural_grounding`, of the same arguments, as a metric; it sees no samples."""

    title = "Structural Grounding"
    meaning = "classes that people find alike share features"

    def __init__(self, weights: Tensor, attributes: Tensor) -> None:
        self.weights, self.attributes = weights, attributes

    def compute(self) -> float:
        """Return the grounding in percent."""
        return structural_grounding(self.weights, self.attributes)


def structural_grounding(weights: Tensor, attributes: Tensor, n_pairs: int = 25) -> float:
    """Compare the model's class similarity with the ground truth where that is highest, in percent.

    Over the `n_pairs` most similar class pairs of the ground truth,

        Structural Grounding = Σ cos(w_c, w_c') / Σ cos(attributes_c, attributes_c').

    Parameters
    ----------
    weights
        The last layer, classes × features.
    attributes
        What people say of the classes, classes × attributes.
    n_pairs
        How many class pairs count.

    Examples
    --------
    >>> import torch
    >>> from qpopt_torch.metrics import structural_grounding
    >>> attributes = torch.tensor([[1.0, 1, 0], [1, 1, 0], [0, 0, 1]])
    >>> alike = torch.tensor([[1.0, 1, 0, 0], [1, 0, 1, 0], [0, 0, 1, 1]])
    >>> structural_grounding(alike, attributes, n_pairs=1)
    50.0
    """
    truth = _cosines(attributes)
    model = _cosines(weights)
    first, second = torch.triu_indices(len(truth), len(truth), offset=1)
    order = torch.argsort(truth[first, second], descending=True, stable=True)[:n_pairs]
    pairs = first[order], second[order]
    return 100.0 * float(model[pairs].sum() / truth[pairs].sum())


def _cosines(rows: Tensor) -> Tensor:
    units = torch.nn.functional.normalize(rows.detach().double().cpu(), dim=1)
    return units @ units.T
