from __future__ import annotations

from dataclasses import replace

import pytest

from qpopt.methods import warm_up as compiling
from qpopt.search.local_search import search


def test_ctrl_c_is_passed_on(monkeypatch):
    def interrupted(*arguments, **options):
        return replace(search(*arguments, **options), interrupted=True)

    monkeypatch.setattr(compiling, "search", interrupted)
    with pytest.raises(KeyboardInterrupt):
        compiling.compile_loops.__wrapped__()
