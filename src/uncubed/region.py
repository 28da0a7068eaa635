"""A part of the cube to look in."""

from typing import NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from uncubed._typing import Array


@final
class Region(NamedTuple):
    """A box within the unit cube.

    Attributes:
        low: its lower corner, shape (d,),
        high: and its upper one.
    """

    low: Array
    high: Array

    @classmethod
    def whole(cls, dimension: int) -> "Region":
        """All of the cube."""
        return cls(np.zeros(dimension), np.ones(dimension))

    @classmethod
    def around(cls, centre: Array, scales: Array, reach: float) -> "Region":
        """What is near a point: farther along coordinates on which values depend less.

        Args:
            centre: shape (d,).
            scales: lengths over which values change alike along each coordinate, shape (d,).
            reach: how far from the centre, geometric mean of the coordinates.
        """
        reaches = reach / typical(scales) * np.minimum(scales, 1.0)
        return cls(np.maximum(centre - reaches, 0.0), np.minimum(centre + reaches, 1.0))

    @property
    def size(self) -> Array:
        """Its sides, shape (d,)."""
        return self.high - self.low

    def but_for(self, columns: NDArray[np.bool_]) -> "Region":
        """The same, but all of the cube's side along some coordinates."""
        return Region(np.where(columns, 0.0, self.low), np.where(columns, 1.0, self.high))

    def filled(self, U: Array) -> Array:
        """Points of the cube, the cube shrunk to this."""
        filled: Array = self.low + self.size * U
        return filled

    def spread_out(self, U: Array) -> Array:
        """Points of this, this grown to the cube: the inverse of `filled`."""
        spread: Array = (U - self.low) / self.size
        return spread

    def nearest(self, U: Array) -> Array:
        """Points moved into it, none farther than it must."""
        nearest: Array = np.clip(U, self.low, self.high)
        return nearest


def typical(scales: Array) -> float:
    """Geometric mean of the scales, none above the cube's side: longer ones do not matter in it."""
    return float(np.exp(np.log(np.minimum(scales, 1.0)).mean()))
