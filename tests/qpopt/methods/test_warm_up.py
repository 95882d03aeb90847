import pytest

from qpopt.methods import warm_up


def test_ctrl_c_is_passed_on(monkeypatch):
    def interrupted(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(warm_up, "search", interrupted)
    with pytest.raises(KeyboardInterrupt):
        warm_up.compile_loops.__wrapped__()
