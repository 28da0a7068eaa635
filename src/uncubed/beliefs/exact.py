"""The exact posterior over its dictionary: the dense GP, or the paper's compressed one."""

import math
from dataclasses import dataclass
from typing import Any, Self, final

import numpy as np
from scipy.special import chdtrc

from uncubed import _validation as check
from uncubed._typing import Array
from uncubed.beliefs.base import Belief
from uncubed.cholesky import CholeskyFactor
from uncubed.kernels import Kernel


@dataclass(slots=True)
class _Repeats:
    """What is kept of all values observed at one action: enough for the exact posterior and likelihood."""

    count: int
    mean: float
    scatter: float  # Σ (y - mean)²
    largest: float

    def add(self, value: float) -> None:
        self.count += 1
        step = value - self.mean
        self.mean += step / self.count
        self.scatter += step * (value - self.mean)
        self.largest = max(self.largest, value)


@final
class ExactBelief(Belief):
    """Exact GP posterior, eq. GP_posterior_D, by a growing Cholesky factor of K_DD + diag(σ²/n).

    Repeated actions are merged without loss: n values at one action are one row with their mean and noise σ²/n.
    When every value is kept this is the dense GP; when the information test decides, the paper's compressed one.

    Args:
        kernel: prior covariance.
        noise_variance: σ².
        merge: whether repeats are merged; without it every value is a row, as in the paper, for comparison.

    >>> from uncubed.kernels import SquaredExponential
    >>> belief = ExactBelief(SquaredExponential(), noise_variance=0.5)
    >>> for value in (1.0, 2.0):
    ...     belief.update([0.0], value)
    >>> belief.model_order, belief.distinct
    (2, 1)
    >>> belief.predict([[0.0]]).mean
    array([1.2])
    """

    exact = True
    absorbs = False
    _spares_newest = True  # or a full model would ask for the same action for ever, and learn nothing

    def __init__(self, kernel: Kernel, noise_variance: float = 1e-3, *, merge: bool = True) -> None:
        super().__init__(kernel, noise_variance)
        self.merge = merge
        self._factor = CholeskyFactor()
        self._repeats: list[_Repeats] = []
        self._row_of: dict[bytes, int] = {}
        self._kept = 0
        self._cached_coefficients: Array | None = None

    @property
    def distinct(self) -> int:
        return len(self._repeats)

    @property
    def model_order(self) -> int:
        return self._kept

    @property
    def counts(self) -> Array:
        """Values merged into each row, shape (distinct,)."""
        return np.array([r.count for r in self._repeats], float)

    @property
    def values(self) -> Array:
        """Mean value of each row, shape (distinct,)."""
        return np.array([r.mean for r in self._repeats], float)

    @property
    def information_gain(self) -> float:
        return 0.5 * (self._factor.log_determinant - float(np.log(self._noise()).sum()))

    def surprise(self) -> float:
        """P(χ²_M ≥ yᵀA⁻¹y): the chance of values as extreme as these if f is drawn from the prior."""
        return float(chdtrc(self.distinct, np.square(self._factor.whiten(self.values)).sum())) if self.distinct else 1.0

    def log_marginal_likelihood(self) -> float:
        """log density of every value kept, repeats included."""
        y, n = self.values, self.counts
        scatter = sum(r.scatter for r in self._repeats)
        quadratic = float(np.square(self._factor.whiten(y)).sum())
        means = -0.5 * (quadratic + self._factor.log_determinant + y.size * math.log(2 * math.pi))
        spare = float(n.sum()) - y.size
        within = -0.5 * (spare * math.log(2 * math.pi * self.noise_variance) + float(np.log(n).sum()))
        return means + within - 0.5 * scatter / self.noise_variance

    def log_marginal_likelihood_gradient(self) -> Array:
        """Its gradient in `kernel.theta` and, last, the log noise variance, shape (len(theta) + 1,)."""
        D, n = self.dictionary, self.counts
        alpha = self._coefficients()
        inner = np.outer(alpha, alpha) - self._factor.solve(np.eye(self.distinct))
        by_theta = 0.5 * np.einsum("pij,ij->p", self.kernel.theta_gradient(D, D), inner)
        spare = float(n.sum()) - n.size
        scatter = sum(r.scatter for r in self._repeats)
        by_noise = 0.5 * float(np.diagonal(inner) @ self._noise()) - 0.5 * spare + 0.5 * scatter / self.noise_variance
        return np.append(by_theta, by_noise)

    def remove(self, row: int) -> None:
        row = check.index("row", row, self.distinct)
        self._factor.remove(row)
        self._remove_point(row, self.distinct)
        self._kept -= self._repeats.pop(row).count
        self._row_of = {_key(x): i for i, x in enumerate(self.dictionary)}
        self._cached_coefficients = None
        self._recompute_surface()

    def losses(self) -> Array:
        # |A without row j| = |A| (A⁻¹)_jj, so the gain falls by -½ log((A⁻¹)_jj σ²/n_j).
        return -0.5 * np.log(self._factor.solve_diagonal() * self._noise())

    def copy(self) -> Self:
        other = type(self)(self.kernel, self.noise_variance, merge=self.merge)
        self._copy_shared_to(other)
        other._factor = self._factor.copy()
        other._repeats = [_Repeats(r.count, r.mean, r.scatter, r.largest) for r in self._repeats]
        other._row_of, other._kept = dict(self._row_of), self._kept
        return other

    def refresh(self) -> None:
        K = self.kernel(self.dictionary, self.dictionary)
        self._factor = CholeskyFactor.of(K + np.diag(self._noise()))
        self._cached_coefficients = None
        self._recompute_surface()

    def state(self) -> dict[str, Any]:
        return {
            "noise_variance": self.noise_variance,
            "merge": self.merge,
            "evictions": self.evictions,
            "updates": self._updates,
            "dictionary": self.dictionary.tolist(),
            "repeats": [[r.count, r.mean, r.scatter, r.largest] for r in self._repeats],
        }

    @classmethod
    def restore(cls, kernel: Kernel, state: dict[str, Any]) -> Self:
        belief = cls(kernel, state["noise_variance"], merge=state["merge"])
        belief.evictions, belief._updates = state["evictions"], state["updates"]
        for x, repeats in zip(state["dictionary"], state["repeats"], strict=True):
            belief._add_row(belief._point(x), _Repeats(*repeats))
        belief.refresh()
        return belief

    def _learn(self, x: Array, value: float, k: Array, index: int | None) -> None:
        row = self._row_of.get(_key(x)) if self.merge else None
        if row is None:
            self._learn_new(x, value, k, index)
        else:
            self._learn_again(row, value, index)
        self._cached_coefficients = None
        self._count_update()

    def _learn_new(self, x: Array, value: float, k: Array, index: int | None) -> None:
        v = self._factor.whiten(k)
        variance = max(self.kernel.variance - float(v @ v), 0.0)
        surprise = value - self._mean_at(k, index)
        weights = self._factor.inverse.T @ v
        self._factor.append(k, self.kernel.variance + self.noise_variance)
        kernel_row = None
        if self.surface is not None:
            kernel_row = self.surface.row(x)
            covariance = kernel_row - self.surface.combine(weights, self.dictionary)
            self.surface.assimilate(covariance, surprise, variance + self.noise_variance)
        self._add_row(x, _Repeats(1, value, 0.0, value), kernel_row)

    def _learn_again(self, row: int, value: float, index: int | None) -> None:
        repeats = self._repeats[row]
        noise = self.noise_variance / repeats.count
        if self.surface is not None:
            # k(·, x_i) - k_D A⁻¹ K e_i = noise · k_D A⁻¹ e_i, since K e_i = A e_i - noise e_i: nothing cancels.
            weights = noise * (self._factor.inverse.T @ self._factor.inverse[:, row])
            variance = max(noise - noise * float(weights[row]), 0.0)
            surprise = value - self._mean_at(self.kernel(self.dictionary, self.dictionary[row : row + 1])[:, 0], index)
            covariance = self.surface.combine(weights, self.dictionary)
            self.surface.assimilate(covariance, surprise, variance + self.noise_variance)
        self._factor.change_diagonal(row, -noise / (repeats.count + 1))
        repeats.add(value)
        self._kept += 1

    def _mean_at(self, k: Array, index: int | None) -> float:
        if index is not None and self.surface is not None:
            return float(self.surface.mean[index])
        return float(self._coefficients() @ k)

    def _add_row(self, x: Array, repeats: _Repeats, kernel_row: Array | None = None) -> None:
        self._append_point(self.distinct, x, kernel_row)
        self._row_of[_key(x)] = self.distinct
        self._repeats.append(repeats)
        self._kept += repeats.count

    def _noise(self) -> Array:
        return self.noise_variance / self.counts

    def _largest_value(self) -> float | None:
        return max((r.largest for r in self._repeats), default=None)

    def _whiten(self, K: Array) -> Array:
        return self._factor.whiten(K)

    def _unwhiten(self, V: Array) -> Array:
        return self._factor.inverse.T @ V

    def _shrink(self, V: Array) -> Array:
        return V

    def _coefficients(self) -> Array:
        if self._cached_coefficients is None:
            self._cached_coefficients = self._factor.solve(self.values)
        return self._cached_coefficients


def _key(x: Array) -> bytes:
    return (x + 0.0).tobytes()  # -0.0 is 0.0
