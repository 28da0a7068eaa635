"""What is known of the whitened weights of a projected belief."""

from typing import Any, Self, final

import numpy as np
from scipy.linalg.lapack import dtrtrs

from uncubed._typing import Array
from uncubed.cholesky import CholeskyFactor, Removal


@final
class Weights:
    """A Gaussian vector w, standard normal before anything was seen, and values zᵀw + noise.

    It is kept twice: as sums, which lose nothing, and as the posterior that is asked for, updated with each value and
    computed afresh by `refresh`.

    Attributes:
        precision: Λ = I + Σ z zᵀ / σ², shape (M, M).
        vector: Σ z y / σ², so that the mean is Λ⁻¹ of it, shape (M,).
        covariance: P = Λ⁻¹, shape (M, M).
        mean: shape (M,).
    """

    def __init__(self) -> None:
        self.precision, self.vector = np.empty((0, 0)), np.empty(0)
        self.covariance, self.mean = np.empty((0, 0)), np.empty(0)

    @property
    def information_gain(self) -> float:
        """In nats."""
        return 0.5 * float(np.linalg.slogdet(self.precision)[1])

    def border(self, more: int) -> None:
        """Weights of which nothing is known yet."""
        self.precision, self.covariance = _bordered(self.precision, more), _bordered(self.covariance, more)
        nothing = np.zeros(more)
        self.vector, self.mean = np.append(self.vector, nothing), np.append(self.mean, nothing)

    def learn(self, z: Array, Pz: Array, value: float, noise: float) -> tuple[float, float]:
        """Condition on a value; by how much it differed from what was expected, and the variance of that.

        Args:
            z: of the value, shape (M,).
            Pz: P z.
            value: what was observed.
            noise: σ².
        """
        total = float(z @ Pz) + noise
        surprise = value - float(z @ self.mean)
        weighted = z / np.sqrt(noise)
        self.precision += weighted[:, None] * weighted  # symmetric to the last bit, as `restore` makes it
        self.vector += z * (value / noise)
        self.covariance -= Pz[:, None] * (Pz / total)
        self.mean += Pz * (surprise / total)
        return surprise, total

    def learn_many(self, Z: Array, PZ: Array, values: Array, noises: Array, L: Array) -> None:
        """Condition on n values at once.

        Args:
            Z: of each, shape (M, n).
            PZ: P Z.
            values: what was observed, shape (n,).
            noises: σ² of each, shape (n,).
            L: lower factor of their covariance Zᵀ P Z + diag σ².
        """
        surprise = values - self.mean @ Z
        solved = dtrtrs(L, np.column_stack([PZ.T, surprise]), lower=1)[0]
        explained, surprise = solved[:, :-1], solved[:, -1]
        weighted = Z / np.sqrt(noises)
        self.precision += weighted @ weighted.T  # symmetric to the last bit, of one matrix and its transpose
        self.vector += Z @ (values / noises)
        self.covariance -= explained.T @ explained
        self.mean += surprise @ explained

    def marginalise(self, n: Array, removal: Removal) -> None:
        """Leave out the direction n; the others are as known as before, in coordinates that the removal gives."""
        along = self.precision @ n
        held, known = float(n @ along), float(n @ self.vector)
        shared, vector, self.mean = removal.apply(np.column_stack([along, self.vector, self.mean])).T.copy()
        self.precision = _on_both_sides(removal, self.precision)
        self.precision -= np.outer(shared, shared) / held
        self.vector = vector - shared * (known / held)
        self.covariance = _on_both_sides(removal, self.covariance)

    def refresh(self) -> None:
        """Compute the posterior afresh from the sums."""
        W = CholeskyFactor.of(self.precision).inverse
        self.covariance = W.T @ W
        self.mean = self.covariance @ self.vector

    def copy(self) -> Self:
        other = type(self)()
        other.precision, other.vector = self.precision.copy(), self.vector.copy()
        other.covariance, other.mean = self.covariance.copy(), self.mean.copy()
        return other

    def state(self) -> dict[str, Any]:
        """The sums as JSON values."""
        return {"precision": packed(self.precision), "vector": self.vector.tolist()}

    @classmethod
    def restore(cls, state: dict[str, Any]) -> Self:
        """Of these sums; to be refreshed."""
        weights, lower = cls(), unpacked(state["precision"])
        weights.precision, weights.vector = lower + np.tril(lower, -1).T, np.array(state["vector"], float)
        return weights


def packed(matrix: Array) -> list[list[float]]:
    """The rows of a matrix up to its diagonal."""
    return [row[: i + 1].tolist() for i, row in enumerate(matrix)]


def unpacked(rows: list[list[float]]) -> Array:
    """The lower triangular matrix of these rows."""
    lower = np.zeros((len(rows), len(rows)))
    for i, row in enumerate(rows):
        lower[i, : i + 1] = row
    return lower


def _bordered(matrix: Array, more: int) -> Array:
    n = len(matrix)
    larger = np.eye(n + more)
    larger[:n, :n] = matrix
    return larger


def _on_both_sides(removal: Removal, A: Array) -> Array:
    """T A Tᵀ for a symmetric A, symmetric to the last bit."""
    j = removal.row
    below = removal.apply(A)[j:]
    corner = removal.apply(below.T)[j:]
    result = np.empty((len(A) - 1, len(A) - 1))
    result[:j, :j], result[j:, j:] = A[:j, :j], 0.5 * (corner + corner.T)
    result[j:, :j], result[:j, j:] = below[:, :j], below[:, :j].T
    return result
