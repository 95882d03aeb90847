"""Advice on the two numbers of an instance: whether classes share their features."""

from __future__ import annotations

from math import comb

FEW_CLASSES = 2.0
"""Classes a feature, on average, below which little is shared."""
SINGLE_SHARE = 0.2
"""Share of the features that may serve no more than one class."""
SEVERAL = 4
"""Classes a feature, on average, that the advice aims at: enough to be general."""


def sharing_advice(
    n_classes: int, n_select: int, n_per_class: float, n_single: int | None = None
) -> str:
    """Return what to set instead where few features are shared; empty where all is well.

    A feature that serves one class is a detector of that class under another name: it explains
    nothing. One that serves several has to stand for something that they have in common.

    Parameters
    ----------
    n_classes, n_select, n_per_class
        The counts; the last may be a mean.
    n_single
        How many selected features serve no more than one class, where that is known.
    """
    served = n_classes * n_per_class / n_select
    lonely = n_single is not None and n_single > SINGLE_SHARE * n_select
    if served >= FEW_CLASSES and not lonely:
        return ""
    text = f"Little is shared: a feature serves {served:.2f} classes on average"
    if n_single:
        serve = "serves" if n_single == 1 else "serve"
        text += f", and {n_single} of {n_select} {serve} no more than one"
    wanted = max(int(n_classes * n_per_class / SEVERAL), fewest_features(n_classes, n_per_class))
    if wanted >= n_select:
        return f"{text}. With so few classes there is little to share."
    return f"{text}. Set n_select to about {wanted}; qpopt_torch.sweep compares several numbers."


def fewest_features(n_classes: int, n_per_class: float) -> int:
    """Return the fewest features that give every class a set of its own."""
    size = int(n_per_class)
    count = size
    while comb(count, size) < n_classes and size > 0:
        count += 1
    return count
