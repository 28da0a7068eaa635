from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers import EXPECTED_GOT, KERNEL_CLASSES, KERNELS, as_sklearn, central_difference
from uncubed._typing import Array
from uncubed.errors import InvalidInputError, NotDifferentiableError
from uncubed.kernels import Kernel, Matern12, Matern32, Matern52, SquaredExponential

SMOOTH: list[type[Kernel]] = [SquaredExponential, Matern32, Matern52]

A = np.random.default_rng(0).uniform(-2, 2, (5, 2))
B = np.random.default_rng(1).uniform(-2, 2, (7, 2))

every_kernel = pytest.mark.parametrize("kernel", KERNELS, ids=repr)


@st.composite
def kernels(draw: st.DrawFn, dimension: int = 3) -> Kernel:
    scales = st.floats(0.05, 20.0)
    scale = draw(scales | st.lists(scales, min_size=dimension, max_size=dimension))
    return draw(st.sampled_from(KERNEL_CLASSES))(scale, draw(st.floats(1e-3, 1e3)))


def points(dimension: int = 3) -> st.SearchStrategy[Array]:
    row = st.lists(st.floats(-10.0, 10.0), min_size=dimension, max_size=dimension)
    return st.lists(row, min_size=1, max_size=8).map(lambda rows: np.array(rows, float))


@given(kernels(), points(), points())
def test_values_are_those_of_scikit_learn(kernel: Kernel, A: Array, B: Array) -> None:
    np.testing.assert_allclose(kernel(A, B), as_sklearn(kernel)(A, B), rtol=1e-12, atol=1e-12 * kernel.variance)


@given(kernels(), points())
def test_a_gram_matrix_is_symmetric_and_positive_semidefinite_with_the_diagonal(kernel: Kernel, A: Array) -> None:
    K = kernel(A, A)
    np.testing.assert_array_equal(K, K.T)
    np.testing.assert_array_equal(np.diagonal(K), kernel.diagonal(A))
    assert np.linalg.eigvalsh(K).min() > -1e-13 * len(A) * kernel.variance


@every_kernel
def test_gradient_is_finite_difference_of_values(kernel: Kernel) -> None:
    gradient = kernel.gradient(A, B)
    assert gradient.shape == (5, 7, 2)
    for n, a in enumerate(A):
        slopes = central_difference(lambda x: kernel(x[None, :], B)[0], a)
        np.testing.assert_allclose(gradient[n], slopes.T, rtol=1e-7, atol=1e-9)


@every_kernel
@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_contracted_gradient_is_the_gradient_contracted(kernel: Kernel, offset: float) -> None:
    rng = np.random.default_rng(2)
    weights = [rng.normal(size=(5, 7)) for _ in range(3)]
    near, far = A + offset, B + offset
    full = kernel.gradient(near, far)
    for got, w in zip(kernel.contracted_gradient(near, far, *weights), weights, strict=True):
        np.testing.assert_allclose(got, np.einsum("nm,nmd->nd", w, full), rtol=1e-12, atol=1e-12)


@every_kernel
def test_theta_gradient_is_finite_difference_in_theta(kernel: Kernel) -> None:
    slopes = central_difference(lambda theta: kernel.with_theta(theta)(A, B), kernel.theta)
    np.testing.assert_allclose(kernel.theta_gradient(A, B), slopes, rtol=1e-7, atol=1e-9)


@every_kernel
def test_gradients_at_the_point_itself_are_zero_and_not_nan(kernel: Kernel) -> None:
    assert not np.diagonal(kernel.gradient(A, A)).any()
    by_theta = kernel.theta_gradient(A, A)
    assert not np.diagonal(by_theta[:-1], axis1=1, axis2=2).any()
    np.testing.assert_allclose(by_theta[-1], kernel(A, A), rtol=1e-15)


@given(kernels())
def test_with_its_own_theta_a_kernel_is_itself(kernel: Kernel) -> None:
    again = kernel.with_theta(kernel.theta)
    assert type(again) is type(kernel)
    assert again.isotropic == kernel.isotropic
    np.testing.assert_allclose(again.theta, kernel.theta, rtol=0, atol=1e-14)


@every_kernel
def test_equal_hyper_parameters_make_equal_kernels(kernel: Kernel) -> None:
    scale = float(kernel.length_scale[0]) if kernel.isotropic else kernel.length_scale
    same = type(kernel)(scale, kernel.variance)
    assert same == kernel
    assert hash(same) == hash(kernel)
    assert kernel not in [type(kernel)(scale, 2.0), *(k for k in KERNELS if k is not kernel)]


