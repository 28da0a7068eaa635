from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import uncubed as uc
from tests.helpers import EXPECTED_GOT, central_difference
from uncubed._typing import Array
from uncubed.experiments import logistic, problems
from uncubed.experiments.config import EXPERIMENTS, Setting, settings
from uncubed.experiments.logistic import Data, Hyperparameters
from uncubed.experiments.problems import EXAMPLE_ARGMAX, Function, Training, derived, initial_points, objective, stream

SETTINGS = {setting.name: setting for name in EXPERIMENTS for setting in settings(name)}
FUNCTIONS = [setting for setting in SETTINGS.values() if not setting.data and setting.experiment != "tradeoff"]
CUBE, RAW = SETTINGS["logistic-digits"], SETTINGS["logistic-raw-units"]


def grid(setting: Setting) -> Array:
    return problems.grid(setting.problem, setting.levels).X


def blurred() -> Data:
    """Three blurred classes of four pixels."""
    rng = np.random.default_rng(0)
    labels = rng.integers(3, size=240)
    pixels = (np.eye(3, 4)[labels] + 0.8 * rng.random((240, 4))).astype(np.float32)
    return Data("blurred", pixels[:140], labels[:140], pixels[140:], labels[140:])


# Actions


@pytest.mark.parametrize("problem", problems.DOMAINS)
def test_a_grid_spans_the_box(problem: str) -> None:
    ends = np.array(problems.DOMAINS[problem])
    levels = tuple(range(3, 3 + len(ends)))
    setting = replace(settings("example")[0], problem=problem, levels=levels)
    finite, box = problems.actions(setting), problems.actions(setting.on_box)
    assert finite is problems.grid(problem, levels)
    assert isinstance(finite, uc.Finite)
    assert isinstance(box, uc.Box)
    assert len(finite) == np.prod(levels)
    assert [len(np.unique(column)) for column in finite.X.T] == list(levels)
    np.testing.assert_array_equal([finite.X.min(axis=0), finite.X.max(axis=0)], ends.T)
    np.testing.assert_array_equal([box.lower, box.upper], ends.T)


def test_an_unknown_problem_is_named() -> None:
    with pytest.raises(uc.InvalidInputError, match="^problem" + EXPECTED_GOT):
        objective(replace(FUNCTIONS[0], problem="branin"), 0)


def test_raw_units_are_those_of_the_cube() -> None:
    low, high = (Hyperparameters.from_cube([end] * 4) for end in (0.0, 1.0))
    ends = [[np.log10(how.learning_rate), how.batch_size, how.dropout, how.l2] for how in (low, high)]
    np.testing.assert_allclose(np.array(problems.DOMAINS["logistic-raw"]).T, ends, atol=1e-12)


# Functions


def test_the_example_s_largest_value_is_where_its_derivative_is_zero() -> None:
    slope = central_difference(lambda x: problems.example(x[None, :])[0], np.array([EXAMPLE_ARGMAX]))
    assert slope[0] == pytest.approx(0.0, abs=1e-9)
    dense = np.linspace(-8.0, 8.0, 100_001)[:, None]
    values = problems.example(dense)
    assert dense[values.argmax(), 0] == pytest.approx(EXAMPLE_ARGMAX, abs=1e-3)
    assert values.max() <= problems.scaled("example", (500,))[1]


def test_rosenbrock_is_largest_at_one_one() -> None:
    dense = grid(replace(SETTINGS["rosenbrock-raw-T100"], levels=(81, 81)))
    values = problems.rosenbrock(dense)
    assert values.max() == 0.0 == problems.scaled("rosenbrock", (50, 50))[1]
    np.testing.assert_allclose(dense[values.argmax()], [1.0, 1.0])
    np.testing.assert_array_equal(problems.rosenbrock(np.array([[1.0, 1.0], [0.0, 0.0], [2.0, 3.0]])), [0, -1, -11])


def test_standardised_has_mean_zero_and_spread_one_on_the_grid_and_the_same_argmax() -> None:
    setting = SETTINGS["rosenbrock-T100"]
    f, largest = problems.scaled(setting.problem, setting.levels)
    X = grid(setting)
    values, raw = f(X), problems.rosenbrock(X)
    assert values.mean() == pytest.approx(0.0, abs=1e-12)
    assert values.std() == pytest.approx(1.0, rel=1e-12)
    np.testing.assert_array_equal(np.argsort(values, kind="stable")[-1], np.argsort(raw, kind="stable")[-1])
    assert np.corrcoef(values, raw)[0, 1] == pytest.approx(1.0)
    assert f(np.array([[1.0, 1.0]]))[0] == pytest.approx(largest)


