"""Fixtures and settings that all tests share."""

from __future__ import annotations

import signal
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

from qpopt import Instance, Solution
from tests.pages import browser, open_page

__all__ = ["browser", "open_page"]

settings.register_profile("qpopt", deadline=None, print_blob=True)
settings.load_profile("qpopt")

# A shell starts background jobs deaf to Ctrl-C, and tests send it to themselves.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def toy() -> Instance:
    """Four features, two classes; select three, two per class.

    Features 0 and 1 are nearly the same and both good for class 0, features 1 and 2 for class 1.
    """
    A = [[4.0, 3.0, 1.0, 2.0], [1.0, 3.0, 4.0, 2.0]]
    R = np.zeros((4, 4))
    R[0, 1] = R[1, 0] = 2.5
    return Instance(A, R, [0.1, 0.2, 0.3, 0.4], 3, 2, class_names=["crow", "finch"], name="toy")


@pytest.fixture
def toy_best(toy: Instance) -> Solution:
    """Return the best solution of the toy, worked out by hand.

    Selections: {0,1,2} 4+3+3+4 − 2.5 + 0.6 = 12.1; {0,1,3} 7+5 − 2.5 + 0.7 = 10.2;
    {0,2,3} 6+6 + 0.8 = 12.8; {1,2,3} 5+7 + 0.9 = 12.9. No selection makes the classes collide.
    """
    return Solution(
        [1, 2, 3],
        [[True, False, True], [True, True, False]],
        12.9,
        status="optimal",
        bound=12.9,
        fingerprint=toy.fingerprint,
    )


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Return the folder with real data beside the repository; skip where it is absent."""
    folder = Path(__file__).parents[2] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("the real data is not beside the repository")
    return folder
