"""Hyper-parameters: the most probable ones, given what is kept and a prior on their logarithms (MAP).

Inputs lie in the unit cube, values have mean 0 and variance 1, repeats and all. With M rows and G length-scales one
evaluation costs O(M³ + G M²), and a fit holds G M²/2 numbers: 5 MB for M = 256 and G = 20.
"""

import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import NamedTuple, final

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import dsyr
from scipy.linalg.lapack import dlauum, dpotrf, dpotrs
from scipy.optimize import Bounds, OptimizeResult, minimize
from scipy.spatial.distance import pdist

from uncubed._typing import Array
from uncubed.bend import Bend, Bent, bend
from uncubed.cholesky import JITTERS, inverted
from uncubed.errors import NotPositiveDefiniteError
from uncubed.kernels import Kernel
from uncubed.observations import Observations
from uncubed.rippled import Rippled
from uncubed.threads import one_thread

STEPS = 60
"""Of an ascent, at most: mostly a dozen or two are enough."""

NAT = 1.0
"""Of the log posterior, that a step must gain where it is only taken if it is worth it: as much says nothing."""

_MUCH_NOISE = 0.3  # of the variance of the values
_NOISES = 5.0  # standard deviations of the noise within which nothing is bent: it would bend the noise


class LogNormal(NamedTuple):
    """A prior on a positive number: log θ ~ N(log median, spread²), cut off at the least and the largest.

    A number whose least is its largest is fixed.
    """

    median: float
    spread: float
    least: float
    largest: float

    def at_least(self, least: float) -> "LogNormal":
        """The prior cut off at more, or at its largest."""
        return self._replace(least=min(max(self.least, least), self.largest))

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
        radius: within which values are not bent, in standard deviations of theirs; hardly bent unless they say so.
        alike: correlation of the logarithms of two length-scales: most of what is not known of one is not known of all,
            and a fit to a few values that is free to make one short and the next long finds chance.
        odds: of a `Rippled` kernel's ripples against its trend, w/(1 - w),
        ratio: and of its two scales, τ.
    """

    length_scale: LogNormal = LogNormal(0.2, 1.0, 0.005, 50.0)
    variance: LogNormal = LogNormal(2.0, 0.5, 0.01, 100.0)
    noise_variance: LogNormal = LogNormal(1e-2, 3.0, 1e-11, 1.0)
    radius: LogNormal = LogNormal(10.0, 2.0, 1e-4, 1e3)
    alike: float = 0.75
    odds: LogNormal = LogNormal(0.1, 1.5, 1e-4, 1.0)
    ratio: LogNormal = LogNormal(0.15, 0.7, 0.02, 0.5)


@final
@dataclass(frozen=True, eq=False)
class Fit:
    """What was found.

    Attributes:
        kernel: with its length-scales and variance.
        noise_variance: σ².
        log_posterior: at these, up to a constant that the priors give; -inf where there is none.
        converged: whether the search ended at a maximum.
        bend: how values were bent before the kernel and the noise explain them.
    """

    kernel: Kernel
    noise_variance: float
    log_posterior: float
    converged: bool
    bend: Bend = field(default_factory=Bend)


def fit(
    kernel: Kernel,
    noise_variance: float,
    data: Observations,
    *,
    groups: NDArray[np.int64] | None = None,
    priors: Priors | None = None,
    radius: float | None = None,
    starts: int = 2,
    patience: int = STEPS,
    from_noise: bool = False,
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
        radius: where to start with the radius of a bend; values are not bent unless it is given.
        starts: how many besides the given one: the priors' medians first, then random ones.
        patience: steps of an ascent after which it ends where one gains less than a nat.
        from_noise: whether to start too where most of what is seen is noise.
        rng: of the random ones; the same ones every time unless given.

    >>> X = np.linspace(0.0, 1.0, 9)[:, None]
    >>> data = Observations(X, np.cos(3.0 * X[:, 0]), np.ones(9), 0.0)
    >>> from uncubed.kernels import Matern52
    >>> found = fit(Matern52(0.2), 0.1, data)
    >>> found.converged, found.noise_variance < 0.001
    (True, True)
    """
    unfitted = Fit(kernel, noise_variance, -math.inf, converged=False)
    if len(data.X) < 2 or data.X.shape[1] == 0 or (np.ptp(data.mean) == 0 and not data.scatter.any()):
        return unfitted
    if radius is not None:  # what was learned of bent values goes with the bend
        unfitted = replace(unfitted, bend=bend(data, radius).bend)
    problem = _Problem(kernel, noise_variance, data, groups=groups, priors=priors or Priors(), radius=radius)
    found = [unfitted]
    with one_thread(len(data.X)):
        for theta in [*problem.starts(starts, rng), *([problem.mostly_noise()] if from_noise else [])]:
            with suppress(np.linalg.LinAlgError):
                found.append(problem.ascend(theta, patience))
    return max(found, key=lambda one: one.log_posterior)


