import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

import uncubed as uc
from tests.helpers import seen
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


# Tails


@pytest.mark.parametrize("noise", [0.0, 1e-320, 1.0, 1e250])
@pytest.mark.parametrize("std", [1e-160, 1.0, 1e120])
def test_noisy_improvement_is_a_number_for_all_noise(std: float, noise: float) -> None:
    acquisition, mean = NoisyImprovement(noise), np.array([0.3, 0.3])
    known, unknown = acquisition.value(mean, np.array([0.0, std]), 0.0)
    assert known == -np.inf
    assert not np.isnan(unknown)


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


def test_ucb_multiplies_the_standard_deviation_by_the_root_of_beta() -> None:
    actions, belief, rng = seen()
    assert uc.UpperConfidenceBound(uc.ConstantBeta(9.0)).parameter(1, actions, belief, rng) == 3.0


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
