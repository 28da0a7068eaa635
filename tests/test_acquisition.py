import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import norm

import uncubed as uc
from tests.helpers import KERNEL_CLASSES
from uncubed._gaussian import log_tau
from uncubed._typing import Array
from uncubed.acquisition import NoisyImprovement
from uncubed.beliefs import PosteriorGradient

IMPROVEMENTS = [uc.ExpectedImprovement(), uc.MostProbableImprovement()]
POINTWISE: list[uc.Acquisition] = [
    uc.UpperConfidenceBound(),
    *IMPROVEMENTS,
    NoisyImprovement(0.5),
    uc.ProbabilityOfImprovement(),
    uc.PureExploration(),
    uc.PureExploitation(),
]
EVERY: list[uc.Acquisition] = [*POINTWISE, uc.ThompsonSampling()]

Formula = Callable[[float, float, float], float]


def expected_improvement(mean: float, std: float, incumbent: float) -> float:
    z = (mean - incumbent) / std
    return float((mean - incumbent) * norm.cdf(z) + std * norm.pdf(z))


NAIVE: dict[type[uc.Acquisition], Formula] = {
    uc.UpperConfidenceBound: lambda mean, std, root_beta: mean + root_beta * std,
    uc.ExpectedImprovement: lambda *at: math.log(expected_improvement(*at)),
    uc.MostProbableImprovement: lambda *at: math.log(expected_improvement(*at)),
    NoisyImprovement: lambda mean, std, xi: math.log(expected_improvement(mean, std**2 / math.sqrt(std**2 + 0.5), xi)),
    uc.ProbabilityOfImprovement: lambda mean, std, incumbent: math.log(norm.cdf((mean - incumbent) / std)),
    uc.PureExploration: lambda mean, std, _: std,
    uc.PureExploitation: lambda mean, std, _: mean,
}

means = st.floats(-3.0, 3.0)
stds = st.floats(0.5, 3.0)


def value(acquisition: uc.Acquisition, mean: float, std: float, parameter: float) -> float:
    return float(acquisition.value(np.array([mean]), np.array([std]), parameter)[0])


def partials(acquisition: uc.Acquisition, mean: float, std: float, parameter: float) -> tuple[float, float]:
    by_mean, by_std = acquisition.partials(np.array([mean]), np.array([std]), parameter)
    return float(by_mean[0]), float(by_std[0])


pointwise = pytest.mark.parametrize("acquisition", POINTWISE, ids=repr)


@pointwise
@given(mean=means, std=stds, parameter=means)
def test_value_is_the_naive_formula(acquisition: uc.Acquisition, mean: float, std: float, parameter: float) -> None:
    expected = NAIVE[type(acquisition)](mean, std, parameter)
    assert value(acquisition, mean, std, parameter) == pytest.approx(expected, rel=1e-9, abs=1e-9)


@pointwise
@given(mean=st.floats(-9.0, 9.0), std=st.floats(0.2, 3.0), parameter=means)
def test_partials_are_finite_differences(
    acquisition: uc.Acquisition, mean: float, std: float, parameter: float
) -> None:
    h = 1e-5 * std
    by_mean = value(acquisition, mean + h, std, parameter) - value(acquisition, mean - h, std, parameter)
    by_std = value(acquisition, mean, std + h, parameter) - value(acquisition, mean, std - h, parameter)
    expected = (by_mean / (2 * h), by_std / (2 * h))
    assert partials(acquisition, mean, std, parameter) == pytest.approx(expected, rel=1e-5, abs=1e-6)


@pointwise
def test_many_points_at_once_are_the_points_one_by_one_and_stay_as_they_were(acquisition: uc.Acquisition) -> None:
    rng = np.random.default_rng(0)
    mean, std = rng.normal(size=50), rng.uniform(0.1, 2.0, 50)
    before = mean.copy(), std.copy()
    together = [acquisition.value(mean, std, 0.7), *acquisition.partials(mean, std, 0.7)]
    for i in range(50):
        assert value(acquisition, mean[i], std[i], 0.7) == together[0][i]
        assert partials(acquisition, mean[i], std[i], 0.7) == (together[1][i], together[2][i])
    np.testing.assert_array_equal((mean, std), before)


# The log of τ


def log_tau_by_quadrature(z: float) -> float:
    """τ(z) = φ(z)/z² ∫_0^∞ u exp(-u - u²/2z²) du for z < 0: nothing cancels."""
    integral = quad(lambda u: u * math.exp(-u - 0.5 * (u / z) ** 2), 0.0, 60.0, epsabs=0.0, epsrel=1e-12)[0]
    return -0.5 * z * z - 0.5 * math.log(2 * math.pi) - 2 * math.log(-z) + math.log(integral)


