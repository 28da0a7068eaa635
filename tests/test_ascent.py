from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from uncubed._typing import Array
from uncubed.ascent import ascend, spread

Climb = Callable[[Array], tuple[Array, Array]]


def bowl(centre: Array, curvature: Array) -> Climb:
    """-½ Σ c (u - centre)², whose largest value in the cube is at the centre clipped to it."""

    def climb(U: Array) -> tuple[Array, Array]:
        away = U - centre
        return -0.5 * (curvature * away**2).sum(axis=1), -curvature * away

    return climb


def waves(U: Array) -> tuple[Array, Array]:
    return np.sin(9.0 * U).sum(axis=1), 9.0 * np.cos(9.0 * U)


@settings(max_examples=60)
@given(d=st.integers(1, 5), seed=st.integers(0, 2**32 - 1), scale=st.sampled_from([1e-6, 1.0, 1e6]))
def test_a_concave_quadratic_is_climbed_to_its_maximum_in_the_cube(d: int, seed: int, scale: float) -> None:
    rng = np.random.default_rng(seed)
    centre, curvature = rng.uniform(-0.5, 1.5, d), scale * rng.uniform(0.5, 5.0, d)
    U, f, _ = ascend(bowl(centre, curvature), rng.random((4, d)), 100)
    top = np.clip(centre, 0.0, 1.0)
    np.testing.assert_allclose(U, np.tile(top, (4, 1)), rtol=0, atol=1e-4)
    np.testing.assert_allclose(f, bowl(centre, curvature)(top[None, :])[0][0], rtol=0, atol=1e-7 * scale)


@settings(max_examples=60)
@given(steps=st.integers(0, 40), seed=st.integers(0, 2**32 - 1))
def test_no_row_ends_lower_than_it_started_or_outside_the_cube(steps: int, seed: int) -> None:
    start = np.random.default_rng(seed).random((6, 2))
    U, f, onwards = ascend(waves, start, steps)
    assert (f >= waves(start)[0]).all()
    for rows in (U, onwards):
        assert rows.min() >= 0.0
        assert rows.max() <= 1.0
    np.testing.assert_array_equal(f, waves(U)[0])
    more = ascend(waves, start, steps + 1).values
    assert (more >= f).all()
    assert (more <= np.maximum(f, waves(onwards)[0])).all()  # one step more leads there, or nowhere


def test_from_the_top_no_step_leads_onwards() -> None:
    start = np.random.default_rng(0).random((4, 2))
    U, _, onwards = ascend(bowl(np.array([0.3, 0.6]), np.ones(2)), start, 100, 1e-3)
    np.testing.assert_array_equal(onwards, U)


def test_many_rows_climb_as_each_alone_would_until_one_is_given_up() -> None:
    start = np.random.default_rng(0).random((7, 3))
    together = ascend(waves, start, 4)[0]
    alone = np.vstack([ascend(waves, row[None, :], 4)[0] for row in start])
    np.testing.assert_array_equal(together, alone)


def counted(climb: Climb) -> tuple[Climb, list[Array]]:
    seen: list[Array] = []

    def counting(U: Array) -> tuple[Array, Array]:
        seen.append(U)
        return climb(U)

    return counting, seen


