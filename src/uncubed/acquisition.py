"""Which action next: acquisition functions, and the schedules of β they use.

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
from uncubed.beliefs import Belief, PosteriorGradient, Predictor, SketchedBelief
from uncubed.errors import InvalidInputError
from uncubed.kernels import Kernel


class Selection(NamedTuple):
    """Where an acquisition is largest, and what the belief says there."""

    action: Array
    mean: float
    variance: float
    score: float
    row: int | None


class ActionSet(Protocol):
    """What an acquisition asks of the set of actions."""

    @property
    def dimension(self) -> int:
        """p, the number of coordinates of an action."""

    def theoretical_beta(self, round: int, kernel: Kernel, delta: float, events: int = 2) -> float:
        """β_t of Lemma 1 on a finite set, of Lemma 9 on a box, where δ is split over `events` kinds of point."""

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


# Schedules of β


class BetaSchedule(ABC):
    """β_t: √β_t multiplies the standard deviation in the upper confidence bound."""

    @property
    def depends_on_round(self) -> bool:
        """Whether β changes while the belief does not."""
        return True

    @abstractmethod
    def __call__(self, round: int, actions: ActionSet, belief: Belief) -> float:
        """β_t, from round 1."""


@final
@dataclass(frozen=True)
class TheoreticalBeta(BetaSchedule):
    """The β_t of Theorem 3.2: the confidence bounds hold in all rounds with probability 1 - delta.

    Finite set: 2 log(|X| t² π² / 6δ). Box: 2 log(2 t² π² / 3δ) + 2d log(t² d b r √log(4da/δ)), with a and b from
    `Kernel.derivative_tail` and the box scaled to r = 1.
    """

    delta: float = 0.1

    def __post_init__(self) -> None:
        check.clean(self, "delta", check.probability)

    def __call__(self, round: int, actions: ActionSet, belief: Belief) -> float:
        return actions.theoretical_beta(round, belief.kernel, self.delta)


@final
@dataclass(frozen=True)
class ScaledBeta(BetaSchedule):
    """`factor` times another schedule: practitioners scale the theoretical β down, often to a fifth."""

    factor: float = 0.2
    of: BetaSchedule = field(default_factory=TheoreticalBeta)

    def __post_init__(self) -> None:
        check.clean(self, "factor", check.positive)
        check.kind("of", self.of, BetaSchedule)

    @property
    def depends_on_round(self) -> bool:
        return self.of.depends_on_round

    def __call__(self, round: int, actions: ActionSet, belief: Belief) -> float:
        return self.factor * self.of(round, actions, belief)


@final
@dataclass(frozen=True)
class ConstantBeta(BetaSchedule):
    """The same β in every round."""

    value: float

    def __post_init__(self) -> None:
        check.clean(self, "value", check.non_negative)

    @property
    def depends_on_round(self) -> bool:
        return False

    def __call__(self, round: int, actions: ActionSet, belief: Belief) -> float:
        return self.value


@final
@dataclass(frozen=True)
class SketchedBeta(BetaSchedule):
    """BKB's width, √β = F + √(ξ²(d_eff log n + log 1/δ) / σ²), for a `SketchedBelief` with n observations.

    BKB's standard deviation is ours divided by σ = √λ, so its √λ·F + √(ξ²(…)) is divided by σ here.

    Args:
        norm: F, a bound on the norm of f in the kernel's space.
        noise_variance: ξ²; the belief's σ² unless given.
        delta: failure probability.
    """

    norm: float = 1.0
    noise_variance: float | None = None
    delta: float = 0.5

    def __post_init__(self) -> None:
        check.clean(self, "norm", check.positive)
        check.clean(self, "delta", check.probability)
        if self.noise_variance is not None:
            check.clean(self, "noise_variance", check.positive)

    def __call__(self, round: int, actions: ActionSet, belief: Belief) -> float:
        if not isinstance(belief, SketchedBelief):
            raise InvalidInputError(f"belief: expected a SketchedBelief for SketchedBeta, got {type(belief).__name__}")
        noise = belief.noise_variance if self.noise_variance is None else self.noise_variance
        log_determinant = belief.effective_dimension * math.log(max(belief.observations, 1))
        width = math.sqrt(noise / belief.noise_variance * (log_determinant + math.log(1.0 / self.delta)))
        return (self.norm + width) ** 2


# Acquisitions


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

    def value_and_gradient(self, belief: Predictor, X: Array, parameter: float) -> tuple[Array, Array]:
        """`value` at rows of X, shape (n,), and its gradient in x, shape (n, d); 0 where that is no number."""
        return self.climb(belief.gradient(X), parameter)

    def climb(self, posterior: PosteriorGradient, parameter: float) -> tuple[Array, Array]:
        """The same of what a belief said at these rows."""
        mean, variance, mean_gradient, variance_gradient = posterior
        std = np.sqrt(variance)
        value, by_mean, by_std = self._value_and_partials(mean, std, parameter)
        with np.errstate(over="ignore", invalid="ignore"):  # where the slope is no number there is nothing to climb
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
        with np.errstate(divide="ignore"):
            return np.where(std > 0.0, np.log(std) + log_tau(_z(mean, std, parameter)), -np.inf)

    def partials(self, mean: Array, std: Array, parameter: float) -> tuple[Array, Array]:
        return self._value_and_partials(mean, std, parameter)[1:]

    def _value_and_partials(self, mean: Array, std: Array, parameter: float) -> tuple[Array, Array, Array]:
        # ∂(σ τ)/∂μ = Φ and ∂(σ τ)/∂σ = φ, divided by σ τ.
        log, by_mean, by_std = improvement(_z(mean, std, parameter))
        with np.errstate(divide="ignore"):
            value = np.where(std > 0.0, np.log(std) + log, -np.inf)
        return value, _per_std(by_mean, std), _per_std(by_std, std)


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
        return super().value(mean, self._moved(std), parameter)

    def _value_and_partials(self, mean: Array, std: Array, parameter: float) -> tuple[Array, Array, Array]:
        value, by_mean, by_moved = super()._value_and_partials(mean, self._moved(std), parameter)
        variance = std * std
        with np.errstate(over="ignore", invalid="ignore"):  # where nothing can move, as in `climb`
            by_std = std * (variance + 2.0 * self.noise_variance) / np.maximum(self._total(std), _TINY) ** 1.5
            return value, by_mean, by_moved * by_std

    def _moved(self, std: Array) -> Array:
        moved: Array = std * std / np.sqrt(np.maximum(self._total(std), _TINY))
        return moved

    def _total(self, std: Array) -> Array:
        return std * std + self.noise_variance


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
        z = (mean - incumbent) / np.maximum(std, _TINY)
    return np.minimum(np.maximum(z, -_LARGEST_Z), _LARGEST_Z)


def _incumbent(belief: Belief) -> float:
    return 0.0 if belief.best_value is None else belief.best_value


def _per_std(slope: Array, std: Array) -> Array:
    with np.errstate(over="ignore"):
        return slope / np.maximum(std, _TINY)
