"""Whether classes that are alike in the world are alike in the model."""

from __future__ import annotations

import torch
from torch import Tensor

from qpopt_torch.errors import LoaderError
from qpopt_torch.metrics.metric import Metric


class StructuralGrounding(Metric):
    """`structural_grounding`, of a similarity of classes, as a metric; it sees no samples."""

    title = "Structural Grounding"
    meaning = "classes that people find alike share features"

    def __init__(self, weights: Tensor, similarity: Tensor) -> None:
        self.weights, self.similarity = weights, similarity

    def compute(self) -> float:
        """Return the grounding in percent."""
        return structural_grounding(self.weights, similarity=self.similarity)


def structural_grounding(
    weights: Tensor,
    attributes: Tensor | None = None,
    n_pairs: int = 25,
    *,
    similarity: Tensor | None = None,
) -> float:
    """Compare the model's class similarity with the ground truth where that is highest, in percent.

    Over the `n_pairs` most similar class pairs of the ground truth,

        Structural Grounding = Σ cos(w_c, w_c') / Σ sim(c, c').

    Parameters
    ----------
    weights
        The last layer, classes × features.
    attributes
        What people say of the classes, classes × attributes; their cosine is the similarity.
    n_pairs
        How many class pairs count.
    similarity
        How similar classes are, classes × classes, in place of attributes: any numbers, such as
        those of a model of language.

    Raises
    ------
    LoaderError
        If there are not either attributes or similarities, or they do not fit.

    Examples
    --------
    >>> import torch
    >>> from qpopt_torch.metrics import structural_grounding
    >>> attributes = torch.tensor([[1.0, 1, 0], [1, 1, 0], [0, 0, 1]])
    >>> alike = torch.tensor([[1.0, 1, 0, 0], [1, 0, 1, 0], [0, 0, 1, 1]])
    >>> structural_grounding(alike, attributes, n_pairs=1)
    50.0
    """
    if (attributes is None) == (similarity is None):
        raise LoaderError("Grounding needs either attributes or similarities of classes.")
    truth = cosines(attributes) if attributes is not None else similarity
    assert truth is not None
    truth = truth.detach().double().cpu()
    if truth.shape != (len(weights), len(weights)):
        raise LoaderError(
            f"The similarity has the shape {tuple(truth.shape)}; there are {len(weights)} classes."
        )
    model = cosines(weights)
    first, second = torch.triu_indices(len(truth), len(truth), offset=1)
    order = torch.argsort(truth[first, second], descending=True, stable=True)[:n_pairs]
    pairs = first[order], second[order]
    return 100.0 * float(model[pairs].sum() / truth[pairs].sum())


def cosines(rows: Tensor) -> Tensor:
    """Return the cosines of all pairs of rows."""
    units = torch.nn.functional.normalize(rows.detach().double().cpu(), dim=1)
    return units @ units.T
