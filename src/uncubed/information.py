"""Entropy, information gain and the thresholds they imply: pure functions, in nats.

`variance` is the posterior variance of f at an action, `noise_variance` the variance σ² of an observation's noise.
"""

import math
from collections.abc import Callable

_LOG_2PI_E = math.log(2.0 * math.pi * math.e)


def conditional_entropy(variance: float, noise_variance: float) -> float:
    """Entropy of the next value given what is known, `½ log(2πe(σ² + variance))` (eq. compression_rule).

    >>> round(conditional_entropy(1.0, 1e-3), 4)
    1.4194
    """
    return 0.5 * (_LOG_2PI_E + math.log(noise_variance + variance))


def information_gain(variance: float, noise_variance: float) -> float:
    """What one value tells about f, `½ log(1 + variance/σ²)` (Lemma 3's summand).

    It is the conditional entropy less the entropy of the noise, so the rule "entropy > ½ log(2πeσ²) + ε" is
    "gain > ε".

    >>> information_gain(0.0, 1e-3)
    0.0
    """
    return 0.5 * math.log1p(variance / noise_variance)


def variance_threshold(epsilon: float, noise_variance: float) -> float:
    """The variance at which the gain is ε, `σ²(e^{2ε} - 1)` (eq. check).

    >>> round(variance_threshold(1e-4, 1e-3) * 1e7, 3)
    2.0
    """
    return noise_variance * _exp(2.0 * epsilon, math.expm1)


def absolute_variance_threshold(epsilon: float, noise_variance: float) -> float:
    """The variance at which the conditional entropy itself is ε, `e^{2ε}/(2πe) - σ²`; negative if σ² alone exceeds it.

    The rule of the paper's earlier version.
    """
    return _exp(2.0 * epsilon - _LOG_2PI_E, math.exp) - noise_variance


def horizon_epsilon(horizon: int, alpha: float) -> float:
    """Theorem 3.1's schedule, `ε = ½ log(1 + T^{-α})`."""
    return 0.5 * math.log1p(horizon ** (-alpha))


def _exp(exponent: float, function: Callable[[float], float]) -> float:
    try:
        return function(exponent)
    except OverflowError:
        return math.inf
