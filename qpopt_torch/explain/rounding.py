"""Rounding numbers so that what is shown adds up."""

from __future__ import annotations

from collections.abc import Sequence
from math import floor


def add_up(values: Sequence[float]) -> tuple[int, tuple[int, ...]]:
    """Return a sum and its terms in hundredths, such that the terms add up to the sum.

    The sum is rounded as usual. Terms are rounded down, and what is then missing goes to those
    that lost most (the largest remainder), so every term is less than a hundredth off.
    """
    exact = [100 * float(value) for value in values]
    total = round(sum(exact))
    terms = [floor(value) for value in exact]
    by_loss = sorted(range(len(exact)), key=lambda i: terms[i] - exact[i])
    for i in by_loss[: total - sum(terms)]:
        terms[i] += 1
    return total, tuple(terms)


def signed(hundredths: int) -> str:
    """Write a number of hundredths with its sign."""
    return f"{hundredths / 100:+.2f}"
