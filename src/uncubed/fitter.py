"""How the fits of a model follow each other: from where each starts, how far it goes, and with which kernels."""

import math
from typing import final

import numpy as np
from numpy.typing import NDArray

from uncubed.fit import STEPS, Fit, LogNormal, Priors, fit
from uncubed.kernels import Kernel, Matern32, Matern52
from uncubed.observations import Observations
from uncubed.rippled import Rippled

MANY_ROWS = 128
"""Rows from which a fit goes on where the last one ended,"""

SOME = 12
"""by so many steps, and more only while they matter,"""

SELDOM = 4
"""and every so many fits as far as it gets, from the prior too, and with a kernel that is smoother or rougher."""

RUGGED = 1e-6
"""Noise variance, in a belief's units, from which on it is part of a function that is exact; less is rounding."""

EXACT = Priors(noise_variance=LogNormal(1e-9, 1.0, 1e-11, 1e-7))
"""Where what seemed to be noise is ripples."""

_ROUGHER = 1.5  # times the length-scale of Matérn 5/2, that of Matérn 3/2 which explains about the same
_MOST_RIPPLES = 0.45  # of the variance, to start from: what seemed to be noise may be nearly all


@final
class Fitter:
    """Fits hyper-parameters again and again, to more and more values.

    Args:
        groups: coordinates of one parameter have the same number, shape (d,); they share a length-scale.
        by_values: whether values tell if the kernel is Matérn 5/2 or 3/2.
        rng: of the starts.
    """

    def __init__(self, groups: NDArray[np.int64], *, by_values: bool, rng: np.random.Generator) -> None:
        self.groups, self.by_values, self.rng = groups, by_values, rng

    def fit(
        self, kernel: Kernel, noise_variance: float, data: Observations, *, radius: float, nth: int, exact: bool
    ) -> Fit:
        """What explains these values best; its log posterior is -inf if nothing was found.

        Args:
            kernel: that the last fit found,
            noise_variance: with this noise.
            data: what to explain, in units of its spread.
            radius: of the bend that the last fit found.
            nth: how many fits there were before.
            exact: whether it is known that there is no noise.
        """
        rows = len(data.X)
        starts, patience = _effort(rows, nth)
        kernel, noise, priors = _start(kernel, noise_variance, exact=exact)
        found = fit(
            kernel,
            noise,
            data,
            groups=self.groups,
            priors=priors,
            radius=radius,
            starts=starts,
            patience=patience,
            from_noise=nth == 0 and rows >= MANY_ROWS,  # there is no earlier fit to go on from
            rng=self.rng,
        )
        if not math.isfinite(found.log_posterior):
            return found
        found = self._as_smooth_as(data, found) if starts else found
        return self._as_exact(data, found) if exact else found

    def _as_smooth_as(self, data: Observations, found: Fit) -> Fit:
        """What was found, or what is found from there with a rougher or a smoother kernel if that explains more."""
        if not self.by_values or isinstance(found.kernel, Rippled):
            return found
        return max(found, self._from(data, found, _rival(found.kernel), None), key=lambda one: one.log_posterior)

    def _as_exact(self, data: Observations, found: Fit) -> Fit:
        """What was found, with ripples for what would be noise, which a trend leaves."""
        if found.noise_variance <= RUGGED:
            return found
        rippled = self._from(data, found, _rippled(found.kernel, found.noise_variance), EXACT)
        return rippled if math.isfinite(rippled.log_posterior) else found

    def _from(self, data: Observations, found: Fit, kernel: Kernel, priors: Priors | None) -> Fit:
        """What is found with another kernel from where a fit ended."""
        noise, radius = found.noise_variance, found.bend.radius
        return fit(kernel, noise, data, groups=self.groups, priors=priors, radius=radius, starts=0, patience=SOME)


def _effort(rows: int, nth: int) -> tuple[int, int]:
    """Starts of a fit beside the last one, and its patience.

    Where rows are many a step costs most, and from a fitted start others hardly ever find better.
    """
    if rows < MANY_ROWS:
        return 2, STEPS
    return (1, STEPS) if nth % SELDOM == 0 else (0, SOME)


def _start(kernel: Kernel, noise_variance: float, *, exact: bool) -> tuple[Kernel, float, Priors | None]:
    """Where a fit starts, and with which priors: ripples may have been found to be noise after all."""
    if not isinstance(kernel, Rippled):
        return kernel, noise_variance, None
    if exact:
        return kernel, noise_variance, EXACT
    return kernel.trend, kernel.share * kernel.variance, None


def _rival(kernel: Kernel) -> Kernel:
    """About the same, but rougher; or smoother, if it is rough."""
    if isinstance(kernel, Matern52):
        return Matern32(_ROUGHER * kernel.length_scale, kernel.variance)
    return Matern52(kernel.length_scale / _ROUGHER, kernel.variance)


def _rippled(kernel: Kernel, noise: float) -> Rippled:
    """The same with ripples in the place of the noise."""
    share = min(noise / (noise + kernel.variance), _MOST_RIPPLES)
    trend = kernel.with_theta(np.append(kernel.theta[:-1], math.log(kernel.variance + noise)))
    return Rippled(trend, share, Priors().ratio.median)
