"""What every belief can do, and the algebra they share.

Posterior over f given a dictionary D of M atoms, for K = k(D, X):

| name | meaning | shape |
|---|---|---|
| V = B K | whitened cross-kernel, B the belief's basis | (r, n) |
| C V | V shrunk to what is known (C = I for exact beliefs) | (r, n) |
| mean | Kᵀ coefficients | (n,) |
| variance | k(x, x) - Σ V ∘ C V | (n,) |
"""

from abc import ABC, abstractmethod
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from uncubed import _validation as check
from uncubed._typing import Array, ArrayLike
from uncubed.beliefs.surface import Surface
from uncubed.errors import InvalidInputError
from uncubed.kernels import Kernel

REFRESH_EVERY = 1024
"""Updates after which sums and products that were updated are computed afresh, so that rounding cannot pile up."""


class Posterior(NamedTuple):
    """Mean and variance of f at n points, each of shape (n,)."""

    mean: Array
    variance: Array


class PosteriorGradient(NamedTuple):
    """Mean and variance of f at n points, shape (n,), with their gradients in x, shape (n, d)."""

    mean: Array
    variance: Array
    mean_gradient: Array
    variance_gradient: Array


class Belief(ABC):
    """A Gaussian belief about f: mean 0 and covariance `kernel` before anything was observed.

    Args:
        kernel: prior covariance.
        noise_variance: σ², variance of an observation's noise.
    """

    exact: ClassVar[bool] = False
    """Whether it is the exact posterior of the values it keeps."""

    absorbs: ClassVar[bool]
    """Whether the value of an action that was not worth sampling is used when it comes anyway."""

    def __init__(self, kernel: Kernel, noise_variance: float = 1e-3) -> None:
        if not isinstance(kernel, Kernel):
            raise InvalidInputError(f"kernel: expected a Kernel, got {type(kernel).__name__}")
        self.kernel = kernel
        self.noise_variance = check.positive("noise_variance", noise_variance)
        self.surface: Surface | None = None
        self.evictions = 0
        self._points = np.empty((0, 0))
        self._updates = 0
        self._expects = False
        self._observed_best: float | None = None

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({self.kernel!r}, noise_variance={self.noise_variance:g}): "
            f"{self.model_order} observations in {self.distinct} atoms"
        )

    # What is known

    @property
    @abstractmethod
    def distinct(self) -> int:
        """Rows actually stored."""

    @property
    @abstractmethod
    def model_order(self) -> int:
        """Kept observations, as the paper counts them."""

    @property
    @abstractmethod
    def information_gain(self) -> float:
        """½ log|I + K/σ²| of what the belief holds, in nats."""

    @property
    def best_value(self) -> float | None:
        """The largest value it holds, expected ones aside; None before the first."""
        return self._observed_best if self._expects else self._largest_value()

    @property
    def dictionary(self) -> Array:
        """The retained points, shape (distinct, d); read-only."""
        view = self._points[: self.distinct]
        view.flags.writeable = False
        return view

    @property
    def dimension(self) -> int | None:
        """Dimension of the actions, None before the first is seen."""
        return self._points.shape[1] or None

    # Learning

    def update(self, x: ArrayLike, value: float) -> None:
        """Condition on a value observed at x.

        Raises:
            InvalidInputError: x or the value cannot be used; the belief is as it was.
        """
        value = check.real("value", value)
        clean = self._point(x)
        self._learn(clean, value, self.kernel(self.dictionary, clean[None, :])[:, 0], None)

    def update_at(self, index: int, value: float) -> None:
        """Condition on a value observed at one of the tracked actions."""
        surface = self._tracked()
        index, value = check.index("index", index, len(surface.X)), check.real("value", value)
        self._learn(surface.X[index], value, surface.column(index, self.dictionary), index)

    @abstractmethod
    def remove(self, row: int) -> None:
        """Drop an atom."""

    @abstractmethod
    def losses(self) -> Array:
        """The information, in nats, that removing each atom would lose, shape (distinct,)."""

    def evict(self) -> int:
        """Remove the atom whose removal loses the least information, the newest aside where that matters; its row."""
        if self.distinct < 2:
            raise InvalidInputError(f"evict: expected at least 2 atoms, got {self.distinct}")
        losses = self.losses()
        row = int(np.argmin(losses[:-1] if self._spares_newest else losses))
        self.remove(row)
        self.evictions += 1
        return row

    def condition(self, X: ArrayLike) -> Self:
        """A copy that also expects values at X: variances as if they had come, the mean as it is."""
        expecting = self.copy()
        for x in check.points("X", X, self.dimension):
            expecting.update(x, float(expecting.predict(x[None, :]).mean[0]))
        expecting._expects, expecting._observed_best = True, self.best_value
        return expecting

    @abstractmethod
    def copy(self) -> Self:
        """An independent belief that knows the same."""

    @abstractmethod
    def refresh(self) -> None:
        """Compute everything that was updated afresh; changes nothing but rounding."""

    # Answering

    def predict(self, X: ArrayLike) -> Posterior:
        """Mean and variance of f at the rows of X, shape (n, d)."""
        clean = check.points("X", X, self.dimension)
        self.kernel.check_dimension(clean.shape[1])
        return Posterior(*self._posterior(self.kernel(self._atoms(clean), clean), self.kernel.diagonal(clean)))

    def gradient(self, X: ArrayLike) -> PosteriorGradient:
        """Mean and variance at the rows of X with their gradients in x."""
        clean = check.points("X", X, self.dimension)
        self.kernel.check_dimension(clean.shape[1])
        D = self._atoms(clean)
        values, slope = self.kernel.at_with_slope(self.kernel.squared_distance(clean, D))
        K = values.T
        V = self._whiten(K)
        CV = self._shrink(V)
        variance = np.maximum(self.kernel.variance - np.einsum("ij,ij->j", V, CV), 0.0)
        coefficients = self._coefficients()
        mean_gradient, explained = self.kernel.contracted_gradient(
            clean, D, coefficients, self._unwhiten(CV).T, slope=slope
        )
        return PosteriorGradient(coefficients @ K, variance, mean_gradient, -2.0 * explained)

    def covariance(self, X: ArrayLike) -> Array:
        """Joint posterior covariance of f at the rows of X, shape (n, n)."""
        clean = check.points("X", X, self.dimension)
        self.kernel.check_dimension(clean.shape[1])
        V = self._whiten(self.kernel(self._atoms(clean), clean))
        return self.kernel(clean, clean) - V.T @ self._shrink(V)

    def sample(self, X: ArrayLike, size: int, rng: np.random.Generator) -> Array:
        """Joint draws of f at the rows of X, shape (size, n); O(n³)."""
        clean = check.points("X", X, self.dimension)
        draws: Array = rng.standard_normal((size, len(clean))) @ root(self.covariance(clean)).T
        draws += self.predict(clean).mean
        return draws

    def track(self, X: ArrayLike) -> Surface:
        """Keep mean and variance of these actions up to date from now on, in `surface`."""
        clean = check.points("X", X, self.dimension)
        self._fit_dimension(clean.shape[1])
        clean = clean.copy() if clean.flags.writeable else clean  # nobody else may change what is tracked
        self.surface = Surface(self.kernel, clean, stored=self._stores_cross_kernel)
        for d in self.dictionary:
            self.surface.append(d)
        self._recompute_surface()
        return self.surface

    # On disk

    @abstractmethod
    def state(self) -> dict[str, Any]:
        """What `restore` needs, as JSON values; its size is that of the model."""

    @classmethod
    @abstractmethod
    def restore(cls, kernel: Kernel, state: dict[str, Any]) -> Self:
        """The belief that gave this state."""

    # The algebra, by each belief

    _stores_cross_kernel: ClassVar[bool] = True
    _spares_newest: ClassVar[bool] = False

    @abstractmethod
    def _learn(self, x: Array, value: float, k: Array, index: int | None) -> None:
        """Condition on a value at x, where k = k(D, x)."""

    @abstractmethod
    def _largest_value(self) -> float | None:
        """Of all values that were learned."""

    @abstractmethod
    def _whiten(self, K: Array) -> Array:
        """B K."""

    @abstractmethod
    def _unwhiten(self, V: Array) -> Array:
        """Bᵀ V."""

    @abstractmethod
    def _shrink(self, V: Array) -> Array:
        """C V."""

    @abstractmethod
    def _coefficients(self) -> Array:
        """Weights of the mean on the dictionary, shape (distinct,)."""

    # Shared

    def _posterior(self, K: Array, diagonal: Array) -> tuple[Array, Array]:
        V = self._whiten(K)
        explained = np.einsum("ij,ij->j", V, self._shrink(V))
        return self._coefficients() @ K, np.maximum(diagonal - explained, 0.0)

    def _recompute_surface(self) -> None:
        if self.surface is not None:
            self.surface.recompute(self._posterior, self.dictionary)

    def _copy_shared_to(self, other: "Belief") -> None:
        other.surface = self.surface.copy() if self.surface is not None else None
        other.evictions, other._updates = self.evictions, self._updates
        other._expects, other._observed_best = self._expects, self._observed_best
        other._points = self._points.copy()

    def _count_update(self) -> None:
        self._updates += 1
        if self._updates % REFRESH_EVERY == 0:
            self.refresh()

    def _tracked(self) -> Surface:
        if self.surface is None:
            raise InvalidInputError("index: expected tracked actions, got none; call track(X) first")
        return self.surface

    def _point(self, x: ArrayLike) -> Array:
        clean = check.array("x", x, ndim=1)
        self._fit_dimension(clean.size)
        return check.point("x", clean, self._points.shape[1])

    def _fit_dimension(self, dimension: int) -> None:
        if self._points.shape[1] == 0:
            if dimension == 0:
                raise InvalidInputError("x: expected at least one coordinate, got none")
            self.kernel.check_dimension(dimension)
            self._points = np.empty((8, dimension))

    def _atoms(self, X: Array) -> Array:
        # Before the first observation the dictionary has no dimension of its own.
        return self.dictionary if self._points.shape[1] else np.empty((0, X.shape[1]))

    def _append_point(self, row: int, x: Array, kernel_row: Array | None = None) -> None:
        if row == len(self._points):
            self._points = np.vstack([self._points, np.empty_like(self._points)])
        self._points[row] = x
        if self.surface is not None:
            self.surface.append(x, kernel_row)

    def _remove_point(self, row: int, rows: int) -> None:
        self._points[row : rows - 1] = self._points[row + 1 : rows].copy()
        if self.surface is not None:
            self.surface.remove(row)


def root(covariance: Array) -> Array:
    """R with R Rᵀ = covariance, which is often singular to rounding."""
    try:
        return np.asarray(np.linalg.cholesky(nudged(covariance)), float)
    except np.linalg.LinAlgError:
        values, vectors = np.linalg.eigh(covariance)
        square_root: Array = vectors * np.sqrt(np.maximum(values, 0.0))
        return square_root


def nudged(covariance: Array) -> Array:
    """The same with a little more on the diagonal."""
    more: Array = covariance + 1e-10 * np.diagonal(covariance).max() * np.eye(len(covariance))
    return more
