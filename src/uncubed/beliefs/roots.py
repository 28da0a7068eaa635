"""What many predictions of a projected belief share, computed once."""

from functools import cached_property
from typing import final

import numpy as np
from scipy.linalg.blas import dtrmm
from scipy.linalg.lapack import dpotrf

from uncubed._typing import Array

_FEW = 16  # columns below which half the work costs more than all of it


@final
class Roots:
    """A basis that needs no shrinking, and the weights of the mean.

    With C = I - P = FᵀF the variance is k(x, x) - |G k|², G = F W: one product, in place of those with W and with C,
    and as exact, since no square of W is formed. F and G are lower triangular.

    Args:
        W: inverse of the factor of K_DD, shape (M, M).
        P: posterior covariance of the whitened weights, shape (M, M).
        mean: their posterior mean, shape (M,).
    """

    def __init__(self, W: Array, P: Array, mean: Array) -> None:
        self._W, self._P, self._mean = W, P, mean

    @cached_property
    def coefficients(self) -> Array:
        """Wᵀ mean, shape (M,)."""
        coefficients: Array = self._W.T @ self._mean
        return coefficients

    @cached_property
    def basis(self) -> "Basis | None":
        """G; None where so little is known that rounding makes C indefinite."""
        C = np.negative(self._P[::-1, ::-1])  # backwards, as all that follows until it is turned round
        C.flat[:: len(C) + 1] += 1.0
        backwards, info = dpotrf(C.T, lower=1, clean=0, overwrite_a=1)
        if info != 0:
            return None
        transposed = np.asfortranarray(backwards[::-1, ::-1])  # Fᵀ
        return Basis(dtrmm(1.0, transposed, self._W.T, side=1).T)


@final
class Basis:
    """A lower triangular G, shape (M, M), in rows."""

    def __init__(self, G: Array) -> None:
        self._G = G

    def whiten(self, K: Array) -> Array:
        """G K, in columns."""
        if K.shape[1] < _FEW:
            return np.asfortranarray(self._G @ np.ascontiguousarray(K))  # twice as fast as with K in columns
        product: Array = dtrmm(1.0, self._G.T, K.T, side=1)
        return product.T

    def unwhiten(self, V: Array) -> Array:
        """Gᵀ V."""
        product: Array = np.ascontiguousarray(V.T) @ self._G
        return product.T
