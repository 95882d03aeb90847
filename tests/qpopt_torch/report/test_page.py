"""The page in a headless browser."""

import pytest
import torch
from torch import nn

from qpopt_torch import SparseClassifier, collect, conformal
from tests.qpopt_torch.readable import NAMES, small_loader, small_sparse
from tests.qpopt_torch.report.browser import go
from tests.qpopt_torch.report.decoding import data_of

VIEWS = ("overview", "classes", "class/2", "contrast/0/1", "features", "feature/0", "decisions")
SECTIONS = ("Overview", "Classes", "Contrast", "Features", "Decisions", "Class map")


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    sparse = small_sparse()
    sparse.rename_features({0: '"><img src=x onerror=alert(1)>', 2: "long & bent beak"})
    path = tmp_path_factory.mktemp("page") / "report.html"
    return sparse.report(
        path, small_loader(1), train_loader=small_loader(2), title="<b>Animals</b>", progress=False
    )


def test_every_section_opens(report, open_page):
    page = open_page(report)
    assert page.title() == "<b>Animals</b>"
    for name in SECTIONS:
        page.get_by_role("tab", name=name).click()
        page.get_by_role("tab", name=name, selected=True).wait_for()
        panel = page.get_by_role("tabpanel", name=name)
        assert panel.is_visible()
        assert panel.locator("h2").text_content() == name
        assert page.locator("[role=tabpanel]:visible").count() == 1


def test_sections_by_keyboard(report, open_page):
    page = open_page(report)
    page.get_by_role("tab", name="Overview").focus()
    for name in (*SECTIONS[1:], SECTIONS[0]):
        page.keyboard.press("ArrowRight")
        page.get_by_role("tab", name=name, selected=True).wait_for()
        assert page.evaluate("document.activeElement.textContent") == name
    page.keyboard.press("End")
    page.get_by_role("tabpanel", name="Class map").wait_for()
    # Only the chosen tab is in the tab order; what follows it is the content.
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.closest('main') !== null")


def test_search_finds_classes(report, open_page):
    page = open_page(report)
    page.get_by_role("tab", name="Classes").click()
    page.get_by_text("4 classes", exact=True).wait_for()
    assert page.locator("#panel-classes .cards > li").count() == 4
    page.get_by_label("Find a class").fill("<B>CAT")
    page.locator("#panel-classes .cards > li").filter(has_text="<b>cat</b>").wait_for()
    assert page.locator("#panel-classes .cards > li").count() == 1
    assert page.get_by_role("status").inner_text() == "1 class found"
    page.get_by_role("link", name="<b>cat</b>").click()
    page.get_by_role("heading", name="<b>cat</b>").wait_for()
    assert page.evaluate("document.activeElement.tagName") == "H2"
    page.go_back()
    page.get_by_role("heading", name="Classes").wait_for()
    assert page.get_by_label("Find a class").input_value() == "<B>CAT"


def test_class_shows_its_features_with_heat_maps(report, open_page):
    page = open_page(report)
    go(page, "class/0")
    page.get_by_role("heading", name="ape").wait_for()
    names = page.locator("#panel-classes .grid thead th a").all_inner_texts()
    assert names == ['"><img src=x onerror=alert(1)>', "long & bent beak"]
    pictures = page.locator("#panel-classes .grid tbody tr:first-child .picture")
    assert pictures.count() == 3
    assert page.locator("#panel-classes .grid tbody tr:first-child canvas").count() == 2
    drawn = page.locator("#panel-classes .grid canvas").first.evaluate(
        "c => c.getContext('2d').getImageData(0, 0, c.width, c.height).data.some((v) => v > 0)"
    )
    assert drawn
    assert pictures.last.locator("img").get_attribute("alt") == (
        "Sample of ape, heat map of long & bent beak"
    )
    page.get_by_role("button", name="Heat maps").click()
    assert page.locator("#panel-classes .grid canvas:visible").count() == 0


def test_contrast_shows_the_feature_that_differs(report, open_page):
    page = open_page(report)
    page.get_by_role("tab", name="Contrast").click()
    page.get_by_label("First class").select_option(label="ape")
    page.get_by_label("Second class").focus()
    page.get_by_label("Second class").select_option(label="bee")
    page.get_by_text("They share 1 of 2 features.").wait_for()
    tables = page.locator("#panel-contrast table")
    apart = tables.first.locator("tbody th a").all_inner_texts()
    assert apart == ["long & bent beak", "Feature 3"]
    assert tables.last.locator("tbody th a").all_inner_texts() == ['"><img src=x onerror=alert(1)>']
    assert page.evaluate("document.activeElement.id") == "contrast-second"
    page.get_by_role("button", name="Swap").click()
    page.locator("#panel-contrast thead th a").first.filter(has_text="bee").wait_for()
    assert page.get_by_label("First class").evaluate("s => s.selectedOptions[0].text") == "bee"


