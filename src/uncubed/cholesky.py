"""A Cholesky factor that grows and shrinks in O(M²).

`CholeskyFactor` keeps A = L Lᵀ and W = L⁻¹ side by side. With W a solve is a product, which for the small models
kept here is several times faster than a triangular solve and needs no copy of the stored array.

Every change but `append` is a rank-one change of a trailing block, L' L'ᵀ = L (I + s p pᵀ) Lᵀ with s = ±1. The factor
G of I + s p pᵀ is known in closed form: with t_k = 1 + s Σ_{j≤k} p_j² (t_{-1} = 1),

    G_kk = √(t_k / t_{k-1}),    G_ik = s p_i p_k / √(t_k t_{k-1})  for i > k,

so L G and G⁻¹ B are cumulative sums.
"""

import warnings
from typing import NamedTuple, final

import numpy as np
from scipy.linalg.blas import dtrmm
from scipy.linalg.lapack import dtrtri

from uncubed._typing import Array
from uncubed.errors import JitterWarning, NotPositiveDefiniteError

JITTERS = (1e-12, 1e-10, 1e-8, 1e-6)
"""Fractions of the diagonal that are tried, in this order, when a pivot is not positive."""

_SMALLEST_PIVOT = 1e-12  # as a fraction of the diagonal: below it the pivot is rounding error
_BLOCK = 64  # rows of W multiplied at a time: skips most of the zeros above the diagonal
_MANY = 64  # columns from which that is worth the calls
_AT_ONCE = 64  # rows up to which a triangular matrix is inverted at once


class _RankOne(NamedTuple):
    """The factor G of I + s p pᵀ, as what its products need."""

    p: Array
    sign: float
    before: Array  # t_{k-1}
    root: Array  # √(t_k t_{k-1})

    @classmethod
    def of(cls, p: Array, sign: float) -> "_RankOne":
        t = 1.0 + sign * np.cumsum(p * p)
        before = np.empty_like(t)
        before[0], before[1:] = 1.0, t[:-1]
        return cls(p, sign, before, np.sqrt(t * before))

    def after(self, L: Array) -> Array:
        """L G."""
        weighted = L * self.p
        beyond = weighted.sum(axis=1, keepdims=True) - np.cumsum(weighted, axis=1)
        t = self.root * self.root / self.before
        changed: Array = (L * t + self.sign * self.p * beyond) / self.root
        return changed

    def solve(self, B: Array) -> Array:
        """G⁻¹ B."""
        p = self.p[:, None]
        weighted = p * B
        earlier = np.cumsum(weighted, axis=0) - weighted
        result: Array = (self.before[:, None] * B - self.sign * p * earlier) / self.root[:, None]
        return result


class Removal(NamedTuple):
    """What removing row j did to whitened coordinates: w' = T w, T with orthonormal rows, f_D = L w."""

    row: int
    change: _RankOne | None

    def apply(self, B: Array) -> Array:
        """T B for B of shape (M, n): n columns in the old coordinates."""
        j = self.row
        if self.change is None:
            return B[:j]
        return np.vstack([B[:j], self.change.solve(B[j + 1 :] + self.change.p[:, None] * B[j])])


