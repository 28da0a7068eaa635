import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from uncubed._typing import Array
from uncubed.beliefs.weights import Weights, packed, unpacked
from uncubed.cholesky import CholeskyFactor
from uncubed.kernels import Matern52

seeds = st.integers(0, 2**32 - 1)


def values(seed: int, size: int = 5, n: int = 12) -> tuple[Array, Array, Array]:
    """Z, what was observed, and the variance of its noise."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(size, n)), rng.normal(size=n), rng.uniform(0.1, 2.0, n)


def learned(Z: Array, y: Array, noises: Array) -> Weights:
    """One value after the other."""
    weights = Weights()
    weights.border(len(Z))
    for z, value, noise in zip(Z.T, y, noises, strict=True):
        weights.learn(z, weights.covariance @ z, float(value), float(noise))
    return weights


def assert_same(one: Weights, other: Weights) -> None:
    for name in ("precision", "vector", "covariance", "mean"):
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=1e-10, atol=1e-10)


@given(seeds)
def test_what_is_learned_is_the_posterior_of_a_linear_model(seed: int) -> None:
    Z, y, noises = values(seed)
    weights = learned(Z, y, noises)
    precision = np.eye(len(Z)) + (Z / noises) @ Z.T
    np.testing.assert_allclose(weights.precision, precision, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(weights.covariance, np.linalg.inv(precision), rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(weights.mean, np.linalg.solve(precision, Z @ (y / noises)), rtol=1e-10, atol=1e-10)
    assert weights.information_gain == pytest.approx(-0.5 * np.linalg.slogdet(weights.covariance)[1])


@given(seeds, st.integers(0, 12))
def test_many_at_once_are_as_one_after_the_other(seed: int, together: int) -> None:
    Z, y, noises = values(seed)
    one, many = learned(Z, y, noises), learned(Z[:, together:], y[together:], noises[together:])
    if together:
        Z, y, noises = Z[:, :together], y[:together], noises[:together]
        PZ = many.covariance @ Z
        many.learn_many(Z, PZ, y, noises, CholeskyFactor.of(Z.T @ PZ + np.diag(noises)).lower)
    assert_same(one, many)


@given(seeds)
def test_a_surprise_is_what_was_not_expected_and_its_variance(seed: int) -> None:
    Z, y, noises = values(seed)
    weights = learned(Z[:, 1:], y[1:], noises[1:])
    z, expected, variance = Z[:, 0], float(Z[:, 0] @ weights.mean), float(Z[:, 0] @ weights.covariance @ Z[:, 0])
    surprise, total = weights.learn(z, weights.covariance @ z, float(y[0]), float(noises[0]))
    assert (surprise, total) == pytest.approx((y[0] - expected, variance + noises[0]))


@given(seeds, st.integers(0, 12))
def test_weights_may_come_late(seed: int, before: int) -> None:
    Z, y, noises = values(seed)
    Z[3:, :before] = 0.0  # nothing is said of them before they come
    late = learned(Z[:3, :before], y[:before], noises[:before])
    late.border(2)
    for z, value, noise in zip(Z.T[before:], y[before:], noises[before:], strict=True):
        late.learn(z, late.covariance @ z, float(value), float(noise))
    assert_same(late, learned(Z, y, noises))


@given(seeds, st.integers(0, 4))
def test_what_is_left_without_an_atom_is_known_as_before(seed: int, row: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.random((5, 2))
    factor, weights = CholeskyFactor.of(Matern52([0.3, 0.3])(X, X)), learned(*values(seed))
    others = np.delete(np.arange(5), row)
    mean = (factor.lower @ weights.mean)[others]
    covariance = (factor.lower @ weights.covariance @ factor.lower.T)[np.ix_(others, others)]
    n = factor.inverse[:, row] / np.linalg.norm(factor.inverse[:, row])
    weights.marginalise(n, factor.remove(row))
    np.testing.assert_allclose(factor.lower @ weights.mean, mean, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(factor.lower @ weights.covariance @ factor.lower.T, covariance, rtol=1e-9, atol=1e-9)
    afresh = weights.copy()
    afresh.refresh()
    assert_same(weights, afresh)


@given(seeds)
def test_refreshed_they_are_the_same_and_restored_they_are_to_the_last_bit(seed: int) -> None:
    weights = learned(*values(seed))
    afresh = weights.copy()
    afresh.refresh()
    assert_same(weights, afresh)
    restored = Weights.restore(json.loads(json.dumps(weights.state())))
    restored.refresh()
    for name in ("precision", "vector", "covariance", "mean"):
        np.testing.assert_array_equal(getattr(restored, name), getattr(afresh, name))


def test_a_copy_learns_alone() -> None:
    Z, y, noises = values(0)
    weights, copied = learned(Z, y, noises), learned(Z, y, noises).copy()
    copied.learn(Z[:, 0], copied.covariance @ Z[:, 0], 9.0, 0.1)
    assert_same(weights, learned(Z, y, noises))
    assert not np.allclose(copied.mean, weights.mean)


def test_packed_and_unpacked_a_lower_triangle_is_itself() -> None:
    lower = np.tril(np.random.default_rng(0).normal(size=(4, 4)))
    np.testing.assert_array_equal(unpacked(packed(lower)), lower)
    assert unpacked([]).shape == (0, 0)
