"""The real problem: 200 bird species, 2048 features of a ResNet50."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from qpopt import Instance, prepare

DATA = Path(__file__).parents[1] / "data"


def real_instance(n_select: int = 50, n_per_class: int = 5, **options: Any) -> Instance:
    """Prepare the real instance with locality as the bias.

    Parameters
    ----------
    n_select, n_per_class
        How many features to select, and how many of them every class gets.
    options
        Further arguments of `qpopt.prepare`.

    Returns
    -------
    Instance
        The same one, bit for bit, on every machine.
    """
    with np.load(DATA / "cub-resnet50.npz") as data:
        return prepare(
            data["A"],
            data["locality"],
            n_select=n_select,
            n_per_class=n_per_class,
            class_names=data["class_names"].tolist(),
            name=f"cub-resnet50-{n_select}-{n_per_class}",
            **options,
        )
