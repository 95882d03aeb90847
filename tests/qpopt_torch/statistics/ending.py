"""Data for a pass that is ended in its midst."""

from __future__ import annotations

import torch

from tests.qpopt_torch.small import batches

SIZES = (6, 6, 6, 6, 6, 5)


class Cut(Exception):
    pass


class Ending:
    """A data set that fails at a sample, and counts what is read."""

    def __init__(self, end=None):
        self.x, self.y = (torch.cat(parts) for parts in zip(*batches(sizes=SIZES), strict=True))
        self.end, self.read = end, []

    def __len__(self):
        return len(self.y)

    def __getitem__(self, index):
        if index == self.end:
            raise Cut
        self.read.append(index)
        return self.x[index], self.y[index]
