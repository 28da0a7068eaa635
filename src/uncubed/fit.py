"""Hyper-parameters: the most probable ones, given what is kept and a prior on their logarithms (MAP).

Inputs lie in the unit cube, values have mean 0 and variance 1. With M rows and G length-scales one evaluation costs
O(M³ + G M²), and a fit holds G M²/2 numbers: 5 MB for M = 256 and G = 20.
"""

import math
from contextlib import suppress
from dataclasses import dataclass, field
from typing import NamedTuple, final

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dpotrf, dpotri, dpotrs
from scipy.optimize import Bounds, minimize
from scipy.spatial.distance import pdist, squareform

from uncubed._typing import Array
from uncubed.cholesky import JITTERS
from uncubed.errors import NotPositiveDefiniteError
from uncubed.kernels import Kernel
from uncubed.threads import one_thread


class LogNormal(NamedTuple):
    """A prior on a positive number: log θ ~ N(log median, spread²), cut off at the least and the largest.

    A number whose least is its largest is fixed.
    """

    median: float
    spread: float
    least: float
    largest: float

    def times(self, factor: float) -> "LogNormal":
        """The prior of θ times a number."""
        return LogNormal(self.median * factor, self.spread, self.least * factor, self.largest * factor)


class Priors(NamedTuple):
    """On what a fit may find.

    The defaults were chosen by the density of held-out values, from 5 to 50 values of draws of Matérn 5/2 processes:
    short length-scales unless the values say otherwise, since too long ones are sure of what nobody has seen.

    Attributes:
        length_scale: in units of √G, G parameters, because distances in the cube grow with it.
        variance: of f; rather above 1, because a few values differ less among themselves than f does.
        noise_variance: of an observation; wide, because values may be exact.
    """

    length_scale: LogNormal = LogNormal(0.2, 1.0, 0.005, 50.0)
    variance: LogNormal = LogNormal(2.0, 0.5, 0.01, 100.0)
    noise_variance: LogNormal = LogNormal(1e-2, 3.0, 1e-11, 1.0)


@final
@dataclass(frozen=True, eq=False)
class Observations:
    """What a likelihood needs: rows with repeats merged.

    Attributes:
        X: actions, distinct but where their noise differs, shape (M, d).
        mean: of the values at each, shape (M,).
        count: how many values that is, shape (M,).
        scatter: Σ (value - mean)² over all repeats of learned noise.
        noise: variance of one value's noise where it was given, shape (M,); NaN, as in all rows unless given, where it
            is the one to be learned.
    """

    X: Array
    mean: Array
    count: Array
    scatter: float
    noise: Array = field(default_factory=lambda: np.array(np.nan))

    def __post_init__(self) -> None:
        object.__setattr__(self, "noise", np.broadcast_to(self.noise, self.mean.shape))


@final
@dataclass(frozen=True, eq=False)
class Fit:
    """What was found.

    Attributes:
        kernel: with its length-scales and variance.
        noise_variance: σ².
        log_posterior: at these, up to a constant that the priors give; -inf where there is none.
        converged: whether the search ended at a maximum.
    """

    kernel: Kernel
    noise_variance: float
    log_posterior: float
    converged: bool


def fit(
    kernel: Kernel,
    noise_variance: float,
    data: Observations,
    *,
    groups: NDArray[np.int64] | None = None,
    priors: Priors | None = None,
    known_noise: bool = False,
    starts: int = 2,
    rng: np.random.Generator | None = None,
) -> Fit:
    """The most probable hyper-parameters: the best maximum of log p(values | θ) + log p(θ) that a few ascents find.

    Where there is nothing to find, with less than two rows or all values equal, the start comes back as it is.

    Args:
        kernel: where to start; its class and whether it is ARD are kept.
        noise_variance: where to start.
        data: what to explain. Where all its noise is given, the one learned is what the prior makes most probable.
        groups: coordinates that share a length-scale have the same number, shape (d,); all their own unless given.
        priors: on the logarithms.
        known_noise: leave the noise as it is.
        starts: how many besides the given one: the priors' medians first, then random ones.
        rng: of the random ones; the same ones every time unless given.

    >>> X = np.linspace(0.0, 1.0, 9)[:, None]
    >>> data = Observations(X, np.cos(3.0 * X[:, 0]), np.ones(9), 0.0)
    >>> from uncubed.kernels import Matern52
    >>> found = fit(Matern52(0.2), 0.1, data)
    >>> found.converged, found.noise_variance < 0.001
    (True, True)
    """
    unfitted = Fit(kernel, noise_variance, -math.inf, converged=False)
    if len(data.X) < 2 or data.X.shape[1] == 0 or (np.ptp(data.mean) == 0 and data.scatter == 0):
        return unfitted
    problem = _Problem(kernel, noise_variance, data, groups=groups, priors=priors or Priors(), known_noise=known_noise)
    found = [unfitted]
    with one_thread(len(data.X)):
        for theta in problem.starts(starts, rng):
            with suppress(np.linalg.LinAlgError):
                found.append(problem.ascend(theta))
    return max(found, key=lambda one: one.log_posterior)


