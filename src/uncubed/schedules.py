"""Schedules of β, by whose root confidence bounds multiply the standard deviation."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Protocol, final

from uncubed import _validation as check
from uncubed.beliefs import Belief, SketchedBelief
from uncubed.errors import InvalidInputError
from uncubed.kernels import Kernel


class Covered(Protocol):
    """What a schedule asks of the set of actions: β with which bounds cover all of it."""

    def theoretical_beta(self, round: int, kernel: Kernel, delta: float, events: int = 2) -> float:
        """β_t of Lemma 1 on a finite set, of Lemma 9 on a box, where δ is split over `events` kinds of point."""


class BetaSchedule(ABC):
    """β_t: √β_t multiplies the standard deviation in the upper confidence bound."""

    @property
    def depends_on_round(self) -> bool:
        """Whether β changes while the belief does not."""
        return True

    @abstractmethod
    def __call__(self, round: int, actions: Covered, belief: Belief) -> float:
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

    def __call__(self, round: int, actions: Covered, belief: Belief) -> float:
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

    def __call__(self, round: int, actions: Covered, belief: Belief) -> float:
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

    def __call__(self, round: int, actions: Covered, belief: Belief) -> float:
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

    def __call__(self, round: int, actions: Covered, belief: Belief) -> float:
        if not isinstance(belief, SketchedBelief):
            raise InvalidInputError(f"belief: expected a SketchedBelief for SketchedBeta, got {type(belief).__name__}")
        noise = belief.noise_variance if self.noise_variance is None else self.noise_variance
        log_determinant = belief.effective_dimension * math.log(max(belief.observations, 1))
        width = math.sqrt(noise / belief.noise_variance * (log_determinant + math.log(1.0 / self.delta)))
        return (self.norm + width) ** 2
