import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from uncubed._typing import Array
from uncubed.history import CONTENDERS, ENOUGH, History

PLACES = np.array([[0.0, 0.5], [0.5, 0.0], [0.25, 0.25], [1.0, 0.125]])

rows_and_values = st.lists(st.tuples(st.integers(0, len(PLACES) - 1), st.floats(-1e6, 1e6)), min_size=1, max_size=70)


def written(rows: Array, values: Array) -> History:
    history = History(rows.shape[1])
    for action, value in zip(rows, values.tolist(), strict=True):
        history.add(action, value)
    return history


@settings(max_examples=60)
@given(told=rows_and_values)
def test_merged_values_are_those_of_numpy_on_the_groups(told: list[tuple[int, float]]) -> None:
    index, values = np.array([k for k, _ in told]), np.array([value for _, value in told])
    history = written(PLACES[index], values)
    groups = [values[index == k] for k in dict.fromkeys(index.tolist())]
    seen = history.observations(history.all_rows())
    size = np.abs(values).max()
    np.testing.assert_array_equal(seen.count, [len(group) for group in groups])
    np.testing.assert_allclose(seen.mean, [group.mean() for group in groups], rtol=0, atol=1e-13 * size)
    scatter = sum(float(np.square(group - group.mean()).sum()) for group in groups)
    assert seen.scatter.sum() == pytest.approx(scatter, rel=1e-9, abs=1e-12 * size**2)
    np.testing.assert_array_equal(seen.X, history.all_rows())


@settings(max_examples=40)
@given(told=rows_and_values)
def test_the_distinct_actions_are_in_the_order_they_first_came(told: list[tuple[int, float]]) -> None:
    order = list(dict.fromkeys(k for k, _ in told))
    history = written(PLACES[[k for k, _ in told]], np.array([value for _, value in told]))
    np.testing.assert_array_equal(history.all_rows(), PLACES[order])
    assert history.distinct == len(order)
    assert [place in history for place in PLACES] == [k in order for k in range(len(PLACES))]


@pytest.mark.parametrize("n", [0, 1, 15, 16, 17, 32, 33, 200])
def test_growth_keeps_everything_in_order(n: int) -> None:
    rng = np.random.default_rng(n)
    rows, values = rng.random((n, 3)), rng.normal(size=n)
    history = written(rows, values)
    assert len(history) == history.distinct == n
    np.testing.assert_array_equal(history.actions, rows)
    np.testing.assert_array_equal(history.values, values)
    np.testing.assert_array_equal(history.all_rows(), rows)


def test_what_was_seen_is_asked_of_any_rows_in_any_order() -> None:
    history = written(PLACES[[0, 1, 0, 2, 1, 0]], np.array([1.0, 5.0, 3.0, 7.0, 5.0, 5.0]))
    seen = history.observations(PLACES[[2, 0]])
    assert (seen.count.tolist(), seen.mean.tolist(), seen.scatter.sum()) == ([1.0, 3.0], [7.0, 3.0], 8.0)
    nothing = history.observations(np.empty((0, 2)))
    assert (nothing.count.shape, nothing.mean.shape, nothing.scatter.sum()) == ((0,), (0,), 0.0)


def test_an_action_changed_after_it_was_told_stays_as_it_was_told() -> None:
    action, history = np.array([0.25, 0.75]), History(2)
    history.add(action, 1.0)
    action[:] = 0.0
    assert history.actions.tolist() == history.all_rows().tolist() == [[0.25, 0.75]]
    assert action not in history


def test_scatter_of_values_far_from_zero_does_not_cancel() -> None:
    values = 1e9 + np.random.default_rng(0).normal(size=500)
    seen = written(np.tile(PLACES[:1], (500, 1)), values).observations(PLACES[:1])
    assert seen.scatter.sum() == pytest.approx(values.var() * 500, rel=1e-6)


