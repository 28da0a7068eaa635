"""SMAC 3 by the table in its manual: the black-box facade (a GP) on exact boxes, which it does not offer for noise;
the hyper-parameter facade (a forest) on tables and where values are noisy, where it repeats evaluations.

The recommendation is its incumbent. Its budget of trials, by which its first design is cut, is its default of 100.
"""

import tempfile
from pathlib import Path
from typing import Any, final

from ConfigSpace import Categorical, Configuration, ConfigurationSpace, Float, Integer
from smac import BlackBoxFacade, HyperparameterOptimizationFacade, Scenario
from smac.runhistory.dataclasses import TrialInfo, TrialValue

from benchmarks.league.protocol import LABEL, NUMBER, Dimension, Point, Space, System


@final
class Smac(System):
    packages = ("smac", "ConfigSpace", "scikit-learn", "scipy", "numpy")

    def __init__(self, space: Space, seed: int) -> None:
        super().__init__(space, seed)
        self._folder = tempfile.TemporaryDirectory()
        where = ConfigurationSpace(seed=seed)
        where.add([_parameter(n, d) for n, d in zip(space.names, space.dimensions, strict=True)])
        self._scenario = Scenario(
            where, deterministic=not space.noisy, seed=seed, output_directory=Path(self._folder.name)
        )
        self._smac = self._facade()
        self._asked: Any = None

    def ask(self) -> Point:
        self._asked = self._smac.ask()
        return self.space.listed(self._asked.config)

    def tell(self, point: Point, value: float) -> None:
        self._smac.tell(self._asked, TrialValue(cost=value), save=False)

    def load(self, points: list[Point], values: list[float]) -> None:
        self._smac = self._facade(n_configs=0)  # it would begin with a first design all the same
        for point, value in zip(points, values, strict=True):
            config = Configuration(self._scenario.configspace, values=self.space.worded(point))
            self._smac.tell(TrialInfo(config, seed=0), TrialValue(cost=value), save=False)

    def recommend(self) -> Point:
        incumbent = self._smac.intensifier.get_incumbent()
        return self.space.listed(self._asked.config if incumbent is None else incumbent)

    def _facade(self, **first_design: Any) -> Any:
        exact = self.space.is_box and not self.space.noisy
        facade: Any = BlackBoxFacade if exact else HyperparameterOptimizationFacade
        first = facade.get_initial_design(self._scenario, **first_design)
        return facade(self._scenario, _never_called, initial_design=first, overwrite=True, logging_level=False)


def _parameter(name: str, dimension: Dimension) -> Any:
    if dimension.kind == NUMBER:
        return Float(name, (0.0, 1.0))
    if dimension.kind == LABEL:
        return Categorical(name, [str(k) for k in range(dimension.size)])
    return Integer(name, (0, dimension.size - 1))


def _never_called(config: Any, seed: int = 0) -> float:
    raise NotImplementedError
