"""Values bent, so that a Gaussian process fits: what is far below the best is drawn together, up to a logarithm.

With the best value a and a value y below it, h(y) = a - c log(1 + (a - y)/c): nearly straight within c of the best, a
logarithm beyond it; above the best it is straight. A large c bends nothing. The radius c is learned with the other
hyper-parameters, as in a warped Gaussian process: by the likelihood of what was told, with the slope of the map in it.
"""

from typing import NamedTuple, final

import numpy as np

from uncubed._typing import Array
from uncubed.observations import Observations

STRAIGHT = 1e100
"""A radius that bends nothing."""

_FARTHEST = 250.0  # radii of a logarithm: of more there may be no numbers
_ROUNDING = 1e-12  # of the largest value: what differs less is equal


@final
class Bend(NamedTuple):
    """A monotone map.

    Attributes:
        best: above it the map is straight.
        radius: c.
        centre: subtracted after bending,
        spread: and by this divided.
    """

    best: float = 0.0
    radius: float = STRAIGHT
    centre: float = 0.0
    spread: float = 1.0

    def bent(self, y: Array) -> Array:
        """h(y), centred and scaled."""
        h, _ = _bent(y, self.best, self.radius)
        result: Array = (h - self.centre) / self.spread
        return result

    def straightened(self, z: Array) -> Array:
        """The value that is bent to this one."""
        below = np.maximum(self.best - (self.centre + self.spread * z), 0.0)
        far = self.radius * np.expm1(np.minimum(below / self.radius, _FARTHEST))
        result: Array = np.where(below > 0.0, self.best - far, self.centre + self.spread * z)
        return result

    def slope(self, y: Array) -> Array:
        """h'(y), not scaled: 1 at the best and above."""
        slope: Array = 1.0 / (1.0 + np.maximum(self.best - y, 0.0) / self.radius)
        return slope


class Bent(NamedTuple):
    """What was observed, bent, and how that changes with log c.

    Attributes:
        bend: the map.
        data: in its units.
        by_mean: derivative of the means, shape (M,).
        by_noise: of the noise that is given, shape (M,); NaN elsewhere.
        by_scatter: of the scatter, summed.
        log_slope: of the map, summed over all values.
        by_log_slope: its derivative.
    """

    bend: Bend
    data: Observations
    by_mean: Array
    by_noise: Array
    by_scatter: float
    log_slope: float
    by_log_slope: float


def bend(data: Observations, radius: float) -> Bent:
    """Bent around the best mean, then centred and scaled; slopes are those at the means of repeats.

    Noise that is given is scaled, not bent: it must not depend on the value that has it, or the lucky ones weigh more.
    What is learned is the noise of bent values, the same everywhere: far below the best values differ more by chance
    than near it, if not by noise, then by what no model explains.
    """
    best = float(data.mean.max())
    h, u = _bent(data.mean, best, radius)
    slope, total = 1.0 / (1.0 + u), data.count.sum()
    weights, within = data.count / total, data.scatter * slope**2 / total
    centre = float(weights @ h)
    spread = _spread(h, weights @ (h - centre) ** 2 + within.sum())
    mean = (h - centre) / spread
    by_h = -radius * (np.log1p(u) - u * slope)
    by_h -= weights @ by_h
    by_log_spread = float(weights @ (mean * by_h)) / spread + float(within @ (u * slope)) / spread**2
    by_log_slope = u * slope - by_log_spread
    noise, scatter = data.noise / spread**2, data.scatter * (slope / spread) ** 2
    values = _values(data, u)
    return Bent(
        Bend(best, radius, centre, spread),
        Observations(data.X, mean, data.count, scatter, noise),
        by_h / spread - mean * by_log_spread,
        -2.0 * noise * by_log_spread,
        2.0 * float(scatter @ by_log_slope),
        float(values @ (np.log(slope) - np.log(spread))),
        float(values @ by_log_slope),
    )


def _spread(h: Array, square: float) -> float:
    """Its root; 1 where all are equal but for rounding."""
    equal = square <= (_ROUNDING * np.abs(h).max()) ** 2
    return 1.0 if equal else float(np.sqrt(square))


def _values(data: Observations, u: Array) -> Array:
    """How many values a row has for the slope: one if their noise is given, as then their mean is all that counts.

    Those at the best count as one together. A short radius would draw the others up to them as near as one likes, and
    the more there are, the more probable that would seem.
    """
    values = np.where(np.isnan(data.noise), data.count, 1.0)
    top = u == 0.0
    values[top] /= values[top].sum()
    return values


def _bent(y: Array, best: float, radius: float) -> tuple[Array, Array]:
    """h(y), and the distance below the best in radii."""
    u = np.maximum(best - y, 0.0) / radius
    return np.where(u > 0.0, best - radius * np.log1p(u), y), u
