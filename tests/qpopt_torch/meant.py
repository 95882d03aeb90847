"""A model whose features mean something, made up by hand."""

from __future__ import annotations

import numpy as np

from qpopt_torch.evidence.meaning import Meaning
from qpopt_torch.metrics import PartAlignment
from qpopt_torch.metrics.birds.causal import BackgroundIndependence, FeatureEffect
from qpopt_torch.metrics.birds.pointing_game import Pointing
from qpopt_torch.metrics.birds.twins import TwinContrast


def meaning() -> Meaning:
    """Three features: a red eye, a fan tail that falls most without the eye, and nothing."""
    aurocs = np.array([[0.99, 0.2, 0.5], [0.4, 0.6, 0.97], [0.3, 0.7, 0.1]])
    return Meaning(
        PartAlignment(aurocs, ("red eye", "yellow eye", "fan tail")),
        (
            FeatureEffect(0, 0, "eye", "eye", 2, 1, 0.5, 0.25, 1, 1),
            FeatureEffect(1, 2, "tail", "eye", 1, 1, 0.1, 0.25, 0, 1),
        ),
        {0: Pointing(100, 10, 3), 1: Pointing(50, 30, 1), 2: Pointing(float("nan"), 1, 0)},
        0.75,
        BackgroundIndependence(90, 0.1),
        (TwinContrast(0, 1, "eye", (0,), 1), TwinContrast(1, 2, "tail", (0, 1), 1)),
    )
