"""From the objective's units to a belief's, and back."""

import math
import sys
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from uncubed._typing import Array
from uncubed._validation import LARGEST
from uncubed.bend import Bend

FARTHEST = (5.0, 40.0)
"""Robust standard deviations below and above the centre beyond which a value is clipped.

How bad the worst are teaches nothing about the best; but the best may lie far out, that of Hartmann-6 at 24.
"""

BULK = 8
"""First values whose spread counts: the first design sees all of the space, later values are mostly near the best."""


@final
class Scaling(NamedTuple):
    """A monotone map from the objective's units to the belief's: affine between two edges, then bent.

    Attributes:
        centre: of the values,
        spread: and their standard deviation.
        least: below it a value counts as this,
        largest: and above it as this.
        bend: of what is centred and scaled.
    """

    centre: float = 0.0
    spread: float = 1.0
    least: float = -sys.float_info.max
    largest: float = sys.float_info.max
    bend: Bend = Bend()

    @property
    def unit(self) -> float:
        """The belief's unit in the objective's, at the best value and above; below it it is longer."""
        return self.spread * self.bend.spread

    def stretch(self, value: float) -> float:
        """The belief's unit in the objective's, at a value in the belief's units; at the best if that is not finite."""
        if not math.isfinite(value):
            return self.unit
        return self.unit / float(self.bend.slope(self.bend.straightened(np.array(value))))

    def standard(self, values: Array) -> Array:
        """Clipped, centred and scaled, not bent."""
        clipped: Array = (np.clip(values, self.least, self.largest) - self.centre) / self.spread
        return clipped

    def scaled(self, values: Array) -> Array:
        """In the belief's units."""
        return self.bend.bent(self.standard(values))

    def unscaled(self, values: Array) -> Array:
        """In the objective's units."""
        there: Array = self.centre + self.spread * self.bend.straightened(np.asarray(values, float))
        return there

    def noise(self, variances: Any) -> Any:
        """Variances of noise in the belief's units, as they are at the best, within what a belief can take."""
        with np.errstate(over="ignore", under="ignore"):
            scaled = np.asarray(variances, float) / self.unit / self.unit
        return np.clip(scaled, 1.0 / LARGEST, LARGEST)[()]

    def clips(self, values: Array) -> NDArray[np.bool_]:
        """Which values lie outside the edges."""
        outside: NDArray[np.bool_] = (values < self.least) | (values > self.largest)
        return outside


def scaling_of(values: Array) -> Scaling:
    """Mean and standard deviation, values far outside the bulk counted as at its edge."""
    centre, bulk, edges = float(np.median(values)), _bulk(values), Scaling()
    if bulk > 0.0 and len(values) >= BULK:  # of a few values any may be the odd one
        edges = edges._replace(least=centre - FARTHEST[0] * bulk, largest=centre + FARTHEST[1] * bulk)
    within = np.clip(values, edges.least, edges.largest)
    spread = float(within.std()) if np.ptp(within) > 0.0 else 0.0  # of equal values it may be rounding
    return edges._replace(centre=float(within.mean()), spread=spread if spread > 0.0 else 1.0)


def _bulk(values: Array) -> float:
    """A robust standard deviation that does not shrink as a search settles: the largest of the first 8, 16, …, all."""
    counts = [BULK * 2**k for k in range((len(values) // BULK).bit_length())]
    return max(_deviation(values[:n]) for n in [*counts, len(values)])


def _deviation(values: Array) -> float:
    return 1.4826 * float(np.median(np.abs(values - np.median(values))))
