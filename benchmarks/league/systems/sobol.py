"""A scrambled Sobol sequence."""

from typing import final

from scipy.stats import qmc

from benchmarks.league.protocol import LeastTold, Point, Space


@final
class Sobol(LeastTold):
    packages = ("scipy",)

    def __init__(self, space: Space, seed: int) -> None:
        super().__init__(space, seed)
        self._engine = qmc.Sobol(len(space.dimensions), seed=seed)

    def ask(self) -> Point:
        return self.space.at(self._engine.random(1)[0])