class _Problem:
    """The log posterior of θ, and its gradient.

    θ has the logarithms of G length-scales, of the variance, of what else the kernel has, of the noise and, where
    values are bent, of the radius.
    """

    def __init__(
        self,
        kernel: Kernel,
        noise_variance: float,
        data: Observations,
        *,
        groups: NDArray[np.int64] | None,
        priors: Priors,
        radius: float | None,
    ) -> None:
        self.kernel, self.noise, self.radius = kernel, noise_variance, radius
        d = data.X.shape[1]
        names, members = np.unique(np.arange(d) if groups is None else groups, return_inverse=True)
        self.groups = np.zeros(d, np.int64) if kernel.isotropic else members
        self.data, self.likelihood = data, Likelihood(data, self.groups)
        scale = priors.length_scale.times(math.sqrt(names.size))
        self.scales = 1 if kernel.isotropic else names.size
        bent = [] if radius is None else [priors.radius.at_least(_NOISES * _noise_of(data))]
        more = [priors.odds, priors.ratio] if isinstance(kernel, Rippled) else []
        table = np.array([*[scale] * self.scales, priors.variance, *more, priors.noise_variance, *bent])
        self.noise_at = self.scales + 1 + len(more)
        self.medians, covariance = np.log(table[:, 0]), np.diag(table[:, 1] ** 2)
        own = np.eye(self.scales)
        covariance[: self.scales, : self.scales] = scale.spread**2 * (priors.alike + (1.0 - priors.alike) * own)
        self.root, self.precision = np.linalg.cholesky(covariance), np.linalg.inv(covariance)
        self.least, self.largest = np.log(table[:, 2]), np.log(table[:, 3])

    def starts(self, more: int, rng: np.random.Generator | None) -> list[Array]:
        """Where to start, each of the shape of θ: as given, at the medians, and at draws from the priors."""
        first = np.unique(self.groups, return_index=True)[1]
        own = self.kernel.theta
        scales = np.broadcast_to(own[: self.kernel.length_scale.size], self.groups.shape)[first]
        others = [self.noise] if self.radius is None else [self.noise, self.radius]
        given = np.concatenate([scales, own[self.kernel.length_scale.size :], np.log(others)])
        rng = np.random.default_rng(0) if rng is None else rng
        draws = rng.standard_normal((max(0, more - 1), given.size)) @ self.root.T
        raw = [given, self.medians, *(self.medians + draws)][: more + 1]
        return [np.clip(theta, self.least, self.largest) for theta in raw]

    def mostly_noise(self) -> Array:
        """Where to start too, of the shape of θ: short length-scales may seem to explain much noise."""
        theta = self.medians.copy()
        theta[self.noise_at] = math.log(_MUCH_NOISE)
        within: Array = np.clip(theta, self.least, self.largest)
        return within

    def at(self, theta: Array) -> tuple[Kernel, float]:
        scales = theta[:1] if self.kernel.isotropic else theta[self.groups]
        own = np.append(scales, theta[self.scales : self.noise_at])
        return self.kernel.with_theta(own), math.exp(theta[self.noise_at])

    def ascend(self, start: Array, patience: int) -> Fit:
        """The maximum above a start, to as many digits as a log posterior is worth: with fewer, plateaus end it."""
        unit = math.sqrt(2.0 / float(self.data.count.sum()))  # as well as values tell a variance: a first step
        result = minimize(
            self._loss_in(unit),
            start / unit,
            jac=True,
            method="L-BFGS-B",
            bounds=Bounds(self.least / unit, self.largest / unit),
            callback=_Patience(patience),
            options={"maxiter": STEPS, "ftol": 1e-5, "gtol": 0.1 * unit},
        )
        theta = np.clip(unit * result.x, self.least, self.largest)
        bent = self.bent(theta)
        return Fit(*self.at(theta), -float(result.fun), bool(result.success), Bend() if bent is None else bent.bend)

    def _loss_in(self, unit: float) -> Callable[[Array], tuple[float, Array]]:
        """`loss`, of θ in this unit."""

        def loss(z: Array) -> tuple[float, Array]:
            value, gradient = self.loss(unit * z)
            return value, unit * gradient

        return loss

    def bent(self, theta: Array) -> Bent | None:
        return None if self.radius is None else bend(self.data, math.exp(theta[-1]))

    def loss(self, theta: Array) -> tuple[float, Array]:
        """Minus the log posterior, and its gradient."""
        kernel, noise = self.at(theta)
        bent = self.bent(theta)
        value, gradient = self.likelihood(kernel, np.exp(theta[: self.scales]), noise, bent)
        away = theta - self.medians
        pull = self.precision @ away
        return 0.5 * float(away @ pull) - value, pull - gradient


