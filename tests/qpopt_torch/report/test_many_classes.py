"""Reports of more classes than a person reads at once."""

from __future__ import annotations

import re

import numpy as np
import pytest
import torch
from torch import nn

from qpopt import InvalidArgument, Solution
from qpopt_torch import SparseClassifier, collect
from qpopt_torch.report.encoding import PageParams
from tests.qpopt_torch.readable import small_loader, small_sparse
from tests.qpopt_torch.report.decoding import data_of

N_CLASSES = 310


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """310 classes of four features, in groups that share some; as a folder."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, N_CLASSES)).eval()
    loader = [(torch.randn(N_CLASSES, 6), torch.arange(N_CLASSES))]
    rng, sets = np.random.default_rng(0), set()
    while len(sets) < N_CLASSES:
        group = 3 * rng.integers(6) + np.arange(6)
        sets.add(tuple(sorted(rng.choice(group if rng.random() < 0.3 else 21, 4, replace=False))))
    assignment = np.zeros((N_CLASSES, 21), dtype=bool)
    for row, members in zip(assignment, sorted(sets), strict=True):
        row[list(members)] = True
    statistics = collect(model, loader, progress=False)
    solution = Solution(np.arange(21), assignment, 1.0)
    sparse = SparseClassifier.from_solution(model, solution, statistics)
    names = [f"bird {c:03d}" for c in range(N_CLASSES)]
    path = tmp_path_factory.mktemp("many") / "report"
    return sparse.report(path, loader, class_names=names, layout="folder", progress=False)


def test_classes_come_page_by_page_and_by_search(folder, open_page):
    page = open_page(folder)
    page.get_by_role("tab", name="Classes").click()
    cards = page.locator("#panel-classes .cards > li")
    page.get_by_text("310 classes; 240 shown").wait_for()
    assert cards.count() == 240
    page.get_by_role("button", name="Show more").click()
    assert cards.count() == N_CLASSES
    page.get_by_label("Find a class").fill("BIRD 29")
    assert (
        page.locator("#panel-classes [role=status]").inner_text() == "13 classes found"
    )  # 029, 129, 229 and 290 to 299
    cards.first.locator(".picture.row").wait_for()


def test_two_classes_are_contrasted_by_search(folder, open_page):
    page = open_page(folder)
    page.evaluate("location.hash = '#/contrast/3/9'")
    page.get_by_label("Second class").fill("bird 077")
    assert page.locator(".found button").all_inner_texts() == ["bird 077"]
    page.keyboard.press("Enter")
    page.locator("#panel-contrast thead th a", has_text="bird 077").first.wait_for()
    assert page.evaluate("location.hash") == "#/contrast/3/77"
    assert page.evaluate("document.activeElement.id") == "contrast-second"
    page.get_by_label("First class").fill("bird 1")
    assert page.locator(".found button:visible").count() == 12
    page.keyboard.press("Escape")
    assert page.locator(".found button:visible").count() == 0


def test_the_map_draws_groups_that_open(folder, open_page):
    page, data = open_page(folder), data_of(folder)[1]
    page.get_by_role("tab", name="Class map").click()
    groups = page.locator("#panel-map svg.map g text").all_text_contents()
    assert len(groups) == 40
    sizes = [int(found.group()) for name in groups if (found := re.match(r"\d+(?= class)", name))]
    assert sum(sizes) + len(groups) - len(sizes) == N_CLASSES
    page.get_by_label("Find a class on the map").fill("bird 123")
    page.keyboard.press("Enter")
    page.locator(".row.marked").wait_for()
    rows = page.locator("#panel-map svg.map g a").evaluate_all(
        "links => links.map(link => Number(link.getAttribute('href').split('/')[2]))"
    )
    node = int(page.evaluate("location.hash").split("/")[2])
    assert 123 in rows
    assert set(rows) == leaves(data["tree"], node, N_CLASSES)
    cells = page.locator("#panel-map .cell").count()
    assert cells == sum(len(data["assignment"][c]) for c in rows)
    page.get_by_role("link", name="All 310 classes").click()
    page.get_by_text("here many classes make one row").wait_for()


def leaves(tree, node, n):
    if node < n:
        return {node}
    a, b, *_ = tree[node - n]
    return leaves(tree, a, n) | leaves(tree, b, n)


def test_only_what_is_shown_is_loaded(folder, open_page):
    page = open_page(folder)
    loaded = page.locator("head script[src]")
    page.get_by_role("tab", name="Class map").click()
    page.locator("#panel-map .cell").first.wait_for()
    assert loaded.count() == 0
    page.evaluate("location.hash = '#/class/300'")
    page.locator("#panel-classes .picture.row").first.wait_for()
    assert 0 < loaded.count() < len(list(folder.parent.glob("parts-*/*.js"))) / 2


def test_a_folder_is_replaced_and_nothing_else(tmp_path):
    sparse, loader = small_sparse(), small_loader(1)
    page = sparse.report(tmp_path / "r", loader, layout="folder", progress=False)
    assert page == tmp_path / "r" / "index.html"
    first = sorted(file.name for file in page.parent.iterdir())
    sparse.rename_features({0: "beak"})
    sparse.report(tmp_path / "r", small_loader(2), layout="folder", progress=False)
    second = sorted(file.name for file in page.parent.iterdir())
    assert len(first) == len(second) == 2
    assert first != second
    as_file = sparse.report(tmp_path / "r.html", small_loader(2), progress=False)
    whole = [data_of(each)[1] for each in (page, as_file)]
    for data in whole:
        del data["parts"]
    assert whole[0] == whole[1]
    (tmp_path / "r" / "thesis.txt").write_text("mine")
    with pytest.raises(InvalidArgument, match=r"'thesis\.txt', which is of no report"):
        sparse.report(tmp_path / "r", loader, layout="folder", progress=False)
    with pytest.raises(InvalidArgument, match="layout must be 'file' or 'folder'"):
        sparse.report(tmp_path / "s", loader, layout="tape", progress=False)
    with pytest.raises(InvalidArgument, match="map_rows must be"):
        PageParams(map_rows=1)
