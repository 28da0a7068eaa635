"""A belief that absorbs everything and grows only with what is new."""

import math
from typing import Any, NamedTuple, Self, final

import numpy as np
from scipy.linalg.lapack import dpotrf, dtrtri

from uncubed import _validation as check
from uncubed._typing import Array, ArrayLike
from uncubed.beliefs.base import REFRESH_EVERY, Belief, Posterior
from uncubed.beliefs.roots import Basis, Roots
from uncubed.beliefs.weights import Weights, packed, unpacked
from uncubed.cholesky import CholeskyFactor
from uncubed.kernels import Kernel
from uncubed.threads import one_thread

DEFAULT_NOVELTY = 0.02
"""Default of c, chosen by `benchmarks/novelty.py`; its table is in `benchmarks/README.md`."""

LEAST_NOVELTY = 2e-12  # as a fraction of the prior variance: below it an atom is a duplicate up to rounding
_LOST = 1e-15  # of the square of a weight: what rounding takes from a novelty, at most
_ROUNDED = 1e-8  # novelty, as a fraction of the prior variance, below which rounding counts
_MANY = 4  # points predicted at once from which one product less is worth a factor, which the next ones share
_COLUMNS = 64  # of a triangular matrix multiplied at a time
_TOGETHER = 64  # values taken in at once, at most
_BLOCK = 2**16  # covariances computed at once: arrays that stay in the cache are several times faster


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
        self._weights = Weights()  # w, whose noise is σ² + ρ
        self._roots: Roots | None = None  # of what is known now, once somebody asks
        self._foreseen: tuple[bytes, float, _Projection] | None = None  # by what is known now; often it is told next
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
        return self._weights.information_gain

    def update(self, x: ArrayLike, value: float, *, noise_variance: float | None = None) -> None:
        """Condition on a value observed at x.

        Args:
            x: action, shape (d,).
            value: what was observed.
            noise_variance: of this value, where it is not the belief's.

        Raises:
            InvalidInputError: one of them cannot be used; the belief is as it was.
        """
        noise = self.noise_variance if noise_variance is None else check.positive("noise_variance", noise_variance)
        value = check.real("value", value)
        clean = self._point(x)
        self._take(clean, value, self._projection(clean), noise)

    def absorb(self, x: ArrayLike, value: float, *, noise_variance: float | None = None) -> None:
        """Learn a value without a new atom, however new its action is; what the atoms miss there counts as noise."""
        novelty, self.novelty = self.novelty, math.inf
        try:
            self.update(x, value, noise_variance=noise_variance)
        finally:
            self.novelty = novelty

    def update_many(
        self, X: ArrayLike, values: ArrayLike, noise_variances: ArrayLike, *, max_model_order: int | None = None
    ) -> None:
        """Condition on values in turn: `update`, and `absorb` once there are as many atoms as there may be.

        It does the same but for rounding, several times faster, because what makes no atom is taken in together.

        Args:
            X: actions, shape (n, d).
            values: what was observed at each, shape (n,).
            noise_variances: of each value, shape (n,).
            max_model_order: atoms at most.
        """
        X = check.points("X", X, self.dimension)
        y = check.point("values", values, len(X))
        noise = check.point("noise_variances", noise_variances, len(X))
        check.positive("noise_variances", float(noise.min(initial=1.0)))
        if len(X):
            self._fit_dimension(X.shape[1])
        with one_thread(self.distinct if max_model_order is None else max_model_order):
            self._take_in_turn(X, y, noise, max_model_order)

    def foresee(self, x: ArrayLike) -> "Foreseen":
        """What an update at x would mean; nothing changes."""
        clean = check.array("x", x, ndim=1)
        clean = check.point("x", clean, self.dimension or clean.size)
        self.kernel.check_dimension(clean.size)
        projection = self._projection(clean)
        self._foreseen = clean.tobytes(), self.novelty, projection
        return Foreseen(projection.new, projection.novelty + max(float(projection.z @ projection.Pz), 0.0))

    def atom_means(self) -> Array:
        """Posterior means at the atoms, shape (distinct,)."""
        means: Array = self._factor.lower @ self._weights.mean
        return means

    def explained_by(self, part: Kernel) -> Array:
        """What a summand of the kernel explains of the posterior means at the atoms, shape (distinct,)."""
        explained: Array = part(self.dictionary, self.dictionary) @ self._coefficients()
        return explained

    def predict(self, X: ArrayLike) -> Posterior:
        clean = check.points("X", X, self.dimension)
        if len(clean) * self.distinct <= _BLOCK:
            return super().predict(clean)
        parts = np.array_split(clean, math.ceil(len(clean) * self.distinct / _BLOCK))
        answers = [super(ProjectedBelief, self).predict(part) for part in parts]
        return Posterior(*(np.concatenate(column) for column in zip(*answers, strict=True)))

    def remove(self, row: int) -> None:
        # The marginal over the remaining atoms is kept exactly: all they can hold of what this one knew. In whitened
        # coordinates it is the Schur complement of Λ in the direction n that only this atom holds.
        row = check.index("row", row, self.distinct)
        self._forget()
        n = self._factor.inverse[:, row].copy()
        n /= np.sqrt(n @ n)
        self._remove_from_surface(n)
        self._weights.marginalise(n, self._factor.remove(row))
        self._remove_point(row, self.distinct + 1)

    def _remove_from_surface(self, n: Array) -> None:
        # With u = nᵀz the part of z that goes, mean zᵀm and variance v - zᵀz + zᵀPz change by these: O(N·M).
        if self.surface is None:
            return
        Pn = self._weights.covariance @ n
        u, q = self.surface.combine(np.stack([n, Pn]) @ self._factor.inverse, self.dictionary)
        self.surface.mean -= u * float(n @ self._weights.mean)
        self.surface.change_variance(u * (u * (1.0 + float(n @ Pn)) - 2.0 * q))

    def losses(self) -> Array:
        # With K⁻¹ = WᵀW and S⁻¹ = WᵀΛW the precisions of f_D before and after anything was seen, the gain
        # ½ log|K|/|S| falls by ½ log (S⁻¹)_jj / (K⁻¹)_jj when atom j is marginalised out.
        W = self._factor.inverse
        after = np.empty(len(W))
        for start in range(0, len(W), _COLUMNS):  # above its diagonal W is zero
            part = W[start:, start : start + _COLUMNS]
            after[start : start + _COLUMNS] = np.einsum(
                "ij,ij->j", part, self._weights.precision[start:, start:] @ part
            )
        losses: Array = 0.5 * np.log(after / self._factor.solve_diagonal())
        return losses

    def copy(self) -> Self:
        other = type(self)(self.kernel, self.noise_variance, novelty=self.novelty)
        self._copy_shared_to(other)
        other._factor = self._factor.copy()
        other._weights = self._weights.copy()
        other._best, other._absorbed = self._best, self._absorbed
        return other

    def refresh(self) -> None:
        self._forget()
        self._factor = CholeskyFactor.from_lower(self._factor.lower)
        self._weights.refresh()
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
            "lower": packed(self._factor.lower),
            **self._weights.state(),
        }

    @classmethod
    def restore(cls, kernel: Kernel, state: dict[str, Any]) -> Self:
        belief = cls(kernel, state["noise_variance"], novelty=state["novelty"])
        belief.evictions, belief._updates = state["evictions"], state["updates"]
        belief._absorbed, belief._best = state["absorbed"], state["best"]
        for row, x in enumerate(state["dictionary"]):
            belief._append_point(row, belief._point(x))
        belief._factor = CholeskyFactor.from_lower(unpacked(state["lower"]))
        belief._weights = Weights.restore(state)
        belief.refresh()
        return belief

    def _learn(self, x: Array, value: float, k: Array, index: int | None) -> None:
        self._take(x, value, self._project(k), self.noise_variance)

    def _column(self, x: Array) -> Array:
        column: Array = self.kernel(self._atoms(x[None, :]), x[None, :])[:, 0]
        return column

    def _projection(self, x: Array) -> "_Projection":
        if self._foreseen is not None and self._foreseen[:2] == (x.tobytes(), self.novelty):
            return self._foreseen[2]
        return self._project(self._column(x))

    def _project(self, k: Array) -> "_Projection":
        v = self.kernel.variance
        z = self._factor.inverse @ k
        if v - float(z @ z) < _ROUNDED * v:  # else an atom could have a pivot that is rounding
            z = self._factor.whiten_precisely(k)
        Pz = self._weights.covariance @ z
        novelty = max(v - float(z @ z), 0.0)
        least = max(self.novelty * float(z @ Pz), LEAST_NOVELTY * v)
        return self._reliable(_Projection(k, z, Pz, novelty, novelty > least, None), least)

    def _reliable(self, projection: "_Projection", least: float) -> "_Projection":
        """Atoms in clumps stand for a point between them by large weights of both signs, which lose as many digits.

        An atom whose novelty were such rounding would spoil all that come after it.
        """
        if not projection.new:
            return projection
        v, z = self.kernel.variance, self._factor.whiten_precisely(projection.k)
        weights = self._factor.inverse.T @ z
        lost = _LOST * v * float(weights @ weights)
        novelty = max(v - float(z @ z), lost)
        return projection._replace(novelty=novelty, new=novelty > max(least, 2.0 * lost), row=z)

    def _take(self, x: Array, value: float, projection: "_Projection", noise_variance: float) -> None:
        self._forget()
        _, z, Pz, novelty, new, _ = projection
        if new:
            z, Pz = self._add_atom(x, projection)
            novelty = 0.0
        surprise, total = self._weights.learn(z, Pz, value, noise_variance + novelty)
        if self.surface is not None:
            covariance = self.surface.combine(self._factor.inverse.T @ Pz, self.dictionary)
            self.surface.assimilate(covariance, surprise, total)
        self._count(value)

    def _take_in_turn(self, X: Array, y: Array, noise: Array, max_model_order: int | None) -> None:
        done, block, atoms = 0, 2, True
        while done < len(X):
            room = math.inf if max_model_order is None else max_model_order - self.distinct
            keeps = atoms and room > 0  # as the last one was an atom, these may be
            together = slice(done, done + (int(min(block, room)) if keeps else block))
            part = X[together], y[together], noise[together]
            taken = 0
            if self.surface is None:
                taken = self._keep_block(*part) if keeps else self._absorb_block(*part, full=room <= 0)
            done += taken
            if taken == len(part[0]):
                block = min(2 * block, _TOGETHER)
            else:  # the next one is of the other kind, or nearly
                block, before = max(taken, 2), self.distinct
                (self.absorb if room <= 0 else self.update)(X[done], float(y[done]), noise_variance=float(noise[done]))
                done, atoms = done + 1, self.distinct > before

    def _keep_block(self, X: Array, y: Array, noise: Array) -> int:
        """Take in the rows before the first that would be no atom, or hardly one; how many that is.

        While all are atoms, the factors of what is left of their covariance hold what each leaves: without noise its
        novelty, with it what is unknown of it.
        """
        v, M = self.kernel.variance, self.distinct
        Z = self._factor.whiten_precisely(self.kernel(self._atoms(X), X))  # as these become rows of the factor
        PZ = self._weights.covariance @ Z
        left = self.kernel(X, X) - Z.T @ Z
        L, failed = dpotrf(left, lower=1)
        known, failed_too = dpotrf(left + Z.T @ PZ + np.diag(noise), lower=1)
        if failed or failed_too:
            return 0
        rows = np.hstack([Z.T, L])
        inverse = dtrtri(L, lower=1)[0]
        inverse_rows = np.hstack([-inverse @ (Z.T @ self._factor.inverse), inverse])
        pivots = np.diagonal(L)
        unknown = np.diagonal(known) ** 2 - noise - pivots**2
        lost = _LOST * v * (pivots**2 * np.einsum("ij,ij->i", inverse_rows, inverse_rows) - 1.0)
        new = pivots**2 > np.maximum(np.maximum(self.novelty * unknown, 2.0 * lost), _ROUNDED * v)
        n = len(X) if new.all() else int(new.argmin())
        if n > 0:
            self._factor.extend(rows[:n, : M + n], inverse_rows[:n, : M + n])
            self._border(X[:n])
            below = L[:n, :n].T
            self._assimilate(
                np.vstack([Z[:, :n], below]), np.vstack([PZ[:, :n], below]), y[:n], noise[:n], known[:n, :n]
            )
        return n

    def _border(self, X: Array) -> None:
        """Coordinates of new atoms: a priori independent of the others, and nothing is known of them yet."""
        for row, x in enumerate(X, start=self.distinct - len(X)):
            self._append_point(row, x)
        self._weights.border(len(X))

    def _absorb_block(self, X: Array, y: Array, noise: Array, *, full: bool) -> int:
        """Take in the rows before the first that would be an atom; how many that is.

        The Cholesky factor of their joint covariance holds what each leaves unknown after those before it, so that
        the rule for atoms is that of one after the other.
        """
        Z = self._factor.whiten(self.kernel(self.dictionary, X))
        PZ = self._weights.covariance @ Z
        novelty = np.maximum(self.kernel.variance - np.einsum("ij,ij->j", Z, Z), 0.0)
        noise = noise + novelty
        try:
            L: Array = np.linalg.cholesky(Z.T @ PZ + np.diag(noise)).astype(np.float64, copy=False)
        except np.linalg.LinAlgError:
            return 0
        unknown = np.diagonal(L) ** 2 - noise
        new = novelty > np.maximum(self.novelty * unknown, LEAST_NOVELTY * self.kernel.variance)
        n = len(X) if full or not new.any() else int(new.argmax())
        if n > 0:
            self._assimilate(Z[:, :n], PZ[:, :n], y[:n], noise[:n], L[:n, :n])
        return n

    def _assimilate(self, Z: Array, PZ: Array, y: Array, noise: Array, L: Array) -> None:
        self._forget()
        self._weights.learn_many(Z, PZ, y, noise, L)
        self._count(float(y.max()), len(y))

    def _count(self, best: float, more: int = 1) -> None:
        """Of so many values taken in, this was the best."""
        self._best = best if self._best is None else max(self._best, best)
        self._absorbed += more
        due = self._updates // REFRESH_EVERY
        self._updates += more
        if self._updates // REFRESH_EVERY > due:
            self.refresh()

    def _add_atom(self, x: Array, projection: "_Projection") -> tuple[Array, Array]:
        self._factor.append(projection.k, self.kernel.variance, projection.row)
        self._border(x[None, :])
        pivot = self._factor.lower[-1, -1]
        return np.append(projection.z, pivot), np.append(projection.Pz, pivot)

    def _largest_value(self) -> float | None:
        return self._best

    def _forget(self) -> None:
        """What was computed of what was known."""
        self._roots = self._foreseen = None

    def _answering(self) -> Roots:
        if self._roots is None:
            self._roots = Roots(self._factor.inverse, self._weights.covariance, self._weights.mean)
        return self._roots

    def _basis(self, columns: int) -> Basis | None:
        return self._answering().basis if columns >= _MANY else None

    def _whiten(self, K: Array) -> Array:
        return (self._basis(K.shape[1]) or self._factor).whiten(K)

    def _unwhiten(self, V: Array) -> Array:
        basis = self._basis(V.shape[1])
        return self._factor.inverse.T @ V if basis is None else basis.unwhiten(V)

    def _shrink(self, V: Array) -> Array:
        return V - self._weights.covariance @ V if self._basis(V.shape[1]) is None else V

    def _coefficients(self) -> Array:
        return self._answering().coefficients


class Foreseen(NamedTuple):
    """Whether an action would be an atom, and its posterior variance."""

    kept: bool
    variance: float


class _Projection(NamedTuple):
    """An action seen through the atoms.

    k = k_D(x), z, Λ⁻¹z, the novelty, whether that makes it an atom, and if it may, z as precisely as a factor needs it.
    """

    k: Array
    z: Array
    Pz: Array
    novelty: float
    new: bool
    row: Array | None
