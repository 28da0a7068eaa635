"""SMAC 3: the black-box facade (a GP) on boxes, the hyper-parameter facade (a forest) on tables, as its manual says.

It is told whether values are exact; where they are not it repeats evaluations, as it likes to. The recommendation is
its incumbent.
"""

import tempfile
from pathlib import Path
from typing import Any, final

from ConfigSpace import Categorical, ConfigurationSpace, Float, Integer
from smac import BlackBoxFacade, HyperparameterOptimizationFacade, Scenario
from smac.runhistory.dataclasses import TrialValue

from benchmarks.league.protocol import LABEL, NUMBER, Dimension, Point, Space, System


@final
class Smac(System):
    packages = ("smac", "ConfigSpace", "scikit-learn", "scipy", "numpy")

    def __init__(self, space: Space, seed: int) -> None:
        super().__init__(space, seed)
        self._folder = tempfile.TemporaryDirectory()
        where = ConfigurationSpace(seed=seed)
        where.add([_parameter(n, d) for n, d in zip(space.names, space.dimensions, strict=True)])
        scenario = Scenario(where, deterministic=not space.noisy, seed=seed, output_directory=Path(self._folder.name))
        facade: Any = BlackBoxFacade if space.is_box else HyperparameterOptimizationFacade
        self._smac = facade(scenario, _never_called, overwrite=True, logging_level=False)
        self._asked: Any = None

    def ask(self) -> Point:
        self._asked = self._smac.ask()
        return self.space.listed(self._asked.config)

    def tell(self, point: Point, value: float) -> None:
        self._smac.tell(self._asked, TrialValue(cost=value), save=False)

    def load(self, points: list[Point], values: list[float]) -> None:
        from ConfigSpace import Configuration
        from smac.runhistory.dataclasses import TrialInfo

        seed = 0 if not self.space.noisy else self._smac.intensifier.get_trials_of_interest  # noqa: F841
        for point, value in zip(points, values, strict=True):
            config = Configuration(self._smac.scenario.configspace, values=self._params(point))
            self._smac.tell(TrialInfo(config, seed=0), TrialValue(cost=value), save=False)

    def recommend(self) -> Point:
        incumbent = self._smac.intensifier.get_incumbent()
        return self.space.listed(self._asked.config if incumbent is None else incumbent)

    def _params(self, point: Point) -> dict[str, Any]:
        named = self.space.named(point)
        kinds = zip(self.space.names, self.space.dimensions, strict=True)
        return {name: str(named[name]) if d.kind == LABEL else named[name] for name, d in kinds}


def _parameter(name: str, dimension: Dimension) -> Any:
    if dimension.kind == NUMBER:
        return Float(name, (0.0, 1.0))
    if dimension.kind == LABEL:
        return Categorical(name, [str(k) for k in range(dimension.size)])
    return Integer(name, (0, dimension.size - 1))


def _never_called(config: Any, seed: int = 0) -> float:
    raise NotImplementedError