@final
class CholeskyFactor:
    """L and L⁻¹ of a symmetric positive definite matrix, by rows that come and go.

    >>> factor = CholeskyFactor()
    >>> factor.append(np.empty(0), 4.0)
    >>> factor.append(np.array([2.0]), 5.0)
    >>> factor.lower
    array([[2., 0.],
           [1., 2.]])
    """

    def __init__(self) -> None:
        self._size = 0
        self._L = np.zeros((8, 8))
        self._W = np.zeros((8, 8))

    @classmethod
    def of(cls, A: Array) -> "CholeskyFactor":
        """The factor of a whole matrix, at once where that works and row by row, with jitter, where it does not."""
        try:
            return cls.from_lower(np.linalg.cholesky(A).astype(np.float64, copy=False))
        except np.linalg.LinAlgError:
            factor = cls()
            for m in range(len(A)):
                factor.append(A[m, :m], float(A[m, m]))
            return factor

    @classmethod
    def from_lower(cls, L: Array) -> "CholeskyFactor":
        """The factor with this L."""
        factor = cls()
        while len(factor._L) < len(L):
            factor._L, factor._W = _doubled(factor._L), _doubled(factor._W)
        factor._size = len(L)
        if len(L):
            factor.lower[:], factor.inverse[:] = L, inverted(np.array(L, order="F"))
        return factor

    def __len__(self) -> int:
        return self._size

    @property
    def lower(self) -> Array:
        """L, shape (M, M); a view."""
        return self._L[: self._size, : self._size]

    @property
    def inverse(self) -> Array:
        """W = L⁻¹, shape (M, M); a view."""
        return self._W[: self._size, : self._size]

    @property
    def log_determinant(self) -> float:
        """log |A|."""
        return 2.0 * float(np.log(np.diagonal(self.lower)).sum())

    def copy(self) -> "CholeskyFactor":
        """An independent factor of the same matrix."""
        other = CholeskyFactor()
        other._size, other._L, other._W = self._size, self._L.copy(), self._W.copy()
        return other

    def whiten(self, B: Array) -> Array:
        """L⁻¹ B for B of shape (M,) or (M, n)."""
        W = self.inverse
        if B.ndim == 1 or B.shape[1] < _MANY or self._size <= _BLOCK:
            return W @ B
        result = np.empty((self._size, B.shape[1]))
        for start in range(0, self._size, _BLOCK):
            stop = min(start + _BLOCK, self._size)
            np.matmul(W[start:stop, :stop], B[:stop], out=result[start:stop])
        return result

    def solve(self, B: Array) -> Array:
        """A⁻¹ B for B of shape (M,) or (M, n)."""
        return self.inverse.T @ self.whiten(B)

    def solve_diagonal(self) -> Array:
        """The diagonal of A⁻¹, shape (M,)."""
        diagonal: Array = np.einsum("ij,ij->j", self.inverse, self.inverse)
        return diagonal

    def append(self, column: Array, diagonal: float, row: Array | None = None) -> None:
        """Add a row and column to A.

        Args:
            column: covariances with the rows that are there, shape (M,).
            diagonal: the new diagonal entry.
            row: what `whiten_precisely` makes of the column, where it is known.

        Raises:
            NotPositiveDefiniteError: the pivot is not positive even with the largest jitter; nothing has changed.
        """
        M = self._size
        row = self.whiten_precisely(column) if row is None else row
        pivot = _positive_pivot(diagonal, float(row @ row))
        if M == len(self._L):
            self._L, self._W = _doubled(self._L), _doubled(self._W)
        self._L[M, :M], self._L[M, M] = row, pivot
        self._W[M, :M], self._W[M, M] = -(row @ self.inverse) / pivot, 1.0 / pivot
        self._size += 1

    def extend(self, rows: Array, inverse_rows: Array) -> None:
        """Add rows that are known: n of L and n of its inverse, each of shape (n, M + n)."""
        M, n = self._size, len(rows)
        while M + n > len(self._L):
            self._L, self._W = _doubled(self._L), _doubled(self._W)
        self._L[M : M + n, : M + n], self._W[M : M + n, : M + n] = rows, inverse_rows
        self._size += n

    def remove(self, row: int) -> Removal:
        """Drop a row and column of A; returns what that did to whitened coordinates."""
        M, j = self._size, row
        L, W = self.lower.copy(), self.inverse.copy()
        # The trailing block absorbs column j: L33' L33'ᵀ = L33 L33ᵀ + l lᵀ.
        change = _RankOne.of(W[j + 1 :, j + 1 :] @ L[j + 1 :, j], 1.0) if j < M - 1 else None
        removal = Removal(j, change)
        self._size -= 1
        if change is not None:
            self._L[j : M - 1, :j] = L[j + 1 :, :j]
            self._L[j : M - 1, j : M - 1] = np.tril(change.after(L[j + 1 :, j + 1 :]))
            kept = np.delete(removal.apply(W), j, axis=1)
            self._W[: M - 1, : M - 1] = np.tril(kept)
        self._L[M - 1, :], self._W[M - 1, :] = 0.0, 0.0
        return removal

    def change_diagonal(self, row: int, change: float) -> None:
        """Add `change` to one diagonal entry of A; A must stay positive definite."""
        j = row
        L, W = self.lower[j:, j:], self.inverse[j:, :]
        one = _RankOne.of(np.sqrt(abs(change)) * W[:, j], float(np.sign(change)))
        L[:] = np.tril(one.after(L))
        W[:] = one.solve(W)

    def whiten_precisely(self, column: Array) -> Array:
        """L⁻¹ of one column, shape (M,), or of some, shape (M, n), as `append` computes it."""
        # One step of refinement: the explicit inverse alone would lose digits that the factor itself keeps.
        row = self.inverse @ column
        refined: Array = row + self.inverse @ (column - self.lower @ row)
        return refined


def _positive_pivot(diagonal: float, explained: float) -> float:
    least = _SMALLEST_PIVOT * abs(diagonal)
    if diagonal - explained > least:
        return float(np.sqrt(diagonal - explained))
    for jitter in JITTERS:
        if diagonal * (1.0 + jitter) - explained > least:
            warnings.warn(
                f"a pivot of {diagonal - explained:.3g} on a diagonal of {diagonal:.3g}: "
                f"added a jitter of {jitter:g} of the diagonal",
                JitterWarning,
                stacklevel=4,
            )
            return float(np.sqrt(diagonal * (1.0 + jitter) - explained))
    raise NotPositiveDefiniteError(
        f"pivot {diagonal - explained:.3g} on a diagonal of {diagonal:.3g} is not positive, after jitters of "
        f"{', '.join(f'{j:g}' for j in JITTERS)} times the diagonal; is the kernel positive definite, and are all "
        "inputs finite?"
    )


def _doubled(store: Array) -> Array:
    n = len(store)
    larger = np.zeros((2 * n, 2 * n))
    larger[:n, :n] = store
    return larger


def inverted(L: Array) -> Array:
    """L⁻¹ of a lower triangular matrix, in place where that is in columns; above its diagonal is what was there.

    It goes by halves, because products are several times as fast as `dtrtri`.
    """
    if len(L) <= _AT_ONCE:
        small: Array = dtrtri(L, lower=1, overwrite_c=1)[0]
        return small
    half = len(L) // 2
    first, last = inverted(L[:half, :half]), inverted(L[half:, half:])
    below = dtrmm(1.0, first, L[half:, :half], side=1, lower=1)
    L[half:, :half] = dtrmm(-1.0, last, below, lower=1, overwrite_b=1)
    L[:half, :half], L[half:, half:] = first, last
    return L
