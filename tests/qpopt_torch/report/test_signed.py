"""The report of models with features that must be absent, and with a class bias."""

import pytest

from tests.qpopt_torch.readable import SIGNED, UNEVEN, signed_sparse, small_loader
from tests.qpopt_torch.report.decoding import data_of


@pytest.mark.parametrize("assignment", [SIGNED, UNEVEN], ids=["signed", "uneven"])
def test_scores_of_classes_are_shown_as_they_are_made(assignment, tmp_path):
    sparse = signed_sparse(assignment)
    batches = small_loader()
    text, data = data_of(sparse.report(tmp_path / "report.html", batches, progress=False))
    assert data["signed"]
    assert data["biased"] == (assignment is UNEVEN)
    assert ("those that must be absent count by their opposite" in text) == (assignment is SIGNED)
    assert ("and a class bias, which makes up" in text) == (assignment is UNEVEN)
    assert "weight" not in text.split("<script")[0].split("</style>")[-1]
    for c, entry in enumerate(data["classes"]):
        assert data["assignment"][c] == [j for j in range(6) if assignment[c][j]]
        assert data["weights"][c] == [value for value in assignment[c] if value]
        for score, terms in entry["sums"]:
            assert sum(terms) == pytest.approx(score)


def test_the_page_says_what_must_be_absent(open_page, tmp_path):
    sparse = signed_sparse(SIGNED)
    path = sparse.report(tmp_path / "report.html", small_loader(), progress=False)
    page = open_page(path)
    page.goto(f"{page.url.split('#')[0]}#/class/0")
    parts = page.locator("ul.parts li .card-title").all_inner_texts()
    assert parts == ["Feature 0", "Feature 2 must be absent"]
    page.goto(f"{page.url.split('#')[0]}#/feature/1")
    lede = page.locator("p.lede:visible").last.inner_text()
    assert lede.startswith("Used by 1 class. Must be absent in 1 class.")