@settings(max_examples=40)
@given(n=st.integers(0, 3 * CONTENDERS), levels=st.integers(1, 200), seed=st.integers(0, 2**32 - 1))
def test_the_best_are_the_actions_of_the_largest_values_of_equals_the_first(n: int, levels: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows, values = rng.random((n, 2)), rng.integers(levels, size=n).astype(float)
    largest = np.argsort(-values, kind="stable")[:CONTENDERS]
    np.testing.assert_array_equal(written(rows, values).best, rows[largest])


def test_values_that_came_again_as_before_say_that_they_will() -> None:
    history = written(PLACES[[0, 1, 2]], np.array([1.0, 2.0, 3.0]))
    for place, value in zip(PLACES[:ENOUGH], (1.0, 2.0, 3.0), strict=True):
        assert not history.is_exact
        history.add(place, value, looked=True)
    assert history.is_exact
    assert history.repeats_itself
    assert not history.is_noisy
    history.add(PLACES[2], 4.0, looked=True)
    assert not history.is_exact
    assert not history.repeats_itself
    assert history.is_noisy


def test_copies_say_that_values_are_told_again_not_that_they_are_exact() -> None:
    history = written(PLACES[[0, 1, 0, 1, 2]], np.array([1.0, 2.0, 1.0, 2.0, 3.0]))
    assert not history.repeats_itself
    history.add(PLACES[0], 1.0)
    assert history.repeats_itself
    assert not history.is_exact
    history.add(PLACES[2], 4.0)
    assert not history.repeats_itself


def test_it_is_unclear_whether_values_are_exact_until_looks_agree_or_one_differs() -> None:
    exact, noisy = (written(PLACES[:3], np.array([1.0, 2.0, 3.0])) for _ in range(2))
    for place, value in zip(PLACES[:ENOUGH], (1.0, 2.0, 3.0), strict=True):
        assert exact.is_unclear
        exact.add(place, value, looked=True)
    assert exact.looks == ENOUGH
    assert not exact.is_unclear
    assert noisy.is_unclear
    noisy.add(PLACES[0], 1.1)
    assert not noisy.is_unclear
    assert noisy.is_noisy


def test_what_differs_by_rounding_is_the_same() -> None:
    history = written(PLACES[:3], np.array([1.0, -2e8, 3e-8]))
    for place, value in zip(PLACES[:ENOUGH], (1.0 + 1e-15, -2e8 * (1.0 - 2e-16), 3e-8 * (1.0 + 2e-16)), strict=True):
        history.add(place, value, looked=True)
    assert history.is_exact
    history.add(PLACES[2], 3e-8 * (1.0 + 1e-9), looked=True)
    assert history.is_noisy


def test_a_value_with_a_noise_is_not_exact() -> None:
    history = written(PLACES[[0, 1]], np.array([1.0, 2.0]))
    for _ in range(ENOUGH):
        history.add(PLACES[0], 1.0, looked=True)
    assert history.is_exact
    history.add(PLACES[2], 3.0, noise=0.1)
    assert not history.is_exact
    assert not history.is_unclear
    assert not history.is_noisy  # that this one is says nothing of the others


def test_what_was_made_up_for_a_failure_says_nothing_of_repeats() -> None:
    history = written(PLACES[:3], np.array([1.0, 2.0, 3.0]))
    for place, value in zip(PLACES[:ENOUGH], (1.0, 2.0, 3.0), strict=True):
        assert not history.is_exact
        history.add(place, 0.5, imputed=True)
        history.add(place, value, looked=True)
    assert history.is_exact


@settings(max_examples=60)
@given(told=rows_and_values, data=st.data())
def test_what_was_made_up_is_no_part_of_what_was_told(told: list[tuple[int, float]], data: st.DataObject) -> None:
    made_up = data.draw(st.lists(st.booleans(), min_size=len(told), max_size=len(told)))
    history, real = History(2), History(2)
    for (k, value), imputed in zip(told, made_up, strict=True):
        history.add(PLACES[k], value, imputed=imputed)
        if not imputed:
            real.add(PLACES[k], value)
    for place in PLACES:
        np.testing.assert_equal(history.mean_at(place), real.mean_at(place))
        assert history.exact_at(place) == real.exact_at(place)
    both, alone = (h.observations(real.all_rows()) for h in (history, real))
    np.testing.assert_array_equal(both.scatter, alone.scatter)
    counts = [sum(k == j for k, _ in told) for j in dict.fromkeys(k for k, _ in told)]
    np.testing.assert_array_equal(history.observations(history.all_rows()).count, counts)


@pytest.mark.parametrize("noise", [math.nan, 0.1])
def test_before_and_after_a_failure_a_value_is_the_same(noise: float) -> None:
    before, after = History(2), History(2)
    before.add(PLACES[0], -3.0, imputed=True)
    before.add(PLACES[0], 1.0, noise=noise)
    after.add(PLACES[0], 1.0, noise=noise)
    after.add(PLACES[0], -3.0, imputed=True)
    assert before.mean_at(PLACES[0]) == after.mean_at(PLACES[0]) == 1.0
    assert before.exact_at(PLACES[0]) == after.exact_at(PLACES[0]) == (None if noise > 0.0 else 1.0)


def test_of_an_exact_function_what_was_told_is_learned_in_the_place_of_what_was_made_up() -> None:
    history = written(PLACES[:2], np.array([1.0, 2.0]))
    for k in (0, 2):
        history.add(PLACES[k], -3.0, imputed=True)
    places = np.arange(4)
    assert history.to_learn(places).tolist() == history.values.tolist() == [1.0, 2.0, -3.0, -3.0]
    assert history.observations(PLACES[:3]).mean.tolist() == [-1.0, 2.0, -3.0]
    for _ in range(ENOUGH):
        history.add(PLACES[1], 2.0, looked=True)
    assert history.is_exact
    assert history.to_learn(places).tolist() == [1.0, 2.0, 1.0, -3.0]
    assert history.observations(PLACES[:3]).mean.tolist() == [1.0, 2.0, -3.0]


def test_where_nothing_was_told_there_is_no_mean() -> None:
    history = History(2)
    history.add(PLACES[0], -3.0, imputed=True)
    assert math.isnan(history.mean_at(PLACES[0]))
    assert math.isnan(history.mean_at(PLACES[1]))
