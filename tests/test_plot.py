import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.fake_study import FakeStudy, failures
from tests.helpers import EXPECTED_GOT
from uncubed import plot
from uncubed._shown import best_so_far
from uncubed.candidates import Candidates
from uncubed.dimensions import Categorical, Float, Int
from uncubed.errors import InvalidInputError
from uncubed.optimizer import Optimizer
from uncubed.plot import _belief, _params, _told
from uncubed.plot._scale import Scale, number, scale
from uncubed.space import Space

pytest.importorskip("matplotlib")
from matplotlib.figure import Figure

MIXED = Space(
    {
        "rate": Float(1e-5, 1.0, log=True),
        "layers": Int(1, 8),
        "kind": Categorical(["a", "b", "c"]),
        "drop": Float(0.0, 0.6),
        "seed": 3,
    }
)
ODD = Space({"a$b$_": Float(0.5, 0.5), "n": Int(3, 3), "one": Categorical(["$x$ <b>"])})
TABLE = Candidates([{"size": i, "kind": "ab"[i % 2], "big": i > 20} for i in range(40)])
NOISE = np.random.default_rng(0).standard_normal(20_000)

STUDIES: dict[str, FakeStudy] = {
    "one value": FakeStudy(MIXED, NOISE[:1]),
    "a constant": FakeStudy(MIXED, np.full(20, 7.0)),
    "nothing to choose": FakeStudy(ODD, NOISE[:20]),
    "outliers in large units": FakeStudy(MIXED, 1e9 * np.append(NOISE[:30], -1e6), failures=failures(3)),
    "long": FakeStudy(MIXED, NOISE, "minimize", failures(*range(7, 20_000, 7))),
}
DRAWINGS: dict[str, Callable[[Any], Figure]] = {
    "progress": plot.progress,
    "information": plot.information,
    "slices": plot.slices,
    "posterior": lambda study: plot.posterior(study, *list(study.space.dimensions)[:2]),
    "parallel_coordinates": plot.parallel_coordinates,
    "importance": plot.importance,
}


def lines(figure: Figure, panel: int = 0) -> dict[str, np.ndarray[Any, Any]]:
    """The points of the labelled lines of a panel, shape (2, n)."""
    drawn = figure.axes[panel].lines
    return {str(line.get_label()): np.array(line.get_data(), dtype=np.float64) for line in drawn}


def texts(labels: Any) -> list[str]:
    return [label.get_text() for label in labels]


@pytest.fixture(scope="module")
def optimizer() -> Optimizer:
    opt = Optimizer({name: MIXED.parameters[name] for name in ("rate", "kind")}, seed=0)
    for k in range(12):
        suggestion = opt.ask()
        if k == 4:
            opt.fail(suggestion, "crashed")
        else:
            opt.tell(suggestion, -((np.log10(suggestion.params["rate"]) + 2.0) ** 2))
    return opt


@pytest.mark.parametrize("study", STUDIES)
@pytest.mark.parametrize("drawing", DRAWINGS)
def test_every_study_can_be_drawn(drawing: str, study: str) -> None:
    figure = DRAWINGS[drawing](STUDIES[study])
    figure.draw_without_rendering()
    panels = [panel for panel in figure.axes if panel.get_label() != "<colorbar>"]
    assert all(panel.get_xlabel() or panel.get_ylabel() or texts(panel.get_xticklabels()) for panel in panels)


@pytest.mark.parametrize("drawing", DRAWINGS)
def test_an_optimiser_can_be_drawn(drawing: str, optimizer: Optimizer) -> None:
    DRAWINGS[drawing](optimizer).draw_without_rendering()


@pytest.mark.parametrize("drawing", ["progress", "information", "parallel_coordinates", "importance"])
def test_a_study_of_a_table_can_be_drawn(drawing: str) -> None:
    DRAWINGS[drawing](FakeStudy(TABLE, NOISE[:0]))
    DRAWINGS[drawing](FakeStudy(TABLE, NOISE[:30])).draw_without_rendering()


@pytest.mark.parametrize("drawing", [plot.slices, lambda study: plot.posterior(study, "size", "kind")])
def test_there_is_nothing_between_the_rows_of_a_table(drawing: Callable[[Any], Figure]) -> None:
    with pytest.raises(InvalidInputError, match="space" + EXPECTED_GOT):
        drawing(FakeStudy(TABLE, NOISE[:9]))


@pytest.mark.parametrize("failed", [(), (1, 2)])
@pytest.mark.parametrize("drawing", DRAWINGS)
def test_a_figure_of_nothing_says_so(drawing: str, failed: tuple[int, ...]) -> None:
    figure = DRAWINGS[drawing](FakeStudy(MIXED, NOISE[:0], failures=failures(*failed)))
    assert all(any("no value told yet" in text for text in texts(panel.texts)) for panel in figure.axes)


# Progress and information


