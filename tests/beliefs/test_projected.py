from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.beliefs.conformance import BeliefConformance
from tests.helpers import EXPECTED_GOT, NOT_NUMBERS, PROBES, assert_close, surface_posterior
from uncubed._typing import Array
from uncubed.beliefs import Belief, ExactBelief, ProjectedBelief
from uncubed.beliefs.base import Posterior
from uncubed.errors import InvalidInputError
from uncubed.kernels import Kernel, Matern12, Matern32, Matern52, SquaredExponential
from uncubed.rippled import Rippled

ACTIONS = np.random.default_rng(0).uniform(-2, 2, (12, 2))
LINE = np.linspace(-8.0, 8.0, 1000)[:, None]
ON_THE_LINE: list[Kernel] = [SquaredExponential(1.0), Matern52(1.0), Matern32(2.0)]


class TestConformance(BeliefConformance):
    def make(self, kernel: Kernel, noise_variance: float) -> ProjectedBelief:
        return ProjectedBelief(kernel, noise_variance)


def example(x: Array) -> Array:
    result: Array = np.sin(x) + np.cos(2.3 * x) / 2
    return result


def feed(beliefs: list[Belief], X: Array, noise: float, seed: int = 2) -> None:
    rng = np.random.default_rng(seed)
    for x in X:
        value = float(example(x[0]) + np.sqrt(noise) * rng.normal())
        for belief in beliefs:
            belief.update(x, value)


def trained(kernel: Kernel | None = None) -> ProjectedBelief:
    """200 values on 12 and beside 12 actions; atoms and what they stand for."""
    belief = ProjectedBelief(kernel or Matern52(1.1, 1.3), 0.02, novelty=0.5)
    rng = np.random.default_rng(3)
    X = ACTIONS[rng.integers(12, size=200)] + rng.choice([0.0, 0.02], (200, 1))
    feed([belief], X, 0.02)
    assert 5 < belief.distinct < belief.absorbed == 200
    return belief


@pytest.mark.parametrize("kernel", [*ON_THE_LINE, Matern12(2.0)], ids=repr)
def test_with_novelty_zero_it_is_the_dense_gaussian_process(kernel: Kernel) -> None:
    noise = 1e-2
    projected, dense = ProjectedBelief(kernel, noise, novelty=0.0), ExactBelief(kernel, noise)
    X = np.random.default_rng(0).uniform(-8, 8, (60, 1))
    feed([projected, dense], np.vstack([X, X[:20]]), noise)
    # An action whose novelty is below 1e-10, a standard deviation of 1e-5, is not an atom: less than that remains.
    assert_close(projected.predict(LINE), dense.predict(LINE), 1e-6)
    assert projected.information_gain == pytest.approx(dense.information_gain, rel=1e-6)


@pytest.mark.parametrize("kernel", ON_THE_LINE, ids=repr)
def test_with_every_value_on_an_atom_it_is_the_exact_belief(kernel: Kernel) -> None:
    projected, exact = ProjectedBelief(kernel, 0.02), ExactBelief(kernel, 0.02)
    atoms = np.linspace(-8.0, 8.0, 9)[:, None]
    again = np.random.default_rng(0).integers(9, size=300)
    feed([projected, exact], np.vstack([atoms, atoms[again]]), 0.02)
    assert projected.distinct == exact.distinct == 9
    assert projected.absorbed == exact.model_order == 309
    assert_close(projected.predict(LINE), exact.predict(LINE), 1e-10)
    assert projected.information_gain == pytest.approx(exact.information_gain, rel=1e-10)


@pytest.mark.parametrize("kernel", ON_THE_LINE, ids=repr)
def test_by_default_it_stays_close_to_the_dense_belief_with_fewer_atoms(kernel: Kernel) -> None:
    noise = 1e-3
    projected, dense = ProjectedBelief(kernel, noise), ExactBelief(kernel, noise)
    feed([projected, dense], LINE[np.random.default_rng(4).integers(1000, size=1000)], noise)
    got, expected = projected.predict(LINE), dense.predict(LINE)
    # Measured on the three kernels: 0.063 standard deviations, ratios from 0.975 to 1.037, at most 429 of 637 atoms.
    assert (np.abs(got.mean - expected.mean) < 0.1 * np.sqrt(expected.variance)).all()
    ratio = got.variance / expected.variance
    assert 0.95 < ratio.min()
    assert ratio.max() < 1.06
    assert projected.distinct < 0.75 * dense.distinct


