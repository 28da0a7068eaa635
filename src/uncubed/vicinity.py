"""Where to look near the best, which is most of the time.

A stationary model takes every corner for as promising as what it knows nothing of, and in many dimensions there is no
end of corners: trust regions keep to what is known to be good, see Diouane and others, TREGO (2023).
"""

import math
from typing import NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from uncubed._typing import Array
from uncubed.beliefs import ProjectedBelief
from uncubed.kernels import Kernel
from uncubed.region import Region
from uncubed.rippled import Rippled

EVERYWHERE = 1.0

REACHES = (EVERYWHERE, 0.2, 0.1, 0.05, 0.02)
"""How far from the best is searched, of the cube's side, in turn: geometric mean of the parameters."""

WIDE = 0.1
"""Reach from which on other hills are looked at, where there is no end of hills."""

_DROWNED = 4.0  # times the variance of a value's noise: by less what differs does not show
_ANOTHER = 0.5  # of the variance of ripples, that is unknown on another hill than those that were tried


class Place(NamedTuple):
    """Where to look, and for what.

    Attributes:
        region: where.
        unknown: what the variance of a point there must exceed.
    """

    region: Region
    unknown: float = -math.inf


@final
class Vicinity:
    """Regions around the best, a wider or a narrower one in turn.

    Args:
        groups: coordinates of one parameter have the same number, shape (d,).
    """

    def __init__(self, groups: NDArray[np.int64]) -> None:
        self._firsts = np.unique(groups, return_index=True)[1]  # a coordinate of each parameter
        self._width = len(groups)

    def places(self, turn: int, belief: ProjectedBelief, best: Array, told: int) -> list[Place]:
        """Where to look at this turn, the next where there is nothing new in one; none means everywhere.

        Where ripples have more hills than values can tell of, the hill that was dug in first is one of many, and nobody
        finishes digging: other hills are looked at too, around where the trend is best.

        Args:
            turn: one more for every point tried.
            belief: what is known.
            best: the best point told, shape (d,).
            told: how many values were.
        """
        reach, kernel = REACHES[turn % len(REACHES)], belief.kernel
        scales = np.minimum(np.broadcast_to(kernel.length_scale, (self._width,)), 1.0)
        away = reach / self._typical(scales)
        if reach == EVERYWHERE or _is_drowned(away, kernel, belief.noise_variance):
            return []
        around = [Place(Region.around(best, away * scales))]
        if reach < WIDE or not isinstance(kernel, Rippled) or self._are_few(kernel, away, told):
            return around
        middle = belief.dictionary[int(belief.explained_by(kernel.trend).argmax())]  # up to a factor, the trend's share
        unknown = _ANOTHER * kernel.share * kernel.variance
        return [Place(Region.around(middle, away * scales), unknown), *around]

    def _typical(self, scales: Array) -> float:
        """Geometric mean of the length-scales of the parameters, each once however many coordinates it has."""
        return float(np.exp(np.log(scales[self._firsts]).mean()))

    def _are_few(self, kernel: Rippled, away: float, told: int) -> bool:
        """Whether a region has so few hills that some of as many random points would share one, as birthdays do.

        They are counted as if all parameters mattered and the cube had no end: a count too high costs a few looks.
        """
        return len(self._firsts) * math.log(away / kernel.ratio) <= 2.0 * math.log(told)


def _is_drowned(away: float, kernel: Kernel, noise: float) -> bool:
    """Whether what lies so many length-scales apart hardly differs by more than noise."""
    alike, _ = kernel.at_with_slope(np.array([away**2]))
    return 2.0 * (kernel.variance - float(alike[0])) <= _DROWNED * noise