@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_progress_draws_what_was_told_and_the_best_of_it(direction: str) -> None:
    study = FakeStudy(MIXED, NOISE[:60], direction)
    drawn = lines(plot.progress(study))
    np.testing.assert_array_equal(drawn["told"], [np.arange(1, 61), study.values])
    np.testing.assert_array_equal(drawn["best told so far"][1, :-1], best_so_far(study.values, direction))
    np.testing.assert_array_equal(drawn["best believed"][1, :-1], [m.mean for m in study.milestones])
    assert drawn["best believed"][0, -1] == study.evaluations


def test_the_certified_range_is_filled_from_milestone_to_milestone() -> None:
    study = FakeStudy(MIXED, NOISE[:60])
    (band,) = plot.progress(study).axes[0].collections
    corners = np.asarray(band.get_paths()[0].vertices)
    for milestone in study.milestones:
        there = corners[corners[:, 0] == milestone.evaluations, 1]
        assert {milestone.lower, milestone.upper} <= set(there.tolist())
    assert corners[:, 0].max() == study.evaluations


def test_failures_are_ticks_between_the_values() -> None:
    drawn = lines(plot.progress(FakeStudy(MIXED, NOISE[:6], failures=failures(2, 5))))
    np.testing.assert_array_equal(drawn["told"][0], [1, 3, 4, 6, 7, 8])
    np.testing.assert_array_equal(drawn["2 failed"][0], [2, 5])


def test_a_value_far_off_does_not_flatten_the_rest() -> None:
    figure = plot.progress(STUDIES["outliers in large units"])
    low, high = figure.axes[0].get_ylim()
    assert high - low < 1e12
    assert "1 told lie beyond the axis" in lines(figure)


@pytest.mark.parametrize("drawing", ["progress", "information"])
def test_of_a_long_study_few_points_are_drawn(drawing: str) -> None:
    figure = DRAWINGS[drawing](STUDIES["long"])
    counts = [len(np.asarray(line.get_xdata())) for panel in figure.axes for line in panel.lines]
    assert max(counts) <= _told.MOST_POINTS + 1
    assert all(panel.get_xscale() == "log" for panel in figure.axes)


def test_the_best_of_a_long_study_is_drawn() -> None:
    drawn = lines(plot.progress(STUDIES["long"]))
    assert drawn["best told so far"][1, -1] == NOISE.min()
    assert min(points[1].min() for label, points in drawn.items() if label.startswith("told")) == NOISE.min()


def test_information_draws_the_log() -> None:
    study = FakeStudy(MIXED, NOISE[:40])
    figure = plot.information(study)
    order, nats = (panel.lines[0].get_ydata() for panel in figure.axes)
    np.testing.assert_array_equal(order, study.log.model_orders)
    np.testing.assert_array_equal(nats, study.log.nats.astype(np.float64))


def test_values_told_at_once_have_no_information_of_their_own() -> None:
    opt = Optimizer({"x": Float(0.0, 1.0)}, seed=0)
    opt.tell_many([{"x": x} for x in (0.1, 0.5, 0.9)], [1.0, 2.0, 1.5])
    figure = plot.information(opt)
    figure.draw_without_rendering()
    assert texts(figure.axes[1].texts) == ["no value told by itself"]


# Slices and posterior


def test_slices_draw_what_is_predicted_through_the_best_point() -> None:
    study = FakeStudy(MIXED, NOISE[:40])
    x, mean = lines(plot.slices(study))[_belief.BELIEVED]
    expected = study.predict([{**study.best.params, "rate": float(rate)} for rate in x])
    np.testing.assert_allclose(mean, expected.mean)


def test_slices_go_through_a_given_point() -> None:
    study = FakeStudy(MIXED, NOISE[:40])
    figure = plot.slices(study, at={"drop": 0.3, "kind": "b"})
    held = [lines(figure, panel)["where the other panels are"][0, 0] for panel in range(4)]
    assert held[2] == 1.0  # the second kind
    assert held[3] == 0.3
    assert held[0] == study.best.params["rate"]
    with pytest.raises(InvalidInputError, match=EXPECTED_GOT):
        plot.slices(study, at={"unknown": 1})


def test_the_axes_of_slices_are_as_the_parameters() -> None:
    rate, layers, kind, _ = plot.slices(STUDIES["a constant"]).axes
    assert (rate.get_xscale(), layers.get_xscale()) == ("log", "linear")
    assert texts(kind.get_xticklabels()) == ["a", "b", "c"]
    assert [panel.get_xlabel() for panel in (rate, layers, kind)] == ["rate", "layers", "kind"]


def test_near_values_are_the_ones_with_equal_other_parameters() -> None:
    space = Space({"x": Float(0.0, 1.0), "y": Float(0.0, 1.0)})
    study = FakeStudy(space, NOISE[:3])
    study.U = np.array([[0.1, 0.5], [0.9, 0.5], [0.1, 0.9]])
    near = _belief._around(study, space, {"x": 0.1, "y": 0.5}).nearness("x")
    assert near[0] == near[1] == 1.0 > near[2]


@pytest.mark.parametrize("pair", [("rate", "drop"), ("layers", "kind"), ("kind", "rate")])
def test_the_best_is_marked_on_the_posterior(pair: tuple[str, str]) -> None:
    study = FakeStudy(MIXED, NOISE[:40])
    best = [scale(name, MIXED.dimensions[name]).positions([study.best.params[name]])[0] for name in pair]
    np.testing.assert_array_equal(lines(plot.posterior(study, *pair))["best"].ravel(), best)