@pytest.mark.parametrize("setting", FUNCTIONS, ids=lambda setting: setting.name)
def test_the_optimum_is_the_largest_truth_there_is(setting: Setting) -> None:
    on_grid, on_box = Function(setting, 0), Function(setting.on_box, 0)
    largest = max(on_grid.truth(action) for action in grid(setting))
    assert on_grid.optimum == pytest.approx(largest, rel=1e-15)
    assert on_grid.optimum <= on_box.optimum
    assert on_grid.optimum == pytest.approx(on_box.optimum, abs=0.02)
    box = on_box.actions
    assert isinstance(box, uc.Box)
    anywhere = np.random.default_rng(0).uniform(box.lower, box.upper, (300, box.dimension))
    assert max(on_box.truth(action) for action in anywhere) <= on_box.optimum


def test_a_value_is_the_truth_with_the_setting_s_noise() -> None:
    setting, action = FUNCTIONS[0], np.array([1.0])
    noisy = Function(setting, 0)
    errors = [noisy.value(action) - noisy.truth(action) for _ in range(2000)]
    assert np.std(errors) == pytest.approx(setting.noise_std, rel=0.1)
    assert np.mean(errors) == pytest.approx(0.0, abs=0.1 * setting.noise_std)
    silent = Function(replace(setting, noise_std=0.0), 0)
    assert silent.value(action) == silent.truth(action)


# Randomness

WITH_POINTS = [*FUNCTIONS, *(setting.on_box for setting in FUNCTIONS), CUBE, CUBE.on_box, RAW]


@pytest.mark.parametrize("setting", WITH_POINTS, ids=lambda setting: setting.name)
def test_initial_points_are_actions_and_a_matter_of_the_seed(setting: Setting) -> None:
    actions = problems.actions(setting)
    points = initial_points(setting, 3)
    assert points.shape == (setting.initial, actions.dimension)
    assert all(actions.contains(point) for point in points)
    np.testing.assert_array_equal(initial_points(replace(setting, methods=(), horizon=7), 3), points)
    others = [initial_points(setting, seed).tobytes() for seed in range(4)]
    assert len(set(others)) == 4


@pytest.mark.parametrize("setting", [FUNCTIONS[1], CUBE, RAW], ids=lambda setting: setting.name)
def test_all_methods_of_a_seed_know_the_same_values(setting: Setting, tiny: Data) -> None:
    def values(seed: int) -> list[float]:
        fresh = training(tiny, seed, setting) if setting.data else objective(setting, seed)
        return [fresh.value(point) for point in initial_points(setting, 0)]

    assert values(0) == values(0)
    assert values(0) != values(1)


def test_every_purpose_has_its_own_random_numbers() -> None:
    # default_rng(seed) would give the numbers of [seed, 0].
    def first(rng: np.random.Generator) -> float:
        return float(rng.random())

    purposes = (problems._INITIAL, problems._NOISE, problems._TRAINING, problems._MEASURING)
    numbers = (problems.BANDIT, problems.SKETCH)
    drawn = [first(np.random.default_rng(derived(seed, purpose))) for seed in range(5) for purpose in numbers]
    drawn += [first(stream(seed, purpose)) for seed in range(5) for purpose in purposes]
    drawn += [first(stream(seed, purpose, run)) for seed in range(5) for purpose in purposes[2:] for run in (1, 2)]
    assert len(set(drawn)) == len(drawn)
    assert first(stream(1, 2, 3)) == first(stream(1, 2, 3))


def test_the_data_of_a_setting_decide_what_is_played(monkeypatch: pytest.MonkeyPatch, tiny: Data) -> None:
    asked: list[tuple[str, Path | None]] = []

    def load(name: str, directory: Path | None) -> Data:
        asked.append((name, directory))
        return tiny

    monkeypatch.setattr(logistic, "load", load)
    assert isinstance(objective(FUNCTIONS[0], 0), Function)
    assert isinstance(objective(CUBE, 0), Training)
    assert isinstance(objective(SETTINGS["logistic-mnist"], 0, Path("there")), Training)
    assert asked == [("digits", None), ("mnist", Path("there"))]


# Training


@pytest.fixture(scope="module")
def tiny() -> Data:
    return blurred()


def training(data: Data, seed: int = 0, setting: Setting = CUBE) -> Training:
    return Training(replace(setting, epochs=1), seed, data)


MIDDLE, EDGE = np.array([0.75, 0.0, 0.4, 0.2]), np.array([1.0, 0.25, 0.8, 0.0])


