"""What was told, over the evaluations."""

from typing import TYPE_CHECKING, Any

import numpy as np

from uncubed._shown import Study, best_so_far, decimate, visible
from uncubed._typing import Array
from uncubed.plot._frame import BLACK, BLUE, GREY, RED, SKY, WIDTH, finish, nothing_told, panels
from uncubed.plot._scale import number

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from uncubed.plot._frame import Panels

MOST_POINTS = 2000
"""Drawn of one curve: more than a screen has columns."""

LONG = 1000
"""Evaluations from which they are on a logarithmic axis: most happens early."""


def progress(opt: Study, axes: "Panels" = None) -> "Figure":
    """The values told, the best so far, the best believed and the range in which the optimum is certified to lie.

    Args:
        opt: the optimiser.
        axes: where to draw; a new figure unless given.
    """
    shown = panels(axes, 1, 1, count=1, size=(WIDTH, 4.4))
    panel: Axes = shown[0]
    panel.set(xlabel="evaluations", ylabel="value")
    _scale_evaluations(panel, opt)
    if not nothing_told(shown, opt):
        _draw_values(panel, opt, _places(opt))
        _draw_milestones(panel, opt)
        _limit_values(panel, opt)
    _draw_failures(panel, opt)
    return finish(shown, axes)


def information(opt: Study, axes: "Panels" = None) -> "Figure":
    """The model order, and what each value taught.

    Args:
        opt: the optimiser.
        axes: two, where to draw; a new figure unless given.
    """
    shown = panels(axes, 2, 1, count=2, size=(WIDTH, 5.2), sharex=True)
    order, nats = shown
    order.set(ylabel="model order")
    nats.set(xlabel="evaluations", ylabel="nats per evaluation")
    _scale_evaluations(nats, opt)
    _scale_evaluations(order, opt)
    if nothing_told(shown, opt):
        return finish(shown, axes)
    _draw_orders(order, opt, _places(opt))
    _draw_nats(nats, opt, _places(opt))
    return finish(shown, axes)


def _draw_orders(panel: "Axes", opt: Study, x: Array) -> None:
    from matplotlib.ticker import MaxNLocator

    orders = opt.log.model_orders.astype(np.float64)
    kept = decimate(_drawn(x, opt), orders, MOST_POINTS)
    marker = "." if len(x) <= 30 else ""
    panel.plot(x[kept], orders[kept], color=BLUE, linewidth=1.6, drawstyle="steps-post", marker=marker)
    panel.set_ylim(0.0, 1.08 * max(orders.max(), 1.0))
    panel.yaxis.set_major_locator(MaxNLocator(6, integer=True))


def _draw_nats(panel: "Axes", opt: Study, x: Array) -> None:
    nats = opt.log.nats.astype(np.float64)
    taught = np.flatnonzero(nats > 0)
    if not len(taught):
        panel.text(0.5, 0.5, "no value told by itself", ha="center", va="center", color=GREY, transform=panel.transAxes)
        panel.set_ylim(0.0, 1.0)
        return
    kept = taught[decimate(_drawn(x[taught], opt), nats[taught], MOST_POINTS)]
    panel.plot(x[kept], nats[kept], ".", color=BLUE, markersize=_dot(x), alpha=0.6, markeredgewidth=0)
    _scale_nats(panel, nats[taught])


def _scale_nats(panel: "Axes", nats: Array) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    low, high = nats.min(), nats.max()
    panel.set(yscale="log", ylim=(low / (high / low) ** 0.05 / 1.2, 1.2 * high * (high / low) ** 0.05))
    panel.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if high < 100 * low else (1.0,)))
    panel.yaxis.set_major_formatter(FuncFormatter(lambda value, _: number(value)))
    panel.yaxis.set_minor_formatter(NullFormatter())


