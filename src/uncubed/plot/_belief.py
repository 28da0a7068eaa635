"""What the model believes, around one point."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np

from uncubed._shown import Study, typical, visible
from uncubed._typing import Array
from uncubed.errors import InvalidInputError
from uncubed.plot._frame import BLACK, BLUE, COLOURS, RED, SKY, WIDTH, finish, nothing_told, panels
from uncubed.plot._scale import Scale, along, few, scale
from uncubed.space import Params, Space

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from uncubed.plot._frame import Panels

MOST_TOLD = 1000
"""Values told that are looked at, however many there are."""

REACH = 0.35
"""Distance in the other parameters, in the unit cube, at which a dot has faded to a third."""

FAINTEST = 0.05
"""Nearness below which a dot is left out."""

BELIEVED, TOLD = "believed, ± 2 standard deviations", "told, faint if far"

GRID = 41
"""Values of a parameter on each side of a surface."""


@final
@dataclass(frozen=True, eq=False)
class _Around:
    """A point, and some of what was told.

    Attributes:
        space: of the point.
        centre: the point.
        rows: points told.
        U: their coordinates, shape (n, width).
        values: shape (n,).
    """

    space: Space
    centre: Params
    rows: list[Params]
    U: Array
    values: Array

    def positions(self, on: Scale) -> Array:
        """Of what was told, on the axis of a parameter, shape (n,)."""
        return on.positions([row[on.name] for row in self.rows])

    def nearness(self, *names: str) -> Array:
        """1 where all parameters but these are as in the centre, falling to 0, shape (n,)."""
        other = np.ones(self.space.width, bool)
        for name in names:
            other[self.space.columns[name]] = False
        apart = np.linalg.norm((self.U - self.space.encode(self.centre))[:, other], axis=1)
        near: Array = np.exp(-((apart / REACH) ** 2))
        return near


def slices(opt: Study, at: Mapping[str, Any] | None = None, axes: "Panels" = None) -> "Figure":
    """What is believed along each parameter, the others held: the mean, and two standard deviations on each side.

    Dots are values told, fainter the farther their other parameters are.

    Args:
        opt: the optimiser.
        at: where the others are held; what is not named is as in the best point.
        axes: one per parameter that is searched, where to draw; a new figure unless given.
    """
    space = _space(opt)
    count = len(space.dimensions)
    columns = count if count <= 3 else 2 if count == 4 else 3
    rows = -(-count // columns)
    shown = panels(axes, rows, columns, count=count, size=(WIDTH, 0.7 + 2.5 * rows), sharey=True)
    across = [scale(name, dimension) for name, dimension in space.dimensions.items()]
    for panel, on in zip(shown, across, strict=True):
        on.put_on(panel, "x")
    for panel in shown[::columns]:
        panel.set_ylabel("value")
    if not nothing_told(shown, opt):
        around = _around(opt, space, at or {})
        heights = [_draw_slice(panel, opt, on, around) for panel, on in zip(shown, across, strict=True)]
        low, high = np.min(heights), np.max(heights)
        pad = 0.05 * (high - low) or 0.5 * abs(low) or 1.0
        for panel in shown:
            panel.set_ylim(low - pad, high + pad)
    return finish(shown, axes)


def posterior(opt: Study, x: str, y: str, axes: "Panels" = None) -> "Figure":
    """What is believed over two parameters, the others as in the best point: the mean, and the standard deviation.

    Dots are points told, fainter the farther their other parameters are; the star is the best.

    Args:
        opt: the optimiser.
        x: name of the horizontal parameter.
        y: name of the vertical one.
        axes: two, where to draw; a new figure unless given.
    """
    space = _space(opt)
    for which, name in (("x", x), ("y", y)):
        if name not in space.dimensions:
            raise InvalidInputError(f"{which}: expected one of {', '.join(space.dimensions)}, got {name!r}")
    if x == y:
        raise InvalidInputError(f"y: expected another parameter than x, got {y!r} twice")
    shown = panels(axes, 1, 2, count=2, size=(WIDTH, 3.9), sharex=True, sharey=True)
    across, up = scale(x, space.dimensions[x]), scale(y, space.dimensions[y])
    for panel, title in zip(shown, ("mean of the value", "standard deviation"), strict=True):
        across.put_on(panel, "x")
        up.put_on(panel, "y")
        panel.set_title(title, fontsize="medium")
    shown[1].set_ylabel("")
    if not nothing_told(shown, opt):
        around = _around(opt, space, {})
        _draw_surfaces(shown, opt, around, across, up)
        _draw_points(shown, around, across, up)
    return finish(shown, axes, grid="none")


def _space(opt: Study) -> Space:
    if not isinstance(opt.space, Space):
        raise InvalidInputError(
            f"space: expected named parameters, got {type(opt.space).__name__}, which has nothing between its rows"
        )
    return opt.space


def _around(opt: Study, space: Space, at: Mapping[str, Any]) -> _Around:
    centre = space.decode(space.encode({**opt.best.params, **at}))
    values = opt.log.values
    chosen = typical(values, opt.direction, MOST_TOLD)
    rows = [opt.params(int(i)) for i in chosen]
    return _Around(space, centre, rows, np.array([space.encode(row) for row in rows]), values[chosen])


def _draw_slice(panel: "Axes", opt: Study, on: Scale, around: _Around) -> tuple[float, float]:
    """The least and the largest height of what is drawn, but for values far off."""
    dimension = around.space.dimensions[on.name]
    values = along(dimension)
    mean, variance = opt.predict([{**around.centre, on.name: value} for value in values])
    x, band = on.positions(values), 2.0 * np.sqrt(variance)
    if few(dimension):
        panel.errorbar(x, mean, band, fmt="o", color=BLUE, markersize=5, capsize=3, zorder=3, label=BELIEVED)
    else:
        panel.fill_between(x, mean - band, mean + band, color=SKY, alpha=0.3, linewidth=0)
        panel.plot(x, mean, color=BLUE, linewidth=1.6, zorder=3, label=BELIEVED)
    near = around.nearness(on.name)
    seen = near > FAINTEST
    style: dict[str, Any] = {"s": 14, "color": BLACK, "linewidth": 0, "zorder": 2}
    faded: Any = 0.7 * near[seen]
    panel.scatter(around.positions(on)[seen], around.values[seen], alpha=faded, **style)
    panel.scatter([], [], label=TOLD, **style)
    held = float(on.positions([around.centre[on.name]])[0])
    panel.axvline(held, color=RED, linestyle=":", linewidth=1.2, label="where the other panels are")
    told = visible(around.values[seen], opt.direction) if seen.any() else ()
    return min([*(mean - band), *told]), max([*(mean + band), *told])


def _draw_surfaces(shown: Sequence["Axes"], opt: Study, around: _Around, across: Scale, up: Scale) -> None:
    pair = [around.space.dimensions[on.name] for on in (across, up)]
    xs, ys = (along(dimension, GRID) for dimension in pair)
    mean, variance = opt.predict([{**around.centre, across.name: x, up.name: y} for y in ys for x in xs])
    cells = any(map(few, pair))
    for panel, surface in zip(shown, (mean, np.sqrt(variance)), strict=True):
        z = surface.reshape(len(ys), len(xs))
        drawn: Any
        ends = across.positions(xs), up.positions(ys)
        if np.ptp(z) <= 1e-9 * np.abs(z).max():  # flat, but for rounding
            z = np.full_like(z, z.mean())
        if cells or not np.ptp(z):
            ends = _edges(ends[0], across.log), _edges(ends[1], up.log)
            drawn = panel.pcolormesh(*ends, z, cmap=COLOURS)
        else:
            drawn = panel.contourf(*ends, z, levels=14, cmap=COLOURS)
        panel.set(xlim=ends[0][[0, -1]], ylim=ends[1][[0, -1]])
        panel.get_figure().colorbar(drawn, ax=panel, pad=0.02)  # type: ignore[union-attr]


def _edges(at: Array, log: bool) -> Array:
    """Of cells around these positions, shape (n + 1,)."""
    x = np.log(at) if log else at
    between = 0.5 * (x[1:] + x[:-1])
    first, last = (between[0] - x[0], x[-1] - between[-1]) if len(between) else (0.5, 0.5)
    edges = np.concatenate([[x[0] - first], between, [x[-1] + last]])
    return np.exp(edges) if log else edges


def _draw_points(shown: Sequence["Axes"], around: _Around, across: Scale, up: Scale) -> None:
    near = around.nearness(across.name, up.name)
    seen = near > FAINTEST
    x, y = around.positions(across)[seen], around.positions(up)[seen]
    faded: Any = 0.25 + 0.75 * near[seen]
    style: dict[str, Any] = {"s": 16, "color": "white", "edgecolor": BLACK, "linewidth": 0.7, "zorder": 3}
    best = [on.positions([around.centre[on.name]]) for on in (across, up)]
    for panel in shown:
        panel.scatter(x, y, alpha=faded, **style)
        panel.scatter([], [], label=TOLD, **style)
        panel.plot(*best, "*", color=RED, markersize=15, markeredgecolor="white", zorder=4, clip_on=False, label="best")