def test_a_new_atom_is_one_whose_novelty_exceeds_c_times_what_is_unknown_of_the_rest() -> None:
    kernel, noise, c = Matern32(1.0), 0.02, 0.3
    belief = ProjectedBelief(kernel, noise, novelty=c)
    belief.update([0.0], 0.0)
    rng = np.random.default_rng(5)
    outcomes = set()
    for x in rng.uniform(-2, 2, (80, 1)):
        D, before = belief.dictionary.copy(), belief.distinct
        k = kernel(D, x[None, :])[:, 0]
        explained = k @ np.linalg.solve(kernel(D, D), k)
        unknown = belief.predict(x[None, :]).variance[0] - (kernel.variance - explained)  # zᵀΛ⁻¹z
        belief.update(x, float(rng.normal()))
        assert (belief.distinct > before) == (kernel.variance - explained > c * unknown)
        outcomes.add(belief.distinct > before)
    assert outcomes == {True, False}


def test_what_is_absorbed_has_the_noise_of_its_novelty_besides_its_own() -> None:
    kernel, noise = Matern52(1.0), 0.1
    belief = ProjectedBelief(kernel, noise, novelty=1.0)
    belief.update([0.0], 1.0)
    belief.update([0.1], 2.0)
    assert belief.distinct == 1
    K = kernel([[0.0], [0.1]], [[0.0]])[:, 0]  # both values seen through the one atom
    A = np.outer(K, K) + np.diag([noise, noise + 1.0 - K[1] ** 2])
    at = kernel(LINE, [[0.0]]) * K
    np.testing.assert_allclose(belief.predict(LINE).mean, at @ np.linalg.solve(A, [1.0, 2.0]), atol=1e-12)
    expected = 1.0 - np.einsum("ni,ni->n", at, np.linalg.solve(A, at.T).T)
    np.testing.assert_allclose(belief.predict(LINE).variance, expected, atol=1e-12)


# Many points at once


def one_by_one(belief: Belief, X: Array) -> Any:
    """Mean, variance and their gradients, by as little as is known at a time."""
    parts = [belief.gradient(x[None, :]) for x in X]
    return [np.concatenate(column) for column in zip(*parts, strict=True)]


def assert_many_are_each(belief: Belief, X: Array, tolerance: float = 1e-10) -> None:
    mean, variance, mean_gradient, variance_gradient = one_by_one(belief, X)
    together = belief.gradient(X)
    assert_close(belief.predict(X), Posterior(mean, variance), tolerance)
    assert_close(Posterior(*together[:2]), Posterior(mean, variance), tolerance)
    np.testing.assert_allclose(together.mean_gradient, mean_gradient, atol=tolerance)
    np.testing.assert_allclose(together.variance_gradient, variance_gradient, atol=tolerance)


@pytest.mark.parametrize("noise", [1e-10, 1e-6, 1e-2, 1e40])
@pytest.mark.parametrize("kernel", [SquaredExponential(0.3), Matern52(1.0), Matern32(0.5, 7.0)], ids=repr)
def test_many_points_are_predicted_as_each_however_little_or_much_the_noise(kernel: Kernel, noise: float) -> None:
    belief, rng = ProjectedBelief(kernel, noise), np.random.default_rng(6)
    X = np.vstack([rng.random((15, 2)), 0.5 + 1e-2 * rng.random((15, 2))])  # some of them close together
    assert_many_are_each(belief, X)
    for x in X:
        belief.update(x, 0.0)
    assert_many_are_each(belief, np.vstack([X, rng.random((10, 2))]), 1e-9 * kernel.variance + 1e-6)
    few = belief.predict(X[:5]).variance  # to the digits that count beside the noise
    np.testing.assert_allclose(belief.predict(X).variance[:5], few, rtol=1e-9, atol=1e-12)


def test_after_each_change_many_points_are_predicted_as_each() -> None:
    belief = trained()
    changes: list[Callable[[ProjectedBelief], Any]] = [
        lambda b: b.update([1.9, -1.9], 3.0),
        lambda b: b.update(b.dictionary[0], -3.0, noise_variance=0.5),
        lambda b: b.absorb([-1.9, 1.9], 3.0),
        lambda b: b.remove(2),
        lambda b: b.evict(),
        lambda b: b.refresh(),
    ]
    for change in changes:
        before = belief.copy()
        many = before.predict(ACTIONS)
        change(belief)
        assert_many_are_each(belief, ACTIONS)
        assert_many_are_each(belief.copy(), ACTIONS)
        assert_many_are_each(belief.condition(ACTIONS[:2]), ACTIONS)
        np.testing.assert_array_equal(before.predict(ACTIONS), many)


