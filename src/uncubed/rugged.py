"""A function that repeats itself without being smooth: what a fit takes for noise is part of it."""

from typing import final

import numpy as np

from uncubed._typing import Array
from uncubed.beliefs import Belief, Posterior, PosteriorGradient
from uncubed.kernels import Kernel

WIDTH = 0.03
"""Of hills that a fit takes for noise, in length-scales; chosen by regret, see `benchmarks/README.md`."""


@final
class Rugged:
    """f = g + r: g as a belief has it, and r of the variance of its noise, but for what lies next to an atom.

    So a point told is hardly worth another look, and any other may be better than the best by as much as r makes f
    differ from its surroundings.

    Args:
        belief: about g, with at least one atom.
    """

    def __init__(self, belief: Belief) -> None:
        self._belief = belief

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
        return Posterior(mean, variance + self.ripple(X))

    def gradient(self, X: Array) -> PosteriorGradient:
        """The same with their gradients in x."""
        posterior, noise = self._belief.gradient(X), self._belief.noise_variance
        away, decay = self._from_atoms(X)
        slope = (2.0 * noise / WIDTH**2) * decay[:, None] * away / self.kernel.length_scale**2
        return posterior._replace(
            variance=posterior.variance + noise * (1.0 - decay), variance_gradient=posterior.variance_gradient + slope
        )

    def ripple(self, X: Array) -> Array:
        """Variance of r at the rows of X, shape (n,)."""
        ripple: Array = self._belief.noise_variance * (1.0 - self._from_atoms(X)[1])
        return ripple

    def _from_atoms(self, X: Array) -> tuple[Array, Array]:
        """How far rows are from their nearest atom, shape (n, d), and exp(-r² / w²) of its distance r, shape (n,)."""
        atoms = self._belief.dictionary
        squares = self.kernel.squared_distance(X, atoms)
        return X - atoms[squares.argmin(axis=1)], np.exp(-squares.min(axis=1) / WIDTH**2)
