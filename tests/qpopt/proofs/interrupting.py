"""Interrupting a solve from its own progress."""

from __future__ import annotations


def interrupted_after(count):
    """Progress that interrupts the solve at its `count`-th message after a bound is known."""
    left = [count]

    def interrupt(event):
        if event.point.gap is not None:
            left[0] -= 1
            if left[0] < 0:
                raise KeyboardInterrupt

    return interrupt
