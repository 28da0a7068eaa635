"""scikit-optimize as it comes: a GP, ten random points, and a hedge of three acquisitions."""

from typing import Any, final

from skopt import Optimizer
from skopt.space import Categorical, Integer, Real

from benchmarks.league.protocol import LABEL, NUMBER, Dimension, Point, Space, System


@final
class Skopt(System):
    packages = ("scikit-optimize", "scikit-learn", "scipy", "numpy")

    def __init__(self, space: Space, seed: int) -> None:
        super().__init__(space, seed)
        self._optimizer = Optimizer([_dimension(d) for d in space.dimensions], "GP", random_state=seed)

    def ask(self) -> Point:
        return self._point(self._optimizer.ask())

    def tell(self, point: Point, value: float) -> None:
        self._optimizer.tell(list(self.space.worded(point).values()), value)

    def load(self, points: list[Point], values: list[float]) -> None:
        self._optimizer.tell([list(self.space.worded(point).values()) for point in points], values)

    def recommend(self) -> Point:
        return self._point(self._optimizer.get_result().x)

    def _point(self, values: list[Any]) -> Point:
        return self.space.listed(dict(zip(self.space.names, values, strict=True)))


def _dimension(dimension: Dimension) -> Any:
    if dimension.kind == NUMBER:
        return Real(0.0, 1.0)
    if dimension.kind == LABEL:
        return Categorical([str(k) for k in range(dimension.size)])
    return Integer(0, dimension.size - 1)
