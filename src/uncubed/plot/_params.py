"""The parameters side by side."""

from typing import TYPE_CHECKING

import numpy as np

from uncubed._shown import Study, short, sign, typical, visible
from uncubed._typing import Array
from uncubed.plot._frame import BLUE, COLOURS, GREY, WIDTH, finish, nothing_told, panels, plain
from uncubed.plot._scale import Scale, scales

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from uncubed.plot._frame import Panels

MOST_LINES = 400
"""Drawn of what was told, the best half of them."""


def parallel_coordinates(opt: Study, axes: "Panels" = None) -> "Figure":
    """A line for each value told, through its parameters, coloured by the value; the best are on top.

    Args:
        opt: the optimiser.
        axes: where to draw; a new figure unless given.
    """
    chosen = typical(opt.log.values, opt.direction, MOST_LINES)
    rows, values = [opt.params(int(i)) for i in chosen], opt.log.values[chosen]
    across = scales(opt, rows)
    shown = panels(axes, 1, 1, count=1, size=(max(WIDTH, 1.2 * len(across) + 1.5), 4.4))
    panel: Axes = shown[0]
    if rows:
        low, high = visible(values, opt.direction)
        across = [*across, Scale("value", low, high)]
        columns = [s.positions([row[s.name] for row in rows]) for s in across[:-1]]
        heights = [s.fractions(c) for s, c in zip(across, [*columns, values.clip(low, high)], strict=True)]
        _draw_lines(panel, opt, np.column_stack(heights), values, (low, high))
        if len(rows) < len(opt.log.values):
            title = f"{len(rows):,} of {len(opt.log.values):,} told, among them the best {MOST_LINES // 2}"
            panel.set_title(title, fontsize="small", loc="left", color=GREY)
        _draw_axes(panel, across)
    panel.set(ylim=(-0.05, 1.05), xlim=(-0.6, max(len(across) - 0.8, 0.5)), yticks=[])
    panel.set_xticks(range(len(across)), [plain(short(s.name)) for s in across])
    panel.tick_params(axis="x", length=0)
    panel.spines[:].set_visible(False)
    nothing_told(shown, opt)
    return finish(shown, axes, grid="none")


def importance(opt: Study, axes: "Panels" = None) -> "Figure":
    """How much each parameter matters, from the length-scales.

    Args:
        opt: the optimiser.
        axes: where to draw; a new figure unless given.
    """
    shares = dict(sorted(opt.importance().items(), key=lambda item: item[1])) if len(opt.log.values) else {}
    shown = panels(axes, 1, 1, count=1, size=(WIDTH, 1.2 + 0.36 * max(len(shares), 2)))
    panel: Axes = shown[0]
    panel.set(xlabel="importance, share of all", xlim=(0.0, 1.0))
    if not nothing_told(shown, opt):
        bars = panel.barh(range(len(shares)), list(shares.values()), color=BLUE, height=0.65)
        panel.bar_label(bars, [f"{share:.1%}" for share in shares.values()], padding=4, fontsize="small")
        panel.set_yticks(range(len(shares)), [plain(short(name, 30)) for name in shares])
        panel.set_xlim(0.0, 1.12 * max(shares.values()) or 1.0)
    return finish(shown, axes, grid="x")


def _draw_lines(panel: "Axes", opt: Study, heights: Array, values: Array, limits: tuple[float, float]) -> None:
    from matplotlib.collections import LineCollection
    from matplotlib.colors import Normalize

    order = np.argsort(sign(opt.direction) * values, kind="stable")
    points = [np.column_stack([np.arange(heights.shape[1]), heights[i]]) for i in order]
    colours = COLOURS if opt.direction == "minimize" else f"{COLOURS}_r"  # the better, the darker
    lines = LineCollection(points, cmap=colours, norm=Normalize(*limits), linewidth=1.1, alpha=0.6)
    lines.set_array(values[order])
    panel.add_collection(lines)
    beyond = values.min() < limits[0], values.max() > limits[1]
    extend = {(True, False): "min", (False, True): "max"}.get(beyond, "neither")
    bar = panel.get_figure().colorbar(lines, ax=panel, pad=0.01, label="value", extend=extend)  # type: ignore[union-attr]
    if bar.solids is not None:
        bar.solids.set(alpha=1.0)


def _draw_axes(panel: "Axes", across: list[Scale]) -> None:
    for x, on in enumerate(across):
        panel.plot([x, x], [0.0, 1.0], color=GREY, linewidth=1.0, zorder=3)
        ticks = on.ticks()
        heights = on.fractions(np.array(list(ticks)))
        box = {"facecolor": "white", "alpha": 0.75, "edgecolor": "none", "pad": 0.8}
        for height, label in zip(heights, ticks.values(), strict=True):
            panel.plot([x - 0.03, x], [height, height], color=GREY, linewidth=1.0, zorder=3)
            panel.text(x - 0.05, height, label, ha="right", va="center", fontsize="small", bbox=box, zorder=4)
