"""What is worth sampling: a `Budget` sets the threshold, a `Decision` records the test.

Every budget comes down to one number, the posterior variance above which an action is worth sampling. It never looks
at a value, so the decision is known when the action is selected.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import final

from uncubed import _validation as check
from uncubed._typing import Array
from uncubed.errors import InvalidInputError
from uncubed.information import absolute_variance_threshold, horizon_epsilon, information_gain, variance_threshold


@final
@dataclass(frozen=True, slots=True, eq=False)
class Decision:
    """The outcome of one round's test.

    Attributes:
        action: the selected action, shape (d,); read-only.
        variance: posterior variance of f there, before the round.
        information_gain: what a value would tell, in nats.
        epsilon: the effective threshold on the gain, in nats.
        informative: whether the variance exceeds the budget's threshold; only then is it worth sampling.
        round: the round, from 1.
        index: the action's row in a finite set, else None.
    """

    action: Array
    variance: float
    information_gain: float
    epsilon: float
    informative: bool
    round: int
    index: int | None = None


@dataclass(frozen=True)
class Budget(ABC):
    """How much information an action must promise to be sampled.

    Choose with one of `keep_all`, `constant`, `for_horizon`, `absolute`, `resolution` and `gap`; each takes
    `max_model_order`, a hard cap on the model: at the cap the least informative atom goes.

    >>> print(Budget.constant(0.1))
    constant: keep iff information gain > ε, ε = 0.1 nats
    >>> print(Budget.for_horizon(1000, max_model_order=50))
    for_horizon: keep iff information gain > ½ log(1 + T^-α), T = 1000, α = 1/(2p) (Theorem 3.1); at most 50 atoms
    """

    max_model_order: int | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if self.max_model_order is not None:
            check.clean(self, "max_model_order", check.count)

    @abstractmethod
    def threshold(
        self, noise_variance: float, dimension: int, scale: float = 1.0, round: int = 1, *, beta: float | None = None
    ) -> float:
        """The posterior variance an action must exceed, in the belief's units.

        Args:
            noise_variance: σ² of the belief.
            dimension: p, the dimension of the actions.
            scale: what one unit of the belief is in the objective's units (its spread, if it was standardised).
            round: t, from 1.
            beta: the theoretical β_t; only `gap` needs it.
        """

    @abstractmethod
    def describe(self) -> str:
        """The rule and its numbers, in one line."""

    def __str__(self) -> str:
        cap = f"; at most {self.max_model_order} atoms" if self.max_model_order is not None else ""
        return self.describe() + cap

    needs_beta = False
    """Whether `threshold` must be given beta."""

    @staticmethod
    def keep_all(*, max_model_order: int | None = None) -> "Budget":
        """Sample every action: the dense bandit (ε = 0)."""
        return KeepAll(max_model_order=max_model_order)

    @staticmethod
    def constant(epsilon: float, *, max_model_order: int | None = None) -> "Budget":
        """Keep iff the information gain exceeds ε nats (Algorithm 1): flat for ever, with a floor of regret."""
        return Constant(epsilon, max_model_order=max_model_order)

    @staticmethod
    def for_horizon(horizon: int, alpha: float | None = None, *, max_model_order: int | None = None) -> "Budget":
        """Theorem 3.1's `ε = ½ log(1 + T^{-α})`, with α = 1/(2p) unless given: no-regret over T rounds."""
        return ForHorizon(horizon, alpha, max_model_order=max_model_order)

    @staticmethod
    def absolute(epsilon: float, *, max_model_order: int | None = None) -> "Budget":
        """Keep iff the conditional entropy itself exceeds ε nats (the paper's earlier version)."""
        return Absolute(epsilon, max_model_order=max_model_order)

    @staticmethod
    def resolution(r: float, *, relative: bool = False, max_model_order: int | None = None) -> "Budget":
        """Stop looking where the posterior standard deviation is below r.

        Args:
            r: in the objective's units, or with `relative` as a fraction of its spread, as a model sees it.
            relative: how r is meant.
            max_model_order: hard cap on the model.
        """
        return Resolution(r, relative, max_model_order=max_model_order)

    @staticmethod
    def gap(g: float, *, max_model_order: int | None = None) -> "Budget":
        """Look only as closely as an optimality gap of g (objective's units) needs: `resolution(g / (2√β))`."""
        return Gap(g, max_model_order=max_model_order)