def test_a_feature_says_how_to_act_on_it(report, open_page):
    page = open_page(report)
    go(page, "feature/4")
    page.get_by_text("Rename it").click()
    text = page.locator("#panel-features pre").inner_text()
    assert "rename_features({8:" in text
    assert "exclude=[8]" in text


def test_features_that_are_off_and_classes_that_are_level(open_page, tmp_path):
    """Many values are just 0: a mode without width does not hide the bars, and sums are equal."""
    path = tmp_path / "report.html"
    small_sparse(relu=True).report(path, small_loader(1, n_batches=8), progress=False)
    page = open_page(path)
    go(page, "feature/0")
    tops = "bars => Math.min(...bars.map(bar => Number(bar.getAttribute('y'))))"
    assert page.locator("#panel-features .histogram rect").evaluate_all(tops) < 40
    n_right = len(data_of(path)[1]["right"])
    said = []
    for place in range(n_right):
        go(page, f"decision/right/{place}")
        said.append(page.locator("#panel-decisions").inner_text())
    assert sum("nothing in this sample decides between them" in text for text in said) > 0
    assert not any("0.00 behind" in text for text in said)


def test_wrong_decisions_name_what_misled(report, open_page):
    page = open_page(report)
    page.get_by_role("tab", name="Decisions").click()
    card = page.locator("#panel-decisions .cards > li").first
    assert "What misled: " in card.inner_text()
    card.get_by_role("link").first.click()
    page.get_by_role("heading", name="taken for").wait_for()
    assert "What misled" in page.locator("#panel-decisions .callout").inner_text()
    for table in page.locator("#panel-decisions table.sum").all():
        texts = table.locator("tr td:last-child").all_inner_texts()
        *terms, total = (float(text.replace("−", "-")) for text in texts)
        assert sum(terms) == pytest.approx(total, abs=0.02)
    page.go_back()
    page.get_by_role("radio", name="Right").check()
    assert page.locator("#panel-decisions .cards > li").first.get_by_text("recognised").count()


def test_show_more_goes_when_nothing_is_left(report, large_report, open_page):
    few = open_page(report)
    go(few, "decisions")
    assert few.locator("#panel-decisions .cards > li").count() > 0
    assert not few.locator("#panel-decisions .more").is_visible()
    page = open_page(large_report)
    go(page, "decisions")
    cards, more = page.locator("#panel-decisions .cards > li"), page.get_by_text("Show more")
    for shown in (24, 48, 72):
        assert cards.count() == shown
        more.click()
    assert cards.count() == 96
    assert not more.is_visible()


def test_names_stay_text(report, open_page):
    page = open_page(report)
    for view in (*VIEWS, "decision/wrong/0", "map"):
        go(page, view)
        assert page.locator("main b", has_text="cat").count() == 0
        assert page.locator("img[src=x]").count() == 0
    assert page.locator("#panel-map text", has_text=NAMES[3]).count() == 1


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [375, 1200])
def test_nothing_sticks_out(report, open_page, width, scheme):
    page = open_page(report, width=width, color_scheme=scheme)
    for view in (*VIEWS, "decision/wrong/0", "map"):
        go(page, view)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, view
    light, dark = "rgb(252, 252, 251)", "rgb(21, 24, 27)"
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert ground == (light if scheme == "light" else dark)


def test_every_picture_has_a_text(report, open_page):
    page = open_page(report)
    for view in VIEWS:
        go(page, view)
        nameless = page.evaluate(
            "[...document.querySelectorAll('main img, main svg[role=img]')]"
            ".filter((n) => !(n.alt || n.getAttribute('aria-label'))).length"
        )
        assert nameless == 0
        unlabelled = page.evaluate(
            "[...document.querySelectorAll('main input, main select')]"
            ".filter((n) => !n.labels.length).length"
        )
        assert unlabelled == 0


def test_pictures_keep_their_proportions(open_page, tmp_path):
    wide = [(x.repeat(1, 1, 1, 2), y) for x, y in small_loader()]
    page = open_page(small_sparse().report(tmp_path / "wide.html", wide, progress=False))
    go(page, "class/0")
    box = page.locator("#panel-classes .grid .picture").first.bounding_box()
    assert box["width"] / box["height"] == pytest.approx(2, rel=0.02)


