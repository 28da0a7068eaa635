"""Mean and variance on a fixed set of actions, kept up to date as the belief learns."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, final

import numpy as np

from uncubed._typing import Array
from uncubed.kernels import Kernel
from uncubed.threads import one_thread

CACHE_BYTES = 2**29
"""Largest stored cross-kernel; beyond it cross-kernels are recomputed in chunks."""

_WORTH_LIMITING = 2**16  # kernel values in a product from which BLAS may use threads, to its loss
_CHUNK = 2**20  # kernel values computed at a time when they are not stored


@final
class Surface:
    """What a belief says of each of N actions.

    An observation changes mean and variance by the posterior covariance with the observed action, which is a weighted
    sum of kernel rows: O(N·M) by one product, O(N) memory when the rows are not stored.
    """

    def __init__(self, kernel: Kernel, X: Array, *, stored: bool = True) -> None:
        self.kernel = kernel
        self.X = X
        self.mean = np.zeros(len(X))
        self.variance = kernel.diagonal(X)
        self._std: Array | None = None
        self._rows = 0
        self._cross: Array | None = np.empty((0, len(X))) if stored else None

    @property
    def std(self) -> Array:
        """Posterior standard deviation, shape (N,); recomputed only after a change."""
        if self._std is None:
            self._std = np.sqrt(self.variance)
        return self._std

    def copy(self) -> "Surface":
        """An independent surface; a large cross-kernel is recomputed rather than copied."""
        small = self._cross is not None and self._rows * len(self.X) <= _CHUNK
        other = Surface(self.kernel, self.X, stored=small)
        other.mean, other.variance, other._rows = self.mean.copy(), self.variance.copy(), self._rows
        if self._cross is not None and small:
            other._cross = self._cross[: self._rows].copy()
        return other

    def append(self, x: Array, kernel_row: Array | None = None) -> None:
        """Take a new dictionary row, with k(x, X) where it is known."""
        if self._cross is not None:
            self._cross = _with_room(self._cross, self._rows)
        if self._cross is not None:
            self._cross[self._rows] = self.row(x) if kernel_row is None else kernel_row
        self._rows += 1

    def remove(self, row: int) -> None:
        """Drop a dictionary row; mean and variance are left to the caller."""
        if self._cross is not None:
            for i in range(row, self._rows - 1):  # one by one: a block at once would be copied first
                self._cross[i] = self._cross[i + 1]
        self._rows -= 1

    def row(self, x: Array) -> Array:
        """k(x, X), shape (N,)."""
        result = np.empty(len(self.X))
        for chunk in self._chunks(1):
            result[chunk] = self.kernel(x[None, :], self.X[chunk])[0]
        return result

    def column(self, index: int, dictionary: Array) -> Array:
        """k(D, x) for the action of this index, shape (M,)."""
        if self._cross is not None:
            return self._cross[: self._rows, index].copy()
        return self.kernel(dictionary, self.X[index : index + 1])[:, 0]

    def combine(self, weights: Array, dictionary: Array) -> Array:
        """Σ_m weights_m k(d_m, X), shape (N,), or (n, N) for n rows of weights."""
        if self._cross is not None:
            with self._threads():
                return weights @ self._cross[: self._rows]
        result = np.empty((*weights.shape[:-1], len(self.X)))
        for chunk in self._chunks(len(dictionary)):
            result[..., chunk] = weights @ self.kernel(dictionary, self.X[chunk])
        return result

    def assimilate(self, covariance: Array, surprise: float, total_variance: float) -> None:
        """Condition on one value.

        Args:
            covariance: posterior covariance of f at the N actions with f at the observed one; is overwritten.
            surprise: the value less its mean.
            total_variance: the value's variance, noise included.
        """
        self.mean += covariance * (surprise / total_variance)
        covariance *= covariance
        covariance *= -1.0 / total_variance
        self.change_variance(covariance)

    def change_variance(self, change: Array) -> None:
        """Add to the variance, which stays at least 0."""
        self.variance += change
        np.maximum(self.variance, 0.0, out=self.variance)
        self._std = None

    def recompute(self, posterior: Callable[[Array, Array], tuple[Array, Array]], dictionary: Array) -> None:
        """Mean and variance afresh: `posterior(K, diagonal)` of K = k(D, X), chunk by chunk."""
        with self._threads():
            for chunk in self._chunks(len(dictionary)):
                X = self.X[chunk]
                K = self.kernel(dictionary, X) if self._cross is None else self._cross[: self._rows, chunk]
                self.mean[chunk], self.variance[chunk] = posterior(K, self.kernel.diagonal(X))
        self._std = None

    def _threads(self) -> AbstractContextManager[Any]:
        # Entering costs more than a small product takes.
        return one_thread(self._rows) if self._rows * len(self.X) > _WORTH_LIMITING else nullcontext()

    def _chunks(self, rows: int) -> list[slice]:
        step = max(256, _CHUNK // max(1, rows))
        return [slice(start, start + step) for start in range(0, len(self.X), step)]


def _with_room(store: Array, rows: int) -> Array | None:
    """The store with room for one more row, or None when that would be too large."""
    if rows < len(store):
        return store
    capacity = max(8, 2 * rows)
    if capacity * store.shape[1] * 8 > CACHE_BYTES:
        return None
    larger = np.empty((capacity, store.shape[1]))
    larger[:rows] = store
    return larger
