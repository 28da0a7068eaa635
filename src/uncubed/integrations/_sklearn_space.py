"""What scikit-learn's searches sample from, as parameters of ours."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from numbers import Real
from typing import Any, final

import numpy as np
from scipy import stats

from uncubed.dimensions import Categorical, Dimension, Float, Int
from uncubed.errors import InvalidInputError
from uncubed.optimizer import Optimizer
from uncubed.records import Suggestion
from uncubed.space import Params

TAIL = 0.001
"""Of a distribution this much is left out on either side: what a random search hardly ever draws, such as C = 0."""

_TRIES = 10  # to be asked for something that was not tried before


@final
@dataclass(frozen=True)
class Parameter:
    """A dimension, and what its numbers stand for unless for themselves.

    Attributes:
        dimension: what the optimiser searches.
        values: of which it is the index.
        distribution: of which it is the quantile.
    """

    dimension: Dimension
    values: Sequence[Any] | None = None
    distribution: Any = None

    def decode(self, code: Any) -> Any:
        """The estimator's value for the optimiser's."""
        if self.values is not None:
            return self.values[code]
        return code if self.distribution is None else float(self.distribution.ppf(code))


def parameter(name: str, given: Any) -> Parameter:
    """Of a list, a distribution or a dimension.

    Raises:
        InvalidInputError: it is none of them, or has no value.
    """
    try:
        if isinstance(given, Dimension):
            return Parameter(given)
        if hasattr(given, "rvs"):
            return _drawn(given)
        return _listed(given)
    except InvalidInputError as error:
        raise InvalidInputError(f"{name}: {error}") from None


def _drawn(distribution: Any) -> Parameter:
    if not hasattr(distribution, "ppf"):
        raise InvalidInputError(f"expected a distribution with a quantile function `ppf`, got {distribution!r}")
    kind = getattr(distribution, "dist", distribution)  # of a frozen one
    if isinstance(kind, type(stats.randint)):
        return Parameter(Int(*distribution.support()))
    if isinstance(kind, stats.rv_discrete):
        return _indexed(_quantiles(distribution), ordered=True)
    low, high = (float(distribution.ppf(q)) for q in (TAIL, 1 - TAIL))
    if isinstance(kind, type(stats.uniform)):
        return Parameter(Float(low, high))
    if isinstance(kind, type(stats.loguniform)) and _is_even(distribution, low, high):
        return Parameter(Float(low, high, log=True))
    Float(low, high)  # what is wrong with it is said here
    return Parameter(Float(TAIL, 1 - TAIL), distribution=distribution)


def _is_even(distribution: Any, low: float, high: float) -> bool:
    """Whether the median is where it is without a `loc`."""
    return low > 0 and math.isclose(float(distribution.ppf(0.5)), math.sqrt(low) * math.sqrt(high), rel_tol=1e-6)


def _quantiles(distribution: Any) -> list[Any]:
    """The values of a discrete distribution, of which unlikely ones may be missing."""
    values = np.unique(distribution.ppf(np.linspace(TAIL, 1 - TAIL, round(1 / TAIL) - 1)))
    if not np.isfinite(values).all():
        raise InvalidInputError("expected a distribution with finite quantiles, got NaN or infinity")
    whole: list[Any] = values.astype(np.int64).tolist()
    return whole if (values == whole).all() else values.tolist()


def _listed(given: Any) -> Parameter:
    if isinstance(given, str | bytes) or not isinstance(given, Sequence | np.ndarray):
        raise InvalidInputError(f"expected a list of values, a distribution or a dimension, got {given!r}")
    if isinstance(given, np.ndarray) and given.ndim != 1:
        raise InvalidInputError(f"expected values in one axis, got shape {given.shape}")
    if not len(given):
        raise InvalidInputError("expected at least one value, got none")
    values: Any = given
    return _indexed(values, ordered=_is_sorted(values))


def _indexed(values: Sequence[Any], *, ordered: bool) -> Parameter:
    n = len(values)
    return Parameter(Int(0, n - 1) if ordered else Categorical(range(n)), values)


def _is_sorted(values: Sequence[Any]) -> bool:
    """Whether these are numbers that rise or fall, so that neighbours may be alike."""
    if not all(isinstance(value, Real) and not isinstance(value, bool | np.bool_) for value in values):
        return False
    steps = [after > before for before, after in pairwise(values)]
    distinct = len(set(values)) == len(values) and all(value == value for value in values)  # noqa: PLR0124  NaN
    return distinct and (all(steps) or not any(steps))


def _space(parameters: Mapping[str, Parameter]) -> dict[str, Any]:
    """For an optimiser; an only element is a constant, unless there is nothing else."""
    only = {name: 0 for name, p in parameters.items() if p.values is not None and len(p.values) == 1}
    every = {name: p.dimension for name, p in parameters.items()}
    return {**every, **only} if len(only) < len(every) else every


@final
class Search:
    """An optimiser over one dict of distributions, which tries nothing twice.

    Args:
        distributions: by name.
        options: of the `Optimizer`.
    """

    def __init__(self, distributions: Mapping[str, Any], **options: Any) -> None:
        if not isinstance(distributions, Mapping) or not distributions:
            raise InvalidInputError(
                f"param_distributions: expected a dict of at least one parameter, got {distributions!r}"
            )
        self.parameters = {name: parameter(name, given) for name, given in distributions.items()}
        self.optimizer = Optimizer(_space(self.parameters), **options)
        self._values: dict[bytes, float] = {}
        self._stuck = False

    @property
    def over(self) -> str | None:
        """Why nothing more is to be tried; None while something is."""
        if len(self._values) == self.optimizer.space.size:
            return "all was tried"
        return "what it would try was tried before" if self._stuck else self.optimizer.done

    @property
    def highest(self) -> float:
        """The best value told."""
        return max((value for value in self._values.values() if not math.isnan(value)), default=-math.inf)

    def ask(self) -> Suggestion | None:
        """What was not tried before; None if there is no such thing now.

        With the same folds the same fits give the same score: the optimiser, which thinks of noise, is told it again.
        """
        awaited = {suggestion.decision.action.tobytes() for suggestion in self.optimizer.pending.values()}
        for _ in range(_TRIES):
            suggestion = self.optimizer.ask()
            key = suggestion.decision.action.tobytes()
            if key in awaited:
                self.optimizer.cancel(suggestion)
                return None
            if key not in self._values:
                return suggestion
            self.optimizer.cancel(suggestion)
            self.optimizer.tell(suggestion.params, self._values[key])  # a copy says nothing of noise
        self._stuck = True
        return None

    def tell(self, suggestion: Suggestion, value: float) -> None:
        """The score of a suggestion; NaN is a failure."""
        self._values[suggestion.decision.action.tobytes()] = value
        self.optimizer.tell(suggestion, value)

    def decode(self, params: Params) -> dict[str, Any]:
        """The estimator's parameters for the optimiser's."""
        return {name: self.parameters[name].decode(code) for name, code in params.items()}
