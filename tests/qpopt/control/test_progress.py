from __future__ import annotations

from io import StringIO

import pytest
from rich.console import Console

from qpopt import TracePoint
from qpopt.control.progress import LiveLine, line


@pytest.mark.parametrize(
    ("point", "note", "text"),
    [
        (TracePoint(0.0, None, None), "", "    2.0 s"),
        (TracePoint(0.0, None, 150.0), "round 1", "    2.0 s  bound 150  round 1"),
        (TracePoint(0.0, 100.0, 102.5), "", "    2.0 s  objective 100  bound 102.5  gap 2.50 %"),
    ],
)
def test_the_line_shows_what_is_known(point, note, text):
    assert line(point, note, 2.0) == text


def test_the_line_is_drawn_on_a_terminal_and_wiped_at_the_end():
    screen = StringIO()
    console = Console(file=screen, force_terminal=True, width=100)
    with LiveLine(console) as live:
        live(TracePoint(0.1, 12.5, None), "round 7")
        console.print(live)
    assert "objective 12.5  round 7" in screen.getvalue()


def test_nothing_is_drawn_elsewhere():
    screen = StringIO()
    with LiveLine(Console(file=screen, force_terminal=False)) as live:
        live(TracePoint(0.1, 12.5, None))
    assert screen.getvalue() == ""
