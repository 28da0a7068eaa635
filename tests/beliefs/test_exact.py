from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.beliefs.conformance import BeliefConformance
from tests.helpers import KERNELS, PROBES, as_sklearn, assert_close, central_difference, surface_posterior
from uncubed._typing import Array
from uncubed.beliefs import ExactBelief, Posterior
from uncubed.kernels import Kernel, Matern32, Matern52, SquaredExponential

NOISE = 0.03
ACTIONS = np.random.default_rng(0).uniform(-2, 2, (25, 2))
REPEATED = np.array([*range(12), 0, 0, 0, 5, 5, 11])  # rows of ACTIONS, in the order they came
VALUES = np.random.default_rng(1).normal(size=REPEATED.size)

every_kernel = pytest.mark.parametrize("kernel", KERNELS, ids=repr)


class TestConformance(BeliefConformance):
    def make(self, kernel: Kernel, noise_variance: float) -> ExactBelief:
        return ExactBelief(kernel, noise_variance)


def belief_of(kernel: Kernel, X: Array, y: Array, noise_variance: float = NOISE, *, merge: bool = True) -> ExactBelief:
    belief = ExactBelief(kernel, noise_variance, merge=merge)
    for x, value in zip(X, y, strict=True):
        belief.update(x, float(value))
    return belief


def repeated(kernel: Kernel, noise_variance: float = NOISE) -> ExactBelief:
    return belief_of(kernel, ACTIONS[REPEATED], VALUES, noise_variance)


def scikit_learn(kernel: Kernel, X: Array, y: Array) -> Any:
    oracle = pytest.importorskip("sklearn.gaussian_process")
    return oracle.GaussianProcessRegressor(as_sklearn(kernel), alpha=NOISE, optimizer=None).fit(X, y)


@every_kernel
@pytest.mark.parametrize("rows", [np.arange(25), REPEATED], ids=["distinct", "repeated"])
def test_it_is_the_gaussian_process_of_scikit_learn_also_with_repeats_merged(kernel: Kernel, rows: Array) -> None:
    X, y = ACTIONS[rows], np.sin(3.0 * np.arange(rows.size))
    belief, oracle = belief_of(kernel, X, y), scikit_learn(kernel, X, y)
    assert (belief.model_order, belief.distinct) == (rows.size, np.unique(rows).size)
    mean, deviation = oracle.predict(PROBES, return_std=True)
    assert_close(belief.predict(PROBES), Posterior(mean, deviation**2), 1e-8)
    np.testing.assert_allclose(belief.covariance(PROBES), oracle.predict(PROBES, return_cov=True)[1], atol=1e-8)
    assert belief.log_marginal_likelihood() == pytest.approx(oracle.log_marginal_likelihood_value_, rel=1e-8, abs=1e-8)


@every_kernel
def test_marginal_likelihood_gradient_is_finite_difference_in_theta_and_log_noise(kernel: Kernel) -> None:
    def likelihood(theta: Array) -> float:
        other = repeated(kernel.with_theta(theta[:-1]), float(np.exp(theta[-1])))
        return other.log_marginal_likelihood()

    slopes = central_difference(likelihood, np.append(kernel.theta, np.log(NOISE)))
    np.testing.assert_allclose(repeated(kernel).log_marginal_likelihood_gradient(), slopes, rtol=1e-6, atol=1e-6)


@every_kernel
def test_information_gain_is_half_the_log_determinant_with_every_repeat_a_row(kernel: Kernel) -> None:
    X = ACTIONS[REPEATED]
    expected = 0.5 * np.linalg.slogdet(np.eye(len(X)) + kernel(X, X) / NOISE)[1]
    assert repeated(kernel).information_gain == pytest.approx(expected, rel=1e-10)


@every_kernel
def test_merged_repeats_are_unmerged_ones(kernel: Kernel) -> None:
    merged = repeated(kernel)
    unmerged = belief_of(kernel, ACTIONS[REPEATED], VALUES, merge=False)
    restored = ExactBelief.restore(kernel, unmerged.state())
    for b in (merged, unmerged, restored):
        b.track(ACTIONS)
        b.update_at(5, 0.25)
    for other in (unmerged, unmerged.copy(), restored):
        assert other.distinct == other.model_order == merged.model_order == REPEATED.size + 1
        assert_close(other.predict(PROBES), merged.predict(PROBES), 1e-10)
        assert other.information_gain == pytest.approx(merged.information_gain, rel=1e-10)
        assert other.log_marginal_likelihood() == pytest.approx(merged.log_marginal_likelihood(), rel=1e-9)
    assert_close(surface_posterior(unmerged), surface_posterior(merged), 1e-10)


def test_the_gains_of_the_kept_actions_sum_to_the_information_gain() -> None:
    belief, total = ExactBelief(Matern52(0.8), NOISE), 0.0
    for x in ACTIONS[REPEATED]:
        total += 0.5 * np.log1p(belief.predict(x[None, :]).variance[0] / NOISE)
        belief.update(x, 0.0)
    assert belief.information_gain == pytest.approx(total, rel=1e-10)


