"""The Gaussian density φ, its distribution Φ and τ(z) = z Φ(z) + φ(z), in forms that survive the tails."""

import math
from typing import NamedTuple

import numpy as np
from scipy.special import erfcx, log_ndtr, ndtr

from uncubed._typing import Array

_LOG_ROOT_2PI = 0.5 * math.log(2.0 * math.pi)
_FAR_TAIL = -25.0  # below it the series is exact to 2e-12, and the closed form begins to cancel
_HIGH = 5.0  # above it Φ/φ grows too large to be divided by; there τ itself is no small number


class Improvement(NamedTuple):
    """log τ(z), and the ratios Φ/τ and φ/τ that its slopes are made of."""

    log_tau: Array
    distribution: Array
    density: Array


def improvement(z: Array) -> Improvement:
    """All three, finite for |z| up to 1e150."""
    high = z > _HIGH
    if not np.count_nonzero(high):
        return _by_density(z)
    both = zip(_high(np.maximum(z, _HIGH)), _by_density(np.minimum(z, _HIGH)), strict=True)
    return Improvement(*(np.where(high, up, down) for up, down in both))


def log_tau(z: Array) -> Array:
    """log τ(z), τ(z) = z Φ(z) + φ(z), finite and increasing for |z| up to 1e150."""
    return improvement(np.asarray(z, float)).log_tau


def _high(z: Array) -> Improvement:
    density, distribution = np.exp(_log_density(z)), ndtr(z)
    tau = z * distribution + density
    return Improvement(np.log(tau), distribution / tau, density / tau)


def _by_density(z: Array) -> Improvement:
    """By Φ and τ in units of φ, for z ≤ 5: neither is 0 in the tail."""
    mills = _mills(z)
    ratio = _tau_over_density(z, mills)
    return Improvement(_log_density(z) + np.log(ratio), mills / ratio, 1.0 / ratio)


def _tau_over_density(z: Array, mills: Array) -> Array:
    """τ/φ = 1 + z Φ/φ, of Φ/φ; a series where that would cancel."""
    ratio: Array = 1.0 + z * mills
    far = z <= _FAR_TAIL
    if not np.count_nonzero(far):
        return ratio
    u = 1.0 / np.where(far, z, _FAR_TAIL) ** 2
    series = u * (1.0 - u * (3.0 - u * (15.0 - u * (105.0 - u * (945.0 - u * 10395.0)))))
    return np.where(far, series, ratio)


def _mills(z: Array) -> Array:
    """Φ/φ = √(π/2) erfcx(-z/√2), for z ≤ 5 (and its value at 5 beyond)."""
    mills: Array = math.sqrt(math.pi / 2.0) * erfcx(np.maximum(-z, -_HIGH) / math.sqrt(2.0))
    return mills


def density_over_distribution(z: Array) -> Array:
    """φ/Φ."""
    near = np.exp(_log_density(np.maximum(z, -1.0)) - log_ndtr(np.maximum(z, -1.0)))
    return np.where(z > -1.0, near, 1.0 / _mills(z))


def _log_density(z: Array) -> Array:
    return -0.5 * z * z - _LOG_ROOT_2PI