@pytest.mark.parametrize("pair", [("rate", "unknown"), ("seed", "rate"), ("rate", "rate")])
def test_a_posterior_is_over_two_parameters(pair: tuple[str, str]) -> None:
    with pytest.raises(InvalidInputError, match=EXPECTED_GOT):
        plot.posterior(FakeStudy(MIXED, NOISE[:9]), *pair)


# Parameters side by side


def test_parallel_coordinates_have_a_line_for_each_value() -> None:
    study = FakeStudy(MIXED, NOISE[:40])
    figure = plot.parallel_coordinates(study)
    (drawn,) = figure.axes[0].collections
    paths = np.array([path.vertices for path in drawn.get_paths()])
    assert paths.shape == (40, 5, 2)
    assert paths[..., 1].min() >= 0.0
    assert paths[..., 1].max() <= 1.0
    np.testing.assert_array_equal(np.sort(study.values), np.asarray(drawn.get_array()))  # the best on top
    assert texts(figure.axes[0].get_xticklabels()) == [*MIXED.dimensions, "value"]
    assert {"a", "b", "c"} <= set(texts(figure.axes[0].texts))


def test_of_a_long_study_few_lines_are_drawn_with_the_best() -> None:
    (drawn,) = plot.parallel_coordinates(STUDIES["long"]).axes[0].collections
    assert len(drawn.get_paths()) <= _params.MOST_LINES
    assert np.asarray(drawn.get_array())[-1] == NOISE.min()


def test_importance_is_drawn_as_bars() -> None:
    study = FakeStudy(MIXED, NOISE[:9])
    panel = plot.importance(study).axes[0]
    widths = [bar.get_width() for bar in panel.patches]  # type: ignore[attr-defined]
    assert dict(zip(texts(panel.get_yticklabels()), widths, strict=True)) == study.importance()


# Axes


def test_axes_can_be_given() -> None:
    figure = Figure(figsize=(8.0, 12.0))
    grid = figure.subplots(5, 2)
    study = FakeStudy(MIXED, NOISE[:20])
    assert plot.progress(study, axes=grid[0, 0]) is figure
    assert plot.importance(study, axes=grid[0, 1]) is figure
    assert plot.information(study, axes=grid[1]) is figure
    assert plot.posterior(study, "rate", "drop", axes=list(grid[2])) is figure
    assert plot.slices(study, axes=grid[3:]) is figure
    figure.draw_without_rendering()
    assert len(figure.axes) == 10 + 2  # the two colour bars


def test_axes_of_a_part_of_a_figure_can_be_given() -> None:
    figure = Figure()
    part = figure.add_subfigure(figure.add_gridspec(1, 1)[0])
    assert plot.parallel_coordinates(FakeStudy(MIXED, NOISE[:20]), axes=part.subplots()) is figure


def test_a_panel_needs_its_axes() -> None:
    with pytest.raises(InvalidInputError, match="axes" + EXPECTED_GOT):
        plot.information(FakeStudy(MIXED, NOISE[:20]), axes=Figure().subplots())


@pytest.mark.parametrize(
    "on",
    [
        Scale("x", 2.0, 3.0),
        Scale("x", 1e-5, 1.0, log=True),
        Scale("x", 16.0, 1024.0, log=True),
        Scale("x", 2.0, 3.0, log=True),
        Scale("x", 1e-300, 1e300, log=True),
        Scale("x", 4.0, 4.0),
        Scale("n", -3.0, 1e6, whole=True),
        Scale("c", 0.0, 29.0, category=Categorical(range(30))),
    ],
)
def test_ticks_are_few_and_inside(on: Scale) -> None:
    at = np.array(list(on.ticks()))
    assert (1 if on.low == on.high else 2) <= len(at) <= 12
    fractions = on.fractions(at)
    assert fractions.min() >= 0.0
    assert fractions.max() <= 1.0


def test_numbers_are_written_as_people_do() -> None:
    shown = [number(x) for x in (0.0, 1.0, -2.0, 0.25, 1e5, -1e9, 2.5e-7)]
    assert shown == ["0", "1", "-2", "0.25", "$10^{5}$", "$-10^{9}$", r"$2.5\times10^{-7}$"]


# What it needs


def test_without_matplotlib_the_error_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(InvalidInputError, match=r"pip install uncubed\[plot\]"):
        plot.progress(STUDIES["one value"])


def test_no_display_is_asked_for_and_matplotlib_is_imported_when_it_draws() -> None:
    code = """
import sys
import uncubed as uc
from uncubed import plot
assert "matplotlib" not in sys.modules
opt = uc.Optimizer({"x": uc.Float(0, 1)}, seed=0)
opt.tell({"x": 0.5}, 1.0)
plot.progress(opt).draw_without_rendering()
assert "matplotlib" in sys.modules
assert "matplotlib.pyplot" not in sys.modules
"""
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
