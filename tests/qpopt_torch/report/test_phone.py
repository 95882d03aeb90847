"""The page at the width of a phone."""

import pytest

from tests.qpopt_torch.readable import small_loader, small_sparse
from tests.qpopt_torch.report.test_page import go

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
