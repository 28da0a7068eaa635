"""A function that is exact without being smooth: what a fit takes for noise is part of it."""

from collections.abc import Callable
from typing import final

import numpy as np

from uncubed._typing import Array
from uncubed.beliefs import Belief, Posterior, PosteriorGradient
from uncubed.kernels import Kernel

WIDTH = 0.03
"""Of hills that a fit takes for noise, in length-scales; chosen by regret, see `benchmarks/README.md`."""


@final
class Rugged:
    """f = g + r: g as a belief has it, and r of the variance of its noise, but for what lies next to a point tried.

    So a point told is not worth another look, and any other may be better than the best by as much as r makes f differ
    from its surroundings.

    Args:
        belief: about g.
        tried: points told or awaited, shape (n, d); none where nothing is to be taken for granted beside them.
        value_of: f at a point where it was told, in the belief's units; None elsewhere.
    """

    def __init__(self, belief: Belief, tried: Array, value_of: Callable[[Array], float | None]) -> None:
        self._belief, self._tried, self._value_of = belief, tried, value_of

    @property
    def kernel(self) -> Kernel:
        """Of g."""
        return self._belief.kernel

    @property
    def distinct(self) -> int:
        """Of the belief."""
        return self._belief.distinct

    def predict(self, X: Array) -> Posterior:
        """Mean and variance of f at the rows of X, shape (n, d)."""
        mean, variance = self._belief.predict(X)
        values = np.array([self._value_of(x) for x in X], float)  # NaN for None
        told = ~np.isnan(values)
        ripple = self._belief.noise_variance * (1.0 - self._nearness(X)[1])
        return Posterior(np.where(told, values, mean), np.where(told, 0.0, variance + ripple))

    def gradient(self, X: Array) -> PosteriorGradient:
        """The same with their gradients in x, as if nothing had been told at these rows themselves."""
        posterior, noise = self._belief.gradient(X), self._belief.noise_variance
        away, near = self._nearness(X)
        slope = (2.0 * noise / WIDTH**2) * near[:, None] * away / self.kernel.length_scale**2
        return posterior._replace(
            variance=posterior.variance + noise * (1.0 - near), variance_gradient=posterior.variance_gradient + slope
        )

    def _nearness(self, X: Array) -> tuple[Array, Array]:
        """Rows from their nearest point tried, shape (n, d), and exp(-r² / w²) of its distance r, shape (n,)."""
        if not len(self._tried):
            return X, np.zeros(len(X))
        squares = self.kernel.squared_distance(X, self._tried)
        return X - self._tried[squares.argmin(axis=1)], np.exp(-squares.min(axis=1) / WIDTH**2)