@pytest.mark.parametrize("switch", [-1.0, -25.0])
def test_log_tau_is_quadrature_on_both_sides_of_a_switch(switch: float) -> None:
    for z in switch + np.array([-3.0, -0.5, -1e-3, -1e-9, 0.0, 1e-9, 1e-3, 0.5]):
        assert float(log_tau(np.array(z))) == pytest.approx(log_tau_by_quadrature(float(z)), rel=1e-12, abs=1e-11)


@given(exponent=st.floats(-2.0, 100.0))
def test_log_tau_is_quadrature_over_the_whole_tail(exponent: float) -> None:
    z = -(10.0**exponent)
    assert float(log_tau(np.array(z))) == pytest.approx(log_tau_by_quadrature(z), rel=1e-11)


def sweeps() -> dict[str, Array]:
    powers = np.logspace(-100, 100, 100_001)
    return {
        "whole": np.concatenate([-powers[::-1], [0.0], powers]),
        "middle": np.linspace(-60.0, 60.0, 200_001),
        "around -1": -1.0 + 1e-9 * np.arange(-2000, 2001),
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


@pytest.mark.parametrize("acquisition", [*IMPROVEMENTS, uc.ProbabilityOfImprovement()], ids=repr)
@pytest.mark.parametrize("std", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("incumbent", [-1e100, 0.0, 1.0, 1e100])
def test_log_improvement_is_finite_and_monotone_in_the_mean(
    acquisition: uc.Acquisition, std: float, incumbent: float
) -> None:
    powers = np.logspace(-3, 100, 20_001)
    mean = np.concatenate([-powers[::-1], [0.0], powers])
    result = acquisition.value(mean, np.full_like(mean, std), incumbent)
    assert np.isfinite(result).all()
    assert (np.diff(result) >= 0.0).all()
    assert result[0] < result[-1]


@pytest.mark.parametrize("z", [-1e2, -1e3, -1e5, -1e7, -1e8, -1e9, -1e12, -1e16, -1e50, -1e100])
def test_partials_in_the_tail_are_their_expansion(z: float) -> None:
    # φ/Φ = |z| (1 + 1/z² + …), Φ/τ = |z| (1 + 2/z² + …), φ/τ = z² (1 + 3/z² + …): so the search still has a slope.
    u = 1.0 / (z * z)
    near = 40.0 * u * u + 1e-6
    for acquisition in IMPROVEMENTS:
        expected = (abs(z) * (1 + 2 * u), z * z * (1 + 3 * u))
        assert partials(acquisition, z, 1.0, 0.0) == pytest.approx(expected, rel=near)
    expected = (abs(z) * (1 + u), z * z * (1 + u))
    assert partials(uc.ProbabilityOfImprovement(), z, 1.0, 0.0) == pytest.approx(expected, rel=near)


@pytest.mark.parametrize("z", [1e2, 1e50, 1e100])
def test_partials_of_a_sure_improvement_are_those_of_log_mean(z: float) -> None:
    for acquisition in IMPROVEMENTS:
        assert partials(acquisition, z, 1.0, 0.0) == pytest.approx((1 / z, 0.0), rel=1e-12, abs=1e-300)
    assert partials(uc.ProbabilityOfImprovement(), z, 1.0, 0.0) == (0.0, 0.0)


@pytest.mark.parametrize("distance", [0.0, 1e-300, 1.0, 10.0, 1e90])
@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_where_nothing_is_uncertain_there_is_no_improvement_to_expect(distance: float, sign: float) -> None:
    mean = np.array([sign * distance, sign * distance])
    std = np.array([0.0, 1.0])
    for acquisition in IMPROVEMENTS:
        certain, uncertain = acquisition.value(mean, std, 0.0)
        assert certain == -np.inf
        assert np.isfinite(uncertain)
    certain = uc.ProbabilityOfImprovement().value(mean, std, 0.0)[0]
    assert certain == (0.0 if sign * distance > 0.0 else -np.inf)


@given(mean=means, std=stds, incumbent=means, factor=st.floats(1e-3, 1e3), shift=st.floats(-10.0, 10.0))
def test_improvement_has_the_units_of_the_objective(
    mean: float, std: float, incumbent: float, factor: float, shift: float
) -> None:
    other = (factor * mean + shift, factor * std, factor * incumbent + shift)
    for acquisition, scales in [(uc.ExpectedImprovement(), 1.0), (uc.ProbabilityOfImprovement(), 0.0)]:
        expected = value(acquisition, mean, std, incumbent) + scales * math.log(factor)
        assert value(acquisition, *other) == pytest.approx(expected, rel=1e-6, abs=1e-6)


@settings(max_examples=30)
@given(noise=st.floats(0.01, 10.0), incumbent=st.floats(-1.0, 2.0), where=st.floats(-2.0, 2.0))
def test_noisy_improvement_is_that_of_the_mean_once_a_value_has_come(
    noise: float, incumbent: float, where: float
) -> None:
    x = np.array([[where, 0.3]])

    def belief() -> uc.ExactBelief:
        before = uc.ExactBelief(uc.Matern52(0.8), noise_variance=noise)
        before.update(np.array([0.1, 0.2]), 0.7)
        return before

    def gain(value: float) -> float:
        after = belief()
        after.update(x[0], value)
        return max(float(after.predict(x).mean[0]) - incumbent, 0.0)

    mean, variance = (float(part[0]) for part in belief().predict(x))
    std = math.sqrt(variance + noise)
    values = norm.ppf((np.arange(200) + 0.5) / 200, mean, std).tolist()  # as likely as each other
    acquired = math.exp(value(NoisyImprovement(noise), mean, math.sqrt(variance), incumbent))
    assert acquired == pytest.approx(np.mean([gain(one) for one in values]), rel=0.01, abs=2e-3)


@given(exponent=st.integers(-100, 100), mean=means)
def test_noisy_improvement_knows_that_nothing_can_be_gained_where_all_is_known(exponent: int, mean: float) -> None:
    posterior = PosteriorGradient(np.array([mean]), np.zeros(1), np.ones((1, 2)), np.ones((1, 2)))
    for noise in (0.0, 10.0**exponent):
        value, gradient = NoisyImprovement(noise).climb(posterior, 0.5)
        assert value == -np.inf
        assert np.isfinite(gradient).all()


@given(mean=means, std=stds, incumbent=means)
def test_noisy_improvement_is_expected_improvement_without_noise_and_no_more_with_it(
    mean: float, std: float, incumbent: float
) -> None:
    exact = value(uc.ExpectedImprovement(), mean, std, incumbent)
    assert value(NoisyImprovement(0.0), mean, std, incumbent) == pytest.approx(exact, rel=1e-12)
    assert value(NoisyImprovement(0.1), mean, std, incumbent) <= exact


# The one number an acquisition needs


def seen() -> tuple[uc.Finite, uc.ExactBelief, np.random.Generator]:
    rng = np.random.default_rng(3)
    actions = uc.Finite(rng.uniform(-2, 2, (40, 2)))
    belief = uc.ExactBelief(uc.Matern52(0.8), noise_variance=0.3)
    for i in (0, 1, 2, 2, 2, 9):
        belief.update(actions.X[i], float(rng.normal() - 1.0))
    return actions, belief, rng


def test_the_incumbent_of_ei_and_pi_is_the_best_kept_value_and_that_of_mpi_the_largest_mean() -> None:
    actions, belief, rng = seen()
    for best, latest in [(5.0, 5.0), (5.0, -7.0), (6.0, 6.0)]:
        belief.update(actions.X[20], latest)
        largest_mean = float(belief.predict(actions.X).mean.max())
        assert largest_mean < best
        assert uc.ExpectedImprovement().parameter(1, actions, belief, rng) == best
        assert uc.ProbabilityOfImprovement().parameter(1, actions, belief, rng) == best
        mpi = uc.MostProbableImprovement().parameter(1, actions, belief, rng)
        assert mpi == pytest.approx(largest_mean, rel=1e-12)


def test_the_incumbent_may_be_negative() -> None:
    belief = uc.ExactBelief(uc.SquaredExponential())
    actions = uc.Finite([[0.0], [9.0]])
    belief.update([0.0], -5.0)
    assert uc.ExpectedImprovement().parameter(1, actions, belief, np.random.default_rng(0)) == -5.0


@pytest.mark.parametrize("acquisition", EVERY, ids=repr)
@pytest.mark.parametrize("actions", [uc.Finite([[0.0], [1.0]]), uc.Box([0.0], [1.0])], ids=repr)
@pytest.mark.parametrize("kind", [uc.ExactBelief, uc.ProjectedBelief, uc.SketchedBelief])
def test_before_any_value_every_acquisition_selects_an_action(
    acquisition: uc.Acquisition, actions: uc.Finite | uc.Box, kind: type[uc.Belief]
) -> None:
    decision = uc.Bandit(actions, kind(uc.SquaredExponential()), acquisition, seed=0).select()
    assert actions.contains(decision.action)
    assert decision.variance == pytest.approx(1.0)


def test_thompson_sampling_has_no_value_at_a_point() -> None:
    acquisition, (actions, belief, rng) = uc.ThompsonSampling(), seen()
    for call in (
        lambda: acquisition.parameter(1, actions, belief, rng),
        lambda: acquisition.value(np.ones(1), np.ones(1), 0.0),
        lambda: acquisition.partials(np.ones(1), np.ones(1), 0.0),
    ):
        with pytest.raises(uc.InvalidInputError, match="jointly"):
            call()


# Schedules of β


@pytest.mark.parametrize("t", [1, 2, 1000, 10**6])
@pytest.mark.parametrize("delta", [0.01, 0.1, 0.9])
@pytest.mark.parametrize("n", [1, 7, 1000])
def test_beta_on_a_finite_set_is_lemma_1(t: int, delta: float, n: int) -> None:
    actions, belief = uc.Finite(np.zeros((n, 3))), uc.ExactBelief(uc.Matern12())
    expected = 2 * math.log(n * t**2 * math.pi**2 / (6 * delta))
    assert uc.TheoreticalBeta(delta)(t, actions, belief) == pytest.approx(expected, rel=1e-12)
    # Nothing is split: every action is covered at once.
    assert actions.theoretical_beta(t, belief.kernel, delta, 3) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("kind", [k for k in KERNEL_CLASSES if k is not uc.Matern12])
@pytest.mark.parametrize("d", [1, 3])
@pytest.mark.parametrize("t", [1, 100])
def test_beta_on_a_box_is_lemma_9(kind: type[uc.Kernel], d: int, t: int) -> None:
    delta, actions, kernel = 0.1, uc.Box([-1.0] * d, [3.0] * d), kind(0.7, 2.0)
    log_a, b = kernel.derivative_tail(actions.widths)
    root = math.sqrt(math.log(4 * d / delta) + log_a)
    expected = 2 * math.log(2 * t**2 * math.pi**2 / (3 * delta)) + 2 * d * math.log(t**2 * d * b * root)
    assert uc.TheoreticalBeta(delta)(t, actions, uc.ExactBelief(kernel)) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("actions", [uc.Finite(np.zeros((5, 2))), uc.Box([0.0, 0.0], [1.0, 2.0])], ids=repr)
def test_beta_grows_with_the_round_and_with_confidence(actions: uc.Finite | uc.Box) -> None:
    belief = uc.ExactBelief(uc.SquaredExponential())
    by_round = [uc.TheoreticalBeta()(t, actions, belief) for t in (1, 2, 3, 10, 10**5)]
    by_delta = [uc.TheoreticalBeta(delta)(1, actions, belief) for delta in (0.99, 0.5, 0.1, 1e-9)]
    assert (np.diff(by_round) > 0.0).all()
    assert (np.diff(by_delta) > 0.0).all()


def test_splitting_delta_over_twice_the_events_is_halving_delta_on_a_box() -> None:
    box, kernel = uc.Box([0.0, 0.0], [1.0, 2.0]), uc.Matern52(0.3)
    assert box.theoretical_beta(5, kernel, 0.1, 4) == pytest.approx(box.theoretical_beta(5, kernel, 0.05, 2), rel=1e-12)


@pytest.mark.parametrize("factor", [0.2, 1.0, 3.0])
@pytest.mark.parametrize("of", [uc.TheoreticalBeta(0.3), uc.ConstantBeta(4.0)], ids=repr)
def test_scaled_beta_is_its_factor_times_the_schedule(factor: float, of: uc.BetaSchedule) -> None:
    actions, belief, _ = seen()
    for t in (1, 30):
        expected = factor * of(t, actions, belief)
        assert uc.ScaledBeta(factor, of)(t, actions, belief) == pytest.approx(expected, rel=1e-14)


def test_constant_beta_is_constant_and_zero_is_pure_exploitation() -> None:
    actions, belief, rng = seen()
    assert {uc.ConstantBeta(3.5)(t, actions, belief) for t in (1, 2, 10**6)} == {3.5}
    greedy = uc.UpperConfidenceBound(uc.ConstantBeta(0.0)).choose(1, actions, belief, rng)
    assert greedy.row == uc.PureExploitation().choose(1, actions, belief, rng).row


def test_ucb_multiplies_the_standard_deviation_by_the_root_of_beta() -> None:
    actions, belief, rng = seen()
    assert uc.UpperConfidenceBound(uc.ConstantBeta(9.0)).parameter(1, actions, belief, rng) == 3.0


@pytest.mark.parametrize("delta", [0.1, 0.5])
@pytest.mark.parametrize("noise", [None, 0.02])
@pytest.mark.parametrize("norm", [1.0, 2.5])
def test_sketched_beta_times_our_sd_is_bkbs_beta_times_its_sd(norm: float, noise: float | None, delta: float) -> None:
    rng, lam = np.random.default_rng(5), 0.05
    kernel = uc.SquaredExponential(0.7)
    belief = uc.SketchedBelief(kernel, lam, oversampling=math.inf, seed=0)
    X = rng.uniform(-2, 2, (6, 1))[[0, 1, 2, 3, 4, 5, 2, 2, 0]]
    for x in X:
        belief.update(x, float(rng.normal()))
    # facts.md, section 2, with everything kept and one row per pull: β = √λ F + √(ξ² (logdet + ln 1/δ)), and BKB's
    # variance is the GP's over λ.
    K = kernel(X, X)
    bkb_variance = np.diagonal(K - K @ np.linalg.solve(K + lam * np.eye(len(X)), K)) / lam
    logdet = float(bkb_variance.sum()) * math.log(len(X))
    xi2 = lam if noise is None else noise
    bkb_beta = math.sqrt(lam) * norm + math.sqrt(xi2 * (logdet + math.log(1 / delta)))
    sd = float(np.sqrt(belief.predict([[0.3]]).variance[0]))
    ours = math.sqrt(uc.SketchedBeta(norm, noise, delta)(1, uc.Finite(X), belief))
    assert ours * sd == pytest.approx(bkb_beta * sd / math.sqrt(lam), rel=1e-8)


def test_sketched_beta_before_any_value_is_norm_and_delta_only() -> None:
    belief = uc.SketchedBelief(uc.SquaredExponential(), 0.1, seed=0)
    beta = uc.SketchedBeta(2.0, delta=0.5)(1, uc.Finite([[0.0]]), belief)
    assert beta == pytest.approx((2.0 + math.sqrt(math.log(2.0))) ** 2, rel=1e-12)


# Paths without derivatives


@pytest.mark.parametrize("beta", [uc.TheoreticalBeta(), uc.ScaledBeta()], ids=repr)
@pytest.mark.parametrize("certify", [True, False])
def test_matern12_on_a_box_has_no_theoretical_beta_and_says_so_at_once(beta: uc.BetaSchedule, certify: bool) -> None:
    with pytest.raises(uc.NotDifferentiableError, match="ConstantBeta with certify=False"):
        uc.Bandit(uc.Box([0.0], [1.0]), uc.ExactBelief(uc.Matern12()), uc.UpperConfidenceBound(beta), certify=certify)


@pytest.mark.parametrize(
    "acquisition", [uc.UpperConfidenceBound(uc.ConstantBeta(4.0)), uc.ExpectedImprovement()], ids=repr
)
def test_matern12_on_a_box_works_without_a_certificate_only(acquisition: uc.Acquisition) -> None:
    box = uc.Box([0.0], [1.0])
    with pytest.raises(uc.NotDifferentiableError):
        uc.Bandit(box, uc.ExactBelief(uc.Matern12()), acquisition)
    with pytest.raises(uc.NotDifferentiableError):
        uc.Bandit(box, uc.ExactBelief(uc.Matern12()), acquisition, uc.Budget.gap(0.1), certify=False)
    bandit = uc.Bandit(box, uc.ExactBelief(uc.Matern12(0.3)), acquisition, certify=False, seed=0)
    run = bandit.run(lambda x: float(-((x[0] - 0.3) ** 2)), 15)
    assert run.evaluations[-1] == 15
    with pytest.raises(uc.NotDifferentiableError):
        bandit.certificate()


def test_matern12_on_a_finite_set_is_as_any_kernel() -> None:
    bandit = uc.Bandit(uc.Finite([[0.0], [1.0]]), uc.ExactBelief(uc.Matern12()))
    bandit.run([0.0, 1.0], 5)
    assert bandit.certificate().gap > 0.0


@pytest.mark.parametrize("z", [-1e3, -25.0, -2.0, 0.5])
def test_one_number_is_as_an_array_of_one(z: float) -> None:
    by_number = uc.ExpectedImprovement().partials(np.array(z), np.array(1.0), 0.0)
    by_array = uc.ExpectedImprovement().partials(np.array([z]), np.array([1.0]), 0.0)
    assert [float(one) for one in by_number] == [float(one[0]) for one in by_array]
