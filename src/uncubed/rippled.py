"""A kernel of two scales: a trend, and ripples on it that are alike as it is, but over a part of the distance."""

import math
from typing import final

import numpy as np
from scipy.special import expit

from uncubed import _validation as check
from uncubed._typing import Array, ArrayLike
from uncubed.errors import InvalidInputError
from uncubed.kernels import Kernel, capped


@final
class Rippled(Kernel):
    """c = (1 - w) c₀(r²) + w c₀(r²/τ²), with the correlation c₀ of another kernel.

    Args:
        trend: its class is that of both parts; its length-scales are those of the trend, its variance that of f.
        share: w, of the variance that is in the ripples, between 0 and 1.
        ratio: τ, of a ripple's length-scale to the trend's.

    >>> from uncubed.kernels import Matern52
    >>> kernel = Rippled(Matern52(1.0), share=0.25, ratio=0.1)
    >>> kernel([[0.0]], [[0.0], [0.5]]).round(3)
    array([[1.   , 0.622]])
    """

    def __init__(self, trend: Kernel, share: float, ratio: float) -> None:
        scale = float(trend.length_scale[0]) if trend.isotropic else trend.length_scale
        super().__init__(scale, trend.variance)
        self.trend = trend
        self.share, self.ratio = check.positive("share", share), check.positive("ratio", ratio)
        if isinstance(trend, Rippled):
            raise InvalidInputError(f"trend: expected a kernel of one scale, got {trend!r}")
        if self.share >= 1.0:
            raise InvalidInputError(f"share: expected less than 1, got {share:g}")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.trend!r}, share={self.share}, ratio={self.ratio})"

    @property
    def curvature(self) -> float:  # type: ignore[override]  # of an object, not of the class
        return self.trend.curvature * (1.0 - self.share + self.share / self.ratio**2)

    def correlation(self, r2: Array) -> Array:
        r2 = capped(r2)
        ripple = self.trend.correlation(r2 / self.ratio**2)
        return (1.0 - self.share) * self.trend.correlation(r2) + self.share * ripple

    def slope(self, r2: Array) -> Array:
        r2 = capped(r2)
        ripple = self.trend.slope(r2 / self.ratio**2)
        return (1.0 - self.share) * self.trend.slope(r2) + (self.share / self.ratio**2) * ripple

    def at_with_slope(self, r2: Array) -> tuple[Array, Array]:
        (wide, narrow), slope = self._parts(r2)
        wide *= 1.0 - self.share
        narrow *= self.share
        wide += narrow
        return wide, slope[0] + slope[1]

    def at_with_partials(self, r2: Array) -> tuple[Array, ...]:
        scaled = -2.0 * capped(r2)
        (wide, narrow), slope = self._parts(r2)
        by_odds = narrow - wide
        values = wide + self.share * by_odds
        by_odds *= self.share * (1.0 - self.share)
        scaled *= slope[1]  # log τ and r² are in r²/τ² alone
        return values, slope[0] + slope[1], by_odds, scaled

    def _parts(self, r2: Array) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
        """Values of trend and ripples with all the variance each, and slopes of both with their own; overwrites r²."""
        r2 = capped(r2)
        narrow, by_narrow = self.trend.at_with_slope(r2 / self.ratio**2)
        wide, by_wide = self.trend.at_with_slope(r2)
        by_wide *= 1.0 - self.share
        by_narrow *= self.share / self.ratio**2
        return (wide, narrow), (by_wide, by_narrow)

    @property
    def theta(self) -> Array:
        """Log hyper-parameters: those of the trend, then log w/(1 - w) and log τ."""
        return np.append(self.trend.theta, [math.log(self.share / (1.0 - self.share)), math.log(self.ratio)])

    def with_theta(self, theta: ArrayLike) -> "Rippled":
        values = check.array("theta", theta, ndim=1)
        trend = self.trend.with_theta(values[:-2])
        with np.errstate(over="ignore"):  # inf is refused by name
            return Rippled(trend, float(expit(values[-2])), float(np.exp(values[-1])))

    def theta_gradient(self, A: Array, B: Array) -> Array:
        _, _, by_odds, by_ratio = self.at_with_partials(self.squared_distance(A, B))
        return np.concatenate([super().theta_gradient(A, B), [by_odds, by_ratio]])

    def _separation(self, u: float) -> float:
        # There neither part differs by more, so nor does their sum.
        return min(self.ratio, 1.0) * self.trend._separation(u)