def test_series_are_drawn_as_lines(open_page, tmp_path):
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Conv1d(2, 12, 3), nn.ReLU(), nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(12, 4)
    ).eval()
    loader = [(torch.randn(16, 2, 30), torch.arange(16) % 4)]
    statistics = collect(model, loader, progress=False)
    sparse = SparseClassifier.from_solution(model, small_sparse().solution, statistics)
    page = open_page(sparse.report(tmp_path / "series.html", loader, progress=False))
    go(page, "class/0")
    page.get_by_role("heading", name="What the model sees").wait_for()
    first = page.locator("#panel-classes .grid tbody tr").first
    assert first.locator("polyline").count() == 2 * 3
    assert first.locator("canvas").count() == 2


def test_two_hundred_classes(open_page, large_report):
    page = open_page(large_report)
    page.get_by_role("tab", name="Classes").click()
    page.get_by_text("200 classes", exact=True).wait_for()
    assert page.locator("#panel-classes .cards > li").count() == 200
    page.get_by_label("Find a class").fill("199")
    assert page.locator("#panel-classes .cards > li").count() == 1
    page.get_by_role("tab", name="Class map").click()
    page.get_by_role("heading", name="Class map").wait_for()
    assert page.locator("#panel-map .cell").count() == 1000


def test_levels_of_a_decision_and_a_wanted_coverage(open_page, tmp_path):
    """Without a calibrated predictor the deepest level is marked that held often enough."""
    sparse = small_sparse()
    path = sparse.report(tmp_path / "plain.html", small_loader(1), progress=False)
    page = open_page(path)
    go(page, "decision/wrong/0")
    assert page.locator(".ladder > li").count() == 2
    slider, status = page.get_by_label("Wanted coverage"), page.get_by_role("status")
    slider.fill("99")
    assert "Level 0 is the deepest" in status.inner_text()
    assert page.locator("[role=status] + div .in").count() == 4
    # Sets of a predictor grow with what is wanted, and always hold the prediction.
    conformal(sparse, small_loader(3, n_batches=9), alpha=0.2, score="lac", progress=False)
    page = open_page(sparse.report(tmp_path / "sets.html", small_loader(1), progress=False))
    go(page, "decision/wrong/0")
    slider, sizes = page.get_by_label("Wanted coverage"), []
    assert slider.input_value() == "80"
    for wanted in (slider.get_attribute("min"), "80", slider.get_attribute("max")):
        slider.fill(wanted)
        sizes.append(page.locator("[role=status] + div .in").count())
        assert (
            f"The set for {wanted} % holds {sizes[-1]} class"
            in page.get_by_role("status").inner_text()
        )
    assert 1 <= sizes[0] <= sizes[1] <= sizes[2]
    assert slider.get_attribute("max") == "98"  # 63 samples: 1 / (63 + 1) is 1.6 %


def test_contours_in_place_of_colours(report, open_page):
    page = open_page(report)
    go(page, "feature/1")
    tiles = page.locator("#panel-features .tile .picture")
    colours = page.locator("#panel-features canvas.heat").count()
    assert colours == tiles.count() > 0
    page.get_by_role("button", name="As contours").click()
    assert page.locator("#panel-features canvas.heat").count() == 0
    assert page.locator("#panel-features svg.heat").count() == colours
    # A line runs where the map is above the level, and has both of its ends on the map.
    drawn = page.locator("#panel-features svg.heat path").first.get_attribute("d")
    assert drawn is None or drawn.count("M") == drawn.count("L")
    page.get_by_role("button", name="As contours").click()
    assert page.locator("#panel-features canvas.heat").count() == colours


def test_maps_are_as_pale_as_the_feature_is_weak(report, open_page):
    page = open_page(report)
    go(page, "feature/1")
    shown = page.evaluate(
        "[...document.querySelectorAll('#panel-features .tile .heat')].map((e) => +e.style.opacity)"
    )
    _, data = data_of(report)
    feature = data["features"][1]
    assert feature["on"] == pytest.approx(max(mode[0] for mode in feature["modes"]), abs=1e-3)
    values = [data["samples"][i]["z"][1] for i in feature["samples"]]
    expected = [min(1, max(0, value / feature["on"])) for value in values]
    assert shown == pytest.approx(expected, abs=2e-3)
    assert min(shown) < max(shown)
