"""Ax's `Client` as it comes: its own choice of model and first design, and its own best parameterization."""

import logging
import warnings
from typing import Any, final

from ax.api.client import Client
from ax.api.configs import ChoiceParameterConfig, RangeParameterConfig

from benchmarks.league.protocol import LABEL, NUMBER, Dimension, Point, Space, System

warnings.filterwarnings("ignore")


@final
class Ax(System):
    packages = ("ax-platform", "botorch", "gpytorch", "torch", "numpy")

    def __init__(self, space: Space, seed: int) -> None:
        super().__init__(space, seed)
        logging.disable(logging.WARNING)
        self._client = Client(random_seed=seed)
        self._client.configure_experiment([_config(n, d) for n, d in zip(space.names, space.dimensions, strict=True)])
        self._client.configure_optimization(objective="-value")
        self._trial: int | None = None

    def ask(self) -> Point:
        ((self._trial, params),) = self._client.get_next_trials(max_trials=1).items()
        return self.space.listed(params)

    def tell(self, point: Point, value: float) -> None:
        trial, self._trial = self._trial, None
        if trial is None:
            trial = self._client.attach_trial(self.space.worded(point))
        self._client.complete_trial(trial, raw_data={"value": value})

    def recommend(self) -> Point:
        return self.space.listed(self._client.get_best_parameterization()[0])


def _config(name: str, dimension: Dimension) -> Any:
    if dimension.kind == NUMBER:
        return RangeParameterConfig(name=name, bounds=(0.0, 1.0), parameter_type="float")
    if dimension.kind == LABEL:
        labels = [str(k) for k in range(dimension.size)]
        return ChoiceParameterConfig(name=name, values=labels, parameter_type="str", is_ordered=False)
    return RangeParameterConfig(name=name, bounds=(0, dimension.size - 1), parameter_type="int")