class _Patience:
    """Ends a minimisation after so many steps, at the first that gains little."""

    def __init__(self, steps: int) -> None:
        self.left, self.loss = steps, math.inf

    def __call__(self, intermediate_result: OptimizeResult) -> None:
        gain, self.loss = self.loss - intermediate_result.fun, intermediate_result.fun
        self.left -= 1
        if self.left < 0 and gain < NAT:
            raise StopIteration


def _noise_of(data: Observations) -> float:
    """The standard deviation of repeats; 0 where there are none."""
    spare = float((data.count - 1.0)[np.isnan(data.noise)].sum())
    return math.sqrt(float(data.scatter.sum()) / spare) if spare > 0.0 else 0.0


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
        # Arrays that are large to the allocator are had once: to get them again costs more than to fill them.
        M = len(data.X)
        self._matrix = np.empty((M, M))
        self._pairs = np.flatnonzero(np.triu(np.ones((M, M), bool), 1))  # their places in it
        self._by_pair = np.empty((2, len(self._pairs)))

    def __call__(self, kernel: Kernel, scales: Array, noise: float, bent: Bent | None = None) -> tuple[float, Array]:
        """The value, and its gradient.

        That is in the logarithms of the length-scale of each group, the variance, what else the kernel has, the noise
        and, if bent, the radius.

        With α = A⁻¹y and B = ααᵀ - A⁻¹ the derivative of the value is ½ Σ B ∘ ∂A; and r² depends on log ℓ_g through
        -2 times its own term. The sum has each pair twice.

        Args:
            kernel: its class and variance; its length-scales are not looked at.
            scales: length-scale of each group, shape (G,).
            noise: σ².
            bent: the values as they are bent; as they are unless given.

        Raises:
            NotPositiveDefiniteError: no jitter helps, or it is not a number: in no case of finite data.
        """
        data = self.data if bent is None else bent.data
        y, n, v = data.mean, data.count, kernel.variance
        learned = np.isnan(data.noise)
        own = np.where(learned, noise, data.noise)  # variance of one value's noise, by row
        precision = scales**-2.0
        K, slope, *more = kernel.at_with_partials(np.matmul(precision, self.squares, out=self._by_pair[0]))
        L = self._factor(K, v + own / n)
        alpha = dpotrs(L, y, lower=1)[0]
        value = -0.5 * float(y @ alpha) - float(np.log(np.diagonal(L)).sum()) - 0.5 * n.size * math.log(2 * math.pi)
        spare, scatter = np.where(learned, n - 1.0, 0.0), float(data.scatter.sum())
        value -= 0.5 * (float(spare @ np.log(2 * math.pi * own)) + float(np.log(n).sum()) + scatter / noise)
        on, off = self._difference(L, alpha)
        by_variance = float(off @ K) + 0.5 * v * float(on.sum())
        by_more = [float(off @ partial) for partial in more]
        off *= slope
        by_scale = -2.0 * precision * (self.squares @ off)
        by_own = 0.5 * (on / n - spare / own)
        by_noise = noise * float(by_own[learned].sum()) + 0.5 * scatter / noise
        gradient = np.append(by_scale, [by_variance, *by_more, by_noise])
        if bent is not None:
            value += bent.log_slope
            by_radius = bent.by_log_slope - float(alpha @ bent.by_mean) - 0.5 * bent.by_scatter / noise
            gradient = np.append(gradient, by_radius + float(by_own[~learned] @ bent.by_noise[~learned]))
        if not (math.isfinite(value) and np.isfinite(gradient).all()):
            raise NotPositiveDefiniteError(f"log likelihood: expected a number, got {value}")
        return value, gradient

    def _factor(self, pairs: Array, diagonal: Array) -> Array:
        """The lower factor of a matrix given by its pairs; above its diagonal is anything.

        A factor that fails is tried again with ever more on the diagonal, as in a belief, but without a warning.
        """
        A = self._matrix
        for jitter in (0.0, *JITTERS):
            A.reshape(-1)[self._pairs] = pairs
            np.fill_diagonal(A, diagonal * (1.0 + jitter))
            factored = dpotrf(A.T, lower=1, clean=0, overwrite_a=1)
            if factored[1] == 0:
                L: Array = factored[0]
                return L
        raise NotPositiveDefiniteError(f"matrix: expected a jitter of at most {JITTERS[-1]:g} to do, got {len(A)} rows")

    def _difference(self, L: Array, alpha: Array) -> tuple[Array, Array]:
        """B = ααᵀ - A⁻¹ on its diagonal and by its pairs; overwrites L."""
        inverse = dlauum(inverted(L), lower=1, overwrite_c=1)[0]  # L⁻ᵀ L⁻¹, its lower part
        minus = dsyr(-1.0, alpha, a=inverse, lower=1, overwrite_a=1).T
        off = np.take(minus.reshape(-1), self._pairs, out=self._by_pair[1], mode="clip")
        return -np.diagonal(minus), np.negative(off, out=off)
