"""Optuna's distributions and ours."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import numpy as np
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution

from uncubed.dimensions import Categorical, Dimension, Float, Int
from uncubed.errors import InvalidInputError
from uncubed.space import Params

Distributions = dict[str, BaseDistribution]


_FINEST = 1e7  # steps


def dimension(distribution: BaseDistribution) -> Dimension | None:
    """A choice is known by its number; None if the range is too large to be searched."""
    with suppress(InvalidInputError):
        if isinstance(distribution, CategoricalDistribution):
            return Categorical(range(len(distribution.choices)))
        if isinstance(distribution, FloatDistribution) and _is_too_fine(distribution):
            return None
        return _numeric(distribution)
    return None


def _is_too_fine(distribution: FloatDistribution) -> bool:
    """Whether Optuna, which compares by 1e-8 of a step, would not know our values again."""
    step = distribution.step
    return step is not None and max(abs(distribution.low), abs(distribution.high)) / step > _FINEST


def _numeric(distribution: BaseDistribution) -> Dimension:
    if isinstance(distribution, IntDistribution):
        return Int(distribution.low, distribution.high, log=distribution.log, step=distribution.step)
    if isinstance(distribution, FloatDistribution):
        return Float(distribution.low, distribution.high, log=distribution.log, step=distribution.step)
    raise InvalidInputError(f"distribution: expected one of Optuna's own, got {distribution!r}")


def internal(space: Distributions, params: Mapping[str, Any]) -> dict[str, float]:
    """Optuna's numbers for parameters, of those that are known to the space."""
    numbers = {}
    for name in space:
        with suppress(ValueError):
            if name in params:
                numbers[name] = space[name].to_internal_repr(params[name])
    return numbers


def coded(space: Distributions, numbers: Mapping[str, float]) -> Params:
    """The optimiser's values for Optuna's numbers, of those that lie in the space."""
    return {
        name: numbers[name] if isinstance(distribution, FloatDistribution) else int(numbers[name])
        for name, distribution in space.items()
        if name in numbers and distribution._contains(numbers[name])
    }


def decoded(space: Distributions, point: Params) -> dict[str, Any]:
    """Optuna's parameters for the optimiser's values."""
    return {
        name: d.choices[code] if isinstance(d := space[name], CategoricalDistribution) else code
        for name, code in point.items()
    }


def native(distribution: BaseDistribution) -> Any:
    """A parameter with the study's own values; a constant if it is the only choice."""
    if distribution.single():
        return distribution.choices[0] if isinstance(distribution, CategoricalDistribution) else _numeric(distribution)
    if isinstance(distribution, CategoricalDistribution):
        return Categorical(distribution.choices)
    return _numeric(distribution)


def foreign(parameter: Any) -> BaseDistribution:
    """The distribution of a parameter, or of a constant."""
    if isinstance(parameter, Float):
        last = parameter.high if parameter.step is None else parameter.decode(np.ones(1))
        return FloatDistribution(parameter.low, last, log=parameter.log, step=parameter.step)
    if isinstance(parameter, Int):
        last = parameter.low + parameter.step * (parameter.count - 1)
        log = parameter.log and parameter.step == 1  # Optuna has no logarithm by a step
        return IntDistribution(parameter.low, last, log=log, step=parameter.step)
    return CategoricalDistribution(parameter.choices if isinstance(parameter, Categorical) else [parameter])
