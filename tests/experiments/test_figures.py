import struct
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.container import ErrorbarContainer
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from tests.experiments.test_analysis import every_row, made
from uncubed._typing import Array
from uncubed.experiments import figures
from uncubed.experiments.config import EXPERIMENTS, Setting, methods, settings
from uncubed.experiments.figures import RESOLUTION, Groups
from uncubed.experiments.results import group
from uncubed.experiments.runner import Row, Task, run

SETTINGS = {setting.name: setting for name in EXPERIMENTS for setting in settings(name)}
EXAMPLE = SETTINGS["example-T200"]
STUDENT = 4.302653
"""With two degrees of freedom."""


def family(name: str) -> list[Setting]:
    return [setting for setting in SETTINGS.values() if setting.family == name]


def families(chosen: Sequence[Setting]) -> dict[str, list[Setting]]:
    return {name: [s for s in chosen if s.family == name] for name in dict.fromkeys(s.family for s in chosen)}


Draw = Callable[[Sequence[Setting], Groups, Path], None]
DRAW: dict[str, Draw] = {
    "nine panels": lambda chosen, groups, path: figures.nine_panels(chosen[0], groups, path),
    "certificates": lambda chosen, groups, path: figures.certificates(chosen[0], groups, "schedule", path),
    "trade-off": figures.tradeoff,
    "growth": lambda chosen, groups, path: figures.growth([*families(chosen).values()], groups, path),
    "cost": lambda chosen, groups, path: figures.cost(families(chosen), groups, path),
}
SHOWN = {
    "nine panels": [EXAMPLE],
    "certificates": [EXAMPLE],
    "trade-off": family("sweep-example") + family("sweep-rosenbrock"),
    "growth": family("growth-example") + family("growth-rosenbrock"),
    "cost": family("cost-rounds") + family("cost-actions"),
}
SIZES = {
    "nine panels": (1.2 + 3 * 3.3, 8.6),
    "certificates": (1.2 + 3 * 3.3, 3.9),
    "trade-off": (10.0, 1.0 + 2 * 3.7),
    "growth": (10.0, 1.0 + 2 * 3.6),
    "cost": (10.0, 4.4),
}
"""Inches."""
every_figure = pytest.mark.parametrize("name", DRAW)


def rows_of(chosen: Sequence[Setting], **known: Any) -> list[Row]:
    """All rows; in a sweep every one has other numbers."""
    rows = [row for setting in chosen for row in every_row(setting, **known)]
    for k, row in enumerate(rows):
        if row["setting"].startswith("sweep"):
            row |= {"model_order": 20 + k, "evaluations": 10 + k, "mean_average_regret": 0.1 + k}
    return rows


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[Figure]:
    """The figures made from here on; that they can be rendered is another test's, which takes longer."""
    made_here: list[Figure] = []

    def keep(**how: Any) -> Figure:
        made_here.append(Figure(**how))
        return made_here[-1]

    monkeypatch.setattr(figures, "Figure", keep)
    monkeypatch.setattr(Figure, "savefig", lambda *_, **__: None)
    return made_here


def size(path: Path) -> tuple[int, int]:
    """Of a PNG, in pixels."""
    content = path.read_bytes()
    assert content.startswith(b"\x89PNG\r\n\x1a\n")
    assert content.endswith(b"IEND\xaeB`\x82")
    width, height = struct.unpack(">II", content[16:24])
    return width, height


def legend(figure: Figure) -> list[str]:
    return [text.get_text() for some in figure.legends for text in some.get_texts()]


def labels(figure: Figure) -> set[str]:
    """Of everything drawn."""
    return {label for axes in figure.axes for label in axes.get_legend_handles_labels()[1]}


def points(line: Line2D) -> Array:
    return np.array([line.get_xdata(), line.get_ydata()], float)


# Rendered


@every_figure
def test_a_figure_is_a_png_of_its_size(name: str, tmp_path: Path) -> None:
    path = tmp_path / "made" / "where it is needed.png"
    DRAW[name](SHOWN[name], group(rows_of(SHOWN[name])), path)
    np.testing.assert_allclose(size(path), np.multiply(SIZES[name], RESOLUTION), atol=1.0)


def test_rows_of_runs_can_be_drawn(tmp_path: Path) -> None:
    small = replace(EXAMPLE, levels=(40,), horizon=20, acquisitions=("ei",))
    tasks = [Task(small, "ei", methods()[name], seed) for name in ("dense", "schedule", "bkb") for seed in (0, 1)]
    groups = group(run(task) for task in tasks)
    figures.nine_panels(small, groups, tmp_path / "nine.png")
    figures.certificates(small, groups, "schedule", tmp_path / "bounds.png")
    assert [size(tmp_path / name)[0] for name in ("nine.png", "bounds.png")] == [585, 585]


