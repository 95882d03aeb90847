"""The page of the studio in a headless browser, used as a person would."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from PIL import Image

from tests.qpopt_torch.readable import NAMES


@pytest.fixture
def tab(browser, opened):
    """Return a function that opens a tab of the studio; what goes wrong in it fails the test."""
    context = browser.new_context(viewport={"width": 1200, "height": 900})
    problems = []

    def open_(view):
        page = context.new_page()
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("dialog", lambda dialog: dialog.accept("red eye"))
        page.goto(f"{opened.address}#/{view}")
        return page

    yield open_
    context.close()
    assert problems == []


def test_find_a_feature_exclude_it_solve_compare_undo_and_take_it_along(tab, opened):
    page, other = tab("feature/1"), tab("steer")
    page.get_by_role("button", name="Rename").click()
    page.get_by_text("among the demands").wait_for()
    page.get_by_role("button", name="Exclude").click()
    # Another tab sees it without being asked.
    other.get_by_text("Exclude red eye").wait_for()
    other.get_by_role("button", name="Solve", exact=True).click()
    other.get_by_text("What changed from “The model”").wait_for()
    other.get_by_role("row", name="Features out").get_by_text("red eye").wait_for()
    other.locator("svg.bars").get_by_text("Random").wait_for()
    # A reload loses nothing.
    other.reload()
    other.get_by_text("What changed from “The model”").wait_for()
    other.get_by_role("button", name="Export").click()
    other.get_by_role("button", name="As Python").click()
    other.get_by_text("qpopt_torch.sparsify(").wait_for()
    other.get_by_role("button", name="Compare", exact=True).click()
    other.get_by_role("tabpanel", name="Compare").get_by_text("Random assignment").wait_for()
    other.get_by_role("tab", name="Steer").click()
    other.get_by_role("button", name="Undo").click()
    steering = other.get_by_role("tabpanel", name="Steer")
    steering.get_by_text("Exclude red eye").wait_for(state="detached")
    assert [one.kind for one in opened.studio.session.demands] == ["rename"]


def taken(page, buttons, kind):
    """The file that a button gives."""
    with page.expect_download() as found:
        buttons.get_by_text(kind).first.dispatch_event("click")
    assert found.value.suggested_filename == f"qpopt.{kind.lower()}"
    return found.value.path()


def test_charts_and_pictures_as_files(tab):
    """As they are on the page: its colours, the ground behind them, heat over pictures."""
    page = tab("feature/1")
    page.emulate_media(color_scheme="dark")
    chart = page.locator("#panel-features .histogram + .take").first
    chart.wait_for(state="attached")
    ground, bar = (21, 24, 27), (232, 102, 44)
    for kind in ("PNG", "SVG"):
        path = taken(page, chart, kind)
        if kind == "SVG":
            drawing = ElementTree.parse(path).getroot()
            fills = {node.get("fill") for node in drawing.iter("{http://www.w3.org/2000/svg}rect")}
            assert {f"rgb{ground}", f"rgb{bar}"} <= fills
            assert "class" not in {key for node in drawing.iter() for key in node.attrib}
            continue
        with Image.open(path) as picture:
            assert picture.width >= 800
            colours = {colour[:3] for _, colour in picture.getcolors(1 << 20)}
        assert {ground, bar} <= colours
    pictures = page.locator("#panel-features .picture .take")
    plain, *over = [taken(page, pictures, "PNG").read_bytes() for _ in switched(page)]
    assert len({plain, *over}) == 3


def switched(page):
    """Show pictures alone, with heat in colours, and as contours."""
    for name in ("Heat maps", "Heat maps", "As contours"):
        page.get_by_role("button", name=name).click()
        yield


def test_what_is_wrong_can_be_said_where_it_is_seen(tab, opened):
    session = opened.studio.session
    session.back(0)
    own = session.state(0).sets[2][0]
    page = tab("class/2")
    page.get_by_role("button", name="Forbid").first.click()
    page.get_by_text("among the demands").wait_for()
    page.goto(f"{opened.address}#/contrast/0/3")
    page.get_by_role("button", name="They should differ in one feature").click()
    page.get_by_role("tab", name="Steer").click()
    steering = page.get_by_role("tabpanel", name="Steer")
    steering.locator("li", has_text="differ in one feature").wait_for()
    slider = page.get_by_label("Weight of redundancy, slider")
    slider.evaluate("node => { node.value = 2; node.dispatchEvent(new Event('change')); }")
    page.get_by_text("Weight of redundancy × 2").wait_for()
    page.get_by_role("button", name="Keep under a name").click()  # the dialog says "red eye"
    page.get_by_role("button", name="Demand these").wait_for()
    assert {one.kind: one.to_dict() for one in session.lists["red eye"]} == {
        "forbid": {"kind": "forbid", "feature": own, "of": 2},
        "pair": {"kind": "pair", "of": 0, "other": 3},
        "redundancy": {"kind": "redundancy", "value": 2},
    }
    page.get_by_label("Forget red eye").click()
    page.get_by_role("button", name="Demand these").wait_for(state="detached")
    session.back(0)


def test_demands_that_exclude_one_another_are_marked(tab, opened):
    session = opened.studio.session
    session.back(0)
    for kind in ("exclude", "require"):
        session.add({"kind": kind, "feature": 4})
    session.add({"kind": "bias", "value": 1.5})
    page = tab("steer")
    page.get_by_role("button", name="Solve", exact=True).click()
    page.get_by_text("No answer.").wait_for()
    blamed = page.locator(".demands .blamed")
    assert blamed.count() == 2
    # On a phone the reason stands below the demand, and leaves it its line.
    page.set_viewport_size({"width": 390, "height": 800})
    assert max(one.bounding_box()["height"] for one in blamed.all()) < 110
    session.back(0)


def test_a_page_that_is_reloaded_in_the_middle_of_a_solve_shows_its_answer(tab, opened):
    opened.studio.session.back(0)
    page = tab("steer")
    page.get_by_role("button", name="Undo").wait_for()
    solver = opened.studio.solver
    solver.cancel()
    os.kill(solver.active.pid, signal.SIGSTOP)  # so that it is still in the middle
    with page.expect_response("**/act"):
        page.get_by_role("button", name="Solve", exact=True).click()
    assert opened.studio.session.running
    page.reload()
    os.kill(solver.active.pid, signal.SIGCONT)
    page.get_by_text("What changed from “The model”").wait_for()


def test_events_that_end_are_asked_for_again(tab, opened):
    page = tab("steer")
    page.get_by_role("button", name="Undo").wait_for()
    page.route("**/events", lambda route: route.abort())
    page.reload()
    page.get_by_text("The connection is lost").wait_for()
    page.unroute("**/events")
    page.get_by_text("The connection is lost").wait_for(state="hidden")
    page.get_by_role("button", name="Undo").wait_for()


def test_names_are_text_and_a_wrong_one_is_said(tab):
    page = tab("steer")
    page.get_by_label("First class").select_option(label=NAMES[2])
    page.get_by_label("Feature", exact=True).fill("no such feature")
    page.get_by_role("button", name="Require").click()
    page.get_by_role("alert").get_by_text("There is no feature “no such feature”").wait_for()
    assert page.locator("main b", has_text="cat").count() == 0


def test_a_connection_that_is_lost_is_said(tab, opened):
    page = tab("steer")
    page.get_by_role("button", name="Undo").wait_for()
    page.route("**/act", lambda route: route.abort())
    page.get_by_role("button", name="Solve", exact=True).click()
    page.get_by_role("alert").get_by_text("does not answer").wait_for()


def test_the_walk_of_the_examples_is_photographed(opened, browser, tmp_path):
    picture = tmp_path / "own.png"
    Image.new("RGB", (16, 16), "red").save(picture)
    script = Path(__file__).parents[3] / "examples" / "09_studio_walk.py"
    given = ["--feature", "1", "--picture", str(picture), "--out", str(tmp_path)]
    subprocess.run([sys.executable, script, opened.address, *given], check=True)
    names = ("1-exclude", "2-solve", "3-compare", "4-own")
    for name in [f"studio-{step}-{scheme}.png" for step in names for scheme in ("light", "dark")]:
        with Image.open(tmp_path / name) as photograph:
            assert photograph.size == (1100, 760)
