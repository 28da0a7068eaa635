import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers import central_difference
from uncubed._typing import Array
from uncubed.bend import STRAIGHT, Bend, bend
from uncubed.observations import Observations

RNG = np.random.default_rng(0)
N = 12
NOISE = np.where(np.arange(N) % 3 == 0, 0.1, np.nan)
DATA = Observations(
    RNG.random((N, 2)),
    -np.exp(2.0 * RNG.standard_normal(N)),
    np.where(np.isnan(NOISE), RNG.integers(1, 4, N), 1.0),
    np.where(np.isnan(NOISE), RNG.random(N), 0.0),
    NOISE,
)

bends = st.builds(
    Bend,
    best=st.floats(-3.0, 3.0),
    radius=st.floats(-3.0, 3.0).map(lambda e: 10.0**e),
    centre=st.floats(-2.0, 2.0),
    spread=st.floats(0.1, 10.0),
)
values = st.lists(st.floats(-100.0, 100.0), min_size=2, max_size=20).map(lambda v: np.sort(np.array(v)))


@given(bends, values)
def test_it_is_monotone_and_straightened_again(bent: Bend, y: Array) -> None:
    z = bent.bent(y)
    assert (np.diff(z) >= 0.0).all()
    np.testing.assert_allclose(bent.straightened(z), y, rtol=1e-9, atol=1e-8)


@given(bends, values)
def test_its_slope_is_a_finite_difference(bent: Bend, y: Array) -> None:
    step = 1e-5 * min(bent.radius, 1.0)
    y = y[np.abs(y - bent.best) > step]
    slopes = (bent.bent(y + step) - bent.bent(y - step)) / (2.0 * step)
    np.testing.assert_allclose(bent.slope(y), slopes * bent.spread, rtol=1e-3, atol=1e-4)


@given(bends, values)
def test_a_shorter_radius_bends_more_and_above_the_best_nothing_is_bent(bent: Bend, y: Array) -> None:
    less = bent._replace(radius=2.0 * bent.radius)
    assert (bent.bent(y) >= less.bent(y) - 1e-9).all()  # values are drawn up to the best
    above = y >= bent.best
    np.testing.assert_allclose(bent.bent(y)[above], (y[above] - bent.centre) / bent.spread)


@given(values)
def test_a_long_radius_bends_nothing(y: Array) -> None:
    np.testing.assert_allclose(Bend(best=float(y.max())).bent(y), y, atol=1e-12)
    np.testing.assert_allclose(Bend(best=float(y.max())).straightened(y), y, atol=1e-12)


def test_what_is_too_far_for_a_number_is_as_far_as_there_are_numbers() -> None:
    assert math.isfinite(float(Bend(radius=0.01).straightened(np.array(-1e9))))


@pytest.mark.parametrize("radius", [0.01, 1.0, 30.0, STRAIGHT])
def test_bent_data_are_standardised_and_the_rest_goes_with_the_slope(radius: float) -> None:
    bent = bend(DATA, radius)
    np.testing.assert_allclose(bent.data.mean, bent.bend.bent(DATA.mean), atol=1e-12)
    total = DATA.count.sum()
    assert DATA.count @ bent.data.mean == pytest.approx(0.0, abs=1e-11)
    assert (DATA.count @ bent.data.mean**2 + bent.data.scatter.sum()) / total == pytest.approx(1.0)
    slope = bent.bend.slope(DATA.mean) / bent.bend.spread
    np.testing.assert_allclose(bent.data.scatter, DATA.scatter * slope**2)
    np.testing.assert_allclose(bent.data.noise, DATA.noise / bent.bend.spread**2)


@pytest.mark.parametrize("radius", [0.01, 1.0, 30.0])
def test_derivatives_are_finite_differences(radius: float) -> None:
    bent, at = bend(DATA, radius), np.array([math.log(radius)])

    def of(what: int, row: int) -> float:
        def value(log_radius: Array) -> float:
            other = bend(DATA, math.exp(log_radius[0]))
            parts = (other.data.mean, other.data.noise, other.data.scatter.sum(), other.log_slope)
            return float(np.ravel(parts[what])[row])

        return float(central_difference(value, at)[0])

    np.testing.assert_allclose(bent.by_mean, [of(0, k) for k in range(N)], rtol=1e-6, atol=1e-8)
    rows = [k for k in range(N) if not np.isnan(NOISE[k])]
    np.testing.assert_allclose(bent.by_noise[rows], [of(1, k) for k in rows], rtol=1e-6, atol=1e-10)
    assert bent.by_scatter == pytest.approx(of(2, 0), rel=1e-6)
    assert bent.by_log_slope == pytest.approx(of(3, 0), rel=1e-6)


@pytest.mark.parametrize("noise", [0.0, 1e-15])
def test_values_that_are_equal_but_for_rounding_are_not_scaled(noise: float) -> None:
    data = Observations(np.eye(3), 5.0 + noise * np.arange(3.0), np.ones(3), np.zeros(3))
    bent = bend(data, 1.0)
    np.testing.assert_allclose(bent.data.mean, 0.0, atol=1e-14)
    assert bent.bend.spread == 1.0


def test_the_slope_counts_once_for_all_that_are_best_and_for_a_mean_of_given_noise() -> None:
    noise = np.array([np.nan, np.nan, np.nan, 0.1])
    data = Observations(np.eye(4), np.array([1.0, 1.0, 0.0, -1.0]), np.array([3.0, 1.0, 2.0, 5.0]), np.zeros(4), noise)
    bent = bend(data, 1.0)
    log_slopes = np.log(bent.bend.slope(data.mean) / bent.bend.spread)
    assert bent.log_slope == pytest.approx(log_slopes[0] + 2.0 * log_slopes[2] + log_slopes[3])
