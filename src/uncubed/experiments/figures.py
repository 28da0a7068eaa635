"""The report's figures. Colours and line styles tell the methods apart also in print."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter

from uncubed._typing import Array
from uncubed.experiments import analysis
from uncubed.experiments.config import Setting, methods
from uncubed.experiments.runner import ACQUISITIONS, Row

Groups = Mapping[tuple[str, str, str], Sequence[Row]]
"""Rows by setting, acquisition and method."""


class Style(NamedTuple):
    """How a method is drawn."""

    colour: str
    line: str
    marker: str


STYLES = {
    "dense": Style("#000000", "-", "s"),
    "dense-unmerged": Style("#777777", ":", "X"),
    "relative": Style("#E69F00", (0, (2, 2)), "v"),  # type: ignore[arg-type]
    "absolute": Style("#D55E00", "--", "^"),
    "schedule": Style("#0072B2", "-", "o"),
    "projected": Style("#009E73", "-.", "D"),
    "bkb": Style("#CC79A7", (0, (5, 1, 1, 1)), "P"),  # type: ignore[arg-type]
}
"""The palette is Okabe and Ito's, which colour-blind readers can tell apart."""

GROWTH_STYLES = {1.0: STYLES["absolute"], 0.5: STYLES["schedule"], 0.0: STYLES["projected"]}
"""By α·p."""

RESOLUTION = 130
"""Dots per inch."""


def nine_panels(setting: Setting, groups: Groups, path: Path) -> None:
    """The paper's: regret over rounds, regret over clock time and model order over rounds, for each acquisition."""
    figure = Figure(figsize=(1.2 + 3.3 * len(setting.acquisitions), 8.6), layout="constrained")
    axes = figure.subplots(3, len(setting.acquisitions), sharey="row", squeeze=False)
    for acquisition, (regret, clock, order) in zip(setting.acquisitions, axes.T, strict=True):
        for method in setting.methods:
            rows = groups.get((setting.name, acquisition, method.name), ())
            if rows:
                _draw_run(method.name, rows, regret, clock, order)
        regret.set(title=ACQUISITIONS[acquisition], xlabel="round t", yscale="log")
        clock.set(xlabel="clock time with initial points, seconds", xscale="log", yscale="log")
        order.set(xlabel="round t", yscale="log")
    for row in axes:
        _limit_to_lines(row)
    axes[0, 0].set_ylabel("mean average regret Reg$_t$ / t")
    axes[1, 0].set_ylabel("mean average regret Reg$_t$ / t")
    axes[2, 0].set_ylabel("model order M$_t$")
    _finish(figure, axes[1, 0], path, columns=4)


def _draw_run(name: str, rows: Sequence[Row], regret: Axes, clock: Axes, order: Axes) -> None:
    rounds, seconds = analysis.curves(rows, "round")[0], analysis.curves(rows, "seconds").mean(axis=0)
    seconds += np.mean(analysis.column(rows, "initial_seconds"))
    averages, orders = analysis.average_regrets(rows), analysis.curves(rows, "model_order")
    _band(clock, name, seconds, averages)
    if name != "dense-unmerged":  # the same actions as dense: only its clock differs
        _band(regret, name, rounds, averages)
        _band(order, name, rounds, orders)


def _band(axes: Axes, name: str, x: Array, values: Array) -> None:
    """Mean and confidence band over seeds."""
    style, (mean, half) = STYLES[name], analysis.band(values)
    axes.plot(x, mean, color=style.colour, linestyle=style.line, linewidth=1.6, label=methods()[name].label)
    if np.isfinite(half).all():
        lower = np.maximum(mean - half, np.finfo(float).tiny)  # a logarithmic axis has no zero
        axes.fill_between(x, lower, mean + half, color=style.colour, alpha=0.1, linewidth=0)


def _limit_to_lines(row: Iterable[Axes]) -> None:
    """Show all means; a band that reaches zero or far up is cut."""
    means = np.concatenate([line.get_ydata() for axes in row for line in axes.get_lines()] or [[1.0]])
    positive = means[means > 0]
    if positive.size:
        next(iter(row)).set_ylim(0.6 * positive.min(), 1.6 * positive.max())


def certificates(setting: Setting, groups: Groups, method: str, path: Path) -> None:
    """Measured cumulative regret beside what should bound it."""
    figure = Figure(figsize=(1.2 + 3.3 * len(setting.acquisitions), 3.9), layout="constrained")
    axes = figure.subplots(1, len(setting.acquisitions), sharey=True, squeeze=False)[0]
    for acquisition, panel in zip(setting.acquisitions, axes, strict=True):
        rows = groups.get((setting.name, acquisition, method), ())
        if rows:
            _draw_bounds(setting, acquisition, rows, panel)
        panel.set(title=ACQUISITIONS[acquisition], xlabel="round t", yscale="log")
    axes[0].set_ylabel("cumulative regret")
    _finish(figure, axes[0], path, columns=3)


