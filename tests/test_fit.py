import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import OptimizeResult, minimize
from scipy.stats import multivariate_normal

import uncubed.fit
from tests.helpers import KERNEL_CLASSES, KERNELS, central_difference
from uncubed._typing import Array
from uncubed.beliefs import ExactBelief
from uncubed.bend import STRAIGHT, bend
from uncubed.errors import NotPositiveDefiniteError
from uncubed.fit import NAT, STEPS, Fit, Likelihood, LogNormal, Priors, fit
from uncubed.kernels import Kernel, Matern12, Matern32, Matern52, SquaredExponential
from uncubed.observations import Observations

HALF = Matern52([0.5] * 3)
NONE = np.array(0.0)  # scatter

every_kernel = pytest.mark.parametrize("kernel", KERNELS, ids=repr)
every_class = pytest.mark.parametrize("kind", KERNEL_CLASSES)


def standardised(y: Array) -> Array:
    result: Array = (y - y.mean()) / y.std()
    return result


def merged(X: Array, y: Array) -> Observations:
    """Rows with repeats merged, in the order of their first."""
    _, first, member = np.unique(X, axis=0, return_index=True, return_inverse=True)
    rank = np.argsort(np.argsort(first))[member.ravel()]
    count = np.bincount(rank).astype(float)
    mean = np.bincount(rank, y) / count
    return Observations(X[np.sort(first)], mean, count, np.bincount(rank, np.square(y - mean[rank])).astype(float))


