"""The tests that every belief must pass: inherit them, and say how to make one."""

import json
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.helpers import (
    EXPECTED_GOT,
    KERNELS,
    NOT_NUMBERS,
    NOT_POINTS,
    PROBES,
    assert_close,
    central_difference,
    fingerprint,
    surface_posterior,
)
from uncubed._typing import Array
from uncubed.beliefs import Belief, Posterior
from uncubed.errors import InvalidInputError
from uncubed.kernels import Kernel, Matern52, SquaredExponential


class BeliefConformance(ABC):
    """What every belief must do; a test class inherits it and says how the belief is made."""

    @abstractmethod
    def make(self, kernel: Kernel, noise_variance: float) -> Belief:
        """A belief that has seen nothing, and draws nothing at random."""

    def trained(self, kernel: Kernel | None = None) -> Belief:
        """A belief with 14 values at 10 distinct tracked actions."""
        belief = self.make(kernel or Matern52([1.0, 1.5], 1.3), 0.05)
        rng = np.random.default_rng(0)
        belief.track(rng.uniform(-2, 2, (12, 2)))
        for index in [*range(10), 3, 3, 7, 0]:
            belief.update_at(index, float(rng.normal()))
        return belief

    def test_before_the_first_value_it_is_the_prior(self) -> None:
        belief = self.make(SquaredExponential(variance=2.0), 0.1)
        assert (belief.dimension, belief.distinct, belief.model_order, belief.best_value) == (None, 0, 0, None)
        assert belief.information_gain == 0.0
        answer = belief.gradient(PROBES)
        assert_close(belief.predict(PROBES), Posterior(np.zeros(9), np.full(9, 2.0)), 0.0)
        assert_close(Posterior(answer.mean, answer.variance), belief.predict(PROBES), 0.0)
        assert not answer.mean_gradient.any()
        assert not answer.variance_gradient.any()

    @pytest.mark.parametrize("kernel", KERNELS, ids=repr)
    def test_gradient_is_finite_difference_of_predict(self, kernel: Kernel) -> None:
        belief = self.trained(kernel)
        answer = belief.gradient(PROBES)
        assert_close(Posterior(answer.mean, answer.variance), belief.predict(PROBES), 1e-12)
        for i, x in enumerate(PROBES):
            slopes = central_difference(lambda at: np.ravel(belief.predict(at[None, :])), x)
            np.testing.assert_allclose(answer.mean_gradient[i], slopes[:, 0], rtol=1e-6, atol=1e-8)
            np.testing.assert_allclose(answer.variance_gradient[i], slopes[:, 1], rtol=1e-6, atol=1e-8)

    def test_draws_have_the_moments_of_predict_and_covariance(self) -> None:
        belief = self.trained()
        X, size = PROBES[:4], 40_000
        posterior, C = belief.predict(X), belief.covariance(X)
        np.testing.assert_allclose(np.diagonal(C), posterior.variance, rtol=1e-10)
        draws = belief.sample(X, size, np.random.default_rng(3))
        assert draws.shape == (size, 4)
        # five standard errors of a mean, and of a covariance of Gaussians
        assert (np.abs(draws.mean(axis=0) - posterior.mean) < 5 * np.sqrt(posterior.variance / size)).all()
        error = np.sqrt((np.outer(posterior.variance, posterior.variance) + C**2) / size)
        assert (np.abs(np.cov(draws.T) - C) < 5 * error).all()

    def test_condition_has_the_variance_of_values_that_came_and_the_mean_it_had(self) -> None:
        belief = self.trained()
        before, pending = fingerprint(belief), PROBES[[0, 1, 1]]
        expecting = belief.condition(pending)
        observed = belief.copy()
        for x in pending:
            observed.update(x, 5.0)
        np.testing.assert_allclose(expecting.predict(PROBES).variance, observed.predict(PROBES).variance, atol=1e-12)
        np.testing.assert_allclose(expecting.predict(PROBES).mean, belief.predict(PROBES).mean, atol=1e-10)
        assert (expecting.predict(pending).variance < belief.predict(pending).variance).all()
        assert fingerprint(belief) == before

    @pytest.mark.parametrize("change", ["update", "remove", "evict"])
    def test_a_copy_and_its_original_do_not_touch_each_other(self, change: str) -> None:
        belief = self.trained()
        copy, before = belief.copy(), fingerprint(belief)
        changes: dict[str, Callable[[Belief], Any]] = {
            "update": lambda b: b.update([0.1, 0.2], 3.0),
            "remove": lambda b: b.remove(2),
            "evict": lambda b: b.evict(),
        }
        assert fingerprint(copy) == before
        changes[change](copy)
        assert fingerprint(copy) != before
        assert fingerprint(belief) == before
        changes[change](belief)
        assert_close(surface_posterior(belief), surface_posterior(copy), 1e-12)

    def test_refresh_changes_nothing_but_rounding(self) -> None:
        belief = self.trained()
        before, gain = belief.predict(PROBES), belief.information_gain
        belief.refresh()
        assert_close(belief.predict(PROBES), before, 1e-11)
        assert belief.information_gain == pytest.approx(gain, rel=1e-11)

    def test_restored_is_bitwise_what_was_saved_and_goes_on_alike(self) -> None:
        belief = self.trained()
        belief.evict()
        for x in [*PROBES, *PROBES[:3]]:
            belief.update(x, float(x[1]))
        belief.refresh()
        restored = type(belief).restore(belief.kernel, json.loads(json.dumps(belief.state())))
        assert fingerprint(restored)[:2] == fingerprint(belief)[:2]
        for name in ("distinct", "model_order", "best_value", "evictions", "dimension", "information_gain"):
            assert getattr(restored, name) == getattr(belief, name)
        np.testing.assert_array_equal(restored.losses(), belief.losses())
        for x in PROBES:
            for b in (belief, restored):
                b.update(x, float(x.sum()))
        for b in (belief, restored):
            b.refresh()
        assert fingerprint(restored)[:2] == fingerprint(belief)[:2]

    def test_surface_is_predict_through_updates_at_and_off_the_actions_and_removals(self) -> None:
        belief = self.trained()
        assert belief.surface is not None
        for x in PROBES:
            belief.update(x, float(x[0]))
            belief.remove(1)
            belief.update_at(11, 0.3)
            assert_close(surface_posterior(belief), belief.predict(belief.surface.X), 1e-11)
            np.testing.assert_allclose(belief.surface.std**2, belief.surface.variance, rtol=1e-14)

    def test_tracking_late_is_tracking_from_the_start(self) -> None:
        early = self.trained()
        late = early.copy()
        assert early.surface is not None
        late.track(early.surface.X)
        assert_close(surface_posterior(late), surface_posterior(early), 1e-11)

    def test_minus_zero_and_zero_are_one_action(self) -> None:
        belief = self.make(SquaredExponential(), 0.1)
        belief.update([0.0, -0.0], 1.0)
        belief.update([-0.0, 0.0], 1.0)
        assert belief.distinct == 1

    def test_best_value_is_the_largest_that_came(self) -> None:
        belief = self.make(SquaredExponential(), 0.1)
        for x, value in [(0.0, -3.0), (1.0, -1.0), (1.0, -2.0)]:
            belief.update([x], value)
        assert belief.best_value == -1.0

    def test_what_is_given_is_not_changed_and_the_dictionary_cannot_be(self) -> None:
        belief = self.make(SquaredExponential(), 0.1)
        X = np.arange(6.0).reshape(3, 2)
        belief.track(X)
        for x in X:
            belief.update(x, 1.0)
        belief.gradient(X)
        np.testing.assert_array_equal(X, np.arange(6.0).reshape(3, 2))
        with pytest.raises(ValueError, match="read-only"):
            belief.dictionary[0, 0] = 1.0
        x = X[0].copy()
        belief.update(x, 1.0)
        dictionary = belief.dictionary.copy()
        x[:] = 9.0
        np.testing.assert_array_equal(belief.dictionary, dictionary)

    @pytest.mark.parametrize("bad", NOT_NUMBERS, ids=lambda v: repr(v)[:12])
    def test_a_wrong_value_raises_and_leaves_it_as_it_was(self, bad: Any) -> None:
        self.assert_rejected(lambda b: b.update([0.0, 0.0], bad), lambda b: b.update_at(3, bad))

    @pytest.mark.parametrize("bad", NOT_POINTS, ids=repr)
    def test_a_wrong_point_raises_and_leaves_it_as_it_was(self, bad: Any) -> None:
        self.assert_rejected(
            lambda b: b.update(bad, 1.0),
            lambda b: b.predict([bad]),
            lambda b: b.gradient([bad]),
            lambda b: b.covariance([bad]),
            lambda b: b.sample([bad], 1, np.random.default_rng(0)),
            lambda b: b.condition([bad]),
            lambda b: b.track([bad]),
        )

    @pytest.mark.parametrize("bad", [-1, 10, 12, 1.0, None, True, "1"])
    def test_a_wrong_row_raises_and_leaves_it_as_it_was(self, bad: Any) -> None:
        self.assert_rejected(lambda b: b.remove(bad))

    @pytest.mark.parametrize("bad", [-1, 12, 1.0, None, True, "1"])
    def test_a_wrong_index_raises_and_leaves_it_as_it_was(self, bad: Any) -> None:
        self.assert_rejected(lambda b: b.update_at(bad, 1.0))

    def assert_rejected(self, *calls: Callable[[Belief], Any]) -> None:
        for call in calls:
            belief = self.trained()
            before = fingerprint(belief)
            with pytest.raises(InvalidInputError, match=EXPECTED_GOT):
                call(belief)
            assert fingerprint(belief) == before

    def test_a_rejected_first_update_does_not_settle_the_dimension(self) -> None:
        belief = self.make(SquaredExponential([1.0, 2.0]), 0.1)
        for x, value in [([0.0, 0.0], np.nan), ([0.0, np.nan], 1.0), ([0.0], 1.0), ([], 1.0)]:
            with pytest.raises(InvalidInputError, match=EXPECTED_GOT):
                belief.update(x, value)
            assert belief.dimension is None
        belief.update([0.0, 0.0], 1.0)
        assert belief.dimension == 2

    @pytest.mark.parametrize("X", [np.zeros((1, 1)), np.zeros((1, 3))], ids=["1-d", "3-d"])
    def test_a_kernel_of_another_dimension_raises_wherever_it_meets_points(self, X: Array) -> None:
        calls: list[Callable[[Belief], Any]] = [
            lambda b: b.update(X[0], 1.0),
            lambda b: b.predict(X),
            lambda b: b.gradient(X),
            lambda b: b.covariance(X),
            lambda b: b.sample(X, 1, np.random.default_rng(0)),
            lambda b: b.condition(X),
            lambda b: b.track(X),
        ]
        for call in calls:
            with pytest.raises(InvalidInputError, match=EXPECTED_GOT):
                call(self.make(SquaredExponential([1.0, 2.0]), 0.1))

    @pytest.mark.parametrize("bad", [0.0, -1.0, *NOT_NUMBERS], ids=lambda v: repr(v)[:12])
    def test_a_wrong_noise_variance_raises(self, bad: Any) -> None:
        with pytest.raises(InvalidInputError, match="noise_variance" + EXPECTED_GOT):
            self.make(SquaredExponential(), bad)

    def test_what_is_not_a_kernel_raises(self) -> None:
        not_a_kernel: Any = "rbf"
        with pytest.raises(InvalidInputError, match="kernel" + EXPECTED_GOT):
            self.make(not_a_kernel, 0.1)

    def test_update_at_without_tracked_actions_raises(self) -> None:
        with pytest.raises(InvalidInputError, match=EXPECTED_GOT):
            self.make(SquaredExponential(), 0.1).update_at(0, 1.0)

    def test_evicting_removes_one_atom_but_never_the_last(self) -> None:
        belief = self.trained()
        while belief.distinct > 1:
            left = belief.distinct
            kept = np.delete(belief.dictionary, belief.copy().evict(), axis=0)
            belief.evict()
            assert belief.distinct == left - 1
            np.testing.assert_array_equal(belief.dictionary, kept)
        assert belief.evictions == 9
        with pytest.raises(InvalidInputError, match=EXPECTED_GOT):
            belief.evict()
