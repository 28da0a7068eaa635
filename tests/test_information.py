import math

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.stats import norm

from uncubed.information import (
    absolute_variance_threshold,
    conditional_entropy,
    horizon_epsilon,
    information_gain,
    variance_threshold,
)


def log_uniform(low: float, high: float) -> st.SearchStrategy[float]:
    return st.floats(math.log(low), math.log(high)).map(math.exp)


noises = log_uniform(1e-12, 1e6)
beside_one = st.tuples(log_uniform(2e-9, 0.99), st.sampled_from([-1.0, 1.0])).map(lambda pair: 1.0 + pair[0] * pair[1])
factors = beside_one | log_uniform(1e-12, 1e12)


@given(log_uniform(1e-12, 1e6), noises)
def test_conditional_entropy_is_that_of_a_normal_value(variance: float, noise: float) -> None:
    expected = float(norm(scale=math.sqrt(variance + noise)).entropy())
    assert conditional_entropy(variance, noise) == pytest.approx(expected, rel=1e-12, abs=1e-12)


@given(log_uniform(1e-6, 1e6), noises)
def test_gain_is_what_the_entropy_exceeds_that_of_the_noise_by(variance: float, noise: float) -> None:
    expected = conditional_entropy(variance, noise) - conditional_entropy(0.0, noise)
    assert information_gain(variance, noise) == pytest.approx(expected, rel=1e-9, abs=1e-13)


@given(log_uniform(1e-12, 100.0), noises, factors)
def test_the_gain_form_and_the_variance_form_of_the_rule_agree(epsilon: float, noise: float, factor: float) -> None:
    threshold = variance_threshold(epsilon, noise)
    variance = threshold * factor
    assume(abs(variance - threshold) > 1e-9 * threshold)
    assert (variance > threshold) == (information_gain(variance, noise) > epsilon)


# Below ε = 1e-4 the entropy itself, a sum of order one, cannot resolve 1e-9 of its excess over the noise.
@given(log_uniform(1e-4, 100.0), noises, factors)
def test_the_entropy_form_and_the_variance_form_of_the_rule_agree(epsilon: float, noise: float, factor: float) -> None:
    threshold = variance_threshold(epsilon, noise)
    variance = threshold * factor
    assume(abs(variance - threshold) > 1e-9 * threshold)
    excess = conditional_entropy(variance, noise) > conditional_entropy(0.0, noise) + epsilon
    assert (variance > threshold) == excess


@given(st.floats(-20.0, 20.0), noises, factors)
def test_the_absolute_rule_and_its_variance_form_agree(epsilon: float, noise: float, factor: float) -> None:
    threshold = absolute_variance_threshold(epsilon, noise)
    variance = (threshold + noise) * factor - noise  # by the total: the threshold itself may be negative
    assume(variance >= 0.0)
    assume(abs(variance - threshold) > 1e-9 * (threshold + noise) + 1e-15 * noise)
    assert (variance > threshold) == (conditional_entropy(variance, noise) > epsilon)


@given(log_uniform(1e-12, 300.0), noises)
def test_the_threshold_is_where_the_gain_is_epsilon(epsilon: float, noise: float) -> None:
    assert information_gain(variance_threshold(epsilon, noise), noise) == pytest.approx(epsilon, rel=1e-12)


@pytest.mark.parametrize("epsilon", [355.0, 1e3, 1e100, math.inf])
def test_an_epsilon_beyond_the_floats_is_an_infinite_threshold(epsilon: float) -> None:
    assert variance_threshold(epsilon, 1e-3) == math.inf
    assert absolute_variance_threshold(epsilon + 10.0, 1e-3) == math.inf
    assert information_gain(math.inf, 1e-3) == math.inf


@given(st.integers(1, 10**9), st.floats(0.0, 2.0), noises)
def test_the_epsilon_of_a_horizon_is_a_threshold_of_noise_times_horizon_to_minus_alpha(
    horizon: int, alpha: float, noise: float
) -> None:
    threshold = variance_threshold(horizon_epsilon(horizon, alpha), noise)
    assert threshold == pytest.approx(noise * horizon**-alpha, rel=1e-12)