def test_ard_of_one_scale_is_isotropic() -> None:
    for kind in KERNEL_CLASSES:
        np.testing.assert_array_equal(kind([0.7, 0.7])(A, B), kind(0.7)(A, B))


@pytest.mark.parametrize("kind", KERNEL_CLASSES)
@pytest.mark.parametrize("scale", [1.0, [1.0, 2.0], 1e-60, [1e-60, 1e-60]], ids=str)
def test_points_too_far_apart_for_a_float_have_covariance_zero_and_no_slope(kind: type[Kernel], scale: Any) -> None:
    kernel = kind(scale, 1.7)
    ends = np.array([[1e100, 0.0], [-1e100, 1.0]])
    expected = 1.7 * np.eye(2)
    np.testing.assert_array_equal(kernel(ends, ends), expected)
    np.testing.assert_array_equal(kernel.gradient(ends, ends), 0.0)
    np.testing.assert_array_equal(kernel.contracted_gradient(ends, ends, np.ones((2, 2)))[0], 0.0)
    by_theta = kernel.theta_gradient(ends, ends)
    np.testing.assert_array_equal(by_theta[:-1], 0.0)
    np.testing.assert_array_equal(by_theta[-1], expected)


@pytest.mark.parametrize("kind", KERNEL_CLASSES)
@pytest.mark.parametrize(
    "scale",
    [0.0, -1.0, np.nan, np.inf, [], [[1.0]], [1.0, 0.0], [1.0, np.nan], [[1.0], [1.0, 2.0]], "1", None, True],
    ids=repr,
)
def test_a_wrong_length_scale_raises(kind: type[Kernel], scale: Any) -> None:
    with pytest.raises(InvalidInputError, match="length_scale" + EXPECTED_GOT):
        kind(scale)


@pytest.mark.parametrize("variance", [0.0, -1.0, np.nan, np.inf, "1", None, True])
def test_a_wrong_variance_raises(variance: Any) -> None:
    with pytest.raises(InvalidInputError, match="variance" + EXPECTED_GOT):
        SquaredExponential(variance=variance)


def test_a_wrong_number_of_length_scales_raises() -> None:
    SquaredExponential(1.0).check_dimension(3)
    SquaredExponential([1.0, 1.0]).check_dimension(2)
    for dimension in (1, 3):
        with pytest.raises(InvalidInputError, match=f"length_scale: expected 1 or {dimension} numbers .* got 2"):
            SquaredExponential([1.0, 1.0]).check_dimension(dimension)


@pytest.mark.parametrize("theta", [[0.0], [0.0, 0.0, 0.0], [np.nan, 0.0], [0.0, 1e4], [[0.0, 0.0]], "ab"], ids=repr)
def test_a_wrong_theta_raises(theta: Any) -> None:
    with pytest.raises(InvalidInputError, match=EXPECTED_GOT):
        Matern32(1.0).with_theta(theta)


def test_length_scales_cannot_be_changed_in_place() -> None:
    given_scales = np.array([1.0, 2.0])
    kernel = Matern52(given_scales)
    given_scales[:] = 9.0
    np.testing.assert_array_equal(kernel.length_scale, [1.0, 2.0])
    with pytest.raises(ValueError, match="read-only"):
        kernel.length_scale[0] = 3.0


# The tail of the derivative


def test_a_path_without_derivative_has_no_tail() -> None:
    with pytest.raises(NotDifferentiableError, match=r"Matern12.*not differentiable"):
        Matern12(1.0).derivative_tail([1.0])


