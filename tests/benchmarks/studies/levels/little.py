"""A study that takes a second."""

from __future__ import annotations

from dataclasses import replace

from torch import nn

from benchmarks.studies.levels.data import digits
from qpopt_torch import DenseTraining, FineTuning


def little(seed, sources, folder):
    """A study of a few digits and a network that hardly learns."""
    study = digits(seed, sources, folder)

    def network(n_classes):
        layers = nn.Conv2d(1, 12, 3, stride=2), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten()
        return nn.Sequential(*layers, nn.Linear(12, n_classes))

    return replace(
        study,
        train=tuple(part[:200] for part in study.train),
        network=network,
        dense=DenseTraining(epochs=1, decay_every=1, lr=0.02),
        tuning=FineTuning(epochs=1, decay_every=1, lr=1e-3),
        counts={"n_select": 5, "n_per_class": 2},
    )