@pytest.fixture
def trained(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The accuracies of all trainings from here on."""
    accuracies: list[float] = []
    original = logistic.validation_accuracy

    def noted(*arguments: Any, **named: Any) -> float:
        accuracies.append(original(*arguments, **named))
        return accuracies[-1]

    monkeypatch.setattr(logistic, "validation_accuracy", noted)
    return accuracies


def test_no_two_trainings_are_alike_but_a_seed_s_are(tiny: Data) -> None:
    one, two = training(tiny), training(tiny)
    values = [one.value(MIDDLE) for _ in range(6)]
    assert len(set(values)) > 1
    assert [two.value(MIDDLE) for _ in range(6)] == values


def test_the_truth_of_a_value_is_that_value_and_then_the_mean_of_all(tiny: Data, trained: list[float]) -> None:
    it = training(tiny)
    for _ in range(5):
        value = it.value(MIDDLE)
        assert it.truth(MIDDLE) == value
        assert it.truth(MIDDLE) == pytest.approx(np.mean(trained), rel=1e-15)
    assert len(set(trained)) > 1
    assert len(trained) == 5


def test_an_action_never_trained_is_trained_once_to_be_measured(tiny: Data, trained: list[float]) -> None:
    it = training(tiny)
    truths = [it.truth(MIDDLE) for _ in range(3)]
    assert truths == [trained[0]] * 3
    assert len(trained) == 1
    it.truth(EDGE)
    assert len(trained) == 2


def test_measuring_does_not_shift_what_is_observed(tiny: Data) -> None:
    plain, measured = training(tiny), training(tiny)
    for action in (MIDDLE, EDGE, MIDDLE):
        measured.truth(np.full(4, 0.5))
        measured.truth(EDGE)
        assert measured.value(action) == plain.value(action)
        assert measured.truth(action) == plain.truth(action)


def test_the_best_seen_is_the_best_of_all_trainings(tiny: Data, trained: list[float]) -> None:
    it = training(tiny)
    for action in (EDGE, MIDDLE, MIDDLE):
        it.value(action)
        it.truth(1.0 - action)
    assert it.best_seen == max(trained)


def test_in_raw_units_the_training_is_that_of_the_cube(tiny: Data) -> None:
    low, high = np.array(problems.DOMAINS["logistic-raw"]).T
    for seed in range(3):
        cube, raw = training(tiny, seed), training(tiny, seed, RAW)
        for action in initial_points(CUBE, seed)[:4]:
            assert raw.value(low + action * (high - low)) == cube.value(action)


def test_both_grids_have_actions_that_can_be_trained() -> None:
    for setting in (CUBE, RAW):
        low, high = np.array(problems.DOMAINS[setting.problem]).T
        for action in grid(setting):
            Hyperparameters.from_cube((action - low) / (high - low))


class Clock:
    """In place of `time`: it goes on by one second per training."""

    def __init__(self, trained: list[float]) -> None:
        self.perf_counter: Callable[[], float] = lambda: float(len(trained))


def test_a_run_has_only_the_observed_trainings_on_its_clock_and_regrets_by_what_was_measured(
    tiny: Data, trained: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("uncubed.rounds.time", Clock(trained))
    it, watched = training(tiny), list[int]()
    belief, budget = uc.ExactBelief(uc.SquaredExponential(), 1e-3), uc.Budget.constant(1.0)
    player = uc.Bandit(it.actions, belief, uc.ExpectedImprovement(), budget)
    for point in initial_points(CUBE, 0):
        player.add(point, it.value(point))
    run = it.play(player, 30, 10, watched.append)
    assert watched == [10, 20, 30]
    assert 0 < run.evaluations[-1] < len(trained) - CUBE.initial
    np.testing.assert_array_equal(run.seconds, run.evaluations)
    np.testing.assert_array_equal(run.objective_seconds, run.evaluations)
    assert run.cumulative_regret is not None
    assert all(0.0 <= step <= 10.0 for step in [run.cumulative_regret[0], *np.diff(run.cumulative_regret)])
    assert run.cumulative_regret[-1] >= 30 * (1.0 - max(trained))


def test_a_value_asked_before_the_run_is_not_the_first_round_s_truth(tiny: Data, trained: list[float]) -> None:
    it = training(tiny)
    # Refuses every round, so that none has a training of its own.
    player = uc.Bandit(
        it.actions, uc.ExactBelief(uc.SquaredExponential(), 1e-3), uc.ExpectedImprovement(), uc.Budget.constant(99.0)
    )
    player.add(EDGE, it.value(EDGE))
    run = it.play(player, 3, 1, lambda _: None)
    assert run.evaluations[-1] == 0
    assert run.cumulative_regret is not None
    measured = trained[1:]
    assert len(measured) == 1
    np.testing.assert_allclose(run.cumulative_regret, np.arange(1, 4) * (1.0 - measured[0]), rtol=1e-12)