@pytest.mark.parametrize("kind", SMOOTH)
def test_the_tail_bounds_the_supremum_of_the_derivative_of_prior_draws(kind: type[Kernel]) -> None:
    kernel, width = kind(0.7, 2.0), 3.0
    log_a, b = kernel.derivative_tail([width])
    u = np.linspace(0.0, 1.0, 301)
    values, vectors = np.linalg.eigh(kernel(width * u[:, None], width * u[:, None]))
    normal = np.random.default_rng(0).standard_normal((2000, u.size))
    draws = (normal * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
    # A difference quotient is the derivative somewhere in between: the maximum is at most the supremum.
    supremum = np.abs(np.diff(draws) / np.diff(u)).max(axis=1)
    for L in b * np.sqrt(log_a) * np.array([0.05, 0.1, 0.2, 0.5, 0.99, 1.0, 1.01]):
        bound = np.exp(min(log_a - (L / b) ** 2, 0.0))
        assert (supremum > L).mean() <= bound
    # What the bound was made of: E sup g ≤ m, where a = 2 exp(m²/2s²) and b = 2s.
    signed = (np.diff(draws) / np.diff(u)).max(axis=1)
    assert signed.mean() <= b / 2.0 * np.sqrt(2.0 * (log_a - np.log(2.0)))


@pytest.mark.parametrize("kind", SMOOTH)
def test_b_is_twice_the_standard_deviation_of_the_derivative(kind: type[Kernel]) -> None:
    kernel, width, h = kind(0.7, 2.0), 3.0, 1e-4
    k0, kh = kernel([[0.0]], [[0.0], [h * width]])[0]
    assert kernel.derivative_tail([width])[1] == pytest.approx(2.0 * np.sqrt(2.0 * (k0 - kh)) / h, rel=1e-3)


@pytest.mark.parametrize("kind", SMOOTH)
def test_the_tail_scales_with_width_over_length_scale_and_with_the_root_of_the_variance(kind: type[Kernel]) -> None:
    log_a, b = kind([0.5, 1.0]).derivative_tail([1.0, 3.0])
    assert kind([5.0, 10.0]).derivative_tail([10.0, 30.0]) == pytest.approx((log_a, b))
    assert kind([0.5, 1.0], 4.0).derivative_tail([1.0, 3.0]) == pytest.approx((log_a, 2.0 * b))
    wider_log_a, wider_b = kind([0.5, 1.0]).derivative_tail([2.0, 6.0])
    assert wider_b == pytest.approx(2.0 * b)
    assert wider_log_a > log_a
    # b is that of the dimension with the most length-scales in its width
    assert kind([0.5, 1.0]).derivative_tail([1.5, 3.0])[1] == pytest.approx(b)


@pytest.mark.parametrize("kind", SMOOTH)
@pytest.mark.parametrize("u", [0.01, 0.1, 0.5, 1.0])
def test_derivatives_at_points_within_the_separation_differ_by_at_most_u(kind: type[Kernel], u: float) -> None:
    kernel = kind(1.0)
    for angle in np.linspace(0.0, np.pi / 2, 7):
        for fraction in (0.3, 1.0):
            apart = fraction * kernel._separation(u) * np.array([np.cos(angle), np.sin(angle)])
            # Cov(∂f(0), ∂f(x)) = -∂²k/∂x², by differences of the gradient, smaller than the distance
            step = 1e-4 * float(np.linalg.norm(apart))
            second = central_difference(lambda x: kernel.gradient(x[None, :], np.zeros((1, 2)))[0, 0], apart, step)
            correlation = -np.diagonal(second) / kernel.curvature
            assert (2.0 * (1.0 - correlation) <= u**2 + 1e-6).all()


@pytest.mark.parametrize("widths", [[1.0], [1.0, 1.0, 1.0], [1.0, np.nan], [-1.0, 1.0]], ids=repr)
def test_wrong_widths_raise(widths: list[float]) -> None:
    with pytest.raises(InvalidInputError, match=EXPECTED_GOT):
        SquaredExponential([1.0, 1.0]).derivative_tail(widths)


@every_kernel
def test_values_with_slope_are_values_and_slope(kernel: Kernel) -> None:
    r2 = np.append(0.0, 10.0 ** np.linspace(-8.0, 30.0, 60))
    values, slope = kernel.at_with_slope(r2.copy())
    np.testing.assert_allclose(values, kernel.at(r2.copy()), rtol=1e-14, atol=1e-300)
    np.testing.assert_allclose(slope, kernel.variance * kernel.slope(r2.copy()), rtol=1e-14, atol=1e-300)


def test_kernels_are_equal_by_class_and_numbers() -> None:
    assert Matern52([0.5, 1.0], 2.0) == Matern52([0.5, 1.0], 2.0)
    assert hash(Matern52([0.5, 1.0], 2.0)) == hash(Matern52([0.5, 1.0], 2.0))
    others = (Matern52([0.5, 1.0]), Matern52([1.0, 0.5], 2.0), Matern32([0.5, 1.0], 2.0), Matern52(0.5, 2.0), "kernel")
    assert all(Matern52([0.5, 1.0], 2.0) != other for other in others)
    assert Matern52([0.5]) != Matern52(0.5)


@every_kernel
def test_one_distance_alone_will_do(kernel: Kernel) -> None:
    assert kernel.at(np.array(0.0)) == pytest.approx(kernel.variance)
