import copy
import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import uncubed as uc
from tests.experiments.test_problems import blurred
from uncubed.experiments import logistic, problems, runner
from uncubed.experiments.config import EXPERIMENTS, Setting, methods, settings
from uncubed.experiments.logistic import Data
from uncubed.experiments.runner import ACQUISITIONS, Row, Task, key_of, run

EXAMPLE = settings("example")[0]
TINY = replace(EXAMPLE, levels=(60,), horizon=30)
LOGISTIC = replace(settings("logistic")[0], epochs=1, horizon=12)

every_method = pytest.mark.parametrize("method", [method.name for method in EXAMPLE.methods])
every_acquisition = pytest.mark.parametrize("acquisition", ACQUISITIONS)


def task(method: str = "dense", acquisition: str = "ucb", seed: int = 0, setting: Setting = TINY) -> Task:
    return Task(setting, acquisition, methods()[method], seed)


def without_clocks(row: Row) -> Row:
    """What must be equal when a run is made again."""
    left = {key: value for key, value in copy.deepcopy(row).items() if not key.endswith("seconds")}
    del left["curve"]["seconds"]
    return left


@pytest.fixture
def tiny_data(monkeypatch: pytest.MonkeyPatch) -> None:
    """A small data set in place of every other."""
    data = blurred()

    def load(name: str, directory: Path | None) -> Data:
        return data

    monkeypatch.setattr(logistic, "load", load)


# Rows


@every_method
def test_a_row_says_what_was_run_and_is_json(method: str) -> None:
    what = task(method, "ei", 3)
    row = run(what)
    assert json.loads(json.dumps(row, allow_nan=False)) == row
    assert key_of(row) == what.key
    names = ("experiment", "setting", "acquisition", "method", "belief", "seed", "horizon", "initial", "actions")
    expected = ("example", "example-T200", "ei", method, methods()[method].belief, 3, 30, 1, 60)
    assert tuple(row[name] for name in names) == expected
    assert row["budget"] == str(runner.budget(TINY, methods()[method]))
    assert row["clock_seconds"] >= row["objective_seconds"] >= 0.0
    assert row["initial_seconds"] >= 0.0
    assert set(row["versions"]) == {"python", "uncubed", "numpy", "scipy", "machine"}


@every_method
@every_acquisition
def test_a_row_s_end_is_the_end_of_its_curve(method: str, acquisition: str) -> None:
    row = run(task(method, acquisition))
    curve = row["curve"]
    assert curve["round"] == list(range(1, 31))
    assert {len(curve[name]) for name in curve if name != "theorem_bound"} == {30}
    assert curve["model_order"][-1] == row["model_order"]
    assert row["mean_average_regret"] == pytest.approx(curve["cumulative_regret"][-1] / 30, rel=1e-3)
    assert np.all(np.diff(curve["cumulative_regret"]) >= 0.0)
    assert row["simple_regret"] >= 0.0
    assert row["distinct"] <= row["model_order"] <= TINY.initial + row["evaluations"]
    assert row["evaluations"] <= 30


@pytest.mark.parametrize(("horizon", "last"), [(10, 9), (25, 24), (40, 39), (60, 58)])
def test_a_curve_has_about_25_marks_and_the_end(horizon: int, last: int) -> None:
    rounds = run(task(setting=replace(TINY, horizon=horizon)))["curve"]["round"]
    assert rounds[-2:] == [last, horizon]
    assert len(rounds) <= 2 * runner.MARKS


def test_the_trade_off_has_its_end_only() -> None:
    assert run(task(setting=replace(TINY, experiment="tradeoff")))["curve"]["round"] == [30]


def test_the_optimum_is_that_of_the_grid_or_the_box() -> None:
    grid, box = run(task()), run(task(setting=replace(TINY.on_box, horizon=3)))
    assert grid["optimum"] == pytest.approx(problems.objective(TINY, 0).optimum, rel=1e-5)
    assert box["optimum"] == pytest.approx(problems.scaled("example", (60,))[1], rel=1e-5)
    assert grid["optimum"] < box["optimum"]


@every_method
@every_acquisition
def test_the_same_task_gives_the_same_row(method: str, acquisition: str) -> None:
    what = task(method, acquisition, 1)
    assert without_clocks(run(what)) == without_clocks(run(what))


@every_method
def test_another_seed_gives_another_row(method: str) -> None:
    rows = [without_clocks(run(task(method, seed=seed))) for seed in range(3)]
    assert len({row["mean_average_regret"] for row in rows}) == 3


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0.123456789, 0.123457),
        (123456789.0, 123457000.0),
        (math.inf, None),
        (math.nan, None),
        (123456789, 123456789),
        (True, True),
        ("0.123456789", "0.123456789"),
        ({"a": [0.123456789, None]}, {"a": [0.123457, None]}),
    ],
)
def test_floats_are_rounded_and_the_rest_is_left(value: Any, expected: Any) -> None:
    assert runner._rounded(value) == expected
    assert type(runner._rounded(value)) is type(expected)


# Methods


