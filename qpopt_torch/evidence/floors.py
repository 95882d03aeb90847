"""Floors: the least values that a network can give its features."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from qpopt_torch.network.observation import Features
from qpopt_torch.sparse.sparse_head import SparseHead


class Floors:
    """Finds the features that come from ReLU, by their values, batch by batch.

    Parameters
    ----------
    head
        The head whose features are looked at.
    """

    def __init__(self, head: SparseHead) -> None:
        self.head = head
        self.least = torch.full((len(head.mean),), torch.inf, dtype=torch.float64)

    def add(self, seen: Features) -> None:
        """Look at the features of a batch and, if there are any, at their maps."""
        for found in (seen.features, seen.maps):
            if found is not None and len(found):
                flat = found.detach().movedim(1, 0).flatten(1)
                inside = flat.masked_fill(flat == -torch.inf, torch.inf)
                self.least = torch.minimum(self.least, inside.amin(1).double().cpu())

    def values(self) -> NDArray[np.float64]:
        """Return what no feature falls below, in standard units; -inf where there is nothing."""
        adapter, head = self.head.adapter, self.head
        if head.relu:
            return np.zeros(len(self.least))
        if adapter is not None:
            off = adapter.mean[adapter.selection]
            return self._standard(off) if adapter.relu else np.full(len(off), -np.inf)
        # Nothing below 0, and 0 itself, bit for bit: that is ReLU.
        rectified = (self.least == 0).numpy()
        return np.where(rectified, self._standard(torch.zeros_like(head.mean)), -np.inf)

    def _standard(self, values: Tensor) -> NDArray[np.float64]:
        standard: NDArray[np.float64] = self.head.normalise(values).detach().double().cpu().numpy()
        return standard
