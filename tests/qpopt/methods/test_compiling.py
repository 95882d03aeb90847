from __future__ import annotations

from dataclasses import replace

import pytest

from qpopt.methods import compiling
from qpopt.search.run import search


def test_ctrl_c_is_passed_on(monkeypatch):
    def interrupted(*arguments, **options):
        return replace(search(*arguments, **options), interrupted=True)

    monkeypatch.setattr(compiling, "search", interrupted)
    with pytest.raises(KeyboardInterrupt):
        compiling.compile_loops.__wrapped__()
