import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import norm

from uncubed._gaussian import improvement, log_tau
from uncubed._typing import Array


def log_tau_by_quadrature(z: float) -> float:
    """τ(z) = φ(z)/z² ∫_0^∞ u exp(-u - u²/2z²) du for z < 0: nothing cancels."""
    integral = quad(lambda u: u * math.exp(-u - 0.5 * (u / z) ** 2), 0.0, 60.0, epsabs=0.0, epsrel=1e-12)[0]
    return -0.5 * z * z - 0.5 * math.log(2 * math.pi) - 2 * math.log(-z) + math.log(integral)


BOTH_SIDES = np.array([-3.0, -0.5, -1e-3, -1e-9, 0.0, 1e-9, 1e-3, 0.5])


def test_log_tau_is_quadrature_on_both_sides_of_the_far_tail() -> None:
    for z in -25.0 + BOTH_SIDES:
        assert float(log_tau(np.array(z))) == pytest.approx(log_tau_by_quadrature(float(z)), rel=1e-12, abs=1e-11)


def test_improvement_is_its_definition_on_both_sides_of_where_it_is_high() -> None:
    z = 5.0 + BOTH_SIDES
    density, distribution = norm.pdf(z), norm.cdf(z)
    tau = z * distribution + density
    np.testing.assert_allclose(improvement(z), [np.log(tau), distribution / tau, density / tau], rtol=1e-13)


@given(exponent=st.floats(-2.0, 100.0))
def test_log_tau_is_quadrature_over_the_whole_tail(exponent: float) -> None:
    z = -(10.0**exponent)
    assert float(log_tau(np.array(z))) == pytest.approx(log_tau_by_quadrature(z), rel=1e-11)


def sweeps() -> dict[str, Array]:
    powers = np.logspace(-100, 100, 100_001)
    return {
        "whole": np.concatenate([-powers[::-1], [0.0], powers]),
        "middle": np.linspace(-60.0, 60.0, 200_001),
        "around 5": 5.0 + 1e-9 * np.arange(-2000, 2001),
        "around -25": -25.0 + 1e-9 * np.arange(-2000, 2001),
    }


@pytest.mark.parametrize("name", sweeps())
def test_log_tau_is_finite_and_increasing(name: str) -> None:
    z = sweeps()[name]
    result = log_tau(z)
    assert np.isfinite(result).all()
    rises = np.diff(result)
    # Below 1e-12 of z and of 1 the function's own rise is lost in rounding: there it must only not fall.
    visible = np.diff(z) > 1e-12 * np.maximum(1.0, np.abs(z[1:]))
    assert (rises[visible] > 0.0).all()
    assert (rises >= 0.0).all()
