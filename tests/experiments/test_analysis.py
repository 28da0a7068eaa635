import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

import uncubed as uc
from uncubed._typing import Array
from uncubed.certificate import Ledger, theorem_regret
from uncubed.experiments import analysis, problems, runner
from uncubed.experiments.analysis import PrintedBounds
from uncubed.experiments.config import Setting, methods, settings
from uncubed.experiments.runner import Row, Task, run

EXAMPLE = settings("example")[0]
GREEDY = 1.0 - math.exp(-1.0)

# Handmade rows, for the tests of the whole report


def made(setting: Setting, acquisition: str = "ucb", method: str = "dense", seed: int = 0, **known: Any) -> Row:
    """A row with the same regret in every round, in which everything was kept; `known` says what is otherwise."""
    T, how = setting.horizon, next(m for m in setting.methods if m.name == method)
    kept = T + setting.initial
    row: Row = {
        "experiment": setting.experiment,
        "setting": setting.name,
        "acquisition": acquisition,
        "method": method,
        "seed": seed,
        "horizon": T,
        "configuration": setting.digest(how),
        "initial": setting.initial,
        "actions": math.prod(setting.levels),
        "mean_average_regret": 0.1 * (1.0 + seed),
        "simple_regret": 0.01,
        "model_order": 20 if how.budget == "for_horizon" else kept,
        "distinct": 12,
        "evaluations": T,
        "frozen_at": None,
        "clock_seconds": 1.5,
        "objective_seconds": 0.5,
        "initial_seconds": 0.5,
        "z_score": 3.0 if acquisition == "ei" else None,
        "caveats": [],
        "versions": {"python": "3", "machine": "abacus"},
    }
    row |= known
    rounds = [T] if setting.experiment == "tradeoff" else [T // 4, T // 2, T]
    row.setdefault("curve", curve(rounds, row))
    return row


def curve(rounds: Sequence[int], row: Row) -> dict[str, list[Any]]:
    regret = [row["mean_average_regret"] * t for t in rounds]
    return {
        "round": list(rounds),
        "cumulative_regret": regret,
        "model_order": [row["model_order"]] * len(rounds),
        "seconds": [row["clock_seconds"] * t / rounds[-1] for t in rounds],
        "regret_bound": [2.0 * value + 1.0 for value in regret],
        "theorem_bound": [3.0 * value + 2.0 for value in regret] if row["acquisition"] == "ucb" else [],
    }


def every_row(setting: Setting, seeds: Iterable[int] = (0, 1), **known: Any) -> list[Row]:
    """Rows of all acquisitions and methods of a setting."""
    pairs = [(acquisition, method.name) for acquisition in setting.acquisitions for method in setting.methods]
    return [made(setting, *pair, seed, **known) for pair in pairs for seed in seeds]


# Intervals

NUMBERS = st.floats(-1e6, 1e6)


@given(st.lists(NUMBERS, min_size=2, max_size=30))
def test_an_interval_is_student_s(values: list[float]) -> None:
    assume(np.ptp(values) > 1e-3)
    mean, half = analysis.interval(values)
    low, high = stats.t.interval(0.95, len(values) - 1, loc=np.mean(values), scale=stats.sem(values))
    np.testing.assert_allclose([mean - half, mean + half], [low, high], rtol=1e-9, atol=1e-9 * np.ptp(values))


@given(NUMBERS)
def test_one_seed_has_a_mean_and_no_interval(value: float) -> None:
    mean, half = analysis.interval([value])
    assert mean == value
    assert math.isnan(half)


@given(NUMBERS, st.integers(2, 9))
def test_equal_seeds_have_an_interval_of_no_width(value: float, seeds: int) -> None:
    mean, half = analysis.interval([value] * seeds)
    assert mean == pytest.approx(value)
    assert half == pytest.approx(0.0, abs=1e-9 * abs(value))


@given(arrays(float, st.tuples(st.integers(1, 6), st.integers(1, 5)), elements=NUMBERS))
def test_a_band_is_the_interval_of_each_column(values: Array) -> None:
    expected = [analysis.interval(column.tolist()) for column in values.T]
    np.testing.assert_allclose(np.array(analysis.band(values)).T, expected, rtol=1e-9, atol=1e-6)


# Rows


def test_curves_are_one_line_per_seed_and_end_where_the_row_does() -> None:
    rows = [made(EXAMPLE, seed=seed) for seed in range(3)]
    assert analysis.curves(rows, "model_order").shape == (3, 3)
    averages = analysis.average_regrets(rows)
    np.testing.assert_allclose(averages[:, -1], analysis.column(rows, "mean_average_regret"))
    last = [analysis.cumulative_regret(row) for row in rows]
    np.testing.assert_allclose(last, analysis.curves(rows, "cumulative_regret")[:, -1])


def test_the_clock_holds_the_initial_points_and_training_is_a_part_of_it() -> None:
    row = made(EXAMPLE, clock_seconds=7.0, objective_seconds=4.0, initial_seconds=2.0)
    assert analysis.total_seconds(row) == 9.0
    assert analysis.training_seconds(row) == 6.0


@given(st.floats(0.0, 50.0), st.lists(st.integers(1, 40), min_size=1, max_size=8))
def test_the_final_regret_of_equal_rounds_is_that_of_each(regret: float, steps: list[int]) -> None:
    rounds = np.cumsum(steps).tolist()
    row = {"curve": {"round": rounds, "cumulative_regret": [regret * t for t in rounds]}}
    assert analysis.final_regret(row) == pytest.approx(regret, abs=1e-9)


def test_the_final_regret_is_that_of_the_end_only() -> None:
    row = {"curve": {"round": [10, 20, 40], "cumulative_regret": [90.0, 95.0, 96.0]}}
    assert analysis.final_regret(row) == pytest.approx(0.05)


def test_the_regret_while_frozen_is_that_of_the_action_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    task = Task(EXAMPLE, "mpi", methods()["schedule"], 2)
    rounded = run(task)
    monkeypatch.setattr(runner, "_rounded", lambda value, digits=6: value)
    assert rounded["frozen_at"] < 100
    assert analysis.final_regret(rounded) == pytest.approx(analysis.final_regret(run(task)), abs=1e-4)


def seeded(values: dict[int, float]) -> list[Row]:
    return [{"seed": seed, "model_order": value} for seed, value in values.items()]


def test_a_ratio_pairs_by_seed_and_leaves_out_those_without_a_reference() -> None:
    rows, reference = seeded({0: 6.0, 1: 6.0, 3: 1e9}), seeded({1: 2.0, 0: 3.0, 7: 1e-9})
    ratio = analysis.ratio(rows, reference, analysis.model_order)
    assert ratio.mean == pytest.approx((6.0 + 6.0) / (3.0 + 2.0))
    assert (ratio.low, ratio.high) == pytest.approx((2.0, 3.0))  # either seed alone


@given(st.lists(st.floats(0.1, 100.0), min_size=1, max_size=6))
def test_a_ratio_to_itself_is_one(values: list[float]) -> None:
    rows = seeded(dict(enumerate(values)))
    assert analysis.ratio(rows, rows[::-1], analysis.model_order) == pytest.approx((1.0, 1.0, 1.0))


def test_one_value_more_is_predicted_as_scipy_does() -> None:
    values = [11.0, 13.0, 14.0, 16.0, 13.0]
    low, high = stats.t.interval(0.95, 4, np.mean(values), np.std(values, ddof=1) * np.sqrt(1 + 1 / 5))
    assert analysis.predicts(values, low + 1e-9)
    assert analysis.predicts(values, high - 1e-9)
    assert not analysis.predicts(values, low - 1e-9)
    assert not analysis.predicts(values, high + 1e-9)


# Exponents


def power_law(slopes: Sequence[float], constants: Sequence[float], horizons: Sequence[int]) -> list[Row]:
    return [
        {"seed": seed, "horizon": T, "mean_average_regret": constants[seed] * T ** (slope - 1.0)}
        for seed, slope in enumerate(slopes)
        for T in horizons
    ]


def horizon(row: Row) -> float:
    return float(row["horizon"])


SLOPES = st.lists(st.tuples(st.floats(-1.0, 2.0), st.floats(1e-3, 1e3)), min_size=1, max_size=4)


@given(SLOPES, st.lists(st.integers(10, 10**5), min_size=2, max_size=5, unique=True))
def test_an_exponent_is_that_of_each_seed_s_power_law(laws: list[tuple[float, float]], horizons: list[int]) -> None:
    slopes, constants = zip(*laws, strict=True)
    rows = power_law(slopes, constants, horizons)
    found = analysis.exponent(rows, analysis.cumulative_regret, horizon)
    np.testing.assert_allclose(found, analysis.interval(slopes), rtol=1e-6, atol=1e-6)


@given(st.floats(1e-6, 1e6), st.floats(1e-3, 1e3))
def test_an_exponent_does_not_change_with_units(unit: float, time_unit: float) -> None:
    rows = power_law([0.3, 0.5], [1.0, 2.0], [100, 316, 1000])
    rows[1]["mean_average_regret"] *= 1.7  # no longer a line
    plain = analysis.exponent(rows, analysis.cumulative_regret, horizon)
    scaled = analysis.exponent(
        rows, lambda row: unit * analysis.cumulative_regret(row), lambda row: time_unit * row["horizon"]
    )
    np.testing.assert_allclose(scaled, plain, rtol=1e-6, atol=1e-9)


def test_a_seed_with_one_horizon_has_no_exponent() -> None:
    rows = power_law([0.5, 0.7], [1.0, 1.0], [100, 1000])
    assert analysis.exponent(rows[:3], analysis.cumulative_regret, horizon).mean == pytest.approx(0.5)
    assert np.isnan(analysis.exponent(rows[:1], analysis.cumulative_regret, horizon)).all()
    assert np.isnan(analysis.exponent([], analysis.cumulative_regret, horizon)).all()


# Printed bounds

KERNEL = uc.SquaredExponential(0.7)
bounds_strategy = st.builds(PrintedBounds, st.integers(4, 5000), st.floats(1e-4, 10.0), st.floats(0.01, 0.5))


@given(bounds_strategy, st.integers(1, 10**6))
def test_beta_is_the_library_s_on_a_finite_set(bounds: PrintedBounds, T: int) -> None:
    actions = uc.Finite(np.arange(float(bounds.actions))[:, None])
    belief = uc.ExactBelief(KERNEL, bounds.noise_variance)
    assert bounds.beta(T) == pytest.approx(uc.TheoreticalBeta(bounds.delta)(T, actions, belief), rel=1e-12)


def library_bound(bounds: PrintedBounds, T: int, gain: float) -> float:
    """Theorem 3.2 with this gain."""
    ledger = Ledger(rounds=T, kept_gain=gain)
    return theorem_regret(ledger, bounds.beta(T), KERNEL, bounds.noise_variance, False)


@given(bounds_strategy, st.integers(1, 10**5), st.floats(0.1, 100.0))
def test_c1_is_the_library_s(bounds: PrintedBounds, T: int, gain: float) -> None:
    assert math.sqrt(bounds.c1 * T * bounds.beta(T) * gain) == pytest.approx(library_bound(bounds, T, gain))


@pytest.mark.parametrize("levels", [(30,), (5, 6)])
def test_z1_has_the_eigenvalues_of_the_kernel_matrix(levels: tuple[int, ...]) -> None:
    problem = {1: "example", 2: "rosenbrock"}[len(levels)]
    grid = problems.grid(problem, levels)
    assert isinstance(grid, uc.Finite)
    eigenvalues = np.linalg.eigvalsh(KERNEL(grid.X, grid.X))
    assert PrintedBounds(30, 0.02, 0.1).z1 == pytest.approx(eigenvalues.sum() / (0.02 * GREEDY))


@given(bounds_strategy, st.integers(1, 10**5))
def test_corollary_3_3_is_theorem_3_2_with_a_gain_of_z1_for_each_of_root_t_observations(
    bounds: PrintedBounds, T: int
) -> None:
    gain = max(bounds.z1, 1.0) * math.sqrt(T)
    assert bounds.corollary(T) == pytest.approx(library_bound(bounds, T, gain))


@given(bounds_strategy, st.integers(1, 10**5), st.floats(1.1, 100.0))
def test_corollary_3_3_grows_and_less_than_the_rounds(bounds: PrintedBounds, T: int, times: float) -> None:
    assume(bounds.beta(T) > 8.0)  # before, √β grows faster than T^¼
    later = math.ceil(T * times)
    assert bounds.corollary(T) < bounds.corollary(later)
    assert bounds.corollary(later) / later < bounds.corollary(T) / T


def test_theorem_3_4_is_as_printed() -> None:
    T, gain, R, alpha, variance = 1000, 40.0, 5.0, 0.25, 1e-3
    bounds = PrintedBounds(2500, variance, 0.1)
    beta = 2.0 * np.log(2500 * T**2 * np.pi**2 / 0.6)
    front = (np.sqrt(3.0 * (beta + 1.0 + R**2)) + np.sqrt(beta)) / np.log(1.0 + 1.0 / variance)
    expected = front * (np.sqrt(2.0 * T * gain) + T * np.sqrt(np.log(1.0 + T**-alpha)))
    assert bounds.expected_improvement(T, gain, R, alpha) == pytest.approx(expected)


@given(bounds_strategy, st.floats(0.0, 100.0), st.floats(0.0, 30.0), st.floats(0.0, 1.0), st.floats(0.1, 10.0))
def test_theorem_3_4_grows_with_what_is_bad(
    bounds: PrintedBounds, gain: float, z_score: float, alpha: float, more: float
) -> None:
    plain = bounds.expected_improvement(1000, gain, z_score, alpha)
    assert bounds.expected_improvement(1000, gain + more, z_score, alpha) > plain
    assert bounds.expected_improvement(1000, gain, z_score + more, alpha) > plain
    assert bounds.expected_improvement(1000, gain, z_score, alpha + more) < plain  # a smaller threshold


# Gains

SMALL = ("example", (25,), 0.01, 1.0)
GAINS = analysis.maximum_gains(*SMALL, 12)


def test_the_gains_begin_with_none_and_one_observation_s_grow_and_grow_less() -> None:
    assert GAINS.shape == (13,)
    assert GAINS[0] == 0.0
    assert GAINS[1] == pytest.approx(0.5 * math.log1p(1.0 / 0.01))
    steps = np.diff(GAINS)
    assert (steps > 0.0).all()
    assert (np.diff(steps) <= 1e-12).all()
    np.testing.assert_array_equal(analysis.maximum_gains(*SMALL, 5), GAINS[:6])


@given(st.lists(st.integers(0, 24), min_size=1, max_size=12))
def test_no_observations_tell_more_than_greedy_ones_by_more_than_the_factor(indices: list[int]) -> None:
    grid = problems.grid("example", (25,))
    assert isinstance(grid, uc.Finite)
    X = grid.X[indices]
    gain = 0.5 * np.linalg.slogdet(np.eye(len(X)) + uc.SquaredExponential(1.0)(X, X) / 0.01)[1]
    assert GAINS[len(indices)] >= GREEDY * gain - 1e-9


# What was measured


@pytest.mark.parametrize("method", ["dense", "schedule"])
@pytest.mark.parametrize("seed", [0, 1])
def test_measured_regret_is_below_theorem_3_2_and_that_below_corollary_3_3(method: str, seed: int) -> None:
    setting = replace(EXAMPLE, levels=(80,), horizon=60)
    rows = [run(Task(setting, "ucb", methods()[method], seed))]
    printed = PrintedBounds(80, setting.noise_variance, setting.delta)
    measured, theorem = (analysis.curves(rows, name)[0] for name in ("cumulative_regret", "theorem_bound"))
    corollary = [printed.corollary(int(t)) for t in analysis.curves(rows, "round")[0]]
    assert (measured <= theorem).all()
    assert (theorem <= corollary).all()
