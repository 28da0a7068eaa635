"""HEBO as it comes; the recommendation is its best observed point."""

import warnings
from typing import Any, final

import numpy as np
import pandas as pd
import torch
from hebo.design_space.design_space import DesignSpace
from hebo.optimizers.hebo import HEBO

from benchmarks.league.protocol import LABEL, NUMBER, Dimension, Point, Space, System

warnings.filterwarnings("ignore")


@final
class Hebo(System):
    packages = ("HEBO", "torch", "pymoo", "scikit-learn", "numpy")

    def __init__(self, space: Space, seed: int) -> None:
        super().__init__(space, seed)
        np.random.seed(seed)  # noqa: NPY002  it takes the global generators
        torch.manual_seed(seed)
        where = DesignSpace().parse([_parameter(n, d) for n, d in zip(space.names, space.dimensions, strict=True)])
        self._optimizer = HEBO(where, scramble_seed=seed)

    def ask(self) -> Point:
        return self.space.listed(self._optimizer.suggest(n_suggestions=1).iloc[0])

    def tell(self, point: Point, value: float) -> None:
        self.load([point], [value])

    def load(self, points: list[Point], values: list[float]) -> None:
        rows = pd.DataFrame([self.space.worded(point) for point in points])
        self._optimizer.observe(rows, np.array(values)[:, None])

    def recommend(self) -> Point:
        return self.space.listed(self._optimizer.best_x.iloc[0])


def _parameter(name: str, dimension: Dimension) -> dict[str, Any]:
    if dimension.kind == NUMBER:
        return {"name": name, "type": "num", "lb": 0.0, "ub": 1.0}
    if dimension.kind == LABEL:
        return {"name": name, "type": "cat", "categories": [str(k) for k in range(dimension.size)]}
    return {"name": name, "type": "int", "lb": 0, "ub": dimension.size - 1}