def test_counts_and_values_are_those_of_the_repeats() -> None:
    belief = repeated(Matern52(0.8))
    rows = [np.flatnonzero(REPEATED == row) for row in range(12)]
    np.testing.assert_array_equal(belief.dictionary, ACTIONS[:12])
    np.testing.assert_array_equal(belief.counts, [len(r) for r in rows])
    np.testing.assert_allclose(belief.values, [VALUES[r].mean() for r in rows], atol=1e-14)
    assert belief.best_value == VALUES.max()


@pytest.mark.parametrize("row", [0, 5, 11])
def test_removed_is_never_added(row: int) -> None:
    kernel, kept = Matern32(0.9), REPEATED != row
    belief = repeated(kernel)
    belief.track(ACTIONS)
    belief.remove(row)
    never = belief_of(kernel, ACTIONS[REPEATED[kept]], VALUES[kept])
    assert (belief.model_order, belief.distinct) == (never.model_order, never.distinct)
    assert belief.best_value == never.best_value
    assert_close(belief.predict(PROBES), never.predict(PROBES), 1e-10)
    assert_close(surface_posterior(belief), never.predict(ACTIONS), 1e-10)
    assert belief.log_marginal_likelihood() == pytest.approx(never.log_marginal_likelihood(), rel=1e-10)
    for b in (belief, never):  # what was removed may come again
        b.update(ACTIONS[row], 0.5)
    assert_close(belief.predict(PROBES), never.predict(PROBES), 1e-10)


operations = st.lists(st.tuples(st.integers(0, 24), st.integers(0, 3)), min_size=300, max_size=300)


@settings(max_examples=25)
@given(operations)
def test_after_300_updates_and_removals_it_is_rebuilt(sequence: list[tuple[int, int]]) -> None:
    kernel = Matern52([0.7, 1.1], 1.4)
    belief, held = ExactBelief(kernel, NOISE), dict[int, list[float]]()
    belief.track(ACTIONS)
    for step, (action, choice) in enumerate([*sequence, (0, 1)]):
        if choice == 0 and action in held:
            belief.remove(list(held).index(action))
            del held[action]
        else:
            held.setdefault(action, []).append(float(np.sin(step)))
            belief.update_at(action, held[action][-1])
    rows = [action for action, values in held.items() for _ in values]
    rebuilt = belief_of(kernel, ACTIONS[rows], np.array([v for values in held.values() for v in values]))
    np.testing.assert_array_equal(belief.dictionary, rebuilt.dictionary)
    np.testing.assert_array_equal(belief.counts, rebuilt.counts)
    assert_close(belief.predict(PROBES), rebuilt.predict(PROBES), 1e-9)
    assert_close(surface_posterior(belief), rebuilt.predict(ACTIONS), 1e-9)
    assert belief.information_gain == pytest.approx(rebuilt.information_gain, rel=1e-9, abs=1e-12)
    expected = rebuilt.log_marginal_likelihood()
    assert belief.log_marginal_likelihood() == pytest.approx(expected, rel=1e-8, abs=1e-8)


@every_kernel
def test_losses_are_the_information_that_each_removal_loses(kernel: Kernel) -> None:
    belief = repeated(kernel)
    lost = []
    for row in range(belief.distinct):
        without = belief.copy()
        without.remove(row)
        lost.append(belief.information_gain - without.information_gain)
    np.testing.assert_allclose(belief.losses(), lost, rtol=1e-9, atol=1e-9)


def test_evict_removes_what_loses_least_but_never_the_newest() -> None:
    belief = repeated(SquaredExponential(0.9))
    belief.update(ACTIONS[5] + 1e-3, 0.0)  # beside an action seen three times: the least informative
    assert np.argmin(belief.losses()) == belief.distinct - 1
    expected = int(np.argmin(belief.losses()[:-1]))
    dictionary = belief.dictionary.copy()
    assert belief.evict() == expected
    np.testing.assert_array_equal(belief.dictionary, np.delete(dictionary, expected, axis=0))


def test_without_noise_to_speak_of_it_interpolates() -> None:
    belief = belief_of(Matern32(0.9), ACTIONS, VALUES[0] + np.arange(25.0), noise_variance=1e-10)
    posterior = belief.predict(ACTIONS)
    np.testing.assert_allclose(posterior.mean, VALUES[0] + np.arange(25.0), atol=1e-6)
    np.testing.assert_allclose(posterior.variance, 0.0, atol=1e-9)


def test_far_from_everything_it_is_the_prior() -> None:
    belief = repeated(Matern52(0.8, 1.7))
    assert_close(belief.predict([[1e100, -1e100]]), Posterior(np.zeros(1), np.full(1, 1.7)), 0.0)


@pytest.mark.parametrize("largest", [1e100, -1e100])
def test_the_largest_value_accepted_leaves_everything_finite(largest: float) -> None:
    belief = repeated(Matern52(0.8))
    belief.track(ACTIONS)
    for _ in range(2):
        belief.update_at(3, largest)
    said = (*belief.gradient(PROBES), *surface_posterior(belief), belief.log_marginal_likelihood_gradient())
    assert all(np.isfinite(part).all() for part in said)
    assert np.isfinite(belief.log_marginal_likelihood())