def problem(seed: int = 0, n: int = 24, d: int = 3, noise: float = 0.1) -> tuple[Array, Array]:
    """Inputs, the last of which is irrelevant, and standardised values; the first inputs come again."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, d))
    X[-3:] = X[:3]
    y = np.sin(5.0 * X[:, 0]) + (X[:, 1] if d > 2 else 0.0) + noise * rng.standard_normal(n)
    return X, standardised(y)


def belief_of(kernel: Kernel, noise_variance: float, X: Array, y: Array, *, merge: bool = True) -> ExactBelief:
    belief = ExactBelief(kernel, noise_variance, merge=merge)
    for x, value in zip(X, y, strict=True):
        belief.update(x, float(value))
    return belief


def own_groups(kernel: Kernel, d: int) -> Any:
    return np.zeros(d, np.int64) if kernel.isotropic else np.arange(d)


def scales_of(found: Fit, d: int) -> Array:
    return np.broadcast_to(found.kernel.length_scale, d)


def log_posterior(kernel: Kernel, noise: float, X: Array, y: Array) -> float:
    """By the belief and the definition of the priors; each length-scale is its own, or there is one."""
    priors, G = Priors(), kernel.length_scale.size
    scale = priors.length_scale.times(math.sqrt(X.shape[1]))
    z = [
        math.log(v / p.median) / p.spread
        for v, p in ((kernel.variance, priors.variance), (noise, priors.noise_variance))
    ]
    together = multivariate_normal(np.full(G, math.log(scale.median)), np.eye(G) * 0.25 + 0.75)
    at, top = (together.logpdf(log) for log in (np.log(kernel.length_scale), together.mean))
    return belief_of(kernel, noise, X, y).log_marginal_likelihood() - 0.5 * float(np.square(z).sum()) + at - top


def log_bounds(priors: Priors, scales: int, d: int) -> tuple[Array, Array]:
    table = [*[priors.length_scale.times(math.sqrt(d))] * scales, priors.variance, priors.noise_variance]
    return np.log([p.least for p in table]), np.log([p.largest for p in table])


def assert_inside(found: Fit, d: int) -> None:
    theta = np.append(found.kernel.theta, math.log(found.noise_variance))
    least, largest = log_bounds(Priors(), theta.size - 2, d)
    assert (least - 1e-9 <= theta).all()
    assert (theta <= largest + 1e-9).all()


# The likelihood


@settings(max_examples=60)
@given(
    st.sampled_from(KERNEL_CLASSES),
    st.booleans(),
    st.integers(0, 1000),
    st.tuples(st.floats(-3.0, 2.0), st.floats(-2.0, 2.0), st.floats(-18.0, 0.0)),
)
def test_likelihood_and_gradient_are_those_of_the_belief(
    kind: type[Kernel], ard: bool, seed: int, theta: tuple[float, float, float]
) -> None:
    X, y = problem(seed, n=15)
    scale, variance, noise = np.exp(theta)
    kernel = kind(scale * np.array([1.0, 0.7, 1.9]) if ard else float(scale), variance)
    belief = belief_of(kernel, noise, X, y)
    likelihood = Likelihood(merged(X, y), own_groups(kernel, 3))
    value, gradient = likelihood(kernel, kernel.length_scale, noise)
    assert value == pytest.approx(belief.log_marginal_likelihood(), rel=1e-6)
    expected = belief.log_marginal_likelihood_gradient()
    np.testing.assert_allclose(gradient, expected, rtol=1e-5, atol=1e-6 * np.abs(expected).max())


@every_kernel
@pytest.mark.parametrize("noise", [1e-4, 0.3])
def test_gradient_is_finite_difference(kernel: Kernel, noise: float) -> None:
    X, y = problem(d=2)
    likelihood = Likelihood(merged(X, y), own_groups(kernel, 2))

    def value(theta: Array) -> float:
        return likelihood(kernel.with_theta(theta[:-1]), np.exp(theta[:-2]), math.exp(theta[-1]))[0]

    slopes = central_difference(value, np.append(kernel.theta, math.log(noise)))
    gradient = likelihood(kernel, kernel.length_scale, noise)[1]
    np.testing.assert_allclose(gradient, slopes, rtol=1e-6, atol=1e-6 * np.abs(slopes).max())


@every_kernel
def test_merged_repeats_are_unmerged_rows(kernel: Kernel) -> None:
    X, y = problem(d=2)
    rows = Observations(X, y, np.ones(len(y)), NONE)
    together, apart = (Likelihood(data, own_groups(kernel, 2)) for data in (merged(X, y), rows))
    a, b = (likelihood(kernel, kernel.length_scale, 0.02) for likelihood in (together, apart))
    assert a[0] == pytest.approx(b[0], rel=1e-9)
    np.testing.assert_allclose(a[1], b[1], rtol=1e-8, atol=1e-8)


@every_class
def test_the_gradient_of_a_group_is_the_sum_over_its_coordinates(kind: type[Kernel]) -> None:
    X, y = problem()
    kernel, data = kind([0.4, 0.9, 0.4], 1.3), merged(X, y)
    grouped = Likelihood(data, np.array([0, 1, 0]))(kernel, np.array([0.4, 0.9]), 0.1)
    single = Likelihood(data, np.arange(3))(kernel, kernel.length_scale, 0.1)
    assert grouped[0] == pytest.approx(single[0], rel=1e-12)
    s = single[1]
    np.testing.assert_allclose(grouped[1], [s[0] + s[2], s[1], s[3], s[4]], rtol=1e-9, atol=1e-9)


@every_class
@pytest.mark.parametrize("factor", [1e-3, 7.0])
def test_values_in_other_units_shift_the_likelihood_and_leave_its_gradient(kind: type[Kernel], factor: float) -> None:
    X, y = problem()
    values = []
    for c in (1.0, factor):
        kernel = kind(0.5, c * c)
        values.append(Likelihood(merged(X, c * y), np.zeros(3, np.int64))(kernel, kernel.length_scale, 0.1 * c * c))
    assert values[1][0] == pytest.approx(values[0][0] - len(y) * math.log(factor), rel=1e-9)
    np.testing.assert_allclose(values[1][1], values[0][1], rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("noise", [1e-8, 1e-16, 1e-60])
@pytest.mark.parametrize("kind", [SquaredExponential, Matern52])
def test_a_matrix_that_is_singular_to_rounding_has_a_finite_likelihood(kind: type[Kernel], noise: float) -> None:
    X = np.linspace(0.0, 1.0, 80)[:, None]
    data = Observations(X, standardised(X[:, 0]), np.ones(80), NONE)
    value, gradient = Likelihood(data, np.zeros(1, np.int64))(kind(10.0, 100.0), np.array([10.0]), noise)
    assert math.isfinite(value)
    assert np.isfinite(gradient).all()


# Values with noise of their own


def mixed(seed: int = 0, d: int = 3) -> Observations:
    """Repeats merged where the noise is to be learned, and rows whose noise is given, some at the same places."""
    X, y = problem(seed, d=d)
    learned = merged(X[6:], y[6:])
    rng = np.random.default_rng(seed)
    given = 10.0 ** rng.uniform(-3.0, 0.0, 6)
    return Observations(
        np.vstack([learned.X, X[:6]]),
        np.concatenate([learned.mean, y[:6]]),
        np.concatenate([learned.count, [1.0, 2.0, 1.0, 3.0, 1.0, 1.0]]),
        np.append(learned.scatter, [0.0, 0.1, 0.0, 0.2, 0.0, 0.0]),
        np.concatenate([np.full(len(learned.X), np.nan), given]),
    )


@every_kernel
@pytest.mark.parametrize("noise", [1e-4, 0.3])
def test_gradient_is_finite_difference_where_some_noise_is_given(kernel: Kernel, noise: float) -> None:
    likelihood = Likelihood(mixed(d=2), own_groups(kernel, 2))

    def value(theta: Array) -> float:
        return likelihood(kernel.with_theta(theta[:-1]), np.exp(theta[:-2]), math.exp(theta[-1]))[0]

    slopes = central_difference(value, np.append(kernel.theta, math.log(noise)))
    gradient = likelihood(kernel, kernel.length_scale, noise)[1]
    np.testing.assert_allclose(gradient, slopes, rtol=1e-6, atol=1e-6 * np.abs(slopes).max())


def test_the_likelihood_where_all_noise_is_given_is_the_dense_density_and_knows_no_other_noise() -> None:
    X, y = problem()  # its first inputs come again, here with another noise
    given = 10.0 ** np.random.default_rng(1).uniform(-3.0, 0.0, len(y))
    likelihood = Likelihood(Observations(X, y, np.ones(len(y)), NONE, given), np.arange(3))
    dense = multivariate_normal(np.zeros(len(y)), HALF(X, X) + np.diag(given)).logpdf(y)
    for noise in (1e-3, 10.0):
        value, gradient = likelihood(HALF, HALF.length_scale, noise)
        assert value == pytest.approx(dense, rel=1e-9)
        assert gradient[-1] == 0.0


@every_class
def test_noise_given_everywhere_is_a_noise_with_a_prior_of_one_number(kind: type[Kernel]) -> None:
    X, y = problem(10)
    rows = (X, y, np.ones(len(y)), np.zeros(len(y)))
    start = kind([0.5] * 3)
    fixed = fit(start, 0.07, Observations(*rows), priors=Priors(noise_variance=LogNormal(0.07, 1.0, 0.07, 0.07)))
    given = fit(start, 0.5, Observations(*rows, np.full(len(y), 0.07)))
    np.testing.assert_allclose(answer(given, 3)[:-1], answer(fixed, 3)[:-1], atol=0.03)
    assert given.log_posterior == pytest.approx(fixed.log_posterior, abs=0.01)
    assert given.noise_variance == pytest.approx(Priors().noise_variance.median, rel=0.05)


def test_the_noise_to_be_learned_is_that_of_the_rows_without_one() -> None:
    rng = np.random.default_rng(2)
    X = rng.random((120, 1))
    std = np.where(np.arange(120) < 60, 0.05, 1.0)
    raw = np.sin(6.0 * X[:, 0]) + std * rng.standard_normal(120)
    given = np.where(np.arange(120) < 60, np.nan, 1.0)
    found = fit(Matern52([0.5]), 0.5, Observations(X, raw, np.ones(120), NONE, given))
    assert math.sqrt(found.noise_variance) == pytest.approx(0.05, rel=0.3)


# The fit


@settings(max_examples=25)
@given(st.sampled_from(KERNEL_CLASSES), st.booleans(), st.integers(0, 1000), st.sampled_from([0.0, 0.03, 0.5]))
def test_a_fit_is_at_least_as_probable_as_its_starts_and_as_its_surroundings(
    kind: type[Kernel], ard: bool, seed: int, noise: float
) -> None:
    X, y = problem(seed, noise=noise)
    start = kind([0.3, 0.5, 0.7] if ard else 0.4, 0.8)
    found = fit(start, 0.02, merged(X, y))
    assert found.log_posterior == pytest.approx(log_posterior(found.kernel, found.noise_variance, X, y), rel=1e-6)
    priors, tolerance = Priors(), 1e-4 * (1.0 + abs(found.log_posterior))
    median = priors.length_scale.median * math.sqrt(3)
    for other in (start, kind([median] * 3 if ard else median, priors.variance.median)):
        for sigma2 in (0.02, priors.noise_variance.median):
            assert log_posterior(other, sigma2, X, y) <= found.log_posterior + tolerance
    theta = np.append(found.kernel.theta, math.log(found.noise_variance))
    least, largest = log_bounds(priors, theta.size - 2, 3)
    for step in [*(0.05 * np.eye(theta.size)), *(-0.05 * np.eye(theta.size))]:
        moved = np.clip(theta + step, least, largest)
        near = log_posterior(start.with_theta(moved[:-1]), math.exp(moved[-1]), X, y)
        assert near <= found.log_posterior + tolerance
    assert_inside(found, 3)


def test_length_scales_are_alike_unless_values_say_otherwise() -> None:
    few, many = problem(3, n=8), problem(3, n=60)

    def differ(X: Array, y: Array, alike: float) -> float:
        return float(np.ptp(np.log(fit(HALF, 0.1, merged(X, y), priors=Priors(alike=alike)).kernel.length_scale)))

    assert differ(*few, 0.75) < 0.5 * differ(*few, 0.0)
    assert differ(*many, 0.75) > 0.5 * differ(*many, 0.0)
    assert differ(*few, 0.999) < 0.05


def answer(found: Fit, d: int) -> Array:
    return np.log([*scales_of(found, d), found.kernel.variance, found.noise_variance])


@every_class
def test_permuted_rows_give_the_same_fit(kind: type[Kernel]) -> None:
    X, y = problem(1)
    order = np.random.default_rng(0).permutation(len(y))
    a, b = (fit(kind([0.5] * 3), 0.1, data) for data in (merged(X, y), merged(X[order], y[order])))
    np.testing.assert_allclose(answer(a, 3), answer(b, 3), atol=1e-3)
    assert a.log_posterior == pytest.approx(b.log_posterior, abs=1e-6)


@every_class
def test_permuted_dimensions_permute_the_length_scales(kind: type[Kernel]) -> None:
    X, y = problem(2)
    order = np.array([2, 0, 1])
    data = merged(X, y)
    other = Observations(data.X[:, order], data.mean, data.count, data.scatter)
    a, b = (fit(kind([0.5] * 3), 0.1, d) for d in (data, other))
    np.testing.assert_allclose(answer(a, 3)[[*order, 3, 4]], answer(b, 3), atol=0.03)


CHANGES: list[tuple[str, Callable[[Array], Array], float]] = [
    ("the same", lambda X: X, -1.0),
    ("mirrored", lambda X: 1.0 - X, 1.0),
    ("moved", lambda X: X + 3.0, 1.0),
]


@pytest.mark.parametrize(("move", "sign"), [c[1:] for c in CHANGES], ids=[c[0] for c in CHANGES])
def test_mirrored_or_moved_inputs_and_mirrored_values_change_nothing(
    move: Callable[[Array], Array], sign: float
) -> None:
    X, y = problem(3)
    data = merged(X, y)
    other = Observations(move(data.X), sign * data.mean, data.count, data.scatter)
    a, b = (fit(HALF, 0.1, d) for d in (data, other))
    np.testing.assert_allclose(answer(a, 3), answer(b, 3), atol=1e-3)


def test_repeats_merged_or_not_give_the_same_fit() -> None:
    X, y = problem(4)
    a, b = (fit(HALF, 0.1, d) for d in (merged(X, y), Observations(X, y, np.ones(len(y)), NONE)))
    np.testing.assert_allclose(answer(a, 3), answer(b, 3), atol=1e-3)


def test_the_same_input_gives_the_same_output_to_the_last_bit() -> None:
    X, y = problem(5)
    a, b = (fit(Matern32([0.5] * 3), 0.1, merged(X, y), starts=3) for _ in range(2))
    assert (repr(a.kernel), a.noise_variance, a.log_posterior) == (repr(b.kernel), b.noise_variance, b.log_posterior)


def test_from_its_own_answer_it_stays() -> None:
    X, y = problem(6)
    once = fit(HALF, 0.1, merged(X, y))
    again = fit(once.kernel, once.noise_variance, merged(X, y), starts=0)
    assert once.converged
    assert again.converged
    np.testing.assert_allclose(answer(once, 3), answer(again, 3), atol=1e-3)


@every_class
def test_grouped_coordinates_share_a_length_scale(kind: type[Kernel]) -> None:
    X, y = problem(7)
    found = fit(kind([0.5, 0.4, 0.3]), 0.1, merged(X, y), groups=np.array([4, 1, 1]))
    assert found.kernel.length_scale[1] == found.kernel.length_scale[2] != found.kernel.length_scale[0]


@every_class
def test_a_parameter_of_two_coordinates_is_one_of_one_at_the_same_distances(kind: type[Kernel]) -> None:
    X, y = problem(7)
    data = merged(X, y)
    split = Observations(data.X[:, [0, 1, 2, 2]] * [1.0, 1.0, 0.6, 0.8], data.mean, data.count, data.scatter)
    a, b = fit(kind([0.5] * 3), 0.1, data), fit(kind([0.5] * 4), 0.1, split, groups=np.array([0, 1, 2, 2]))
    np.testing.assert_allclose(b.kernel.length_scale, a.kernel.length_scale[[0, 1, 2, 2]], rtol=1e-3)
    assert a.log_posterior == pytest.approx(b.log_posterior, rel=1e-6)


def test_one_group_of_all_coordinates_is_an_isotropic_kernel() -> None:
    X, y = problem(8)
    whole = np.zeros(3, np.int64)
    a = fit(HALF, 0.1, merged(X, y), groups=whole)
    b = fit(Matern52(0.5), 0.1, merged(X, y), groups=whole)
    np.testing.assert_array_equal(answer(a, 3), answer(b, 3))
    assert b.kernel.isotropic
    assert not a.kernel.isotropic


@every_class
@pytest.mark.parametrize("noise", [0.0, 0.1])
def test_an_irrelevant_input_has_a_longer_length_scale(kind: type[Kernel], noise: float) -> None:
    X, y = problem(9, n=40, noise=noise)
    scales = fit(kind([0.5] * 3), 0.1, merged(X, y)).kernel.length_scale
    assert scales[2] > 2.0 * scales[0]


def test_much_noise_is_found_and_little_is() -> None:
    for noise in (0.02, 0.5):
        rng = np.random.default_rng(0)
        X = rng.random((80, 1))
        raw = np.sin(6.0 * X[:, 0]) + noise * rng.standard_normal(80)
        found = fit(Matern52([0.5]), 0.1, merged(X, standardised(raw)))
        assert math.sqrt(found.noise_variance) * raw.std() == pytest.approx(noise, rel=0.25)


def test_a_prior_of_one_number_fixes_it() -> None:
    X, y = problem(12)
    found = fit(HALF, 0.1, merged(X, y), priors=Priors(variance=LogNormal(2.0, 1.0, 2.0, 2.0)))
    assert found.kernel.variance == pytest.approx(2.0, rel=1e-12)


def test_a_narrow_prior_gives_its_median() -> None:
    X, y = problem(13)
    scale, variance, noise = (LogNormal(m, 1e-4, 1e-3, 10.0) for m in (0.3, 2.0, 0.05))
    priors = Priors(scale, variance, noise)
    found = fit(HALF, 0.1, merged(X, y), priors=priors)
    expected = np.log([*[0.3 * math.sqrt(3)] * 3, 2.0, 0.05])
    np.testing.assert_allclose(answer(found, 3), expected, atol=1e-3)


# Values bent


def bent_problem() -> Observations:
    """Of the exponential of a smooth function most is near the best and some far below."""
    X, y = problem(15, n=40, noise=0.0)
    return merged(X, standardised(-np.exp(3.0 * y)))


@pytest.mark.parametrize("radius", [0.03, 1.0, 50.0])
def test_the_gradient_is_a_finite_difference_where_values_are_bent(radius: float) -> None:
    data = mixed(d=2)
    likelihood = Likelihood(data, np.arange(2))
    kernel = Matern52([0.6, 1.3], 1.7)

    def value(theta: Array) -> float:
        bent = bend(data, math.exp(theta[-1]))
        return likelihood(kernel.with_theta(theta[:-2]), np.exp(theta[:-3]), math.exp(theta[-2]), bent)[0]

    slopes = central_difference(value, np.append(kernel.theta, np.log([0.1, radius])))
    gradient = likelihood(kernel, kernel.length_scale, 0.1, bend(data, radius))[1]
    np.testing.assert_allclose(gradient, slopes, rtol=1e-6, atol=1e-6 * np.abs(slopes).max())


def test_a_radius_that_bends_nothing_leaves_the_likelihood_of_standardised_values() -> None:
    data = merged(*problem(16))
    likelihood = Likelihood(data, np.arange(3))
    bent = bend(data, STRAIGHT)
    straight = Likelihood(bent.data, np.arange(3))(HALF, HALF.length_scale, 0.1)
    value, gradient = likelihood(HALF, HALF.length_scale, 0.1, bent)
    assert value == pytest.approx(straight[0] - data.count.sum() * math.log(bent.bend.spread))
    np.testing.assert_allclose(gradient, [*straight[1], 0.0], atol=1e-9)


def test_values_that_are_the_exponential_of_a_smooth_function_are_bent_and_others_are_not() -> None:
    data, smooth = bent_problem(), merged(*problem(15, n=40, noise=0.0))
    radii = [fit(HALF, 0.1, one, radius=10.0).bend.radius for one in (data, smooth)]
    assert 10.0 * radii[0] < 3.0 < radii[1]
    assert fit(HALF, 0.1, data, radius=10.0).log_posterior > fit(HALF, 0.1, data, radius=None).log_posterior + 10.0


# Starts


def starting_points(
    monkeypatch: pytest.MonkeyPatch, kernel: Kernel = HALF, noise_variance: float = 0.1, **given: Any
) -> list[Array]:
    """Where the searches of a fit begin."""
    begun: list[Array] = []

    def recorded(loss: Any, start: Array, **options: Any) -> Any:
        begun.append(unit * start)
        return minimize(loss, start, **options)

    X, y = problem(14)
    unit = np.sqrt(2.0 / len(y))
    with monkeypatch.context() as patch:
        patch.setattr(uncubed.fit, "minimize", recorded)
        fit(kernel, noise_variance, merged(X, y), **given)
    return begun


def test_starts_are_the_given_the_medians_and_different_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    begun = starting_points(monkeypatch, starts=4)
    priors = Priors()
    np.testing.assert_allclose(begun[0], np.log([0.5, 0.5, 0.5, 1.0, 0.1]))
    scale = priors.length_scale.median * math.sqrt(3)
    np.testing.assert_allclose(begun[1], np.log([scale] * 3 + [priors.variance.median, priors.noise_variance.median]))
    assert len({theta.tobytes() for theta in begun}) == len(begun) == 5


def test_draws_are_those_of_the_generator_and_more_starts_begin_as_fewer(monkeypatch: pytest.MonkeyPatch) -> None:
    few, more, others = (
        starting_points(monkeypatch, starts=s, rng=np.random.default_rng(r)) for s, r in ((2, 7), (4, 7), (4, 8))
    )
    np.testing.assert_array_equal(few, more[:3])
    assert not np.allclose(more[2:], others[2:])


def test_a_start_outside_the_bounds_is_moved_inside(monkeypatch: pytest.MonkeyPatch) -> None:
    begun = starting_points(monkeypatch, Matern52([1e-6, 1e6, 1.0], 1e9), 1e-30, starts=0)
    least, largest = log_bounds(Priors(), 3, 3)
    np.testing.assert_allclose(begun, [[least[0], largest[1], 0.0, largest[3], least[4]]], atol=1e-12)


# How far an ascent goes


def losses(patience: int) -> list[float]:
    """At the steps of an ascent."""
    X, y = problem(15)
    seen: list[float] = []

    class Recorded(uncubed.fit._Patience):
        def __call__(self, intermediate_result: OptimizeResult) -> None:
            seen.append(intermediate_result.fun)
            super().__call__(intermediate_result)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(uncubed.fit, "_Patience", Recorded)
        found = fit(Matern52([5.0] * 3), 1e-3, merged(X, y), starts=0, patience=patience)
    assert found.log_posterior == -seen[-1]
    return seen


@pytest.mark.parametrize("patience", [0, 1, 4, 8])
def test_after_its_patience_an_ascent_goes_on_only_while_steps_gain_a_nat(patience: int) -> None:
    whole, part = losses(STEPS), losses(patience)
    assert part == whole[: len(part)]
    gains = -np.diff(part)
    assert (gains[patience - 1 if patience else 0 : -1] >= NAT).all()
    assert patience < len(part) < len(whole)
    assert gains[-1] < NAT


# Where there is nothing to find

ROWS = np.random.default_rng(3).random((6, 2))
NOTHING = {
    "no row": Observations(np.empty((0, 2)), np.empty(0), np.empty(0), NONE),
    "one row": Observations(ROWS[:1], np.ones(1), np.full(1, 3.0), np.full(1, 0.2)),
    "no coordinate": Observations(np.empty((3, 0)), np.arange(3.0), np.ones(3), NONE),
    "zeros": Observations(ROWS, np.zeros(6), np.ones(6), NONE),
    "a constant": Observations(ROWS, np.full(6, 5.0), np.full(6, 2.0), NONE),
    "not numbers": Observations(ROWS, np.full(6, np.nan), np.ones(6), NONE),
    "nowhere": Observations(np.full((6, 2), np.nan), np.arange(6.0), np.ones(6), NONE),
}


@pytest.mark.parametrize("data", NOTHING.values(), ids=NOTHING)
@pytest.mark.parametrize("radius", [None, 1.0])
def test_without_anything_to_find_the_start_comes_back(data: Observations, radius: float | None) -> None:
    start = Matern52([0.5] * data.X.shape[1] or 1.0, 0.7)
    found = fit(start, 0.1, data, radius=radius)
    assert (found.kernel, found.noise_variance, found.converged) == (start, 0.1, False)
    assert found.log_posterior == -math.inf


def test_where_no_factor_exists_the_start_comes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: Any) -> None:
        raise NotPositiveDefiniteError

    monkeypatch.setattr(Likelihood, "__call__", fails)
    found = fit(Matern52([0.5, 0.5]), 0.1, Observations(ROWS, np.arange(6.0), np.ones(6), NONE))
    assert (found.kernel, found.noise_variance, found.converged) == (Matern52([0.5, 0.5]), 0.1, False)


def with_outlier(size: float) -> Array:
    y: Array = np.sin(np.arange(6.0))
    y[2] = size
    return y


HARD = {
    "equal means with scatter": Observations(ROWS, np.zeros(6), np.full(6, 2.0), np.full(6, 0.8)),
    "an outlier": Observations(ROWS, with_outlier(1e6), np.ones(6), NONE),
    "the largest outlier": Observations(ROWS, with_outlier(-1e100), np.ones(6), NONE),
    "tiny values": Observations(ROWS, 1e-100 * np.arange(6.0), np.ones(6), NONE),
    "duplicates": Observations(ROWS[[0, 0, 0, 1, 1, 2]], np.array([1.0, 1.0, 1.0, -1.0, -1.0, 0.0]), np.ones(6), NONE),
    "contradictions": Observations(ROWS[[0, 0, 0, 0, 0, 0]], np.arange(6.0) - 2.5, np.ones(6), NONE),
    "neighbours": Observations(0.5 + 1e-12 * ROWS, np.arange(6.0) - 2.5, np.ones(6), NONE),
    "many repeats": Observations(ROWS, np.sin(np.arange(6.0)), np.full(6, 1e6), np.full(6, 2e-4)),
    "two rows": Observations(ROWS[:2], np.array([-1.0, 1.0]), np.ones(2), NONE),
    "an input that never changes": Observations(ROWS * [1.0, 0.0], np.sin(np.arange(6.0)), np.ones(6), NONE),
    "corners": Observations(np.eye(6)[:, :2], np.sin(np.arange(6.0)), np.ones(6), NONE),
}


@every_class
@pytest.mark.parametrize("radius", [None, 1.0])
@pytest.mark.parametrize("data", HARD.values(), ids=HARD)
def test_hard_data_give_finite_numbers_inside_the_bounds(
    kind: type[Kernel], data: Observations, radius: float | None
) -> None:
    found = fit(kind([0.5, 0.5]), 0.1, data, radius=radius)
    assert math.isfinite(found.log_posterior)
    assert_inside(found, 2)


@pytest.mark.parametrize("kind", [SquaredExponential, Matern12])
def test_many_exact_values_of_a_smooth_function_are_fitted(kind: type[Kernel]) -> None:
    X = np.random.default_rng(0).random((100, 2))
    found = fit(kind([0.5, 0.5]), 0.1, Observations(X, standardised(X @ [1.0, 2.0]), np.ones(100), NONE))
    assert math.isfinite(found.log_posterior)
    assert found.noise_variance < 1e-4
    assert_inside(found, 2)


@pytest.mark.parametrize("seed", range(3))
def test_a_fit_does_not_end_on_a_plateau_on_its_way_to_the_noise(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X, centres, weights = rng.random((200, 6)), rng.random((4, 6)), rng.standard_normal(4)
    squares = np.square(X[:, None, :] - centres).sum(axis=2)
    y = standardised(standardised(np.exp(-3.0 * squares) @ weights) + rng.standard_normal(200))
    data = Observations(X, y, np.ones(200), NONE)
    start = Matern52([0.75] * 6)
    found, from_truth = (fit(start, noise, data, starts=0) for noise in (0.1, 0.5))
    assert found.log_posterior > from_truth.log_posterior - 0.5
    # With less noise to begin with it may end where short length-scales explain it, unless it starts from noise too.
    both = fit(start, 0.01, data, starts=1, from_noise=True)
    assert both.log_posterior > from_truth.log_posterior - 0.5