FEW = {
    "nine panels": [replace(EXAMPLE, acquisitions=("ucb",))],
    "certificates": [replace(EXAMPLE, acquisitions=("ei",))],
    "trade-off": family("sweep-example"),
    "growth": family("growth-example"),
    "cost": family("cost-rounds"),
}
VARIANTS: dict[str, Callable[[list[Row]], list[Row]]] = {
    "one seed of some": lambda rows: [
        row for row in rows if row["seed"] == 1 and row["method"] in ("dense", "schedule", "alpha-1")
    ],
    "no rows": lambda rows: [],
    "one row": lambda rows: rows[:1],
    "no regret": lambda rows: [row | {"mean_average_regret": 0.0, "curve": without_regret(row)} for row in rows],
}


def without_regret(row: Row) -> dict[str, Any]:
    return {**row["curve"], "cumulative_regret": [0.0] * len(row["curve"]["round"])}


@pytest.mark.parametrize(
    ("name", "variant"),
    [(name, variant) for name in DRAW for variant in VARIANTS],
)
def test_whatever_there_is_can_be_drawn(
    name: str, variant: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(figures, "RESOLUTION", 20)
    DRAW[name](FEW[name], group(VARIANTS[variant](rows_of(FEW[name]))), tmp_path / "a.png")
    assert min(size(tmp_path / "a.png")) > 70


# Legends


@every_figure
def test_what_is_drawn_is_in_the_legend_once(name: str, drawn: list[Figure]) -> None:
    rows = rows_of(SHOWN[name])
    unequal = [row for row in rows if row["seed"] == 0 or row["method"] not in ("dense", "alpha-1")]
    fewer = [row for row in unequal if row["method"] not in ("bkb", "relative", "alpha-0")]
    for some in (rows, unequal, fewer):
        DRAW[name](SHOWN[name], group(some), Path("a.png"))
    for figure in drawn:
        assert len(set(legend(figure))) == len(legend(figure))
        assert set(legend(figure)) == labels(figure) != set()
    counts = [len(legend(figure)) for figure in drawn]
    assert counts == {"certificates": [5] * 3, "growth": [3, 3, 2]}.get(name, [counts[0]] * 2 + counts[2:])
    assert counts[2] < counts[1] or name == "certificates"


@every_figure
def test_what_only_the_last_panel_has_is_in_the_legend(name: str, drawn: list[Figure]) -> None:
    last = SHOWN[name][-1]
    late = [row for row in rows_of([last]) if row["acquisition"] == last.acquisitions[-1]]
    DRAW[name](SHOWN[name], group(late), Path("a.png"))
    assert set(legend(drawn[0])) == labels(drawn[0]) != set()


# Nine panels


def test_nine_panels_are_regret_clock_and_model_order_by_acquisition(drawn: list[Figure]) -> None:
    figures.nine_panels(EXAMPLE, group(rows_of([EXAMPLE])), Path("a.png"))
    axes = np.array(drawn[0].axes).reshape(3, 3)
    assert [panel.get_title() for panel in axes[0]] == ["UCB", "EI", "MPI"]
    across = [{panel.get_xlabel() for panel in row} for row in axes]
    assert across == [{"round t"}, {"clock time with initial points, seconds"}, {"round t"}]
    assert [row[0].get_ylabel()[:11] for row in axes] == ["mean averag", "mean averag", "model order"]
    assert all(panel.get_yscale() == "log" for panel in axes.flat)


def test_unmerged_repeats_are_in_the_clock_panels_only(drawn: list[Figure]) -> None:
    figures.nine_panels(EXAMPLE, group(rows_of([EXAMPLE])), Path("a.png"))
    counts = np.array([len(panel.get_lines()) for panel in drawn[0].axes]).reshape(3, 3)
    assert counts.tolist() == [[6] * 3, [7] * 3, [6] * 3]
    assert len(legend(drawn[0])) == 7


def test_a_line_is_the_mean_over_seeds_and_its_band_the_interval(drawn: list[Figure]) -> None:
    rows = [made(EXAMPLE, seed=seed, clock_seconds=8.0 * seed, initial_seconds=0.5) for seed in range(3)]
    figures.nine_panels(EXAMPLE, group(rows), Path("a.png"))
    regret, _, _, clock, _, _, order, _, _ = drawn[0].axes
    np.testing.assert_allclose(points(regret.get_lines()[0]), [[50.0, 100.0, 200.0], [0.2] * 3])
    np.testing.assert_allclose(points(clock.get_lines()[0]), [[2.5, 4.5, 8.5], [0.2] * 3])
    np.testing.assert_allclose(points(order.get_lines()[0]), [[50.0, 100.0, 200.0], [201.0] * 3])
    for panel in (regret, clock):
        edges = np.asarray(panel.collections[0].get_paths()[0].vertices, float)[:, 1]
        assert edges.max() == pytest.approx(0.2 + STUDENT * 0.1 / np.sqrt(3.0))
        assert 0.0 < edges.min() < 1e-9  # the interval reaches below zero


def test_one_seed_has_no_band(drawn: list[Figure]) -> None:
    figures.nine_panels(EXAMPLE, group([made(EXAMPLE)]), Path("a.png"))
    assert not [panel.collections for panel in drawn[0].axes if len(panel.collections)]


def test_every_mean_is_inside_its_panel(drawn: list[Figure]) -> None:
    rows = [made(EXAMPLE, name, "dense", mean_average_regret=regret) for name, regret in (("ucb", 1e-3), ("mpi", 40.0))]
    figures.nine_panels(EXAMPLE, group(rows), Path("a.png"))
    for panel in drawn[0].axes:
        low, high = panel.get_ylim()
        assert all(low < y < high for line in panel.get_lines() for y in points(line)[1])


# The rest


def test_certificates_have_the_theorem_for_ucb_and_the_corollary_on_a_grid(drawn: list[Figure]) -> None:
    for setting in (EXAMPLE, EXAMPLE.on_box):
        figures.certificates(setting, group(rows_of([setting])), "schedule", Path("a.png"))
    counts = [[len(panel.get_lines()) for panel in figure.axes] for figure in drawn]
    assert counts == [[5, 3, 3], [4, 3, 3]]
    worst, mean = (points(line)[1] for line in drawn[0].axes[0].get_lines()[:2])
    np.testing.assert_allclose([worst[-1], mean[-1]], [40.0, 30.0])


def bars(figure: Figure) -> list[ErrorbarContainer]:
    return [bar for axes in figure.axes for bar in axes.containers if isinstance(bar, ErrorbarContainer)]


def ends(bar: ErrorbarContainer) -> Array:
    """Of the vertical bars, shape (n, 2)."""
    return np.array([segment[:, 1] for segment in bar.lines[2][-1].get_segments()])


def test_sweeps_are_curves_and_dense_and_bkb_are_points(drawn: list[Figure]) -> None:
    chosen = family("sweep-example")
    figures.tradeoff(chosen, group(rows_of(chosen)), Path("a.png"))
    assert [np.size(bar.lines[0].get_xdata()) for bar in bars(drawn[0])] == [10, 7, 6, 1, 1] * 2
    for bar in bars(drawn[0]):
        assert (np.diff(points(bar.lines[0])[0]) > 0.0).all()


def grown(drawn: list[Figure], regrets: Sequence[float]) -> Array:
    """The first bar of a growth figure with these regrets of seeds."""
    (setting, *_) = chosen = family("growth-example")
    rows = [made(setting, "ucb", "alpha-1", seed, mean_average_regret=regret) for seed, regret in enumerate(regrets)]
    DRAW["growth"](chosen, group(rows), Path("a.png"))
    bar: Array = ends(bars(drawn[0])[0])[0]
    return bar


def test_growth_bars_are_intervals(drawn: list[Figure]) -> None:
    half = 100.0 * STUDENT * 0.01 / np.sqrt(3.0)
    np.testing.assert_allclose(grown(drawn, [1.0, 1.01, 1.02]), [101.0 - half, 101.0 + half], rtol=1e-5)


def test_a_bar_that_reaches_below_zero_is_cut_there_and_whole_above(drawn: list[Figure]) -> None:
    low, high = grown(drawn, [0.1, 1.1, 2.1])
    assert 0.0 < low < 20.0
    assert high == pytest.approx(110.0 + 100.0 * STUDENT / np.sqrt(3.0), rel=1e-5)


@pytest.mark.parametrize(("name", "across"), [("cost-rounds", [100, 316, 1000, 3162]), ("cost-actions", None)])
def test_cost_is_in_microseconds_per_round(name: str, across: list[int] | None, drawn: list[Figure]) -> None:
    chosen = family(name)
    DRAW["cost"](chosen, group(rows_of(chosen, clock_seconds=2.0)), Path("a.png"))
    x, y = points(drawn[0].axes[0].get_lines()[0])
    np.testing.assert_array_equal(x, across or [500, 2000, 8000, 32000])
    np.testing.assert_allclose(y, [2e6 / setting.horizon for setting in chosen])


def test_every_method_looks_like_itself() -> None:
    compared = {method.name for method in EXAMPLE.methods}
    assert compared <= set(figures.STYLES)
    colours, lines, markers = ([str(part) for part in look] for look in zip(*figures.STYLES.values(), strict=True))
    assert len(set(colours)) == len(set(markers)) == len(figures.STYLES)
    assert len(set(lines)) == len(lines) - 1  # dense and the schedule are solid


def test_pyplot_is_not_needed() -> None:
    code = "import sys, uncubed.experiments.report as _; sys.exit('matplotlib.pyplot' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=600).returncode == 0
