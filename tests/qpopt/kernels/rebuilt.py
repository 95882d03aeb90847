"""A check of the state that swaps keep up to date."""

from __future__ import annotations

import numpy as np

from qpopt.search.swap_state import new_state


def assert_rebuilt(problem, state):
    """Check that every part of the state is what the selection alone gives."""
    fresh = new_state(problem, state.selected)
    for field in state._fields:
        np.testing.assert_array_equal(getattr(state, field), getattr(fresh, field), field)
