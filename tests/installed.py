"""The solvers as test parameters; those that are not installed are skipped."""

from __future__ import annotations

import pytest

from qpopt import available_solvers

INFOS = available_solvers()


def solvers(**needed):
    """Return a test parameter for every solver that supports what is needed."""
    return [
        pytest.param(
            name,
            marks=pytest.mark.skipif(
                not info.availability.usable, reason=f"{name} is not installed"
            ),
        )
        for name, info in INFOS.items()
        if all(getattr(info.supports, what) == value for what, value in needed.items())
    ]
