from __future__ import annotations

from io import StringIO

import pytest
from rich.console import Console

from qpopt import TracePoint
from qpopt.control import Event, Phase
from qpopt.control.progress import Bar, LiveLine, following, live_line
from qpopt.errors import InvalidArgument


@pytest.mark.parametrize(
    ("point", "note", "text"),
    [
        (TracePoint(0.0, None, None), "", "    2.0 s"),
        (TracePoint(0.0, None, 150.0), "round 1", "    2.0 s  bound 150  round 1"),
        (TracePoint(0.0, 100.0, 102.5), "", "    2.0 s  objective 100  bound 102.5  gap 2.50 %"),
    ],
)
def test_the_line_shows_what_is_known(point, note, text):
    assert live_line(Event(Phase.MIP, point, note), 2.0) == text


def test_the_line_is_drawn_on_a_terminal_and_wiped_at_the_end():
    screen = StringIO()
    with LiveLine(Console(file=screen, force_terminal=True, width=100)) as live:
        live(Event(Phase.MIP, TracePoint(0.1, 12.5, None), "round 7"))
    drawn, wiped = screen.getvalue().rsplit("\n", 1)
    assert drawn.endswith("s  objective 12.5  round 7")
    assert wiped.endswith("\x1b[1A\x1b[2K")  # one line up, and nothing left of it


def test_nothing_is_drawn_elsewhere():
    screen = StringIO()
    with LiveLine(Console(file=screen, force_terminal=False)) as live:
        live(Event(Phase.MIP, TracePoint(0.1, 12.5, None)))
    assert screen.getvalue() == ""


def test_progress_is_a_truth_value_or_a_function():
    with following(False) as nobody:
        assert nobody is None
    with following(print) as told:
        assert told is print
    with following(True) as line:
        assert isinstance(line, LiveLine)
    with pytest.raises(InvalidArgument, match="progress must be True, False or a function, not 3"):
        following(3).__enter__()


def bar_on(screen, terminal=True, **options):
    return Bar("collect", 4, console=Console(file=screen, force_terminal=terminal), **options)


def test_a_bar_counts_the_steps_of_a_loop():
    screen = StringIO()
    with bar_on(screen, done=1) as bar:
        bar.advance("loss 0.5")
        bar.advance("loss 0.25")
    last = screen.getvalue().split("collect")[-1]
    assert "3/4" in last
    assert "loss 0.25" in last


@pytest.mark.parametrize(("terminal", "progress"), [(True, False), (False, True)])
def test_no_bar_where_none_is_wanted_or_can_be_seen(terminal, progress):
    screen = StringIO()
    with bar_on(screen, terminal, progress=progress) as bar:
        bar.advance()
    assert screen.getvalue() == ""


def test_a_bar_inside_another_shows_nothing():
    outer, inner, after = StringIO(), StringIO(), StringIO()
    with bar_on(outer), bar_on(inner) as bar:
        bar.advance()
    with bar_on(after) as bar:
        bar.advance()
    assert inner.getvalue() == ""
    assert "1/4" in after.getvalue()
