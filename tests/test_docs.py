"""The site: its Python runs, its build is strict, and every public name is on it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import qpopt
import qpopt_torch
from tests.qpopt_torch.small import batches, cnn

ROOT = Path(__file__).parents[1]
PAGES = sorted((ROOT / "docs").rglob("*.md"))
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)
WITH_CODE = [page for page in PAGES if BLOCK.search(page.read_text(encoding="utf-8"))]


@pytest.mark.parametrize("page", WITH_CODE, ids=lambda page: page.stem)
def test_the_blocks_of_a_page_run_in_order(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    data = batches(sizes=(12, 12))
    model = cnn(n_features=30, n_classes=4)
    known = {"model": model, "train_loader": data, "val_loader": data}
    for block in BLOCK.findall(page.read_text(encoding="utf-8")):
        exec(compile(block, page.name, "exec"), known)


def test_every_public_name_has_its_place():
    told = "\n".join(page.read_text(encoding="utf-8") for page in (ROOT / "docs/api").iterdir())
    listed = set(re.findall(r"^::: (\S+)$", told, re.MULTILINE))
    for package in (qpopt, qpopt_torch):
        own = {name for name in package.__all__ if name not in ("__version__", "explain")}
        assert {f"{package.__name__}.{name}" for name in own} <= listed
    for name in qpopt_torch.explain.__all__:
        assert f"qpopt_torch.explain.{name}" in listed


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A copy of the site's sources without the API, whose pages are slow, and how to build it."""
    folder = tmp_path_factory.mktemp("site")
    shutil.copytree(ROOT / "docs", folder / "docs", ignore=shutil.ignore_patterns("api"))
    shutil.copy(ROOT / "CHANGELOG.md", folder)
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    start, end = text.index("  - mkdocstrings:"), text.index("nav:")
    text = text[:start] + text[end:]
    (folder / "mkdocs.yml").write_text(re.sub(r"  - API:\n(      .*\n)+", "", text))

    def build() -> subprocess.CompletedProcess[str]:
        quiet = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
        command = [sys.executable, "-m", "mkdocs", "build", "--strict"]
        return subprocess.run(command, cwd=folder, env=quiet, capture_output=True, text=True)

    return folder, build


def test_the_build_is_strict(built):
    folder, build = built
    assert build().returncode == 0, build().stderr
    page = folder / "docs/read.md"
    kept = page.read_text(encoding="utf-8")
    for link in ("nowhere.md", "start.md#nowhere"):
        page.write_text(f"{kept}\n[broken]({link})\n", encoding="utf-8")
        done = build()
        assert done.returncode != 0
        assert "nowhere" in done.stderr
    page.write_text(kept, encoding="utf-8")


def test_the_drawn_cuts_lie_above_the_gain():
    sys.path.insert(0, str(ROOT / "docs"))
    try:
        import hooks
    finally:
        sys.path.pop(0)
    for share in np.linspace(0, 1, 11):
        way = np.array([share, share, 1.0, 1.0])
        gain = hooks.best_of(way)
        assert min(hooks.cut(t, way) for t in hooks.CROW) == pytest.approx(gain)
    gains = [hooks.best_of([x, x, 1.0, 1.0]) for x in (0.0, 0.5, 1.0)]
    assert gains == [5.0, 11.0, 14.0]
    steps = [b - a for a, b in pairwise(gains)]
    assert steps == sorted(steps, reverse=True)
