"""CMA-ES (`cmaes`) with restarts of twice the population, as its manual shows; on tables CatCMA with margin.

The manual leaves mean and step to the user: the middle and a quarter of the box, as is usual. Where values are noisy
the recommendation is the mean of the search distribution, otherwise the least value told.
"""

from typing import Any, final

import numpy as np
from cmaes import CMA, CatCMAwM

from benchmarks.league.protocol import LABEL, LeastTold, Point, Space

STEP = 0.25


@final
class Cmaes(LeastTold):
    packages = ("cmaes", "numpy")

    def __init__(self, space: Space, seed: int) -> None:
        super().__init__(space, seed)
        self._rng = np.random.default_rng(seed)
        self._search: Any = self._box(np.full(len(space.dimensions), 0.5), None) if space.is_box else self._table()
        self._asked: Any = None
        self._told: list[tuple[Any, float]] = []

    def ask(self) -> Point:
        self._asked = self._search.ask()
        return self.space.at(self._asked) if self.space.is_box else self._row(self._asked)

    def learn(self, point: Point, value: float) -> None:
        self._told.append((self._asked, value))
        if len(self._told) == self._search.population_size:
            self._search.tell(self._told)
            self._told = []
            if self.space.is_box and self._search.should_stop():
                self._search = self._box(self._rng.random(len(point)), 2 * self._search.population_size)

    def load(self, points: list[Point], values: list[float]) -> None:
        for point, value in zip(points, values, strict=True):  # the distribution has seen nothing of them
            self.ask()
            self.tell(point, value)

    def recommend(self) -> Point:
        if self.space.is_box and self.space.noisy and self._search.generation:
            return self.space.at(self._search.mean)
        return super().recommend()

    def _box(self, mean: Any, population: int | None) -> Any:
        bounds = np.tile([0.0, 1.0], (len(mean), 1))
        seed = int(self._rng.integers(2**31))
        return CMA(mean, STEP, bounds=bounds, seed=seed, population_size=population)

    def _table(self) -> Any:
        grids = [list(range(d.size)) for d in self.space.dimensions if d.kind != LABEL]
        labels = [d.size for d in self.space.dimensions if d.kind == LABEL]
        return CatCMAwM(z_space=grids or None, c_space=labels or None, seed=self.seed)

    def _row(self, solution: Any) -> Point:
        labels = iter(np.argmax(solution.c, axis=1) if solution.c is not None else [])
        grids = iter(solution.z if solution.z is not None else [])
        return [int(next(labels if d.kind == LABEL else grids)) for d in self.space.dimensions]
