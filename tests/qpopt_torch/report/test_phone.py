"""The page at the width of a phone."""

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader

from qpopt_torch import Table, sparsify
from tests.qpopt_torch.readable import small_loader, small_sparse
from tests.qpopt_torch.report.browser import go

# Headers of tables whose words stand on more than one line each.
BROKEN = """() => [...document.querySelectorAll("main thead th")].filter((header) => {
  const walker = document.createTreeWalker(header, NodeFilter.SHOW_TEXT);
  const range = document.createRange();
  for (let text = walker.nextNode(); text; text = walker.nextNode()) {
    for (const word of text.data.matchAll(/[^\\s-]+/g)) {
      range.setStart(text, word.index);
      range.setEnd(text, word.index + word[0].length);
      const lines = [...range.getClientRects()].map((box) => Math.round(box.top));
      if (new Set(lines).size > 1) return true;
    }
  }
  return false;
}).map((header) => header.textContent)"""


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    sparse, path = small_sparse(), tmp_path_factory.mktemp("phone") / "report.html"
    names = ["tufted orange-legged fan-tail", "spike-crested blue-legged band-tail"] * 2
    names = [f"{name} {place}" for place, name in enumerate(names)]
    loader, train = small_loader(1), small_loader(2)
    return sparse.report(path, loader, train_loader=train, class_names=names, progress=False)


def test_no_word_of_a_header_is_broken(report, open_page):
    page = open_page(report, width=390)
    for view in ("overview", "class/0", "contrast/0/1", "feature/0", "decision/wrong/0", "map"):
        go(page, view)
        assert page.evaluate(BROKEN) == [], view


def test_both_classes_of_a_contrast_are_in_sight(open_page, tmp_path):
    """Rows of numbers are wider than pictures: then fewer of them stand side by side."""
    torch.manual_seed(0)
    rows, kinds = torch.randn(24, 5), torch.arange(24) % 3
    columns = ["mean fractal dimension", "compactness error", "area", "worst radius", "texture"]
    loader = DataLoader(Table(rows, kinds, columns=columns), 12)
    network = nn.Sequential(nn.Linear(5, 12), nn.ReLU(), nn.Linear(12, 3)).eval()
    sparse = sparsify(network, loader, n_select=4, n_per_class=2, training=None, progress=False)
    path = sparse.report(tmp_path / "rows.html", loader, progress=False)
    for width in (390, 1280):
        page = open_page(path, width=width)
        go(page, "contrast/0/1")
        pictures = page.locator("#panel-contrast table").first.locator(".picture.row")
        boxes = [picture.bounding_box() for picture in pictures.all()]
        assert len(boxes) == (2 if width == 390 else 4)
        assert all(box["x"] >= 0 and box["x"] + box["width"] <= width for box in boxes)
        cut = "spans => spans.filter((s) => s.scrollWidth > s.clientWidth + 1).length"
        assert pictures.locator(".cell span").evaluate_all(cut) == 0