def _draw_bounds(setting: Setting, acquisition: str, rows: Sequence[Row], axes: Axes) -> None:
    rounds = analysis.curves(rows, "round")[0]
    measured = analysis.curves(rows, "cumulative_regret")
    axes.plot(rounds, measured.max(axis=0), color="#000000", label="measured: worst seed")
    axes.plot(rounds, measured.mean(axis=0), color="#000000", linestyle=":", label="measured: mean over seeds")
    bound = analysis.curves(rows, "regret_bound").mean(axis=0)
    axes.plot(rounds, bound, color="#0072B2", linestyle="--", label="certificate, Σ max UCB − LCB(x$_t$)")
    theorem, corollary = "Theorem 3.2, realised gain (UCB only)", "Corollary 3.3 as printed (UCB only)"
    if rows[0]["curve"]["theorem_bound"]:
        realised = analysis.curves(rows, "theorem_bound").mean(axis=0)
        axes.plot(rounds, realised, color="#009E73", linestyle="-.", label=theorem)
    if acquisition == "ucb" and not setting.box and len(setting.levels) == 1:  # it is stated for p = 1
        printed = analysis.PrintedBounds(int(np.prod(setting.levels)), setting.noise_variance, setting.delta)
        vacuous = [printed.corollary(int(t)) for t in rounds]
        axes.plot(rounds, vacuous, color="#D55E00", linestyle=(0, (5, 1, 1, 1)), label=corollary)


def tradeoff(settings: Sequence[Setting], groups: Groups, path: Path) -> None:
    """Regret against what it costs: one curve per way of choosing the threshold, dense and BKB as points."""
    figure = Figure(figsize=(10.0, 1.0 + 3.7 * len(settings)), layout="constrained")
    grid = figure.subplots(len(settings), 2, sharey="row", squeeze=False)
    for setting, row in zip(settings, grid, strict=True):
        for axes, x in zip(row, ("model_order", "evaluations"), strict=True):
            _draw_tradeoff(setting, groups, axes, x)
        row[0].set(title=setting.title, xlabel="model order M$_T$", ylabel="mean average regret Reg$_T$ / T")
        row[1].set(title=setting.title, xlabel="evaluations in T rounds")
    _finish(figure, grid[0, 0], path, columns=3)


def _draw_tradeoff(setting: Setting, groups: Groups, axes: Axes, x: str) -> None:
    families = {
        "epsilon": ("relative", "compressed, constant ε"),
        "alpha": ("schedule", "compressed, α = 0 … 1/p"),
        "novelty": ("projected", "projected, novelty c"),
        "dense": ("dense", "dense"),
        "bkb": ("bkb", "BKB"),
    }
    for prefix, (look, label) in families.items():
        points = [
            (
                analysis.interval(analysis.column(rows, x)),
                analysis.interval(analysis.column(rows, "mean_average_regret")),
            )
            for method in setting.methods
            if method.name.partition("-")[0] == prefix
            and (rows := groups.get((setting.name, setting.acquisitions[0], method.name)))
        ]
        if points:
            _draw_points(axes, sorted(points), STYLES[look], label)
    _make_logarithmic(axes)


def _draw_points(
    axes: Axes, points: Sequence[tuple[analysis.Interval, analysis.Interval]], style: Style, label: str
) -> None:
    (x, x_half), (y, y_half) = (np.array(column).T for column in zip(*points, strict=True))
    axes.errorbar(
        x,
        y,
        xerr=_bar(x, x_half),
        yerr=_bar(y, y_half),
        color=style.colour,
        linestyle=style.line if len(points) > 1 else "none",
        marker=style.marker,
        markersize=8 if len(points) == 1 else 5,
        elinewidth=1.0,
        linewidth=1.3,
        label=label,
    )


def _bar(mean: Array, half: Array) -> Array:
    """Half-widths down and up, the lower one cut where a logarithmic axis ends; none for one seed."""
    whole = np.nan_to_num(half)
    return np.array([np.minimum(whole, 0.9 * mean), whole])


