"""What a system must do to take part: ask, tell, recommend.

This module and the adapters are imported in each system's own environment, so they need NumPy alone, an old one too.
Every problem is to be minimised, and has coordinates of three kinds: a number in [0, 1], a place on a grid (0, 1, …,
in order), or a label (0, 1, …, in no order). A finite table is the product of its grids and labels.
"""

from abc import ABC, abstractmethod
from typing import Any, ClassVar, NamedTuple

import numpy as np

Coordinate = int | float
Point = list[Coordinate]
NUMBER, GRID, LABEL = "number", "grid", "label"


class Dimension(NamedTuple):
    """One coordinate.

    Attributes:
        kind: number, grid or label.
        size: how many places or labels there are; 0 for a number.
    """

    kind: str = NUMBER
    size: int = 0

    def at(self, u: float) -> Coordinate:
        """The value at a place in [0, 1]: parts of equal length for places and labels."""
        clipped = min(max(float(u), 0.0), 1.0)
        return clipped if self.kind == NUMBER else min(int(clipped * self.size), self.size - 1)


class Space(NamedTuple):
    """Where to search.

    Attributes:
        dimensions: the coordinates of a point.
        noisy: whether values are; a user knows that much, and some systems have an option for it.
    """

    dimensions: tuple[Dimension, ...]
    noisy: bool = False

    @property
    def is_box(self) -> bool:
        """All coordinates are numbers."""
        return all(dimension.kind == NUMBER for dimension in self.dimensions)

    @property
    def names(self) -> list[str]:
        """For systems that want parameters by name: x0, x1, …"""
        return [f"x{k}" for k in range(len(self.dimensions))]

    def at(self, u: Any) -> Point:
        """The point at a place of the unit cube."""
        return [dimension.at(v) for dimension, v in zip(self.dimensions, u, strict=True)]

    def rows(self) -> Any:
        """All points of a finite space, in the order of the product, shape (n, d)."""
        return np.indices([dimension.size for dimension in self.dimensions]).reshape(len(self.dimensions), -1).T

    def named(self, point: Point) -> dict[str, Coordinate]:
        return dict(zip(self.names, point, strict=True))

    def worded(self, point: Point) -> dict[str, Any]:
        """The same with labels as words, so that nobody takes them for numbers."""
        kinds = (dimension.kind for dimension in self.dimensions)
        return {
            n: str(v) if kind == LABEL else v for (n, v), kind in zip(self.named(point).items(), kinds, strict=True)
        }

    def listed(self, params: Any) -> Point:
        """The point of parameters by name, labels in words or not; within the box, which rounding may have left."""
        values = zip(self.dimensions, (params[name] for name in self.names), strict=True)
        return [d.at(v) if d.kind == NUMBER else int(v) for d, v in values]

    def as_json(self) -> dict[str, Any]:
        return {"dimensions": [list(dimension) for dimension in self.dimensions], "noisy": self.noisy}

    @classmethod
    def from_json(cls, told: dict[str, Any]) -> "Space":
        return cls(tuple(Dimension(*dimension) for dimension in told["dimensions"]), told["noisy"])


class System(ABC):
    """A search for the least value.

    Args:
        space: where.
        seed: of everything random.
    """

    packages: ClassVar[tuple[str, ...]] = ()
    """Whose versions matter, the system's own first."""

    def __init__(self, space: Space, seed: int) -> None:
        self.space, self.seed = space, seed

    @abstractmethod
    def ask(self) -> Point:
        """What to try next."""

    @abstractmethod
    def tell(self, point: Point, value: float) -> None:
        """Learn the value of the point asked last."""

    @abstractmethod
    def recommend(self) -> Point:
        """What the system's own documentation would have one take now; called after at least one value."""

    def load(self, points: list[Point], values: list[float]) -> None:
        """Learn values of points that were not asked for; where a system has no way to do so, this is an error."""
        for point, value in zip(points, values, strict=True):
            self.tell(point, value)


class LeastTold(System):
    """A system whose recommendation is the point with the least value told."""

    def __init__(self, space: Space, seed: int) -> None:
        super().__init__(space, seed)
        self._least: tuple[float, Point] | None = None

    def tell(self, point: Point, value: float) -> None:
        if self._least is None or value < self._least[0]:
            self._least = value, point
        self.learn(point, value)

    def learn(self, point: Point, value: float) -> None:
        """What the system itself makes of it; nothing unless said."""

    def recommend(self) -> Point:
        if self._least is None:
            raise ValueError("recommend: expected a value told before, got none")
        return self._least[1]
