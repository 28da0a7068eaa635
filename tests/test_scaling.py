import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from uncubed.bend import Bend
from uncubed.scaling import Scaling, scaling_of

BENT = Scaling(2.0, 5.0, -100.0, 100.0, Bend(best=0.5, radius=0.3, centre=-1.0, spread=2.0))


@settings(max_examples=100)
@given(values=st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=40))
def test_scaled_values_lie_within_the_bounds_and_in_order(values: list[float]) -> None:
    y = np.sort(np.array(values))
    scaling = scaling_of(np.array(values))
    scaled, clipped = scaling.scaled(y), scaling.clips(y)
    assert (np.diff(scaled) >= 0.0).all()
    np.testing.assert_allclose(scaling.centre + scaling.spread * scaled[~clipped], y[~clipped], atol=1e-9 * 1e6)
    assert clipped.mean() < 0.5


def test_the_edges_do_not_close_in_on_a_search_that_settles() -> None:
    rng = np.random.default_rng(0)
    design, settled = rng.normal(size=16), 3.0 + 1e-3 * rng.normal(size=300)
    assert not scaling_of(np.append(design, settled)).clips(design).any()


def test_without_outliers_scaled_values_have_mean_0_and_variance_1() -> None:
    y = 7.0 + 3.0 * np.random.default_rng(0).normal(size=60)
    scaled = scaling_of(y).scaled(y)
    assert scaled.mean() == pytest.approx(0.0, abs=1e-12)
    assert scaled.std() == pytest.approx(1.0, rel=1e-12)


@given(st.floats(-99.0, 99.0))
def test_unscaled_again_a_value_is_itself(value: float) -> None:
    assert float(BENT.unscaled(BENT.scaled(np.array(value)))) == pytest.approx(value, rel=1e-9, abs=1e-9)


def test_above_the_best_the_unit_is_the_belief_s() -> None:
    best = BENT.centre + BENT.spread * BENT.bend.best
    above = BENT.scaled(np.array([best, best + BENT.unit]))
    assert np.diff(above)[0] == pytest.approx(1.0)
    assert BENT.noise(3.0) == pytest.approx(3.0 / BENT.unit**2)


@given(st.floats(-90.0, 90.0))
def test_the_unit_is_stretched_as_the_map_is_flat(value: float) -> None:
    scaled = float(BENT.scaled(np.array(value)))
    step = 1e-5
    slope = float(BENT.unscaled(np.array(scaled + step)) - BENT.unscaled(np.array(scaled - step))) / (2.0 * step)
    assert BENT.stretch(scaled) == pytest.approx(slope, rel=1e-3)
    assert BENT.stretch(scaled) >= BENT.stretch(-math.inf) == BENT.unit


def test_noise_is_within_what_a_belief_can_take() -> None:
    assert all(0.0 < BENT.noise(variance) < math.inf for variance in (1e-320, 1e308))
