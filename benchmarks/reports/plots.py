"""The plots of the report, as SVG text that is the same for the same rows."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from math import pi
from typing import Any

from benchmarks.errors import BenchmarkError

SIZE = (7.2, 3.6)
COLOURS = (
    "#1b6ca8",
    "#d1495b",
    "#3c8d53",
    "#e08e0b",
    "#6f4e9b",
    "#2a9d9d",
    "#8c5a3c",
    "#c060a1",
    "#5f6b73",
    "#a0a020",
)
"""One a configuration, beside different dashes, so that the lines tell apart without colours."""
INNER = 0.25
"""Where the worst method of an axis lies in a radar plot; the best lies at 1."""
DASHES = ("solid", "dashed", "dashdot", "dotted")


def profile_plot(profiles: Mapping[str, Sequence[tuple[float, float]]]) -> str:
    """Draw performance profiles: the share of problems solved within τ times the fastest."""

    def draw(axes: Any) -> None:
        end = max((tau for steps in profiles.values() for tau, _ in steps), default=1.0) * 1.5
        for i, (config, steps) in enumerate(profiles.items()):
            taus = [tau for tau, _ in steps] + [end]
            shares = [100 * share for _, share in steps] + [100 * steps[-1][1]]
            axes.step(taus, shares, where="post", label=config, **_style(i))
        axes.set_xscale("log", base=2)
        axes.set_xlim(1, max(end, 2.0))
        axes.set_ylim(-2, 102)
        axes.set_xlabel("τ: time relative to the fastest")
        axes.set_ylabel("solved [%]")
        _plain_numbers(axes.xaxis)

    return _figure(draw)


def gap_plot(gaps: Mapping[str, Sequence[float]], moments: Sequence[float]) -> str:
    """Draw the mean gap to the best known over time."""

    def draw(axes: Any) -> None:
        for i, (config, values) in enumerate(gaps.items()):
            percent = [100 * value for value in values]
            axes.step(moments, percent, where="post", label=config, **_style(i))
        axes.set_xscale("log")
        axes.set_yscale("symlog", linthresh=0.01)
        axes.set_ylim(0, 120)
        axes.set_xlabel("seconds")
        axes.set_ylabel("mean primal gap [%]")
        _plain_numbers(axes.xaxis)
        _plain_numbers(axes.yaxis)

    return _figure(draw)


def integral_plot(integrals: Mapping[str, float]) -> str:
    """Draw the mean primal integral of every configuration as bars, the best on top."""

    def draw(axes: Any) -> None:
        order = sorted(integrals, key=lambda config: (-integrals[config], config))
        values = [integrals[config] for config in order]
        bars = axes.barh(order, values, color=COLOURS[0], height=0.6)
        axes.bar_label(bars, [f" {value:.3g}" for value in values], fontsize=8)
        axes.set_xlim(0, 1.12 * max([*values, 1e-9]))
        axes.set_xlabel("mean primal integral [s]")
        axes.grid(visible=False, axis="y")

    return _figure(draw, legend=False)


def radar_plot(
    names: Sequence[str], series: Mapping[str, Sequence[float]], less: Sequence[bool]
) -> str:
    """Draw several figures of every method on axes around a point.

    Parameters
    ----------
    names
        Of the axes.
    series
        One value an axis for every method.
    less
        Whether less is better on an axis. Better is always farther out.
    """
    columns = list(zip(*series.values(), strict=True))
    angles = [2 * pi * i / len(names) for i in range(len(names))]

    def place(value: float, axis: int) -> float:
        low, high = min(columns[axis]), max(columns[axis])
        share = 1.0 if high == low else (value - low) / (high - low)
        return INNER + (1 - INNER) * (1 - share if less[axis] and high > low else share)

    def draw(axes: Any) -> None:
        for i, (method, values) in enumerate(series.items()):
            radii = [place(value, axis) for axis, value in enumerate(values)]
            around = [*angles, angles[0]], [*radii, radii[0]]
            axes.plot(*around, label=method, **_style(i))
            axes.fill(*around, color=COLOURS[i % len(COLOURS)], alpha=0.06)
        ends = [
            sorted(column, reverse=smaller) for column, smaller in zip(columns, less, strict=True)
        ]
        labels = [
            f"{name}\n{values[0]:.1f} → {values[-1]:.1f}"
            for name, values in zip(names, ends, strict=True)
        ]
        axes.set_theta_offset(pi / 2)
        axes.set_theta_direction(-1)
        axes.set_xticks(angles, labels)
        axes.tick_params(axis="x", pad=14)
        axes.set_ylim(0, 1.02)
        axes.set_yticks([INNER, (1 + INNER) / 2, 1], [])
        axes.spines["polar"].set_visible(False)

    return _figure(draw, polar=True)


def _plain_numbers(axis: Any) -> None:
    """Write 0.01 and 100 instead of powers of ten, and only at round values."""
    from matplotlib.ticker import FuncFormatter, NullFormatter

    axis.set_major_formatter(FuncFormatter(lambda value, position: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())


def _style(i: int) -> dict[str, Any]:
    return {
        "color": COLOURS[i % len(COLOURS)],
        "linestyle": DASHES[i % len(DASHES)],
        "linewidth": 1.6,
    }


def _figure(draw: Callable[[Any], None], *, legend: bool = True, polar: bool = False) -> str:
    """Draw into a figure of its own, without any display and without a date."""
    try:
        from matplotlib import rc_context
        from matplotlib.backends.backend_svg import FigureCanvasSVG
        from matplotlib.figure import Figure
    except ImportError:
        raise BenchmarkError("The report needs matplotlib: pip install 'qpopt[bench]'") from None
    settings = {
        "svg.hashsalt": "qpopt",
        "svg.fonttype": "none",
        "font.family": "sans-serif",
        "font.size": 9,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": True,
        "grid.color": "#e4e4e4",
        "grid.linewidth": 0.6,
    }
    stream = io.StringIO()
    with rc_context(settings):
        figure = Figure(figsize=(SIZE[0], SIZE[0] / 1.6) if polar else SIZE, layout="constrained")
        FigureCanvasSVG(figure)
        axes = figure.add_subplot(polar=polar)
        axes.set_axisbelow(True)
        draw(axes)
        if legend:
            # At the left below, it is seen on a phone, too, where the figure scrolls.
            figure.legend(loc="outside lower left", ncols=3, frameon=False, fontsize=8)
        figure.savefig(stream, format="svg", metadata={"Date": None}, transparent=True)
    text = stream.getvalue()
    return text[text.index("<svg") :]
