"""The report of a benchmark in a headless browser."""

from __future__ import annotations

import shutil

import pytest

from benchmarks.reports.report import write_report

PHONE, DESK = 375, 1200
INK = {"light": "rgb(34, 34, 34)", "dark": "rgb(232, 234, 236)"}
GROUND = {"light": "rgb(255, 255, 255)", "dark": "rgb(21, 24, 27)"}


@pytest.fixture
def report(tmp_path, hand_made):
    shutil.copy(hand_made, tmp_path / "rows.csv")
    return write_report(tmp_path)[1]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [PHONE, DESK])
def test_it_fits_and_has_the_colours_of_the_scheme(report, open_page, width, scheme):
    page = open_page(report, width=width, color_scheme=scheme)
    assert page.evaluate("document.documentElement.scrollWidth") <= width

    def colours(query, name):
        return set(
            page.evaluate(
                "([query, name]) => [...document.querySelectorAll(query)]"
                ".map((e) => getComputedStyle(e)[name])",
                [query, name],
            )
        )

    assert colours("body", "backgroundColor") == {GROUND[scheme]}
    assert colours("body, figure svg text", "color") | colours("figure svg text", "fill") == {
        INK[scheme]
    }
    assert colours("figure svg [style*='stroke: #000000']", "stroke") == {INK[scheme]}


def test_no_title_of_a_column_breaks_out_of_sight(report, open_page):
    """Titles of three lines far to the right would leave a gap above those in sight."""
    page = open_page(report, width=PHONE)
    heights = page.evaluate(
        "[...document.querySelectorAll('thead tr')].map((r) => r.getBoundingClientRect().height)"
    )
    assert len(heights) == 2
    assert max(heights) < 36