def test_a_restored_belief_answers_for_many_points_as_the_refreshed_one_to_the_bit() -> None:
    belief = trained()
    belief.predict(ACTIONS)
    belief.refresh()
    other = ProjectedBelief.restore(belief.kernel, belief.state())
    np.testing.assert_array_equal(belief.predict(ACTIONS), other.predict(ACTIONS))


@pytest.mark.parametrize("row", [0, 3, -1])
def test_a_belief_restored_after_a_removal_goes_on_to_the_bit(row: int) -> None:
    belief = trained()
    belief.remove(row % belief.distinct)
    belief.refresh()
    other = ProjectedBelief.restore(belief.kernel, belief.state())
    for one in (belief, other):
        one.update([1.9, -1.9], 3.0)
        one.remove(1)
    np.testing.assert_array_equal(belief.predict(ACTIONS), other.predict(ACTIONS))
    assert belief.state() == other.state()


def test_a_great_many_points_are_predicted_as_their_parts() -> None:
    belief, X = trained(), np.random.default_rng(7).uniform(-2.0, 2.0, (5000, 2))
    parts = [belief.predict(part) for part in np.array_split(X, 50)]
    mean, variance = (np.concatenate(column) for column in zip(*parts, strict=True))
    assert_close(belief.predict(X), Posterior(mean, variance), 1e-12)


# Many values at once


def one_after_the_other(belief: ProjectedBelief, X: Array, y: Array, noise: Array, most: int | None) -> None:
    for x, value, variance in zip(X, y.tolist(), noise.tolist(), strict=True):
        full = most is not None and belief.distinct >= most
        (belief.absorb if full else belief.update)(x, value, noise_variance=variance)


