"""What all parameters can do."""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from uncubed._typing import Array


class Dimension(ABC):
    """One parameter of a space."""

    @property
    @abstractmethod
    def width(self) -> int:
        """Coordinates that encode it."""

    @property
    @abstractmethod
    def count(self) -> int | None:
        """How many values it has; None if it is continuous."""

    @property
    def lattice(self) -> float | None:
        """Steps from 0 to 1 to the nearest of which `snap` moves a coordinate; None if it does otherwise."""
        return None

    @abstractmethod
    def encode(self, name: str, value: Any) -> Array:
        """The coordinates of a value, shape (width,).

        Raises:
            InvalidInputError: it is not a value of this parameter, whose name the message has.
        """

    @abstractmethod
    def decode(self, u: Array) -> Any:
        """The value at these coordinates, or the one nearest to them."""

    @abstractmethod
    def snap(self, U: Array) -> Array:
        """Rows of coordinates moved to the nearest that encode a value, shape (n, width)."""

    @abstractmethod
    def sample(self, rng: np.random.Generator, n: int) -> Array:
        """Coordinates of random values, shape (n, width)."""

    @abstractmethod
    def every(self) -> Array:
        """Coordinates of all values of a discrete parameter, in order, shape (count, width)."""

    def near(self, u: Array) -> Array:
        """Coordinates of some values of a discrete parameter, those next to `u` among them, shape (n, width)."""
        return self.every()
