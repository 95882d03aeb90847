"""A tiny network, its sparse classifier and batches, for tests of what comes after training."""

from __future__ import annotations

import numpy as np
import torch
from torch import nn

from qpopt import Solution
from qpopt_torch import SparseClassifier, collect

N_CLASSES = 4
NAMES = ("ape", "bee", "<b>cat</b>", 'dog "&" co')


def small_network(seed=0):
    torch.manual_seed(seed)
    return nn.Sequential(
        nn.Conv2d(3, 12, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(12, N_CLASSES),
    ).eval()


def small_loader(seed=0, n_batches=3, size=7):
    """Batches of images in which each class has a bright patch at a place of its own."""
    generator = torch.Generator().manual_seed(seed)
    batches = []
    for _ in range(n_batches):
        y = torch.randint(N_CLASSES, (size,), generator=generator)
        y[:N_CLASSES] = torch.arange(N_CLASSES)
        x = torch.randn(size, 3, 8, 8, generator=generator)
        for image, label in zip(x, y.tolist(), strict=True):
            row, column = 4 * (label // 2), 4 * (label % 2)
            image[label % 3, row : row + 4, column : column + 4] += 3
        batches.append((x, y))
    return batches


def small_sparse(seed=0, names=NAMES, *, relu=False):
    """Six of twelve features, two for every class; class 0 and 1 differ in one feature."""
    model = small_network(seed)
    statistics = collect(model, small_loader(), class_names=names, progress=False)
    assignment = np.zeros((N_CLASSES, 6), dtype=bool)
    for c, features in enumerate([(0, 1), (0, 2), (3, 4), (4, 5)]):
        assignment[c, list(features)] = True
    solution = Solution(
        np.array([0, 2, 3, 5, 8, 11]),
        assignment,
        12.5,
        bound=13.0,
        method="search",
        seconds=0.5,
        seed=0,
        trace=[(0.1, 10.0, 20.0), (0.3, 12.5, 14.0), (0.5, 12.5, 13.0)],
    )
    return SparseClassifier.from_solution(model, solution, statistics, relu=relu).eval()


SIGNED = [[1, -1, 0, 0, 0, 0], [1, 1, 0, 0, 0, 0], [0, 0, 0, 1, -1, 0], [0, 0, 0, 1, 0, -1]]
UNEVEN = [[1, 0, 0, 0, 0, 0], [1, 1, 1, 0, 0, 0], [0, 0, 0, 1, 1, 0], [0, 0, 0, 1, 0, 1]]
SELECTION = (0, 2, 3, 5, 8, 11)


def signed_sparse(assignment):
    """The same with features that must be absent, or with a class bias as classes are uneven."""
    model = small_network()
    statistics = collect(model, small_loader(), class_names=NAMES, progress=False)
    bias = 0.75 if assignment is UNEVEN else None
    solution = Solution(SELECTION, assignment, 1.0)
    return SparseClassifier.from_solution(model, solution, statistics, class_bias=bias).eval()
