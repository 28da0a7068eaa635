"""Uniform at random."""

from typing import final

import numpy as np

from benchmarks.league.protocol import LeastTold, Point, Space


@final
class Random(LeastTold):
    packages = ("numpy",)

    def __init__(self, space: Space, seed: int) -> None:
        super().__init__(space, seed)
        self._rng = np.random.default_rng(seed)

    def ask(self) -> Point:
        return self.space.at(self._rng.random(len(self.space.dimensions)))
