import math

import numpy as np
import pytest

import uncubed as uc
from tests.helpers import KERNEL_CLASSES, seen


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
    # BKB as it is published, with everything kept and one row per pull: β = √λ F + √(ξ² (logdet + ln 1/δ)), and BKB's
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
