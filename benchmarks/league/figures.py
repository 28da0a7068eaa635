"""The league's figures, as SVG that is the same for the same rows: `pip install uncubed[plot]`."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import EngFormatter, LogLocator, NullLocator
from matplotlib.transforms import Bbox

from benchmarks.league.costs import Cost, costs
from benchmarks.league.registry import SYSTEMS
from benchmarks.league.runner import DONE, Row
from benchmarks.league.scores import OURS, TOLERANCES, Course, Field, course, means, place, solved
from benchmarks.league.tables import label


class Style(NamedTuple):
    """How a system is drawn."""

    colour: str
    line: Any = "-"
    width: float = 1.3


GREY, LIGHT = "#666666", "#999999"
_DASHED, _DOTTED = (0, (4, 2)), (0, (1, 1.5))
STYLES = {
    "uncubed": Style("#0072B2", width=3.0),
    "dense": Style("#56B4E9", _DASHED),
    "bkb": Style("#56B4E9", _DOTTED),
    "botorch": Style("#D55E00"),
    "ax": Style("#E69F00"),
    "optuna_gp": Style("#009E73"),
    "bayes_opt": Style("#CC79A7"),
    "skopt": Style("#000000"),
    "hebo": Style("#882255", _DASHED),
    "smac": Style("#8C8C00", _DASHED),
    "optuna_tpe": Style(GREY),
    "cmaes": Style(GREY, _DASHED),
    "sobol": Style(LIGHT, (0, (5, 1, 1, 1))),
    "random": Style(LIGHT, _DOTTED),
}
"""Okabe and Ito's palette and two more: ours in blue, other Gaussian processes in colours, the rest in grey."""


def overhead(rows: Sequence[Row], path: Path) -> None:
    """Seconds of a suggestion against the values known; a cross where a system was cut or failed."""
    figure = Figure(figsize=(8.0, 5.4))
    axes = figure.add_axes((0.11, 0.1, 0.72, 0.87))
    ends = [_draw_costs(axes, system, found) for system, found in costs(rows).items()]
    axes.set(xscale="log", yscale="log", xlabel="values known", ylabel="time of a suggestion")
    axes.margins(x=0.02, y=0.07)
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.yaxis.set_major_formatter(EngFormatter("s"))
    _label_ends(axes, [end for end in ends if end is not None])
    _write(figure, path)


class End(NamedTuple):
    """Of a line, where its label goes."""

    system: str
    x: float
    y: float
    note: str = ""


def _draw_costs(axes: Axes, system: str, found: Sequence[Cost]) -> End | None:
    known = [(cost.told, cost.seconds) for cost in found if cost.seconds is not None]
    if not known:
        return None
    style, (x, y) = _style(system), known[-1]
    axes.plot(*zip(*known, strict=True), marker="o", markersize=1.2 + style.width, **_look(system))
    stopped = found[-1] if found[-1].status != DONE else None
    if stopped is None:
        return End(system, x, y)
    axes.plot([x], [y], marker="X", markersize=9, color=style.colour, markeredgecolor="white", zorder=5)
    return End(system, x, y, stopped.status if stopped.told == x else f"{stopped.status} at {stopped.told:,}")


def profiles(rows: Sequence[Row], fields: Sequence[Field], path: Path) -> None:
    """The share of games within a tolerance of the best, against evaluations: a line of panels for each field."""
    courses = [course(rows, field) for field in fields]
    figure = Figure(figsize=(9.0, 0.9 + 2.9 * len(fields)), layout="constrained")
    grid = figure.subplots(len(fields), len(TOLERANCES), sharey=True, sharex="row", squeeze=False)
    for field, one, line in zip(fields, courses, grid, strict=True):
        for tolerance, axes in zip(TOLERANCES, line, strict=True):
            _draw_profile(axes, one, tolerance)
            axes.set(title=f"within {tolerance:g} of the spread", xlabel="evaluations", ylim=(-0.02, 1.02))
        line[0].set_ylabel(f"share of games\n{_counted(field, one)}")
    drawn = {system for one in courses for system in _others_first(one)}
    if drawn:
        lines = [Line2D([], [], label=label(system), **_look(system)) for system in sorted(drawn, key=place)]
        figure.legend(handles=lines, loc="outside upper center", ncols=5, frameon=False, fontsize=8.5)
    _write(figure, path)


