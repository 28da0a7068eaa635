"""Figures, panels, legends and colours that all plots share."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from uncubed._shown import Study
from uncubed.errors import InvalidInputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    Panels = Axes | Sequence[Axes] | np.ndarray[Any, Any] | None
    """Where to draw: one axes, several, what `subplots` returns; a new figure if None."""

BLACK, GREY, BLUE, SKY, RED, ORANGE = "#000000", "#777777", "#0072B2", "#56B4E9", "#D55E00", "#E69F00"
"""Of Okabe and Ito's palette, which colour-blind readers can tell apart."""

COLOURS = "viridis"
"""Of surfaces: even in lightness, also in print."""

WIDTH = 8.0
"""Of a figure in inches: 800 pixels."""


def panels(axes: "Panels", rows: int, columns: int, *, count: int, size: tuple[float, float], **shared: Any) -> Any:
    """The axes to draw on, an array of shape (count,)."""
    if axes is not None:
        given = np.ravel(np.asarray(axes, dtype=object))
        if len(given) != count:
            raise InvalidInputError(f"axes: expected {count}, one per panel, got {len(given)}")
        return given
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise InvalidInputError("plot: expected matplotlib, got none: pip install uncubed[plot]") from error
    grid = Figure(figsize=size, dpi=100, layout="constrained").subplots(rows, columns, squeeze=False, **shared)
    for unused in grid.flat[count:]:
        unused.remove()
    return grid.flat[:count]


def finish(shown: Sequence["Axes"], given: "Panels", *, grid: str = "both") -> "Figure":
    """A light grid, a legend above a new figure or within given axes, and the figure."""
    for panel in shown:
        if grid != "none":
            panel.grid(True, axis=grid, which="major", color="#dddddd", linewidth=0.6)  # type: ignore[arg-type]
            panel.set_axisbelow(True)
    figure: Figure = shown[0].figure.figure  # of a sub-figure, the figure it is in
    handles, labels = shown[0].get_legend_handles_labels()
    if handles and given is None:
        figure.legend(handles, labels, loc="outside upper left", ncols=3, frameon=False, fontsize="small")
    elif handles:
        shown[0].legend(fontsize="small")
    return figure


def nothing_told(axes: Sequence["Axes"], opt: Study) -> bool:
    """Whether there is nothing to draw yet, which the panels then say."""
    if len(opt.log.values):
        return False
    failed = f", {len(opt.failures):,} failed" if opt.failures else ""
    for panel in axes:
        panel.text(
            0.5, 0.5, f"no value told yet{failed}", ha="center", va="center", color=GREY, transform=panel.transAxes
        )
        if panel.get_ylim() == (0.0, 1.0):  # of no meaning yet
            panel.set_yticks([])
    return True


def plain(text: object) -> str:
    """A text without mathematics in it: a dollar is a dollar."""
    return str(text).replace("$", r"\$")