@final
@dataclass(frozen=True)
class KeepAll(Budget):
    """Every action is sampled, also one whose variance is 0."""

    def threshold(
        self, noise_variance: float, dimension: int, scale: float = 1.0, round: int = 1, *, beta: float | None = None
    ) -> float:
        return -math.inf

    def describe(self) -> str:
        return "keep_all: every action is sampled"


@final
@dataclass(frozen=True)
class Constant(Budget):
    """Keep iff gain > ε."""

    epsilon: float

    def __post_init__(self) -> None:
        super().__post_init__()
        check.clean(self, "epsilon", check.non_negative)

    def threshold(
        self, noise_variance: float, dimension: int, scale: float = 1.0, round: int = 1, *, beta: float | None = None
    ) -> float:
        return variance_threshold(self.epsilon, noise_variance)

    def describe(self) -> str:
        return f"constant: keep iff information gain > ε, ε = {self.epsilon:g} nats"


@final
@dataclass(frozen=True)
class ForHorizon(Budget):
    """Keep iff gain > ½ log(1 + T^{-α})."""

    horizon: int
    alpha: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check.clean(self, "horizon", check.count)
        check.real("horizon", self.horizon)
        if self.alpha is not None:
            check.clean(self, "alpha", check.non_negative)

    def threshold(
        self, noise_variance: float, dimension: int, scale: float = 1.0, round: int = 1, *, beta: float | None = None
    ) -> float:
        return variance_threshold(self.epsilon(dimension), noise_variance)

    def epsilon(self, dimension: int) -> float:
        """ε in nats for actions of this dimension."""
        alpha = 1.0 / (2.0 * dimension) if self.alpha is None else self.alpha
        return horizon_epsilon(self.horizon, alpha)

    def describe(self) -> str:
        alpha = "1/(2p)" if self.alpha is None else f"{self.alpha:g}"
        return (
            f"for_horizon: keep iff information gain > ½ log(1 + T^-α), T = {self.horizon}, α = {alpha} (Theorem 3.1)"
        )


@final
@dataclass(frozen=True)
class Absolute(Budget):
    """Keep iff H > ε."""

    epsilon: float

    def __post_init__(self) -> None:
        super().__post_init__()
        check.clean(self, "epsilon", check.real)

    def threshold(
        self, noise_variance: float, dimension: int, scale: float = 1.0, round: int = 1, *, beta: float | None = None
    ) -> float:
        return absolute_variance_threshold(self.epsilon, noise_variance)

    def describe(self) -> str:
        return f"absolute: keep iff conditional entropy > ε, ε = {self.epsilon:g} nats"


@final
@dataclass(frozen=True)
class Resolution(Budget):
    """Keep iff the posterior standard deviation exceeds r."""

    r: float
    relative: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check.clean(self, "r", check.positive)

    def threshold(
        self, noise_variance: float, dimension: int, scale: float = 1.0, round: int = 1, *, beta: float | None = None
    ) -> float:
        return (self.r if self.relative else self.r / scale) ** 2

    def describe(self) -> str:
        unit = "of the objective's spread" if self.relative else "in the objective's units"
        return f"resolution: keep iff the posterior standard deviation > {self.r:g} {unit}"


@final
@dataclass(frozen=True)
class Gap(Budget):
    """Keep iff the posterior standard deviation exceeds g / (2√β_t)."""

    g: float
    needs_beta = True

    def __post_init__(self) -> None:
        super().__post_init__()
        check.clean(self, "g", check.positive)

    def threshold(
        self, noise_variance: float, dimension: int, scale: float = 1.0, round: int = 1, *, beta: float | None = None
    ) -> float:
        if beta is None:
            raise InvalidInputError("beta: expected the theoretical β_t for Budget.gap, got None")
        return (self.g / scale) ** 2 / (4.0 * check.positive("beta", beta))

    def describe(self) -> str:
        return f"gap: keep iff the posterior standard deviation > g/(2√β), g = {self.g:g} in the objective's units"


def decide(
    action: Array, variance: float, noise_variance: float, threshold: float, *, round: int, index: int | None = None
) -> Decision:
    """The test itself, in its variance form: informative iff `variance > threshold`."""
    return Decision(
        action,
        variance,
        information_gain(variance, noise_variance),
        information_gain(threshold, noise_variance) if threshold > 0.0 else 0.0,
        variance > threshold,
        round,
        index,
    )