class _Problem:
    """The log posterior of θ = (log length-scale of each group, log variance, log noise), and its gradient."""

    def __init__(
        self,
        kernel: Kernel,
        noise_variance: float,
        data: Observations,
        *,
        groups: NDArray[np.int64] | None,
        priors: Priors,
        known_noise: bool,
    ) -> None:
        self.kernel, self.noise, self.known_noise = kernel, noise_variance, known_noise
        d = data.X.shape[1]
        names, members = np.unique(np.arange(d) if groups is None else groups, return_inverse=True)
        self.groups = np.zeros(d, np.int64) if kernel.isotropic else members
        self.likelihood = Likelihood(data, self.groups)
        noise = LogNormal(noise_variance, 1.0, noise_variance, noise_variance) if known_noise else priors.noise_variance
        scale = priors.length_scale.times(math.sqrt(names.size))
        table = np.array([*[scale] * (1 if kernel.isotropic else names.size), priors.variance, noise])
        self.medians, self.spreads = np.log(table[:, 0]), table[:, 1]
        self.least, self.largest = np.log(table[:, 2]), np.log(table[:, 3])

    def starts(self, more: int, rng: np.random.Generator | None) -> list[Array]:
        """Where to start, each of shape (G + 2,): as given, at the medians, and at draws from the priors."""
        first = np.unique(self.groups, return_index=True)[1]
        scales = np.broadcast_to(self.kernel.length_scale, self.groups.shape)[first]
        given = np.log([*scales, self.kernel.variance, self.noise])
        rng = np.random.default_rng(0) if rng is None else rng
        draws = self.spreads * rng.standard_normal((max(0, more - 1), given.size))
        raw = [given, self.medians, *(self.medians + draws)][: more + 1]
        return [np.clip(theta, self.least, self.largest) for theta in raw]

    def at(self, theta: Array) -> tuple[Kernel, float]:
        scales = theta[:1] if self.kernel.isotropic else theta[self.groups]
        noise = self.noise if self.known_noise else math.exp(theta[-1])
        return self.kernel.with_theta(np.append(scales, theta[-2])), noise

    def ascend(self, start: Array) -> Fit:
        """The maximum above a start, to as many digits as a log posterior is worth."""
        result = minimize(
            self.loss,
            start,
            jac=True,
            method="L-BFGS-B",
            bounds=Bounds(self.least, self.largest),
            options={"maxiter": 60, "ftol": 1e-7, "gtol": 1e-4},
        )
        return Fit(*self.at(result.x), -float(result.fun), bool(result.success))

    def loss(self, theta: Array) -> tuple[float, Array]:
        """Minus the log posterior, and its gradient, shape (G + 2,)."""
        kernel, noise = self.at(theta)
        value, gradient = self.likelihood(kernel, np.exp(theta[:-2]), noise)
        z = (theta - self.medians) / self.spreads
        return 0.5 * float(z @ z) - value, z / self.spreads - gradient


@final
class Likelihood:
    """log p(values) of merged rows, with its gradient: that of `ExactBelief`, but for many kernels in turn.

    The scatter of rows whose noise was given changes nothing that is learned, and is left out.

    Args:
        data: the values, in M ≥ 2 rows.
        groups: the length-scale of each coordinate, numbers below G, shape (d,).
    """

    def __init__(self, data: Observations, groups: NDArray[np.int64]) -> None:
        self.data = data
        shared = (data.X[:, groups == g] for g in range(int(groups.max()) + 1))
        # Squared differences of all pairs of rows, shape (G, M(M-1)/2): nothing cancels, and pairs come once.
        self.squares = np.stack([pdist(part, "sqeuclidean") for part in shared])

    def __call__(self, kernel: Kernel, scales: Array, noise: float) -> tuple[float, Array]:
        """The value, and the gradient in the log length-scale of each group, the log variance and the log noise.

        With α = A⁻¹y and B = ααᵀ - A⁻¹ the derivative of the value is ½ Σ B ∘ ∂A; and r² depends on log ℓ_g through
        -2 times its own term. The sum has each pair twice.

        Args:
            kernel: its class and variance; its length-scales are not looked at.
            scales: length-scale of each group, shape (G,).
            noise: σ².

        Raises:
            NotPositiveDefiniteError: no jitter helps, or it is not a number: in no case of finite data.
        """
        y, n, v = self.data.mean, self.data.count, kernel.variance
        learned = np.isnan(self.data.noise)
        own = np.where(learned, noise, self.data.noise)  # variance of one value's noise, by row
        precision = scales**-2.0
        r2 = precision @ self.squares
        slope = kernel.slope(r2.copy())
        K = kernel.at(r2)
        L = _factor(K, v + own / n)
        alpha = dpotrs(L, y, lower=1)[0]
        value = -0.5 * float(y @ alpha) - float(np.log(np.diagonal(L)).sum()) - 0.5 * n.size * math.log(2 * math.pi)
        spare, scatter = n - 1.0, self.data.scatter
        value -= 0.5 * (float(spare @ np.log(2 * math.pi * own)) + float(np.log(n).sum()) + scatter / noise)
        B = np.outer(alpha, alpha) - dpotri(L, lower=1)[0].T
        on, off = np.diagonal(B), squareform(B, checks=False)
        by_scale = -2.0 * v * precision * (self.squares @ (off * slope))
        by_variance = float(off @ K) + 0.5 * v * float(on.sum())
        by_noise = 0.5 * (float((on * (noise / n) - spare)[learned].sum()) + scatter / noise)
        gradient = np.append(by_scale, [by_variance, by_noise])
        if not (math.isfinite(value) and np.isfinite(gradient).all()):
            raise NotPositiveDefiniteError(f"log likelihood: expected a number, got {value}")
        return value, gradient


def _factor(pairs: Array, diagonal: Array) -> Array:
    """The lower factor of a matrix given by its pairs; above its diagonal is anything.

    A factor that fails is tried again with ever more on the diagonal, as in a belief, but without a warning.
    """
    A = squareform(pairs)
    for jitter in (0.0, *JITTERS):
        np.fill_diagonal(A, diagonal * (1.0 + jitter))
        factored = dpotrf(A.T, lower=1, clean=0)
        if factored[1] == 0:
            L: Array = factored[0]
            return L
    raise NotPositiveDefiniteError(f"matrix: expected a jitter of at most {JITTERS[-1]:g} to do, got {len(A)} rows")
