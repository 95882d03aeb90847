"""Where there is no browser, tests of the page are skipped, but not where it is required."""

from __future__ import annotations

import pytest

from tests.qpopt_torch.report.browser import executable


@pytest.fixture
def programs(tmp_path, monkeypatch):
    """Return the only folder in which programs are looked for; it is empty."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.delenv("QPOPT_BROWSER", raising=False)
    return folder


def test_that_of_the_system_comes_first(programs, tmp_path):
    fetched = tmp_path / "fetched"
    fetched.touch()
    assert executable(str(fetched)) == str(fetched)
    system = programs / "chromium"
    system.touch(mode=0o755)
    assert executable(str(fetched)) == str(system)


def test_none_skips_or_fails(programs, tmp_path, monkeypatch):
    with pytest.raises(pytest.skip.Exception, match="there is no Chromium"):
        executable(str(tmp_path / "nowhere"))
    monkeypatch.setenv("QPOPT_BROWSER", "required")
    with pytest.raises(pytest.fail.Exception, match="there is no Chromium"):
        executable(str(tmp_path / "nowhere"))
