"""Who plays: ours, two baselines on the same prior, and simple rules.

The upper confidence bounds of ours and of the dense GP have the same width, the theoretical β of a finite set divided
by five (as Srinivas et al. did in their experiments); BKB has the width of its own description, and plays a second time
with ours. Ours has as many atoms at most as an `Optimizer` has unless told otherwise. Thompson sampling and ε-greedy
use the model of ours, and differ from it in how they choose only.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import NamedTuple, final

import numpy as np

import uncubed as uc
from benchmarks.league.bandits.arms import Arms

WIDTH = uc.ScaledBeta(0.2)
MOST_ATOMS = 256


class Player(ABC):
    """Chooses an arm, is told its value, and so on."""

    @property
    @abstractmethod
    def order(self) -> int:
        """Rows of its model."""

    @abstractmethod
    def select(self) -> int:
        """The arm of this round."""

    @abstractmethod
    def learn(self, arm: int, value: float) -> None:
        """The value of the arm selected last."""


class Bandit(Player):
    """A `uc.Bandit` that plays every round; it knows the first design."""

    def __init__(self, arms: Arms, seed: int, belief: uc.Belief, acquisition: uc.Acquisition) -> None:
        for arm, value in zip(arms.first, arms.first_values.tolist(), strict=True):
            belief.update(arms.X[arm], value)
        atoms = MOST_ATOMS if isinstance(belief, uc.ProjectedBelief) else None
        budget = uc.Budget.keep_all(max_model_order=atoms)
        self._bandit = uc.Bandit(uc.Finite(arms.X), belief, acquisition, budget, act=True, certify=False, seed=seed)
        self._decision: uc.Decision | None = None

    @property
    def order(self) -> int:
        return self._bandit.belief.distinct

    def select(self) -> int:
        self._decision = self._bandit.select()
        assert self._decision.index is not None
        return self._decision.index

    def learn(self, arm: int, value: float) -> None:
        assert self._decision is not None
        self._bandit.observe(self._decision, value)


@final
class Greedy(Bandit):
    """The arm of the largest mean, but one at random with probability 1/√t in round t."""

    def __init__(self, arms: Arms, seed: int) -> None:
        super().__init__(arms, seed, _projected(arms), uc.PureExploitation())
        self._X, self._rng, self._round = arms.X, np.random.default_rng(seed), 0

    def select(self) -> int:
        self._round += 1
        if self._rng.random() >= self._round**-0.5:
            return super().select()
        self._decision = None
        return int(self._rng.integers(len(self._X)))

    def learn(self, arm: int, value: float) -> None:
        if self._decision is None:
            self._bandit.add(self._X[arm], value)
        else:
            super().learn(arm, value)


@final
class Random(Player):
    """Any arm."""

    order = 0

    def __init__(self, arms: Arms, seed: int) -> None:
        self._arms, self._rng = len(arms.X), np.random.default_rng(seed)

    def select(self) -> int:
        return int(self._rng.integers(self._arms))

    def learn(self, arm: int, value: float) -> None:
        pass


def _projected(arms: Arms) -> uc.Belief:
    return uc.ProjectedBelief(arms.kernel, arms.noise_variance)


def _sketched(arms: Arms, seed: int) -> uc.Belief:
    return uc.SketchedBelief(arms.kernel, arms.noise_variance, seed=seed)


def ours(arms: Arms, seed: int) -> Player:
    """Upper confidence bounds on a projected belief, which absorbs every value."""
    return Bandit(arms, seed, _projected(arms), uc.UpperConfidenceBound(WIDTH))


def dense(arms: Arms, seed: int) -> Player:
    """GP-UCB: the exact posterior of all values, of which those of one arm are merged without loss."""
    return Bandit(arms, seed, uc.ExactBelief(arms.kernel, arms.noise_variance), uc.UpperConfidenceBound(WIDTH))


def bkb(arms: Arms, seed: int) -> Player:
    """As described: a sketch drawn anew in every round, and its own width."""
    return Bandit(arms, seed, _sketched(arms, seed), uc.UpperConfidenceBound(uc.SketchedBeta()))


def narrow_bkb(arms: Arms, seed: int) -> Player:
    """The sketch of BKB with the width of the others."""
    return Bandit(arms, seed, _sketched(arms, seed), uc.UpperConfidenceBound(WIDTH))


def thompson(arms: Arms, seed: int) -> Player:
    """The best arm of a joint draw, of 1,024 arms at random where there are more."""
    return Bandit(arms, seed, _projected(arms), uc.ThompsonSampling())


class Entry(NamedTuple):
    """A system that takes part, and its name in tables."""

    make: Callable[[Arms, int], Player]
    label: str


UNCUBED, DENSE, BKB = "uncubed", "dense", "bkb"

PLAYERS = {
    UNCUBED: Entry(ours, "uncubed"),
    DENSE: Entry(dense, "dense GP-UCB"),
    BKB: Entry(bkb, "BKB"),
    "narrow_bkb": Entry(narrow_bkb, "BKB, our width"),
    "thompson": Entry(thompson, "Thompson"),
    "greedy": Entry(Greedy, "ε-greedy"),
    "random": Entry(Random, "random"),
}


def chosen(names: list[str]) -> list[str]:
    """By name, or `all`.

    Raises:
        KeyError: there is none of this name.
    """
    for name in names:
        if name not in (*PLAYERS, "all"):
            raise KeyError(f"system: expected one of all, {', '.join(PLAYERS)}, got {name!r}")
    return [name for name in PLAYERS if name in names or "all" in names]