@settings(max_examples=25)
@given(
    st.sampled_from([SquaredExponential(0.5), Matern52(1.0, 2.0), Matern32(0.3), Matern12(1.0)]),
    st.sampled_from([0.0, 0.02, 0.5, 5.0]),
    st.sampled_from([None, 1, 6, 20]),
    st.integers(0, 2**32 - 1),
)
def test_many_values_are_learned_as_one_after_the_other(
    kernel: Kernel, novelty: float, most: int | None, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    X = rng.random((int(rng.integers(1, 120)), 2))
    X = X[rng.integers(len(X), size=120)]  # repeats, few or many
    y, noise = rng.normal(size=120), 10.0 ** rng.uniform(-3.0, 0.0, 120)
    one, many = (ProjectedBelief(kernel, 0.1, novelty=novelty) for _ in range(2))
    one_after_the_other(one, X, y, noise, most)
    many.update_many(X, y, noise, max_model_order=most)
    np.testing.assert_array_equal(many.dictionary, one.dictionary)
    probes = rng.random((30, 2))
    assert_close(many.predict(probes), one.predict(probes), 1e-6)
    assert many.information_gain == pytest.approx(one.information_gain, rel=1e-6)
    assert (many.absorbed, many.best_value) == (one.absorbed, one.best_value)
    kernel_state = {"lower", "precision", "vector"}
    assert {k: v for k, v in many.state().items() if k not in kernel_state} == {
        k: v for k, v in one.state().items() if k not in kernel_state
    }


def test_many_values_give_what_restores_to_the_bit_and_refresh_when_single_ones_do() -> None:
    rng = np.random.default_rng(1)
    X, y = rng.random((1500, 2)), rng.normal(size=1500)
    belief = ProjectedBelief(Matern52(1.0), 0.1)
    belief.update_many(X, y, np.full(1500, 0.1), max_model_order=30)
    belief.refresh()
    other = ProjectedBelief.restore(belief.kernel, belief.state())
    for one in (belief, other):
        one.update_many(X, y, np.full(1500, 0.2), max_model_order=40)
        one.update([0.5, 0.5], 1.0)
    np.testing.assert_array_equal(belief.predict(X), other.predict(X))
    assert belief.state() == other.state()


def test_tracked_actions_follow_many_values() -> None:
    belief = trained()
    belief.track(PROBES)
    belief.update_many(ACTIONS + 0.01, np.ones(12), np.full(12, 0.1))
    assert_close(surface_posterior(belief), belief.predict(PROBES), 1e-10)


@pytest.mark.parametrize(
    ("name", "X", "values", "noises"),
    [
        ("X", [[0.0]], [1.0], [1.0]),
        ("values", [[0.0, 0.0]], [1.0, 2.0], [1.0]),
        ("values", [[0.0, 0.0]], [np.nan], [1.0]),
        ("noise_variances", [[0.0, 0.0]], [1.0], [1.0, 1.0]),
        ("noise_variances", [[0.0, 0.0]], [1.0], [0.0]),
    ],
)
def test_many_values_of_which_one_is_wrong_raise_and_change_nothing(
    name: str, X: Any, values: Any, noises: Any
) -> None:
    belief = trained()
    before = belief.state()
    with pytest.raises(InvalidInputError, match=name + EXPECTED_GOT):
        belief.update_many(X, values, noises)
    assert belief.state() == before


# Values with noise of their own


def own_noise(n: int) -> Array:
    result: Array = 10.0 ** np.random.default_rng(8).uniform(-4.0, 1.0, n)
    return result


@pytest.mark.parametrize("kernel", ON_THE_LINE, ids=repr)
def test_values_with_their_own_noise_are_the_dense_formula(kernel: Kernel) -> None:
    belief = ProjectedBelief(kernel, 0.02, novelty=0.0)
    rng = np.random.default_rng(9)
    X, noise = rng.uniform(-8.0, 8.0, (25, 1)), own_noise(35)
    X = np.vstack([X, X[:10]])  # repeats whose noise differs
    y = example(X[:, 0]) + np.sqrt(noise) * rng.normal(size=35)
    for x, value, variance in zip(X, y, noise, strict=True):
        belief.update(x, float(value), noise_variance=float(variance))
    A, K = kernel(X, X) + np.diag(noise), kernel(X, LINE)
    mean, variance = belief.predict(LINE)
    np.testing.assert_allclose(mean, K.T @ np.linalg.solve(A, y), atol=1e-6)
    np.testing.assert_allclose(variance, 1.0 - np.einsum("ij,ij->j", K, np.linalg.solve(A, K)), atol=1e-6)


def test_an_absorbed_value_with_its_own_noise_has_that_of_its_novelty_besides() -> None:
    kernel = Matern52(1.0)
    belief, other = ProjectedBelief(kernel, 0.1), ProjectedBelief(kernel, 3.0)
    belief.update([0.0], 1.0)
    other.update([0.0], 1.0, noise_variance=0.1)
    belief.absorb([2.0], 2.0, noise_variance=3.0)
    other.absorb([2.0], 2.0)
    assert belief.distinct == other.distinct == 1
    assert_close(belief.predict(LINE), other.predict(LINE), 1e-15)


def test_noise_as_the_belief_has_it_changes_no_bit_and_tracked_actions_follow() -> None:
    belief, same = trained(), trained()
    belief.track(PROBES)
    for x, noise in zip(ACTIONS, own_noise(12), strict=True):
        belief.update(x, 1.0)
        same.update(x, 1.0, noise_variance=belief.noise_variance)
        np.testing.assert_array_equal(belief.predict(PROBES), same.predict(PROBES))
        for one in (belief, same):
            one.update(x + 0.3, -1.0, noise_variance=float(noise))
        assert_close(surface_posterior(belief), belief.predict(PROBES), 1e-10)


def test_what_it_would_keep_is_what_it_keeps() -> None:
    belief = ProjectedBelief(Matern32(1.0), 0.02, novelty=0.3)
    outcomes = set()
    for x in np.random.default_rng(5).uniform(-2, 2, (80, 1)):
        before, kept = belief.distinct, belief.foresee(x).kept
        assert belief.foresee(x).kept == kept
        belief.update(x, 1.0)
        assert (belief.distinct > before) == kept
        outcomes.add(kept)
    assert outcomes == {True, False}


def test_to_ask_what_it_would_keep_changes_nothing() -> None:
    empty = ProjectedBelief(Matern52(1.0))
    assert empty.foresee([0.0, 1.0]).kept
    assert empty.dimension is None
    belief = trained()
    before = belief.state()
    belief.foresee(ACTIONS[0] + 0.1)
    assert belief.state() == before


@pytest.mark.parametrize("bad", [0.0, -1.0, *(v for v in NOT_NUMBERS if v is not None)], ids=lambda v: repr(v)[:12])
def test_a_wrong_noise_of_a_value_raises_and_changes_nothing(bad: Any) -> None:
    belief = trained()
    before = belief.state()
    for learn in (belief.update, belief.absorb):
        with pytest.raises(InvalidInputError, match="noise_variance" + EXPECTED_GOT):
            learn(ACTIONS[0], 1.0, noise_variance=bad)
    assert belief.state() == before


@pytest.mark.parametrize("bad", [[0.0], [[0.0, 1.0]], [np.nan, 0.0]], ids=repr)
def test_a_wrong_action_that_it_might_keep_raises(bad: Any) -> None:
    with pytest.raises(InvalidInputError, match="x" + EXPECTED_GOT):
        trained().foresee(bad)


@pytest.mark.parametrize("row", [0, 3, -1])
def test_removing_an_atom_keeps_the_marginal_of_the_others(row: int) -> None:
    belief = trained()
    row %= belief.distinct
    rest = np.delete(belief.dictionary, row, axis=0)
    belief.track(rest)
    mean, covariance = belief.predict(rest).mean, belief.covariance(rest)
    belief.remove(row)
    np.testing.assert_array_equal(belief.dictionary, rest)
    np.testing.assert_allclose(belief.predict(rest).mean, mean, atol=1e-10)
    np.testing.assert_allclose(belief.covariance(rest), covariance, atol=1e-10)
    assert_close(surface_posterior(belief), belief.predict(rest), 1e-12)


def test_after_a_removal_it_learns_on_from_what_it_holds() -> None:
    belief = trained()
    belief.remove(2)
    D = belief.dictionary.copy()
    mean, C = belief.predict(D).mean, belief.covariance(D)
    belief.update(D[4], 2.0)
    gain = C[:, 4] / (C[4, 4] + belief.noise_variance)
    np.testing.assert_allclose(belief.predict(D).mean, mean + gain * (2.0 - mean[4]), atol=1e-9)
    np.testing.assert_allclose(belief.covariance(D), C - np.outer(gain, C[4]), atol=1e-9)


def test_losses_are_the_information_that_each_removal_loses_and_evict_takes_the_least() -> None:
    belief = trained()
    lost = []
    for row in range(belief.distinct):
        without = belief.copy()
        without.remove(row)
        lost.append(belief.information_gain - without.information_gain)
    np.testing.assert_allclose(belief.losses(), lost, rtol=1e-8, atol=1e-8)
    assert belief.evict() == int(np.argmin(lost[:-1]))  # never the newest


@pytest.mark.parametrize("kernel", [Matern52(1.1, 1.3), SquaredExponential(1.1)], ids=repr)
def test_refresh_changes_nothing_but_rounding_after_a_thousand_values(kernel: Kernel) -> None:
    belief = ProjectedBelief(kernel, 0.02)
    feed([belief], ACTIONS[np.random.default_rng(0).integers(12, size=1023)], 0.02)
    before = belief.predict(PROBES)
    belief.refresh()
    assert_close(belief.predict(PROBES), before, 1e-9)


@pytest.mark.parametrize("bad", [-0.1, *NOT_NUMBERS], ids=lambda v: repr(v)[:12])
def test_a_wrong_novelty_raises(bad: Any) -> None:
    with pytest.raises(InvalidInputError, match="novelty" + EXPECTED_GOT):
        ProjectedBelief(SquaredExponential(), novelty=bad)


@pytest.mark.parametrize("noise", [1e-12, 1e-3])
def test_eviction_leaves_the_remaining_atoms_as_they_were_however_small_the_noise(noise: float) -> None:
    belief = ProjectedBelief(SquaredExponential(0.3, 1e6), noise)
    for x in np.random.default_rng(0).random((7, 1)):
        belief.update(x, 1.0)
    before = belief.copy()
    belief.evict()
    assert belief.distinct == before.distinct - 1
    np.testing.assert_allclose(
        belief.predict(belief.dictionary).mean, before.predict(belief.dictionary).mean, rtol=1e-3
    )


def test_a_capped_belief_is_not_too_sure_of_its_atoms() -> None:
    rng = np.random.default_rng(7)
    X = np.linspace(-5.0, 5.0, 60)[:, None]
    misses = []
    for f in ExactBelief(SquaredExponential(1.0)).sample(X, 60, rng):
        belief = ProjectedBelief(SquaredExponential(1.0), 1e-3)
        for i in rng.integers(60, size=150):
            belief.update(X[i], f[i] + rng.normal(0.0, np.sqrt(1e-3)))
            while belief.distinct > 6:
                belief.evict()
        rows = [int(np.argmin(np.abs(X[:, 0] - d))) for d in belief.dictionary[:, 0]]
        mean, variance = belief.predict(belief.dictionary)
        misses.append(np.mean(np.abs(f[rows] - mean) > 2.0 * np.sqrt(variance)))
    assert np.mean(misses) < 0.12  # nominal .046, and .34 to .58 when the newest atom may go


@pytest.mark.parametrize("seed", [1, 3, 5])
def test_atoms_in_a_clump_do_not_spoil_each_other(seed: int) -> None:
    rng = np.random.default_rng(seed)
    centre = rng.random(4)
    belief = ProjectedBelief(SquaredExponential(np.ones(4), variance=100.0), 1e-7)
    for reach in 10.0 ** rng.uniform(-3.0, -0.3, 300):
        x = np.clip(centre + reach * rng.standard_normal(4), 0.0, 1.0)
        belief.update(x, float(np.sum((x - centre) ** 2)))
    mean, variance = belief.predict(belief.dictionary)
    error = np.abs(mean - ((belief.dictionary - centre) ** 2).sum(axis=1))
    assert error.max() < 0.1 * np.sqrt(variance).max()


@pytest.mark.parametrize("told", [0, 40])
def test_what_is_foreseen_is_what_is_predicted(told: int) -> None:
    rng = np.random.default_rng(3)
    belief = ProjectedBelief(Matern52(0.5, 2.0), 0.05)
    for x in rng.random((told, 2)):
        belief.update(x, float(x.sum()))
    for x in rng.random((10, 2)):
        assert belief.foresee(x).variance == pytest.approx(float(belief.predict(x[None, :]).variance[0]), rel=1e-9)


def test_the_means_of_atoms_are_those_predicted() -> None:
    belief = trained()
    np.testing.assert_allclose(belief.atom_means(), belief.predict(belief.dictionary).mean, rtol=1e-10, atol=1e-12)


def test_what_the_summands_of_a_kernel_explain_is_together_the_mean() -> None:
    kernel, rng = Rippled(Matern52([0.5, 0.7]), 0.3, 0.1), np.random.default_rng(0)
    belief = ProjectedBelief(kernel, 1e-3)
    for x in rng.random((40, 2)):
        belief.update(x, float(np.sin(9.0 * x).sum()))
    trend = Matern52([0.5, 0.7], 1.0 - kernel.share)
    ripples = Matern52(kernel.ratio * trend.length_scale, kernel.share)
    parts = belief.explained_by(trend) + belief.explained_by(ripples)
    np.testing.assert_allclose(parts, belief.atom_means(), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(belief.explained_by(kernel), belief.atom_means(), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_exact_values_told_together_in_a_row_are_known_as_exactly(seed: int) -> None:
    along = np.sort(np.random.default_rng(seed).random(200))
    X = np.column_stack([along, along])
    y = np.sin(5.0 * X.sum(axis=1))
    belief = ProjectedBelief(Matern52([1.0, 1.0]), 1e-11)
    belief.update_many(X, y, np.full(200, 1e-11))
    assert np.abs(belief.predict(X).mean - y).max() < 3e-4


@pytest.mark.parametrize("columns", [1, 2, 4])
def test_many_values_of_a_wrong_dimension_leave_an_empty_belief_as_it_was(columns: int) -> None:
    belief = ProjectedBelief(Matern52([1.0, 1.0, 1.0]))
    with pytest.raises(InvalidInputError, match="length_scale" + EXPECTED_GOT):
        belief.update_many(np.zeros((2, columns)), [1.0, 2.0], [0.1, 0.1])
    assert belief.distinct == 0
    belief.update([0.0, 0.5, 1.0], 1.0)
    assert belief.distinct == 1


def test_a_belief_that_may_have_no_atoms_absorbs_all() -> None:
    belief = ProjectedBelief(Matern52(1.0))
    belief.update_many(ACTIONS, np.ones(len(ACTIONS)), np.full(len(ACTIONS), 0.1), max_model_order=0)
    assert (belief.distinct, belief.absorbed) == (0, len(ACTIONS))
