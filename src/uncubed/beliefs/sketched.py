"""BKB, the paper's baseline: a posterior on a random sketch of the past, redrawn after every observation."""

from typing import Any, Self, final

import numpy as np
from numpy.typing import NDArray

from uncubed import _validation as check
from uncubed._typing import Array, ArrayLike
from uncubed.beliefs.base import Belief
from uncubed.kernels import Kernel


@final
class SketchedBelief(Belief):
    """Budgeted kernelised bandits (Calandriello et al., 2019), with λ = σ² so that it is a GP with that noise.

    S is the inducing set, z(x) = diag(s)^-½ Uᵀ k_S(x) with K_S = U diag(s) Uᵀ, Λ = I + σ⁻² Σ z zᵀ over all
    observations, aggregated per action. After each observation S is drawn anew: each past observation stays with
    probability min(1, q̄ · variance/σ²), the variance being that of the previous model.

    Args:
        kernel: prior covariance.
        noise_variance: σ² (λ in BKB).
        oversampling: q̄; 2 to 10 is advised, at 1 too little is kept to hold what was learned; inf keeps every action.
        seed: of the draws.
    """

    absorbs = True
    _stores_cross_kernel = False  # S changes as a whole: there is no row to keep

    def __init__(
        self, kernel: Kernel, noise_variance: float = 1e-3, *, oversampling: float = 2.0, seed: int | None = None
    ) -> None:
        super().__init__(kernel, noise_variance)
        unlimited = isinstance(oversampling, float) and oversampling == np.inf
        self.oversampling = np.inf if unlimited else check.positive("oversampling", oversampling)
        self._rng = np.random.default_rng(seed)
        self._pulled = np.empty((0, 0))  # distinct actions, (n, d)
        self._counts = np.empty(0)
        self._sums = np.empty(0)
        self._row_of: dict[bytes, int] = {}
        self._best: float | None = None
        self._inducing = np.empty(0, np.intp)  # rows of _pulled
        self._basis = np.empty((0, 0))  # diag(s)^-½ Uᵀ
        self._precision = np.empty((0, 0))
        self._covariance = np.empty((0, 0))
        self._mean = np.empty(0)

    @property
    def distinct(self) -> int:
        return len(self._inducing)

    @property
    def model_order(self) -> int:
        return len(self._inducing)

    @property
    def information_gain(self) -> float:
        return 0.5 * float(np.linalg.slogdet(self._precision)[1])

    @property
    def effective_dimension(self) -> float:
        """Σ variance/σ² over all observations: what BKB's confidence width is made of."""
        if not len(self._pulled):
            return 0.0
        return float(self._counts @ self.predict(self._pulled).variance) / self.noise_variance

    @property
    def observations(self) -> int:
        """Values taken in."""
        return int(self._counts.sum())

    def remove(self, row: int) -> None:
        """Drop an atom from the sketch; its values stay."""
        row = check.index("row", row, self.distinct)
        self._build(np.delete(self._inducing, row))

    def losses(self) -> Array:
        # The values stay when an atom goes, so there is no shorter way than to try each.
        without = [np.delete(self._inducing, row) for row in range(self.distinct)]
        gains = [0.5 * float(np.linalg.slogdet(self._sketch(S)[1])[1]) for S in without]
        return self.information_gain - np.array(gains, float)

    def condition(self, X: ArrayLike) -> Self:
        """A copy that also expects values at X, which join the sketch; nothing is redrawn."""
        expecting = self.copy()
        clean = check.points("X", X, self.dimension)
        for x, mean in zip(clean, self.predict(clean).mean, strict=True):
            row = expecting._row(expecting._point(x))
            expecting._counts[row] += 1.0
            expecting._sums[row] += mean
            expecting._build(np.union1d(expecting._inducing, [row]))
        return expecting

    def copy(self) -> Self:
        return type(self)._with(self.kernel, self.state(), self.surface.X if self.surface is not None else None)

    def refresh(self) -> None:
        self._build(self._inducing)

    def state(self) -> dict[str, Any]:
        return {
            "noise_variance": self.noise_variance,
            "oversampling": "inf" if self.oversampling == np.inf else self.oversampling,
            "evictions": self.evictions,
            "updates": self._updates,
            "best": self._best,
            "pulled": self._pulled.tolist(),
            "counts": self._counts.tolist(),
            "sums": self._sums.tolist(),
            "inducing": self._inducing.tolist(),
            "random": self._rng.bit_generator.state,
        }

    @classmethod
    def restore(cls, kernel: Kernel, state: dict[str, Any]) -> Self:
        return cls._with(kernel, state, None)

    @classmethod
    def _with(cls, kernel: Kernel, state: dict[str, Any], tracked: Array | None) -> Self:
        belief = cls(kernel, state["noise_variance"], oversampling=float(state["oversampling"]))
        belief.evictions, belief._updates, belief._best = state["evictions"], state["updates"], state["best"]
        belief._rng.bit_generator.state = state["random"]
        for x in state["pulled"]:
            belief._row(belief._point(x))
        belief._counts, belief._sums = np.array(state["counts"], float), np.array(state["sums"], float)
        belief._build(np.array(state["inducing"], np.intp))
        if tracked is not None:
            belief.track(tracked)
        return belief

    def _learn(self, x: Array, value: float, k: Array, index: int | None) -> None:
        row = self._row(x)
        variance = self.predict(self._pulled).variance  # of the previous model
        self._counts[row] += 1.0
        self._sums[row] += value
        self._best = value if self._best is None else max(self._best, value)
        self._updates += 1
        self._build(self._draw(variance / self.noise_variance))

    def _row(self, x: Array) -> int:
        """The row of an action, a new one with no observations if need be."""
        key = (x + 0.0).tobytes()  # -0.0 is 0.0
        if key in self._row_of:
            return self._row_of[key]
        row = len(self._counts)
        self._pulled = np.vstack([self._pulled.reshape(row, x.size), x])
        self._counts, self._sums = np.append(self._counts, 0.0), np.append(self._sums, 0.0)
        self._row_of[key] = row
        return row

    def _draw(self, relative_variance: Array) -> NDArray[np.intp]:
        stay = np.minimum(1.0, self.oversampling * np.maximum(relative_variance, np.finfo(float).tiny))
        some = 1.0 - (1.0 - stay) ** self._counts  # at least one of an action's observations stays
        drawn = np.flatnonzero(self._rng.random(len(some)) < some)
        return drawn if len(drawn) else np.array([int(np.argmax(some))], np.intp)

    def _build(self, inducing: NDArray[np.intp]) -> None:
        self._inducing = inducing.astype(np.intp)
        S = self._pulled[self._inducing]
        self._points = S if S.size else np.empty((8, max(self._points.shape[1], S.shape[1])))
        self._basis, self._precision, vector = self._sketch(self._inducing)
        self._covariance = np.linalg.inv(self._precision).astype(np.float64, copy=False)
        self._mean = self._covariance @ vector
        self._recompute_surface()

    def _sketch(self, inducing: NDArray[np.intp]) -> tuple[Array, Array, Array]:
        """diag(s)^-½ Uᵀ, Λ and σ⁻² Σ z y for an inducing set."""
        if not len(inducing):
            return np.empty((0, 0)), np.empty((0, 0)), np.empty(0)
        S = self._pulled[inducing]
        s, U = np.linalg.eigh(self.kernel(S, S))
        large = s > s[-1] * len(s) * np.finfo(float).eps
        basis: Array = (U[:, large] / np.sqrt(s[large])).T
        Z = basis @ self.kernel(S, self._pulled)
        precision: Array = np.eye(len(Z)) + (Z * self._counts) @ Z.T / self.noise_variance
        return basis, precision, Z @ self._sums / self.noise_variance

    def _largest_value(self) -> float | None:
        return self._best

    def _whiten(self, K: Array) -> Array:
        return self._basis @ K

    def _unwhiten(self, V: Array) -> Array:
        return self._basis.T @ V

    def _shrink(self, V: Array) -> Array:
        return V - self._covariance @ V

    def _coefficients(self) -> Array:
        return self._basis.T @ self._mean