def _draw_profile(axes: Axes, one: Course, tolerance: float) -> None:
    for system in _others_first(one):
        shares = [solved(meeting, system, tolerance) for meeting in one.meetings]
        axes.plot(one.counts, shares, **_look(system))


def regrets(rows: Sequence[Row], fields: Sequence[Field], path: Path) -> None:
    """Geometric mean of the regret of Gaussian processes against evaluations, with bands over seeds."""
    figure = Figure(figsize=(9.0, 5.0))
    panels = figure.subplots(1, len(fields), squeeze=False)[0]
    figure.subplots_adjust(left=0.1, right=0.85, bottom=0.11, top=0.93, wspace=0.8)
    for field, axes in zip(fields, panels, strict=True):
        one = course(rows, field._replace(systems=[name for name in field.systems if SYSTEMS[name].model]))
        axes.set(xscale="log", yscale="log", xlabel="evaluations", title=_counted(field, one))
        axes.set_xticks(one.counts and [n for n in (5, 10, 25, 50, 100, 200) if n <= one.counts[-1]])
        axes.xaxis.set_major_formatter("{x:g}")
        axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axes.yaxis.set_major_formatter("{x:g}")
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_minor_locator(NullLocator())
        _label_ends(axes, _draw_regrets(axes, one))
    panels[0].set_ylabel("regret by the spread, geometric mean")
    _write(figure, path)


def _draw_regrets(axes: Axes, one: Course) -> list[End]:
    by_count = [means(meeting, redraw=False) for meeting in one.meetings]
    ends = []
    for system in _others_first(one):
        middle, low, high = zip(*(found[system] for found in by_count), strict=True)
        axes.plot(one.counts, middle, **_look(system))
        axes.fill_between(one.counts, low, high, color=_style(system).colour, alpha=0.1, linewidth=0)
        ends.append(End(system, one.counts[-1], middle[-1]))
    return ends


def _others_first(one: Course) -> list[str]:
    """Ours is drawn above them."""
    systems = one.meetings[-1].systems if one.meetings else []
    return sorted(systems, key=lambda system: (system == OURS, place(system)))


def _counted(field: Field, one: Course) -> str:
    return f"{field.title}: {len(one.meetings[-1].problems)} problems" if one.meetings else f"{field.title}: none"


# How things look


def _style(system: str) -> Style:
    return STYLES.get(system, Style(GREY))


def _look(system: str) -> dict[str, Any]:
    style, above = _style(system), 4 if system == OURS else 3
    return {"color": style.colour, "linestyle": style.line, "linewidth": style.width, "zorder": above}


def _label_ends(axes: Axes, ends: Sequence[End]) -> None:
    """Names at the right of lines' ends, moved up or down where they would cover each other or an end.

    Those of ends above each other stay in their order.
    """
    axes.spines[["top", "right"]].set_visible(False)
    taken = [_around(axes, end) for end in ends]
    floors: dict[float, float] = {}
    for end in sorted(ends, key=lambda end: end.y):
        text = axes.annotate(
            f"{label(end.system)}, {end.note}" if end.note else label(end.system),
            (end.x, end.y),
            (7, 0),
            textcoords="offset points",
            va="center",
            fontsize=8.5,
            color=_style(end.system).colour,
            weight="bold" if end.system == OURS else "normal",
            annotation_clip=False,
            zorder=6 if end.system == OURS else 3.5,  # no name hides our line
            bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.7, "pad": 0.5},
        )
        for step in range(4 * len(ends)):
            text.set_position((7, 3.0 * (step // 2 + step % 2) * (-1) ** step))
            box = text.get_window_extent()
            if box.y0 > floors.get(end.x, -math.inf) and not any(box.overlaps(other) for other in taken):
                break
        taken.append(box)
        floors[end.x] = box.y0


def _around(axes: Axes, end: End) -> Bbox:
    x, y = axes.transData.transform((end.x, end.y))
    return Bbox.from_extents(x - 4, y - 4, x + 4, y + 4)


def _write(figure: Figure, path: Path) -> None:
    for axes in figure.axes:
        axes.grid(True, which="major", color="#dddddd", linewidth=0.6)
        axes.set_axisbelow(True)
        axes.title.set_fontsize(10)
    path.parent.mkdir(parents=True, exist_ok=True)
    with mpl.rc_context({"svg.hashsalt": "uncubed"}):  # or its names would be random
        figure.savefig(path, metadata={"Date": None, "Creator": None} if path.suffix == ".svg" else None)
