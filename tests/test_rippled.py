import math

import numpy as np
import pytest

from tests.helpers import EXPECTED_GOT, KERNEL_CLASSES, KERNELS, as_sklearn, central_difference
from uncubed import _state
from uncubed._typing import Array
from uncubed.errors import InvalidInputError, NotDifferentiableError
from uncubed.fit import Likelihood, fit
from uncubed.kernels import Kernel, Matern12, Matern32, Matern52, SquaredExponential
from uncubed.observations import Observations
from uncubed.rippled import Rippled

A = np.random.default_rng(0).uniform(-2, 2, (5, 2))
B = np.random.default_rng(1).uniform(-2, 2, (7, 2))
POINTS = np.random.default_rng(2).random((60, 2))

every_trend = pytest.mark.parametrize("trend", KERNELS, ids=repr)


def rippled(trend: Kernel) -> Rippled:
    return Rippled(trend, share=0.3, ratio=0.2)


def of_scale(trend: Kernel, factor: float, share: float) -> Kernel:
    scale = factor * trend.length_scale
    return type(trend)(float(scale[0]) if trend.isotropic else scale, share * trend.variance)


@every_trend
def test_it_is_the_sum_of_two_kernels_and_of_those_of_scikit_learn(trend: Kernel) -> None:
    kernel, parts = rippled(trend), (of_scale(trend, 1.0, 0.7), of_scale(trend, 0.2, 0.3))
    for value in (kernel(A, B), sum(as_sklearn(part)(A, B) for part in parts)):
        np.testing.assert_allclose(value, parts[0](A, B) + parts[1](A, B), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(kernel.gradient(A, B), parts[0].gradient(A, B) + parts[1].gradient(A, B), atol=1e-12)
    np.testing.assert_array_equal(kernel.diagonal(A), trend.diagonal(A))


@every_trend
def test_with_next_to_no_ripples_or_with_ripples_as_wide_as_the_trend_it_is_the_trend(trend: Kernel) -> None:
    for kernel in (Rippled(trend, share=1e-15, ratio=0.2), Rippled(trend, share=0.3, ratio=1.0)):
        np.testing.assert_allclose(kernel(A, B), trend(A, B), rtol=1e-12)


@every_trend
def test_gradients_are_finite_differences(trend: Kernel) -> None:
    kernel = rippled(trend)
    for n, a in enumerate(A):
        slopes = central_difference(lambda x: kernel(x[None, :], B)[0], a)
        np.testing.assert_allclose(kernel.gradient(A, B)[n], slopes.T, rtol=1e-6, atol=1e-8)
    slopes = central_difference(lambda theta: kernel.with_theta(theta)(A, B), kernel.theta)
    np.testing.assert_allclose(kernel.theta_gradient(A, B), slopes, rtol=1e-6, atol=1e-8)


@every_trend
def test_values_with_partials_are_values_slope_and_the_last_of_the_theta_gradient(trend: Kernel) -> None:
    kernel, r2 = rippled(trend), np.append(0.0, 10.0 ** np.linspace(-8.0, 30.0, 60))
    values, slope, *more = kernel.at_with_partials(r2.copy())
    np.testing.assert_allclose(values, kernel.at(r2.copy()), rtol=1e-13, atol=1e-300)
    np.testing.assert_allclose(slope, kernel.variance * kernel.slope(r2.copy()), rtol=1e-13, atol=1e-300)
    np.testing.assert_allclose((values, slope), kernel.at_with_slope(r2.copy()), rtol=1e-13, atol=1e-300)
    assert np.isfinite(more).all()
    np.testing.assert_array_equal(
        kernel.theta_gradient(A, B)[-2:], kernel.at_with_partials(kernel.squared_distance(A, B))[2:]
    )


@every_trend
def test_with_its_own_theta_and_from_disk_it_is_itself(trend: Kernel) -> None:
    kernel = rippled(trend)
    again = kernel.with_theta(kernel.theta)
    assert type(again.trend) is type(trend)
    assert again.isotropic == trend.isotropic
    np.testing.assert_allclose(again.theta, kernel.theta, rtol=0, atol=1e-13)
    assert _state.decode(_state.encode(kernel)) == kernel
    assert hash(kernel) == hash(rippled(trend))
    assert kernel not in [trend, Rippled(trend, 0.3, 0.21), Rippled(trend, 0.31, 0.2)]


@pytest.mark.parametrize(("share", "ratio"), [(0.0, 0.1), (1.0, 0.1), (-0.1, 0.1), (math.nan, 0.1), (0.1, 0.0)])
def test_wrong_shares_and_ratios_raise(share: float, ratio: float) -> None:
    with pytest.raises(InvalidInputError, match=EXPECTED_GOT):
        Rippled(Matern52(1.0), share, ratio)


@pytest.mark.parametrize("theta", [[], [0.0], [0.0, 0.0, -800.0, 0.0], [0.0, 0.0, 800.0, 0.0], [0.0, 0.0, 0.0, 800.0]])
def test_wrong_theta_raises(theta: list[float]) -> None:
    with pytest.raises(InvalidInputError, match=EXPECTED_GOT):
        rippled(Matern52(1.0)).with_theta(theta)


def test_ripples_have_no_ripples() -> None:
    with pytest.raises(InvalidInputError, match="trend: expected a kernel of one scale"):
        rippled(rippled(Matern52(1.0)))


@pytest.mark.parametrize("kind", KERNEL_CLASSES)
def test_points_too_far_apart_for_a_float_have_covariance_zero_and_no_slope(kind: type[Kernel]) -> None:
    kernel, ends = rippled(kind(1.0)), np.array([[1e154], [-1e100]])
    np.testing.assert_array_equal(kernel(ends, ends), np.eye(2))
    np.testing.assert_array_equal(kernel.gradient(ends, ends), 0.0)
    np.testing.assert_array_equal(kernel.contracted_gradient(ends, ends, np.ones((2, 2)))[0], 0.0)


@pytest.mark.parametrize("kind", [SquaredExponential, Matern32, Matern52])
@pytest.mark.parametrize("u", [0.01, 0.1, 0.5, 1.0])
@pytest.mark.parametrize("ratio", [0.2, 5.0])
def test_derivatives_at_points_within_the_separation_differ_by_at_most_u(
    kind: type[Kernel], u: float, ratio: float
) -> None:
    kernel = Rippled(kind(1.0), 0.3, ratio)
    for fraction in (0.3, 1.0):
        apart = np.array([fraction * kernel._separation(u)])
        second = central_difference(
            lambda x: kernel.gradient(x[None, :], np.zeros((1, 1)))[0, 0], apart, 1e-4 * float(apart[0])
        )
        correlation = -second[0, 0] / kernel.curvature
        assert 2.0 * (1.0 - correlation) <= u**2 + 1e-6


def test_the_tail_is_wider_than_that_of_the_trend_and_where_there_is_none_it_has_none() -> None:
    log_a, b = Matern52(0.7, 2.0).derivative_tail([3.0])
    wider_log_a, wider_b = rippled(Matern52(0.7, 2.0)).derivative_tail([3.0])
    assert wider_log_a > log_a
    assert wider_b == pytest.approx(b * math.sqrt(0.7 + 0.3 / 0.2**2))
    with pytest.raises(NotDifferentiableError):
        rippled(Matern12(1.0)).derivative_tail([1.0])


# Its hyper-parameters


def observations(values: Array) -> Observations:
    n = len(values)
    return Observations(POINTS[:n], values, np.ones(n), np.zeros(n), np.full(n, math.nan))


@pytest.mark.parametrize("kind", KERNEL_CLASSES)
def test_the_gradient_of_its_likelihood_is_a_finite_difference(kind: type[Kernel]) -> None:
    kernel = rippled(kind([0.6, 1.3], 1.7))
    likelihood = Likelihood(observations(np.sin(9.0 * POINTS[:20, 0])), np.arange(2))

    def value(theta: Array) -> float:
        at = kernel.with_theta(theta[:-1])
        return likelihood(at, at.length_scale, math.exp(theta[-1]))[0]

    slopes = central_difference(value, np.append(kernel.theta, math.log(0.01)))
    gradient = likelihood(kernel, kernel.length_scale, 0.01)[1]
    np.testing.assert_allclose(gradient, slopes, rtol=1e-5, atol=1e-6 * np.abs(slopes).max())


def test_a_fit_finds_ripples_where_there_are_some() -> None:
    trend = np.sin(3.0 * POINTS[:, 0]) + POINTS[:, 1]
    start = Rippled(Matern52([0.5, 0.5]), 0.1, 0.15)
    shares = []
    for height in (1e-4, 0.1, 0.5):
        found = fit(start, 1e-9, observations(trend + height * np.cos(30.0 * POINTS).sum(axis=1)))
        assert isinstance(found.kernel, Rippled)
        shares.append(found.kernel.share)
    assert shares == sorted(shares)
    assert shares[0] < 0.02
    assert shares[2] > 0.1
