"""Which action next: acquisition functions.

| name | meaning |
|---|---|
| `mean`, `std` | posterior mean μ and standard deviation σ of f, shape (n,) |
| `parameter` | the one number an acquisition needs beside them: √β_t, or the incumbent ξ |
| z | (μ - ξ)/σ |
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol, final

import numpy as np
from scipy.special import log_ndtr

from uncubed import _validation as check
from uncubed._gaussian import density_over_distribution, improvement, log_tau
from uncubed._typing import Array
from uncubed.beliefs import Belief, PosteriorGradient
from uncubed.errors import InvalidInputError
from uncubed.schedules import BetaSchedule, Covered, TheoreticalBeta


class Selection(NamedTuple):
    """Where an acquisition is largest, and what the belief says there."""

    action: Array
    mean: float
    variance: float
    score: float
    row: int | None


class ActionSet(Covered, Protocol):
    """What an acquisition asks of the set of actions."""

    @property
    def dimension(self) -> int:
        """p, the number of coordinates of an action."""

    def maximise(
        self,
        acquisition: "Acquisition",
        parameter: float,
        belief: Belief,
        rng: np.random.Generator,
        start: Array | None = None,
    ) -> Selection:
        """The action at which the acquisition is largest."""

    def maximise_draw(self, belief: Belief, rng: np.random.Generator) -> Selection:
        """The action at which one joint draw of f is largest."""


class Acquisition(ABC):
    """A rule that selects the next action from the belief.

    An acquisition is a function of mean and standard deviation at one point and of one number; `partials` are its
    derivatives in the two, from which the gradient in x follows by the chain rule.
    """

    @property
    def depends_on_round(self) -> bool:
        """Whether an unchanged belief may give another action in another round; if not, a refused round freezes it."""
        return False

    @abstractmethod
    def parameter(self, round: int, actions: ActionSet, belief: Belief, rng: np.random.Generator) -> float:
        """The number that `value` needs in this round."""

    @abstractmethod
    def value(self, mean: Array, std: Array, parameter: float) -> Array:
        """The acquisition, or an increasing function of it, shape (n,)."""

    @abstractmethod
    def partials(self, mean: Array, std: Array, parameter: float) -> tuple[Array, Array]:
        """Derivatives of `value` in mean and in std, where std > 0."""

    def value_and_gradient(self, belief: Belief, X: Array, parameter: float) -> tuple[Array, Array]:
        """`value` at rows of X, shape (n,), and its gradient in x, shape (n, d); 0 where that is no number."""
        return self.climb(belief.gradient(X), parameter)

    def climb(self, posterior: PosteriorGradient, parameter: float) -> tuple[Array, Array]:
        """The same of what a belief said at these rows."""
        mean, variance, mean_gradient, variance_gradient = posterior
        std = np.sqrt(variance)
        with np.errstate(over="ignore", invalid="ignore"):  # where the slope is no number there is nothing to climb
            value, by_mean, by_std = self._value_and_partials(mean, std, parameter)
            by_variance = np.divide(by_std, 2.0 * std, out=np.zeros_like(std), where=std > 0.0)
            gradient = by_mean[:, None] * mean_gradient + by_variance[:, None] * variance_gradient
        return value, np.where(np.isfinite(gradient), gradient, 0.0)

    def _value_and_partials(self, mean: Array, std: Array, parameter: float) -> tuple[Array, Array, Array]:
        return self.value(mean, std, parameter), *self.partials(mean, std, parameter)

    def choose(
        self,
        round: int,
        actions: ActionSet,
        belief: Belief,
        rng: np.random.Generator,
        start: Array | None = None,
    ) -> Selection:
        """The action of this round."""
        return actions.maximise(self, self.parameter(round, actions, belief, rng), belief, rng, start)


@final
@dataclass(frozen=True)
class UpperConfidenceBound(Acquisition):
    """μ + √β_t σ (eq. gp_ucb)."""

    beta: BetaSchedule = field(default_factory=TheoreticalBeta)

    def __post_init__(self) -> None:
        check.kind("beta", self.beta, BetaSchedule)

    @property
    def depends_on_round(self) -> bool:
        return self.beta.depends_on_round

    def parameter(self, round: int, actions: ActionSet, belief: Belief, rng: np.random.Generator) -> float:
        return math.sqrt(self.beta(round, actions, belief))

    def value(self, mean: Array, std: Array, parameter: float) -> Array:
        bound = parameter * std
        bound += mean
        return bound

    def partials(self, mean: Array, std: Array, parameter: float) -> tuple[Array, Array]:
        return np.ones_like(mean), np.full_like(std, parameter)


class _Improvement(Acquisition):
    """log of σ τ(z), τ(z) = z Φ(z) + φ(z): expected improvement over ξ; -inf where σ = 0 (improvement 0)."""

    def parameter(self, round: int, actions: ActionSet, belief: Belief, rng: np.random.Generator) -> float:
        return _incumbent(belief)

    def value(self, mean: Array, std: Array, parameter: float) -> Array:
        log_std = np.log(np.maximum(std, _TINY))
        return np.where(std > 0.0, log_std + log_tau(_z(mean, std, parameter)), -np.inf)

    def partials(self, mean: Array, std: Array, parameter: float) -> tuple[Array, Array]:
        with np.errstate(over="ignore", invalid="ignore"):
            return self._value_and_partials(mean, std, parameter)[1:]

    def _value_and_partials(self, mean: Array, std: Array, parameter: float) -> tuple[Array, Array, Array]:
        # ∂(σ τ)/∂μ = Φ and ∂(σ τ)/∂σ = φ, divided by σ τ.
        some = np.maximum(std, _TINY)
        log, by_mean, by_std = improvement(_within((mean - parameter) / some))
        return np.where(std > 0.0, np.log(some) + log, -np.inf), by_mean / some, by_std / some


@final
@dataclass(frozen=True)
class ExpectedImprovement(_Improvement):
    """Expected improvement over the best value kept, in log space (eq. expected_improvement)."""


@final
@dataclass(frozen=True)
class NoisyImprovement(_Improvement):
    """What the mean at a point is expected to gain over ξ by one noisy value there, in log space.

    A value of noise variance s² moves the mean by a normal of standard deviation σ²/√(σ² + s²): this, not σ, is what
    can improve. Without noise it is expected improvement; with it, the expected improvement of a quantile (Picheny,
    Ginsbourger, Richet and Caplin, Technometrics 2013), of the median.
    """

    noise_variance: float

    def value(self, mean: Array, std: Array, parameter: float) -> Array:
        return super().value(mean, std * std / np.sqrt(self._total(std)), parameter)

    def _value_and_partials(self, mean: Array, std: Array, parameter: float) -> tuple[Array, Array, Array]:
        variance, total = std * std, self._total(std)
        root = np.sqrt(total)
        value, by_mean, by_moved = super()._value_and_partials(mean, variance / root, parameter)
        return value, by_mean, by_moved * (std * (variance + 2.0 * self.noise_variance) / (total * root))

    def _total(self, std: Array) -> Array:
        return np.maximum(std * std + self.noise_variance, _TINY)


@final
@dataclass(frozen=True)
class MostProbableImprovement(_Improvement):
    """MPI as the paper prints it: the formula of EI with ξ = max_x μ(x), in log space (eq. EIMPI)."""

    def parameter(self, round: int, actions: ActionSet, belief: Belief, rng: np.random.Generator) -> float:
        return actions.maximise(PureExploitation(), 0.0, belief, rng).mean


@final
@dataclass(frozen=True)
class ProbabilityOfImprovement(Acquisition):
    """log Φ(z) over the best value kept: the textbook's probability of improvement."""

    def parameter(self, round: int, actions: ActionSet, belief: Belief, rng: np.random.Generator) -> float:
        return _incumbent(belief)

    def value(self, mean: Array, std: Array, parameter: float) -> Array:
        certain = np.where(mean > parameter, 0.0, -np.inf)
        return np.where(std > 0.0, log_ndtr(_z(mean, std, parameter)), certain)

    def partials(self, mean: Array, std: Array, parameter: float) -> tuple[Array, Array]:
        z = _z(mean, std, parameter)
        hazard = density_over_distribution(z)
        return _per_std(hazard, std), _per_std(-z * hazard, std)


