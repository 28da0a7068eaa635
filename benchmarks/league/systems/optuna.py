"""Optuna's GPSampler and TPESampler, as they come; the GP is told whether values are exact, as its manual asks."""

import warnings
from typing import final

import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.samplers import BaseSampler, GPSampler, TPESampler

from benchmarks.league.protocol import LABEL, NUMBER, Dimension, Point, Space, System


class _Study(System):
    """A study in memory; the recommendation is its best trial."""

    def __init__(self, space: Space, seed: int, sampler: BaseSampler) -> None:
        super().__init__(space, seed)
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        self._distributions = {n: _distribution(d) for n, d in zip(space.names, space.dimensions, strict=True)}
        self._study = optuna.create_study(sampler=sampler)
        self._trial: optuna.Trial | None = None

    def ask(self) -> Point:
        self._trial = self._study.ask(self._distributions)
        return self.space.listed(self._trial.params)

    def tell(self, point: Point, value: float) -> None:
        assert self._trial is not None
        self._study.tell(self._trial, value)

    def load(self, points: list[Point], values: list[float]) -> None:
        self._study.add_trials(
            [
                optuna.trial.create_trial(params=self.space.named(x), distributions=self._distributions, value=value)
                for x, value in zip(points, values, strict=True)
            ]
        )

    def recommend(self) -> Point:
        return self.space.listed(self._study.best_params)


@final
class OptunaGP(_Study):
    packages = ("optuna", "torch", "scipy", "numpy")

    def __init__(self, space: Space, seed: int) -> None:
        import scipy.optimize  # noqa: F401  it imports them when it first needs them, which is not to be its time
        import torch  # noqa: F401

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the option is experimental
            sampler = GPSampler(seed=seed, deterministic_objective=not space.noisy)
        super().__init__(space, seed, sampler)


@final
class OptunaTPE(_Study):
    packages = ("optuna", "numpy")

    def __init__(self, space: Space, seed: int) -> None:
        super().__init__(space, seed, TPESampler(seed=seed))


def _distribution(dimension: Dimension) -> BaseDistribution:
    if dimension.kind == NUMBER:
        return FloatDistribution(0.0, 1.0)
    if dimension.kind == LABEL:
        return CategoricalDistribution(range(dimension.size))
    return IntDistribution(0, dimension.size - 1)