@every_acquisition
@pytest.mark.parametrize("seed", [0, 1])
def test_merging_repeats_and_a_tiny_relative_threshold_change_no_regret(acquisition: str, seed: int) -> None:
    # So long that every value reaches every action: where none does all are alike, and rounding decides between them.
    setting = replace(EXAMPLE, horizon=60, length_scale=4.0)
    rows = [run(task(name, acquisition, seed, setting)) for name in ("dense", "dense-unmerged", "relative")]
    for row in rows[1:]:
        assert row["mean_average_regret"] == pytest.approx(rows[0]["mean_average_regret"], rel=1e-6)
        assert row["curve"]["cumulative_regret"] == rows[0]["curve"]["cumulative_regret"]
    assert [row["model_order"] for row in rows] == [61, 61, 61]
    assert rows[1]["distinct"] == 61 > rows[0]["distinct"] == rows[2]["distinct"]


def test_the_absolute_rule_keeps_about_the_published_13() -> None:
    orders = [run(task("absolute", seed=seed, setting=EXAMPLE))["model_order"] for seed in range(5)]
    assert np.mean(orders) == pytest.approx(13.0, abs=2.0)


def test_compressed_methods_keep_less_and_those_that_act_observe_everything() -> None:
    rows = {method.name: run(Task(replace(EXAMPLE, horizon=60), "ucb", method, 0)) for method in EXAMPLE.methods}
    for name in ("absolute", "schedule"):
        assert rows[name]["evaluations"] == rows[name]["model_order"] - 1 < 60
    for name in ("dense", "dense-unmerged", "relative", "projected", "bkb"):
        assert rows[name]["evaluations"] == 60
    assert rows["projected"]["model_order"] < 61
    assert rows["bkb"]["model_order"] < 61


@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_every_method_of_every_setting_can_be_made(experiment: str) -> None:
    for setting in settings(experiment):
        for method in setting.methods:
            belief = runner.belief(setting, method, 0)
            assert belief.noise_variance == setting.noise_variance
            assert belief.kernel == uc.SquaredExponential(setting.length_scale)
            kept = runner.budget(setting, method)
            assert (kept == uc.Budget.keep_all()) == (method.budget == "keep_all")


@pytest.mark.parametrize("name", ["example-T200", "rosenbrock-T100", "logistic-digits"])
def test_the_schedule_is_theorem_3_1_s_for_the_dimension(name: str) -> None:
    setting = next(s for experiment in EXPERIMENTS for s in settings(experiment) if s.name == name)
    dimension = len(setting.levels)
    expected = uc.Budget.for_horizon(setting.horizon, 1.0 / (2.0 * dimension))
    assert runner.budget(setting, methods()["schedule"]) == expected


# Certificates


@every_method
@every_acquisition
def test_the_certificate_is_above_the_measured_regret_at_every_mark(method: str, acquisition: str) -> None:
    curve = run(task(method, acquisition, 2, replace(EXAMPLE, levels=(100,), horizon=50)))["curve"]
    measured = np.array(curve["cumulative_regret"])
    assert np.all(np.array(curve["regret_bound"]) >= measured)
    if acquisition == "ucb":
        assert np.all(np.array(curve["theorem_bound"]) >= measured)
    else:
        assert curve["theorem_bound"] == []


def test_a_z_score_is_there_for_expected_improvement_on_a_grid_only() -> None:
    assert run(task(acquisition="ei"))["z_score"] > 0.0
    assert run(task(acquisition="ucb"))["z_score"] is None
    assert run(task(acquisition="mpi"))["z_score"] is None
    assert run(task(acquisition="ei", setting=replace(TINY.on_box, horizon=3)))["z_score"] is None


@pytest.mark.parametrize("setting", [TINY, replace(TINY.on_box, horizon=6)], ids=lambda setting: setting.name)
@pytest.mark.parametrize("method", ["absolute", "projected", "bkb"])
@every_acquisition
def test_watching_does_not_change_the_run(
    setting: Setting, method: str, acquisition: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def blind(self: Any, t: int) -> None:
        self.bounds.append((None, None))

    def apart(row: Row) -> Row:
        left = without_clocks(row)
        del left["z_score"], left["curve"]["regret_bound"], left["curve"]["theorem_bound"]
        return left

    watched = run(task(method, acquisition, 0, setting))
    monkeypatch.setattr(runner._Watch, "__call__", blind)
    unwatched = run(task(method, acquisition, 0, setting))
    assert unwatched["curve"]["regret_bound"] != watched["curve"]["regret_bound"]
    assert apart(unwatched) == apart(watched)


# Other problems


@every_method
def test_on_the_box(method: str) -> None:
    row = run(task(method, setting=replace(TINY.on_box, horizon=5)))
    assert row["actions"] == "box"
    assert row["setting"] == "example-T200-box"
    assert row["simple_regret"] >= 0.0
    assert any("maximiser" in caveat for caveat in row["caveats"])


@every_method
@pytest.mark.usefixtures("tiny_data")
def test_a_training_s_row_has_its_epochs_and_the_best_accuracy(method: str) -> None:
    row = run(task(method, setting=LOGISTIC))
    assert json.loads(json.dumps(row, allow_nan=False)) == row
    assert (row["experiment"], row["epochs"], row["optimum"], row["actions"]) == ("logistic", 1, 1.0, 2340)
    assert 1.0 - row["best_seen"] <= row["mean_average_regret"] <= 1.0
    assert 1.0 - row["best_seen"] <= row["simple_regret"] <= 1.0
    assert without_clocks(run(task(method, setting=LOGISTIC))) == without_clocks(row)


def test_a_function_s_row_has_neither_epochs_nor_a_best_seen() -> None:
    assert not {"epochs", "best_seen"} & set(run(task()))
