"""The site: its Python runs, its build is strict, and every public name is on it."""

from __future__ import annotations

import importlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import typer
from PIL import Image

import qpopt
import qpopt_torch
from benchmarks.library.library import Library
from qpopt.cli.app import app as qpopt_app
from qpopt_torch.cli.app import app as torch_app
from tests.qpopt_torch import conftest
from tests.qpopt_torch.small import batches, cnn, sparse

ROOT = Path(__file__).parents[1]
PAGES = sorted((ROOT / "docs").rglob("*.md"))
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)
WITH_CODE = [page for page in PAGES if BLOCK.search(page.read_text(encoding="utf-8"))]


torchvision, timm = conftest.torchvision, conftest.timm


@pytest.fixture
def pictures(tmp_path):
    """A folder of pictures in which classes have colours of their own."""
    rng = np.random.default_rng(0)
    for part in ("train", "test"):
        for c, name in enumerate(("crow", "finch", "gull", "wren")):
            folder = tmp_path / "pictures" / part / name
            folder.mkdir(parents=True)
            for i in range(5):
                colour = 90 * (np.arange(3) == c)
                picture = rng.integers(0, 60, (72, 72, 3)) + colour
                Image.fromarray(picture.astype(np.uint8)).save(folder / f"{i}.png")


@pytest.mark.parametrize("page", WITH_CODE, ids=lambda page: page.stem)
@pytest.mark.usefixtures("timm", "pictures")
def test_the_blocks_of_a_page_run_in_order(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    data = batches(sizes=(12, 12))
    model = cnn(n_features=30, n_classes=4)
    known = {
        "model": model,
        "train_loader": data,
        "val_loader": data,
        "sparse": sparse(model, data),
    }
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


def pictures_of(page):
    """Return the names of the drawn pictures and texts that a page shows."""
    return set(re.findall(r"pictures/([\w.-]+)", page.read_text(encoding="utf-8")))


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A copy of the site's sources without the API, whose pages are slow, and how to build it.

    Its pictures are empty: drawing is part of `make docs`.
    """
    folder = tmp_path_factory.mktemp("site")
    left_out = shutil.ignore_patterns("api", "pictures", "hooks.py")
    shutil.copytree(ROOT / "docs", folder / "docs", ignore=left_out)
    (folder / "docs/pictures").mkdir()
    for name in set().union(*map(pictures_of, PAGES)):
        (folder / "docs/pictures" / name).write_text("", encoding="utf-8")
    shutil.copy(ROOT / "CHANGELOG.md", folder)
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").replace("hooks: [docs/hooks.py]\n", "")
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
    page = folder / "docs/read.md"
    kept = page.read_text(encoding="utf-8")
    links = ("nowhere.md", "start.md#nowhere", "pictures/nowhere.svg")
    page.write_text(kept + "".join(f"\n[broken]({link})\n" for link in links), encoding="utf-8")
    done = build()
    assert done.returncode != 0
    for link in links:
        assert link in done.stderr
    page.write_text(kept, encoding="utf-8")
    done = build()
    assert done.returncode == 0, done.stderr


@pytest.fixture
def drawing(monkeypatch):
    """The functions that draw the site's pictures."""
    monkeypatch.syspath_prepend(ROOT / "docs")
    return importlib.import_module


def test_every_picture_is_drawn_for_light_and_dark_pages(drawing, tmp_path, monkeypatch):
    monkeypatch.setattr(drawing("drawing.solving"), "SECONDS", 0.5)
    for page in ("problem", "solving"):
        drawing(f"drawing.{page}").draw(tmp_path)
        shown = pictures_of(ROOT / "docs" / f"{page}.md")
        assert shown == {path.name for path in tmp_path.iterdir()}
        names = {name.replace("-light.", "-dark.") for name in shown if "-light." in name}
        assert names == {name for name in shown if "-dark." in name}
        for path in tmp_path.iterdir():
            assert path.stat().st_size > 2000
            path.unlink()


def test_the_drawn_selections_are_those_of_the_page(drawing):
    problem = drawing("drawing.problem")
    told = {s: problem.worth(s) for s in ((0, 1, 2), (0, 1, 3), (0, 2, 3), (1, 2, 3))}
    page = (ROOT / "docs/problem.md").read_text(encoding="utf-8").replace("*", "")
    rows = re.findall(
        r"^\| (\d), (\d), (\d) \|.* = (\d+) \|.* = (\d+) \|.*\| (\d+) \|$", page, re.M
    )
    shown = {tuple(map(int, row[:3])): tuple(map(float, row[3:])) for row in rows}
    assert shown == told


def test_the_drawn_cuts_lie_above_the_gain(drawing):
    solving = drawing("drawing.solving")
    for share in np.linspace(0, 1, 11):
        way = np.array([share, share, 1.0, 1.0])
        gain = solving.best_of(way)
        assert min(solving.cut(t, way) for t in solving.CROW) == pytest.approx(gain)
    gains = [solving.best_of([x, x, 1.0, 1.0]) for x in (0.0, 0.5, 1.0)]
    assert gains == [5.0, 11.0, 14.0]
    steps = [b - a for a, b in pairwise(gains)]
    assert steps == sorted(steps, reverse=True)


def test_the_table_of_instances_is_that_of_the_index(drawing):
    table = drawing("drawing.library").table().splitlines()[2:]
    shown = {
        cells[1]: cells[2:] for cells in ([c.strip() for c in row.split("|")] for row in table)
    }
    known = json.loads(Library().index.read_text(encoding="utf-8"))
    entries = known["instances"] if isinstance(known, dict) else known
    assert len(shown) == len(table) == len(entries)
    for entry in entries:
        sizes, counts, best, bound, gap, _ = shown[entry["name"]]
        assert sizes.replace(",", "") == f"{entry['n_classes']} × {entry['n_features']}"
        assert counts == f"{entry['n_select']}, {entry['n_per_class']}"
        for cell, value in ((best, entry["objective"]), (bound, entry["bound"])):
            assert cell == "–" if value is None else float(cell) == pytest.approx(value, abs=1e-4)
        assert (gap == "solved") == (entry["status"] == "solved")


APPS = {"qpopt": qpopt_app, "qpopt-torch": torch_app}


def command_lines():
    """Return the lines of README and site that call a command, in one line each."""
    for page in (ROOT / "README.md", *PAGES):
        for block in re.findall(r"^```\n(.*?)^```$", page.read_text(encoding="utf-8"), re.S | re.M):
            for line in block.replace("\\\n", " ").splitlines():
                if line.partition(" ")[0] in APPS:
                    yield line.partition("#")[0]


def test_the_commands_of_a_page_have_the_options_that_it_names():
    lines = list(command_lines())
    assert len(lines) > 20
    for line in lines:
        program, name, *rest = shlex.split(line)
        command = typer.main.get_command(APPS[program]).commands[name]
        known = {option for each in command.params for option in each.opts + each.secondary_opts}
        assert {word for word in rest if word.startswith("--")} <= known, line
        needed = {each.opts[0] for each in command.params if each.required and "-" in each.opts[0]}
        assert needed <= set(rest), line
