"""Weighing: how a model makes a logit of features where it does not plainly add them up."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from qpopt_torch.errors import ModelError
from qpopt_torch.sparse.sparse_head import SparseHead


@dataclass(frozen=True, eq=False)
class Weighing:
    """What the features of a class are multiplied by, and what is added to their sum.

    Parameters
    ----------
    weights
        Classes × selected features.
    constants
        One number a class.
    why
        What the model does in place of adding features up.
    """

    weights: NDArray[np.float64]
    constants: NDArray[np.float64]
    why: str

    @classmethod
    def of(cls, head: SparseHead) -> Weighing | None:
        """Return how a head weighs its features; None if it plainly adds them up."""
        if head.adds_up:
            return None
        weights, constants = (part.double().cpu().numpy() for part in (head.weight, head.constants))
        return cls(weights, constants, _other(head))

    @property
    def signed(self) -> bool:
        """Whether features count as they are, by presence or absence, beside the constants."""
        return bool(np.isin(self.weights, (-1.0, 0.0, 1.0)).all())

    def logits(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the logits of samples, given their features in standard units."""
        found: NDArray[np.float64] = values @ self.weights.T + self.constants
        return found

    def terms(self, values: NDArray[np.float64], c: int) -> tuple[float, ...]:
        """Return what a class adds up: its weighted features, and at last its constant."""
        used = np.flatnonzero(self.weights[c])
        products = self.weights[c, used] * values[used]
        return (*products.tolist(), float(self.constants[c]))


def require_sums(head: SparseHead, *, signed: bool = False) -> None:
    """Raise ModelError unless a head plainly adds features up, as explanations say.

    With `signed` it may take some away, and add a constant to each class.
    """
    found = Weighing.of(head)
    if found is not None and not (signed and found.signed):
        raise ModelError(
            f"Explanations add features up, but this model {_other(head)}; "
            "evaluate measures it, and its report shows classes and features."
        )


def _other(head: SparseHead) -> str:
    """Say why the logits of a head are not plain sums of features."""
    if (head.weight < 0).any() and not (head.weight % 1).any():
        return "has features that must be absent (negative)"
    if head.class_bias is not None:
        return "adds a class bias, as budgets differ (head={'class_bias': 0} leaves it out)"
    return "weighs them"
