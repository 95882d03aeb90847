"""Small models, data and solutions that the tests share."""

from __future__ import annotations

from itertools import combinations, islice

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from qpopt import Instance, Solution
from qpopt.problem.objective import objective
from qpopt_torch import SparseClassifier, collect


def cnn(n_features: int = 8, n_classes: int = 4, seed: int = 0) -> nn.Sequential:
    torch.manual_seed(seed)
    return nn.Sequential(
        nn.Conv2d(3, n_features, 3),
        nn.BatchNorm2d(n_features),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Dropout(0.5),
        nn.Linear(n_features, n_classes),
    )


def mlp(n_features: int = 6, n_classes: int = 3) -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(5, n_features), nn.ReLU(), nn.Linear(n_features, n_classes))


def series(n_classes: int = 3) -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Conv1d(2, 7, 3),
        nn.ReLU(),
        nn.AdaptiveAvgPool1d(1),
        nn.Flatten(),
        nn.Linear(7, n_classes),
    )


def batches(shape=(3, 9, 9), n_classes: int = 4, sizes=(6, 6, 5), seed: int = 0):
    """Batches in which the class shows in the mean of the first channel."""
    generator = torch.Generator().manual_seed(seed)
    made = []
    for size in sizes:
        y = torch.randint(n_classes, (size,), generator=generator)
        y[:n_classes] = torch.arange(n_classes)[:size]
        x = torch.randn(size, *shape, generator=generator)
        x[:, 0] += y.reshape(-1, *[1] * (len(shape) - 1))
        made.append((x, y))
    return made


def any_solution(instance: Instance) -> Solution:
    """A feasible solution: the first features, and the first distinct sets."""
    selection = np.arange(instance.n_select)
    assignment = np.zeros((instance.n_classes, instance.n_select), dtype=bool)
    sets = combinations(range(instance.n_select), instance.n_per_class)
    for c, members in enumerate(islice(sets, instance.n_classes)):
        assignment[c, list(members)] = True
    value = objective(instance.A, instance.R, instance.b, selection, assignment)
    return Solution(selection, assignment, value.total, fingerprint=instance.fingerprint)


def sparse(model=None, data=None, n_select=5, n_per_class=2):
    """A sparse classifier of the first features, not trained."""
    model = cnn() if model is None else model
    statistics = collect(model, batches() if data is None else data, progress=False)
    solution = any_solution(statistics.instance(n_select, n_per_class, bias="none"))
    return SparseClassifier.from_solution(model, solution, statistics).eval()


def loader(sizes=(8,) * 6, batch_size=8):
    """A loader that shuffles."""
    x, y = (torch.cat(parts) for parts in zip(*batches(sizes=sizes), strict=True))
    return DataLoader(TensorDataset(x, y), batch_size, shuffle=True)


def weights(model):
    """A copy of all parameters and buffers."""
    return {key: value.clone() for key, value in model.state_dict().items()}


def same(a, b):
    """Whether all tensors of `a` are those of `b`."""
    return all(torch.equal(a[key], b[key]) for key in a)


class Scale(nn.Module):
    """Doubles its input: as the last layer, it makes the head's output differ from the logits."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return 2 * x
