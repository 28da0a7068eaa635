"""The Gaussian density φ, its distribution Φ and τ(z) = z Φ(z) + φ(z), in forms that survive the tails."""

import math

import numpy as np
from scipy.special import erfcx, log_ndtr, ndtr

from uncubed._typing import Array

_LOG_ROOT_2PI = 0.5 * math.log(2.0 * math.pi)
_FAR_TAIL = -25.0  # below it the series is exact to 2e-12, and the closed form begins to cancel


def log_tau(z: Array) -> Array:
    """log τ(z), τ(z) = z Φ(z) + φ(z), finite and increasing for every finite z."""
    z = np.asarray(z, float)
    result = np.empty_like(z)
    near, far = z > -1.0, z <= _FAR_TAIL
    middle = ~(near | far)
    result[near] = _log_tau_near(z[near])
    result[middle] = _log_tau_middle(z[middle])
    result[far] = _log_tau_far(z[far])
    return result


def _log_tau_near(z: Array) -> Array:
    tau: Array = np.log(z * ndtr(z) + np.exp(_log_density(z)))
    return tau


def _log_tau_middle(z: Array) -> Array:
    return _log_density(z) + _log_ratio_middle(z)


def _log_tau_far(z: Array) -> Array:
    return _log_density(z) + _log_ratio_far(z)


def _log_ratio_middle(z: Array) -> Array:
    """log τ/φ: τ/φ = 1 + z Φ/φ."""
    ratio: Array = np.log1p(z * _mills(z))
    return ratio


def _log_ratio_far(z: Array) -> Array:
    u = 1.0 / (z * z)
    series = 1.0 - u * (3.0 - u * (15.0 - u * (105.0 - u * (945.0 - u * 10395.0))))
    return np.log(series) - 2.0 * np.log(-z)


def _mills(z: Array) -> Array:
    """Φ/φ = √(π/2) erfcx(-z/√2), for z ≤ -1 (and its value at -1 beyond)."""
    mills: Array = math.sqrt(math.pi / 2.0) * erfcx(np.maximum(-z, 1.0) / math.sqrt(2.0))
    return mills


def density_over_distribution(z: Array) -> Array:
    """φ/Φ."""
    near = np.exp(_log_density(np.maximum(z, -1.0)) - log_ndtr(np.maximum(z, -1.0)))
    return np.where(z > -1.0, near, 1.0 / _mills(z))


def over_tau(z: Array) -> tuple[Array, Array]:
    """Φ/τ and φ/τ."""
    density = _density_over_tau(z)
    near = ndtr(z) / np.exp(_log_tau_near(np.maximum(z, -1.0)))
    return np.where(z > -1.0, near, _mills(z) * density), density


def _density_over_tau(z: Array) -> Array:
    """φ/τ; in the tail from their ratio, because the difference of two huge logs is all rounding."""
    result = np.empty_like(z)
    near, far = z > -1.0, z <= _FAR_TAIL
    middle = ~(near | far)
    result[near] = np.exp(_log_density(z[near]) - _log_tau_near(z[near]))
    result[middle] = np.exp(-_log_ratio_middle(z[middle]))
    result[far] = np.exp(-_log_ratio_far(z[far]))
    return result


def _log_density(z: Array) -> Array:
    return -0.5 * z * z - _LOG_ROOT_2PI