def _draw_values(panel: "Axes", opt: Study, x: Array) -> None:
    values, best = opt.log.values, best_so_far(opt.log.values, opt.direction)
    kept = decimate(_drawn(x, opt), values, MOST_POINTS)
    label = "told" if len(kept) == len(x) else "told: extremes only"
    panel.plot(x[kept], values[kept], ".", color=GREY, markersize=_dot(x), alpha=0.45, markeredgewidth=0, label=label)
    kept = decimate(_drawn(x, opt), best, MOST_POINTS)
    until = np.append(x[kept], max(opt.evaluations, x[-1]))
    panel.plot(until, np.append(best[kept], best[-1]), color=BLACK, drawstyle="steps-post", label="best told so far")


def _draw_milestones(panel: "Axes", opt: Study) -> None:
    """Each holds until the next."""
    milestones = [m for m in opt.milestones if np.isfinite([m.mean, m.lower, m.upper]).all()]
    if not milestones:
        return
    until = max(opt.evaluations, milestones[-1].evaluations)
    x = [*(m.evaluations for m in milestones), until]
    mean, lower, upper = np.array([(m.mean, m.lower, m.upper) for m in (*milestones, milestones[-1])]).T
    panel.plot(x, mean, color=BLUE, linestyle="--", drawstyle="steps-post", label="best believed")
    label = f"certified range of the optimum: {lower[-1]:.4g} to {upper[-1]:.4g}"
    panel.fill_between(x, lower, upper, step="post", color=SKY, alpha=0.25, linewidth=0, label=label)


def _limit_values(panel: "Axes", opt: Study) -> None:
    """All but far-off values, and as much of the band as does not make them flat."""
    low, high = visible(opt.log.values, opt.direction)
    span = high - low or 0.5 * abs(low) or 1.0
    band = [b for m in opt.milestones[-1:] for b in (m.lower, m.upper, m.mean) if np.isfinite(b)]
    bottom, top = max(low - span, min([low, *band])), min(high + span, max([high, *band]))
    pad = 0.06 * ((top - bottom) or 2.0 * span)
    beyond = int(np.count_nonzero((opt.log.values < low) | (opt.log.values > high)))
    panel.set_ylim(bottom - pad, top + pad)
    if beyond:
        panel.plot([], [], " ", label=f"{beyond:,} told lie beyond the axis")


def _draw_failures(panel: "Axes", opt: Study) -> None:
    """Ticks on the axis, where it is known when they came."""
    if not opt.failures:
        return
    at = np.array(_failed(opt), dtype=np.float64)
    kept = decimate(_drawn(at, opt), np.zeros(len(at)), MOST_POINTS)
    on_axis: dict[str, Any] = {"transform": panel.get_xaxis_transform(), "clip_on": False, "in_layout": False}
    on_axis["label"] = f"{len(opt.failures):,} failed"
    panel.plot(at[kept], np.zeros(len(kept)), "|", color=RED, markersize=11, markeredgewidth=1.4, **on_axis)


def _places(opt: Study) -> Array:
    """The evaluations that gave a value, counted from 1 with those that failed, shape (n,)."""
    failed = _failed(opt)
    return np.setdiff1d(np.arange(1.0, len(opt.log.values) + len(failed) + 1.0), failed)


def _failed(opt: Study) -> list[int]:
    """The evaluations that failed."""
    return [failure.evaluation for failure in opt.failures]


def _scale_evaluations(panel: "Axes", opt: Study) -> None:
    from matplotlib.ticker import FuncFormatter, MaxNLocator, NullFormatter

    last = max(opt.evaluations, 1)
    if last > LONG:
        panel.set(xscale="log", xlim=(0.9, 1.1 * last))
        panel.xaxis.set_minor_formatter(NullFormatter())
    else:
        panel.set_xlim(1.0 - max(0.02 * last, 0.5), last + max(0.02 * last, 0.5))
        panel.xaxis.set_major_locator(MaxNLocator(8, integer=True, min_n_ticks=1, steps=[1, 2, 5, 10]))
    panel.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))


def _drawn(x: Array, opt: Study) -> Array:
    """Where evaluations lie on their axis, up to its scale."""
    return np.log(x) if opt.evaluations > LONG else x


def _dot(x: Array) -> float:
    return 9.0 if len(x) <= 100 else 6.0 if len(x) <= LONG else 4.0
