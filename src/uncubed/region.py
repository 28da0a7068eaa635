"""A part of the cube to look in."""

from typing import NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from uncubed._typing import Array

_LEAST = 1e-9  # of the cube's side: what is narrower is no place to look in


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
    def around(cls, centre: Array, reach: Array) -> "Region":
        """What is as near to a point along each coordinate, in the cube; both of shape (d,)."""
        reach = np.maximum(reach, _LEAST)
        return cls(np.maximum(centre - reach, 0.0), np.minimum(centre + reach, 1.0))

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