@final
@dataclass(frozen=True)
class PureExploration(Acquisition):
    """σ: the action we know least of, which maximises the information gain (eq. max_variance)."""

    def parameter(self, round: int, actions: ActionSet, belief: Belief, rng: np.random.Generator) -> float:
        return 0.0

    def value(self, mean: Array, std: Array, parameter: float) -> Array:
        return std

    def partials(self, mean: Array, std: Array, parameter: float) -> tuple[Array, Array]:
        return np.zeros_like(mean), np.ones_like(std)


@final
@dataclass(frozen=True)
class PureExploitation(Acquisition):
    """μ: the action we expect most of."""

    def parameter(self, round: int, actions: ActionSet, belief: Belief, rng: np.random.Generator) -> float:
        return 0.0

    def value(self, mean: Array, std: Array, parameter: float) -> Array:
        return mean

    def partials(self, mean: Array, std: Array, parameter: float) -> tuple[Array, Array]:
        return np.ones_like(mean), np.zeros_like(std)


@final
@dataclass(frozen=True)
class ThompsonSampling(Acquisition):
    """The best action of one joint draw of f from the belief."""

    @property
    def depends_on_round(self) -> bool:
        return True

    def parameter(self, round: int, actions: ActionSet, belief: Belief, rng: np.random.Generator) -> float:
        raise self._no_value()

    def value(self, mean: Array, std: Array, parameter: float) -> Array:
        raise self._no_value()

    def partials(self, mean: Array, std: Array, parameter: float) -> tuple[Array, Array]:
        raise self._no_value()

    def choose(
        self,
        round: int,
        actions: ActionSet,
        belief: Belief,
        rng: np.random.Generator,
        start: Array | None = None,
    ) -> Selection:
        return actions.maximise_draw(belief, rng)

    @staticmethod
    def _no_value() -> InvalidInputError:
        return InvalidInputError("ThompsonSampling draws f jointly: it has no value at one point; use choose()")


_LARGEST_Z = 1e150  # its square is finite
_TINY = float(np.finfo(float).tiny)


def _z(mean: Array, std: Array, incumbent: float) -> Array:
    with np.errstate(over="ignore"):
        return _within((mean - incumbent) / np.maximum(std, _TINY))


def _within(z: Array) -> Array:
    return np.minimum(np.maximum(z, -_LARGEST_Z), _LARGEST_Z)


def _incumbent(belief: Belief) -> float:
    return 0.0 if belief.best_value is None else belief.best_value


def _per_std(slope: Array, std: Array) -> Array:
    with np.errstate(over="ignore"):
        return slope / np.maximum(std, _TINY)