def growth(families: Sequence[Sequence[Setting]], groups: Groups, path: Path) -> None:
    """Cumulative regret and model order as the horizon grows, for the three columns of Table 1."""
    figure = Figure(figsize=(10.0, 1.0 + 3.6 * len(families)), layout="constrained")
    grid = figure.subplots(len(families), 2, squeeze=False)
    for family, row in zip(families, grid, strict=True):
        for axes, of in zip(row, (analysis.cumulative_regret, analysis.model_order), strict=True):
            _draw_growth(family, groups, axes, of)
        row[0].set(title=family[0].title, xlabel="horizon T", ylabel="cumulative regret Reg$_T$")
        row[1].set(title=family[0].title, xlabel="horizon T", ylabel="model order M$_T$")
    _finish(figure, grid[0, 0], path, columns=3)


def _draw_growth(family: Sequence[Setting], groups: Groups, axes: Axes, of: Callable[[Row], float]) -> None:
    for method in family[0].methods:
        there = [(s.horizon, rows) for s in family if (rows := groups.get((s.name, "ucb", method.name)))]
        if not there:
            continue
        style = GROWTH_STYLES[method.alpha_p or 0.0]
        mean, half = np.array([analysis.interval([of(row) for row in rows]) for _, rows in there]).T
        axes.errorbar(
            [horizon for horizon, _ in there],
            mean,
            yerr=_bar(mean, half),
            color=style.colour,
            linestyle=style.line,
            marker=style.marker,
            markersize=5,
            label=alpha_label(method.alpha_p or 0.0),
        )
    _make_logarithmic(axes)


def alpha_label(alpha_p: float) -> str:
    """As Table 1 writes α."""
    return {1.0: "α = 1/p", 0.5: "α = 1/(2p)", 0.0: "α = 0"}[alpha_p]


def cost(families: Mapping[str, Sequence[Setting]], groups: Groups, path: Path) -> None:
    """Time per round against what it may grow with; the panels are by label of the horizontal axis."""
    figure = Figure(figsize=(10.0, 4.4), layout="constrained")
    panels = figure.subplots(1, len(families), sharey=True, squeeze=False)[0]
    for (label, family), axes in zip(families.items(), panels, strict=True):
        for method in family[0].methods:
            _draw_cost(family, groups, method.name, axes)
        axes.set(xlabel=label, xscale="log", yscale="log")
    panels[0].set_ylabel("clock time per round, microseconds")
    _finish(figure, panels[0], path, columns=3)


def _draw_cost(family: Sequence[Setting], groups: Groups, method: str, axes: Axes) -> None:
    there = [(s, rows) for s in family if (rows := groups.get((s.name, "ucb", method)))]
    if not there:
        return
    sizes = family[0].levels != family[-1].levels
    x = [setting.levels[0] if sizes else setting.horizon for setting, _ in there]
    y = [1e6 * np.mean([row["clock_seconds"] / row["horizon"] for row in rows]) for _, rows in there]
    style = STYLES[method]
    axes.plot(
        x,
        y,
        color=style.colour,
        linestyle=style.line,
        marker=style.marker,
        markersize=5,
        label=methods()[method].label,
    )


def _make_logarithmic(axes: Axes) -> None:
    """Both axes; where all numbers are alike, or none is positive, matplotlib finds no limits by itself."""
    for name in ("x", "y"):
        values = np.concatenate([getattr(line, f"get_{name}data")() for line in axes.get_lines()] or [[1.0]])
        shown = values[values > 0] if (values > 0).any() else np.ones(1)
        if shown.min() == shown.max():
            axes.set(**{f"{name}lim": (0.5 * shown[0], 2.0 * shown[0])})
    axes.set(xscale="log", yscale="log")


def _label_log(axis: Axis) -> None:
    """Plain numbers, at 1, 2 and 5 where there is less than two decades."""
    low, high = axis.get_view_interval()
    steps = (1.0, 2.0, 5.0) if high < 100 * low else (1.0,)
    axis.set_major_locator(LogLocator(subs=steps))
    axis.set_major_formatter(_plain)
    axis.set_minor_formatter(NullFormatter())


def _plain(value: float, _: float) -> str:
    power = round(np.log10(value))
    is_power = not 1e-3 < value < 1e4 and np.isclose(value, 10.0**power)
    return f"$10^{{{power}}}$" if is_power else f"{value:g}"


def _finish(figure: Figure, labelled: Axes, path: Path, *, columns: int) -> None:
    """A legend above all panels, a light grid, and the file."""
    shown: dict[str, Artist] = {}
    for axes in (labelled, *figure.axes):
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            shown.setdefault(label, handle)
    if shown:
        figure.legend(shown.values(), shown.keys(), loc="outside upper center", ncols=columns, frameon=False)
    for axes in figure.axes:
        axes.grid(True, which="major", color="#dddddd", linewidth=0.6)
        axes.set_axisbelow(True)
        for axis in (axes.xaxis, axes.yaxis):
            if axis.get_scale() == "log":
                _label_log(axis)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=RESOLUTION, metadata={"Software": None})
