from __future__ import annotations

import _thread
import time
from contextlib import suppress

import pytest

from qpopt import Status, generate, solve
from qpopt.solvers import scip_

needs_scip = pytest.mark.skipif(
    not scip_.Scip().availability().usable, reason="scip is not installed"
)


@needs_scip
def test_ctrl_c_while_the_model_is_built_is_not_swallowed(monkeypatch):
    """Compiled code drops what is raised inside it; so does this."""

    class Swallowing(scip_._Built):
        def __init__(self, *arguments):
            _thread.interrupt_main()
            with suppress(BaseException):
                time.sleep(0.3)
            super().__init__(*arguments)

    monkeypatch.setattr(scip_, "_Built", Swallowing)
    options = {"search_steps": 50}
    found = solve(generate(20, 4, 6, 2), method="compact", solver="scip", options=options)
    assert found.status is Status.INTERRUPTED
    assert found.selection is not None
