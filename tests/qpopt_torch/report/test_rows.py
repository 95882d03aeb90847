"""Samples that are rows of a table, on the page of a report."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from qpopt_torch import sparsify, to_table

COLUMNS = ["alcohol", "acid that has a rather long name", "ash", "hue", "proline"]

OVERLAPS = """() => {
  const boxes = [...document.querySelectorAll('.picture.row')].map((e) => e.getBoundingClientRect())
    .filter((b) => b.width > 0);
  const apart = (a, b) => a.right <= b.left + 1 || b.right <= a.left + 1 || a.bottom <= b.top + 1
    || b.bottom <= a.top + 1;
  return boxes.filter((a, i) => boxes.slice(i + 1).some((b) => !apart(a, b))).length;
}"""
TALL = """() => [...document.querySelectorAll('.picture.row .cell')]
  .filter((e) => e.getBoundingClientRect().height > 40).length"""


@pytest.fixture(scope="module")
def wines(tmp_path_factory):
    """The report of a model of three classes and five columns."""
    torch.manual_seed(0)
    network = nn.Sequential(nn.Linear(5, 12), nn.ReLU(), nn.Linear(12, 3)).eval()
    loader = [(torch.randn(24, 5), torch.arange(24) % 3)]
    sparse = sparsify(network, loader, n_select=4, n_per_class=2, training=None, progress=False)
    path = tmp_path_factory.mktemp("rows") / "wines.html"
    return sparse.report(path, loader, show=to_table(COLUMNS), progress=False)


@pytest.mark.parametrize("width", [390, 1200])
def test_every_row_can_be_read(wines, open_page, width):
    page = open_page(wines, width=width)
    for view in ("classes", "class/0", "features", "feature/0", "contrast/0/1", "decision/right/0"):
        page.evaluate(f"location.hash = '#/{view}'")
        page.wait_for_selector(".picture.row:visible")
        assert page.evaluate(OVERLAPS) == 0, view
        # Names take two lines; longer ones are cut, and in full where the pointer rests.
        assert page.evaluate(TALL) == 0, view
        assert (
            page.locator(".picture.row:visible .cell").nth(1).get_attribute("title") == (COLUMNS[1])
        )
        sticks_out = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        assert page.evaluate(sticks_out) == 0, view
