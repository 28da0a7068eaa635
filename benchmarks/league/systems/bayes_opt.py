"""bayes_opt as it comes: five random points, then upper confidence bounds.

Where values are noisy, or the space is not continuous, its manual says to raise `alpha`, and shows 10⁻³. Points
may repeat: unless that is allowed, it stops when one does.
"""

from typing import Any, final

from bayes_opt import BayesianOptimization

from benchmarks.league.protocol import LABEL, NUMBER, Dimension, Point, Space, System

FIRST = 5


@final
class BayesOpt(System):
    packages = ("bayesian-optimization", "scikit-learn", "scipy", "numpy")

    def __init__(self, space: Space, seed: int) -> None:
        super().__init__(space, seed)
        bounds = {name: _bounds(d) for name, d in zip(space.names, space.dimensions, strict=True)}
        self._optimizer = BayesianOptimization(
            f=None, pbounds=bounds, random_state=seed, verbose=0, allow_duplicate_points=True
        )
        if space.noisy or not space.is_box:
            self._optimizer.set_gp_params(alpha=1e-3)
        self._first: list[Any] = self._optimizer.random_sample(FIRST)

    def ask(self) -> Point:
        params = self._first.pop(0) if self._first else self._optimizer.suggest()
        return self.space.listed(params)

    def tell(self, point: Point, value: float) -> None:
        self._optimizer.register(params=self.space.worded(point), target=-value)

    def load(self, points: list[Point], values: list[float]) -> None:
        super().load(points, values)
        self._first = []

    def recommend(self) -> Point:
        best = self._optimizer.max
        assert best is not None
        return self.space.listed(best["params"])


def _bounds(dimension: Dimension) -> Any:
    if dimension.kind == NUMBER:
        return (0.0, 1.0)
    if dimension.kind == LABEL:
        return tuple(str(k) for k in range(dimension.size))
    return (0, dimension.size - 1, int)
