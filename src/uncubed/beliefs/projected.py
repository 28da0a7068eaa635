"""A belief that absorbs everything and grows only with what is new."""

import math
from typing import Any, Self, final

import numpy as np

from uncubed import _validation as check
from uncubed._typing import Array, ArrayLike
from uncubed.beliefs.base import Belief
from uncubed.cholesky import CholeskyFactor
from uncubed.kernels import Kernel

DEFAULT_NOVELTY = 0.02
"""Default of c, chosen by `benchmarks/novelty.py`; its table is in `benchmarks/README.md`."""

_LEAST_NOVELTY = 1e-10  # as a fraction of the prior variance: below it an atom is a duplicate up to rounding


@final
class ProjectedBelief(Belief):
    """Every value is absorbed; an action becomes an atom only when the atoms cannot stand for it.

    With L the factor of K_DD and z(x) = L⁻¹ k_D(x), f(x) = zᵀw + r(x), w standard normal before anything was seen and
    r(x) of variance ρ(x) = k(x, x) - zᵀz, the *novelty*. A value at x is conditioned on exactly, then r(x) is
    marginalised out: Λ grows by z zᵀ / (σ² + ρ). Treating the r of different values as independent is the one
    approximation, and repeats of one action break it: what lies outside the atoms does not average out. So x becomes
    an atom as soon as that could matter,

        ρ(x) > c · zᵀ Λ⁻¹ z,

    that is, when what the atoms miss at x is not small beside what is still unknown about what they hold. Repeats then
    widen the z-scores near x to a variance of about 1 + 2c at worst, and no further however many come.

    Args:
        kernel: prior covariance.
        noise_variance: σ².
        novelty: c. Smaller is closer to the dense GP, with more atoms; at 0 every new action is an atom.
    """

    absorbs = True
    _spares_newest = True  # or a repeated action would be evicted each time, and its residual taken for fresh noise

    def __init__(self, kernel: Kernel, noise_variance: float = 1e-3, *, novelty: float = DEFAULT_NOVELTY) -> None:
        super().__init__(kernel, noise_variance)
        self.novelty = check.non_negative("novelty", novelty)
        self._factor = CholeskyFactor()
        self._precision = np.empty((0, 0))  # Λ
        self._vector = np.empty(0)  # Σ z y / (σ² + ρ), so that the mean of w is Λ⁻¹ of it
        self._covariance = np.empty((0, 0))  # P = Λ⁻¹, updated, and computed afresh by refresh()
        self._mean = np.empty(0)  # of w
        self._best: float | None = None
        self._absorbed = 0

    @property
    def distinct(self) -> int:
        return len(self._factor)

    @property
    def model_order(self) -> int:
        return len(self._factor)

    def __repr__(self) -> str:
        kind = (
            f"{type(self).__name__}({self.kernel!r}, noise_variance={self.noise_variance:g}, novelty={self.novelty:g})"
        )
        return f"{kind}: {self.absorbed} observations in {self.distinct} atoms"

    @property
    def absorbed(self) -> int:
        """Values taken in, atoms or not."""
        return self._absorbed

    @property
    def information_gain(self) -> float:
        return 0.5 * float(np.linalg.slogdet(self._precision)[1])

    def absorb(self, x: ArrayLike, value: float) -> None:
        """Learn a value without a new atom, however new its action is; what the atoms miss there counts as noise."""
        novelty, self.novelty = self.novelty, math.inf
        try:
            self.update(x, value)
        finally:
            self.novelty = novelty

    def remove(self, row: int) -> None:
        # The marginal over the remaining atoms is kept exactly: all they can hold of what this one knew. In whitened
        # coordinates it is the Schur complement of Λ in the direction n that only this atom holds.
        row = check.index("row", row, self.distinct)
        n = self._factor.inverse[:, row].copy()
        n /= np.sqrt(n @ n)
        along = self._precision @ n
        held, known = float(n @ along), float(n @ self._vector)
        removal = self._factor.remove(row)
        shared = removal.apply(along[:, None])[:, 0]
        rest = removal.apply(removal.apply(self._precision).T) - np.outer(shared, shared) / held
        self._precision = 0.5 * (rest + rest.T)
        self._vector = removal.apply(self._vector[:, None])[:, 0] - shared * (known / held)
        marginal = removal.apply(removal.apply(self._covariance).T)
        self._covariance = 0.5 * (marginal + marginal.T)
        self._mean = removal.apply(self._mean[:, None])[:, 0]
        self._remove_point(row, self.distinct + 1)
        self._recompute_surface()

    def losses(self) -> Array:
        # With K⁻¹ = WᵀW and S⁻¹ = WᵀΛW the precisions of f_D before and after anything was seen, the gain
        # ½ log|K|/|S| falls by ½ log (S⁻¹)_jj / (K⁻¹)_jj when atom j is marginalised out.
        W = self._factor.inverse
        after = np.einsum("ij,ij->j", W, self._precision @ W)
        losses: Array = 0.5 * np.log(after / self._factor.solve_diagonal())
        return losses

    def copy(self) -> Self:
        other = type(self)(self.kernel, self.noise_variance, novelty=self.novelty)
        self._copy_shared_to(other)
        other._factor = self._factor.copy()
        other._precision, other._vector = self._precision.copy(), self._vector.copy()
        other._covariance, other._mean = self._covariance.copy(), self._mean.copy()
        other._best, other._absorbed = self._best, self._absorbed
        return other

    def refresh(self) -> None:
        self._factor = CholeskyFactor.from_lower(self._factor.lower)
        self._covariance = _inverse(self._precision)
        self._mean = self._covariance @ self._vector
        self._recompute_surface()

    def state(self) -> dict[str, Any]:
        return {
            "noise_variance": self.noise_variance,
            "novelty": self.novelty,
            "evictions": self.evictions,
            "updates": self._updates,
            "absorbed": self._absorbed,
            "best": self._best,
            "dictionary": self.dictionary.tolist(),
            "lower": _packed(self._factor.lower),
            "precision": _packed(self._precision),
            "vector": self._vector.tolist(),
        }

    @classmethod
    def restore(cls, kernel: Kernel, state: dict[str, Any]) -> Self:
        belief = cls(kernel, state["noise_variance"], novelty=state["novelty"])
        belief.evictions, belief._updates = state["evictions"], state["updates"]
        belief._absorbed, belief._best = state["absorbed"], state["best"]
        for row, x in enumerate(state["dictionary"]):
            belief._append_point(row, belief._point(x))
        lower = _unpacked(state["precision"])
        belief._factor = CholeskyFactor.from_lower(_unpacked(state["lower"]))
        belief._precision = lower + np.tril(lower, -1).T
        belief._vector = np.array(state["vector"], float)
        belief.refresh()
        return belief

    def _learn(self, x: Array, value: float, k: Array, index: int | None) -> None:
        z = self._factor.inverse @ k
        Pz = self._covariance @ z
        novelty = max(self.kernel.variance - float(z @ z), 0.0)
        if novelty > max(self.novelty * float(z @ Pz), _LEAST_NOVELTY * self.kernel.variance):
            z, Pz = self._add_atom(x, k, z, Pz)
            novelty = 0.0
        noise = self.noise_variance + novelty
        total = float(z @ Pz) + noise
        surprise = value - float(z @ self._mean)
        if self.surface is not None:
            covariance = self.surface.combine(self._factor.inverse.T @ Pz, self.dictionary)
            self.surface.assimilate(covariance, surprise, total)
        weighted = z / np.sqrt(noise)
        self._precision += weighted[:, None] * weighted  # symmetric to the last bit, as restore() makes it
        self._vector += z * (value / noise)
        self._covariance -= Pz[:, None] * (Pz / total)
        self._mean += Pz * (surprise / total)
        self._best = value if self._best is None else max(self._best, value)
        self._absorbed += 1
        self._count_update()

    def _add_atom(self, x: Array, k: Array, z: Array, Pz: Array) -> tuple[Array, Array]:
        self._factor.append(k, self.kernel.variance)
        self._append_point(self.distinct - 1, x)
        # The new coordinate is a priori independent of the old ones, and nothing is known of it yet.
        self._precision, self._covariance = _bordered(self._precision), _bordered(self._covariance)
        self._vector, self._mean = np.append(self._vector, 0.0), np.append(self._mean, 0.0)
        pivot = self._factor.lower[-1, -1]
        return np.append(z, pivot), np.append(Pz, pivot)

    def _largest_value(self) -> float | None:
        return self._best

    def _whiten(self, K: Array) -> Array:
        return self._factor.whiten(K)

    def _unwhiten(self, V: Array) -> Array:
        return self._factor.inverse.T @ V

    def _shrink(self, V: Array) -> Array:
        return V - self._covariance @ V

    def _coefficients(self) -> Array:
        coefficients: Array = self._factor.inverse.T @ self._mean
        return coefficients


def _bordered(matrix: Array) -> Array:
    n = len(matrix)
    larger = np.eye(n + 1)
    larger[:n, :n] = matrix
    return larger


def _inverse(matrix: Array) -> Array:
    W = CholeskyFactor.of(matrix).inverse
    inverse: Array = W.T @ W
    return inverse


def _packed(matrix: Array) -> list[list[float]]:
    return [row[: i + 1].tolist() for i, row in enumerate(matrix)]


def _unpacked(rows: list[list[float]]) -> Array:
    lower = np.zeros((len(rows), len(rows)))
    for i, row in enumerate(rows):
        lower[i, : i + 1] = row
    return lower
