"""Data for a training that is killed: slow enough to be killed in its midst."""

from __future__ import annotations

import time

import torch
from torch.utils.data import DataLoader, Dataset

from tests.qpopt_torch.small import batches


class Slow(Dataset):
    """Samples that are changed at random, and take a while."""

    def __init__(self):
        self.x, self.y = (torch.cat(parts) for parts in zip(*batches(), strict=True))

    def __len__(self):
        return len(self.y)

    def __getitem__(self, index):
        time.sleep(0.002)
        return self.x[index] + torch.rand(1), self.y[index]


def slow():
    return DataLoader(Slow(), 2, shuffle=True)
