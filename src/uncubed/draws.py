"""Joint draws of f on actions that stay the same."""

from typing import final

import numpy as np

from uncubed._typing import Array
from uncubed.beliefs import Belief
from uncubed.beliefs.base import nudged, root
from uncubed.beliefs.surface import Surface
from uncubed.kernels import Kernel


@final
class Draws:
    """Draws of a belief on N actions, its M atoms among them: O(N²) each, where `Belief.sample` takes O(N³).

    Given f at the atoms D, a belief knows of f elsewhere what the prior does. So a draw f₀ of the prior becomes one of
    the belief by u, a draw at the atoms: f₀ + K_XD K_DD⁻¹ (u - f₀(D)).

    Args:
        kernel: of the beliefs.
        X: the actions, shape (N, d).
    """

    def __init__(self, kernel: Kernel, X: Array) -> None:
        self.kernel, self._root = kernel, root(kernel(X, X))
        self._rows = {x.tobytes(): row for row, x in enumerate(X)}

    def has(self, belief: Belief) -> bool:
        """Whether all atoms are among the actions."""
        return all(d.tobytes() in self._rows for d in belief.dictionary)

    def draw(self, belief: Belief, surface: Surface, rng: np.random.Generator) -> Array:
        """One joint draw, shape (N,), of a belief and its surface on the actions."""
        drawn: Array = self._root @ rng.standard_normal(len(self._root))
        D = belief.dictionary
        if len(D):
            u = root(belief.covariance(D)) @ rng.standard_normal(len(D))
            u -= drawn[[self._rows[d.tobytes()] for d in D]]
            weights = np.asarray(np.linalg.solve(nudged(self.kernel(D, D)), u), float)
            drawn += surface.combine(weights, D)
        drawn += surface.mean
        return drawn