@settings(max_examples=40)
@given(d=st.integers(2, 8), seed=st.integers(0, 2**32 - 1))
def test_a_ridge_across_all_coordinates_is_climbed_to_its_top(d: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    turn = np.linalg.qr(rng.standard_normal((d, d)))[0]
    hessian = turn @ np.diag(np.geomspace(1.0, 1e3, d)) @ turn.T
    top = rng.uniform(0.3, 0.7, d)

    def ridge(U: Array) -> tuple[Array, Array]:
        slope = -(U - top) @ hessian
        return 0.5 * np.einsum("ij,ij->i", U - top, slope), slope

    U, f, _ = ascend(ridge, rng.random((3, d)), 100)
    # Values at the corners are some hundreds below the top; an ascent ends where its moves are short.
    assert f.max() > -1e-3
    assert np.abs(U[f.argmax()] - top).max() < 0.05


def test_rows_that_cannot_become_the_best_do_not_keep_it_climbing() -> None:
    def slopes(U: Array) -> tuple[Array, Array]:
        # A hill at 0.9, and far below it a long curved slope towards 0.
        high = U[:, 0] > 0.5
        f = np.where(high, -((U[:, 0] - 0.9) ** 2), -100.0 - U[:, 0] ** 4)
        return f, np.where(high, -2.0 * (U[:, 0] - 0.9), -4.0 * U[:, 0] ** 3)[:, None]

    climb, seen = counted(slopes)
    both = ascend(climb, np.array([[0.8], [0.4]]), 100)
    assert both[0][0, 0] == pytest.approx(0.9, abs=1e-4)
    few = len(seen)
    ascend(climb, np.array([[0.4]]), 100)
    assert len(seen) - few > few


@pytest.mark.parametrize("least", [1e-2, 1e-6])
def test_steps_that_gain_too_little_are_not_made(least: float) -> None:
    climb, seen = counted(bowl(np.array([0.3, 0.6]), np.array([1.0, 30.0])))
    f = ascend(climb, np.array([[0.9, 0.1]]), 100, least)[1]
    assert -10.0 * least < f[0] <= 0.0
    made = len(seen)
    ascend(climb, np.array([[0.9, 0.1]]), 100)
    assert len(seen) - made >= made


@pytest.mark.parametrize("scale", [1e-250, 1e-100, 1e100, 1e250])
def test_values_of_any_size_are_climbed(scale: float) -> None:
    U = ascend(lambda U: (scale * waves(U)[0], scale * waves(U)[1]), np.full((2, 2), 0.3), 60)[0]
    np.testing.assert_allclose(U, np.pi / 18.0, atol=1e-3)


def test_a_coordinate_without_slope_stays() -> None:
    held = np.array([0.3, 0.6])
    U, _, _ = ascend(bowl(np.array([0.9, 0.0]), np.array([1.0, 0.0])), held[None, :], 50)
    assert U[0, 1] == held[1]
    assert U[0, 0] == pytest.approx(0.9, abs=1e-6)


def test_on_a_plateau_nothing_moves() -> None:
    start = np.random.default_rng(1).random((3, 2))
    U, f, _ = ascend(lambda U: (np.ones(len(U)), np.zeros(U.shape)), start, 10)
    np.testing.assert_array_equal(U, start)
    np.testing.assert_array_equal(f, np.ones(3))


# Where to start


@settings(max_examples=100)
@given(rows=st.integers(1, 40), n=st.integers(1, 12), d=st.integers(1, 3), seed=st.integers(0, 2**32 - 1))
def test_starts_are_distinct_rows_with_the_best_among_them(rows: int, n: int, d: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    U, scores = rng.random((rows, d)), rng.normal(size=rows)
    chosen = spread(U, scores, n)
    assert len(set(chosen.tolist())) == len(chosen) <= min(rows, n)
    assert chosen[0] == scores.argmax()
    assert set(np.argsort(-scores)[: n - n // 2].tolist()) <= set(chosen.tolist())


def test_half_of_the_starts_are_on_other_hills() -> None:
    rng = np.random.default_rng(0)
    crowd, others = 0.5 + 0.01 * rng.random((50, 1)), np.array([[0.1], [0.3], [0.9]])
    U = np.vstack([crowd, others])
    scores = np.append(10.0 + rng.random(50), [1.0, 2.0, 3.0])
    chosen = spread(U, scores, 6)
    assert set(chosen[:3].tolist()) == set(np.argsort(-scores)[:3].tolist())
    assert chosen[3:].tolist() == [52, 51, 50]


def test_starts_are_distinct_where_nothing_can_improve() -> None:
    # Expected improvement is -inf where nothing is unknown.
    U, scores = np.linspace(0.0, 1.0, 9)[:, None], np.full(9, -np.inf)
    chosen = spread(U, scores, 6)
    assert len(set(chosen.tolist())) == len(chosen)


def test_slopes_beyond_all_measure_spoil_nothing() -> None:
    def climb(U: Array) -> tuple[Array, Array]:
        steep = np.where(U[:, :1] > 0.5, 1e160, 1.0)
        return U[:, 0], steep * np.ones_like(U)

    reached, value, _ = ascend(climb, np.array([[0.2, 0.2], [0.45, 0.9]]), 30)
    assert np.isfinite(reached).all()
    assert (value >= [0.2, 0.45]).all()


def test_known_scales_leave_less_to_climb() -> None:
    scales = np.array([1.0, 0.03, 0.2])
    start = np.random.default_rng(1).random((5, 3))
    top = np.full(3, 0.5)
    with_scales, without = (
        top_distance(ascend(bowl(top, scales**-2.0), start, 5, scales=known)[0], top) for known in (scales, None)
    )
    assert with_scales.max() < 1e-3 < without.max()


def top_distance(U: Array, top: Array) -> Array:
    distance: Array = np.abs(U - top).max(axis=1)
    return distance
