"""What can be promised: bounds on the gap, the regret and the model order, from what happened.

They hold with probability 1 - δ when f is drawn from the prior used, for any way of selecting actions from the past.
β_t is always the theoretical one, whatever the acquisition uses.
"""

import math
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import asdict, dataclass
from typing import final

import numpy as np

from uncubed._typing import Array
from uncubed.acquisition import Acquisition, Selection, UpperConfidenceBound
from uncubed.actions import Box, Finite
from uncubed.beliefs import Belief, ExactBelief
from uncubed.budget import Decision
from uncubed.information import information_gain, variance_threshold
from uncubed.kernels import Kernel
from uncubed.schedules import TheoreticalBeta

BOX_EVENTS = 3
"""On a box δ is split over the optimum, the selected actions and the recommended one."""


SURPRISING = 1e-6
"""Probability below which values are said not to look drawn from the prior."""


@final
@dataclass(frozen=True, eq=False)
class Certificate:
    """What holds before round `round` with probability 1 - `delta`.

    Attributes:
        round: the next round, t.
        delta: failure probability.
        beta: the theoretical β_t.
        recommended: the action with the largest lower confidence bound, where the gap is smallest.
        gap: f* - f(recommended) is at most this.
        best: the atom with the largest posterior mean, None before the first value.
        best_gap: f* - f(best) is at most this.
        cumulative_regret: Σ_t f* - f(x_t) over the rounds so far is at most this; None if it was not tracked.
        theorem_regret: Theorem 3.2's bound on the same with the realised information gain; None where it does not
            apply: another acquisition than UCB with a theoretical β of at most this δ, or values that came late.
        caveats: what weakens the statement, in words.
    """

    round: int
    delta: float
    beta: float
    recommended: Array
    gap: float
    best: Array | None
    best_gap: float | None
    cumulative_regret: float | None
    theorem_regret: float | None
    caveats: tuple[str, ...]

    def __str__(self) -> str:
        lines = [
            f"before round {self.round}, with probability {1.0 - self.delta:g} if f is drawn from the prior:",
            f"  f* - f(recommended) <= {self.gap:.4g} at {_short(self.recommended)}",
        ]
        if self.best is not None:
            lines.append(f"  f* - f(best)        <= {self.best_gap:.4g} at {_short(self.best)}")
        if self.cumulative_regret is not None:
            lines.append(f"  cumulative regret   <= {self.cumulative_regret:.4g}")
        if self.theorem_regret is not None:
            lines.append(f"  Theorem 3.2         <= {self.theorem_regret:.4g}")
        return "\n".join([*lines, *(f"  ({caveat})" for caveat in self.caveats)])


@dataclass(slots=True)
class Ledger:
    """What the regret bounds need of the rounds so far: sums, so that its size does not grow."""

    rounds: int = 0
    regret: float = 0.0  # Σ max UCB_t - LCB_t(x_t), and 1/t² on a box
    kept_gain: float = 0.0  # Σ gain over informative rounds
    refused_epsilon: float = 0.0  # Σ ε over refused rounds: at least the gain there
    least_epsilon: float = math.inf  # over informative rounds
    delayed: bool = False  # whether an action was ever selected while earlier values were awaited

    def record(self, decision: Decision, regret: float, *, delayed: bool = False) -> None:
        """Add one round."""
        self.rounds += 1
        self.regret += regret
        self.delayed |= delayed
        if decision.informative:
            self.kept_gain += decision.information_gain
            self.least_epsilon = min(self.least_epsilon, decision.epsilon)
        else:
            self.refused_epsilon += decision.epsilon

    def state(self) -> dict[str, float | None]:
        """As JSON values."""
        return {**asdict(self), "least_epsilon": None if math.isinf(self.least_epsilon) else self.least_epsilon}

    @classmethod
    def restore(cls, state: dict[str, float | None]) -> "Ledger":
        """The ledger that gave this state."""
        least = state["least_epsilon"]
        return cls(**{**state, "least_epsilon": math.inf if least is None else least})  # type: ignore[arg-type]


def certificate_beta(actions: Finite | Box, kernel: Kernel, round: int, delta: float) -> float:
    """β_t with δ split over every kind of point a certificate speaks of."""
    return actions.theoretical_beta(round, kernel, delta, BOX_EVENTS)


def discretisation(actions: Finite | Box, round: int) -> float:
    """What a box adds to a round's bound, 1/t² (Lemma 9)."""
    return 1.0 / round**2 if isinstance(actions, Box) else 0.0


def theorem_regret(ledger: Ledger, beta: float, kernel: Kernel, noise_variance: float, on_box: bool) -> float:
    """Theorem 3.2 with the realised gain, √(C_1 T β_T (I_T + Σ ε)), and π²/6 on a box.

    C_1 = 8v / log(1 + v/σ²), which is the printed one at prior variance v = 1. Σ ε is over the refused rounds, so it
    is ε|M^C_T| when ε is constant.
    """
    v = kernel.variance
    c1 = 8.0 * v / math.log1p(v / noise_variance)
    bound = math.sqrt(c1 * ledger.rounds * beta * (ledger.kept_gain + ledger.refused_epsilon))
    return bound + (math.pi**2 / 6.0 if on_box else 0.0)


@final
class Certifier:
    """Keeps the ledger of a bandit's rounds, and tells what it proves.

    Args:
        actions: the bandit's.
        belief: the bandit's, which changes as it learns.
        acquisition: the bandit's.
        delta: failure probability.
        rng: the bandit's generator; it is read, never advanced, so that a certificate does not change what comes next.
        tracks_regret: whether max UCB is found in every round, for the bound on cumulative regret.
    """

    def __init__(
        self,
        actions: Finite | Box,
        belief: Belief,
        acquisition: Acquisition,
        delta: float,
        rng: np.random.Generator,
        *,
        tracks_regret: bool,
    ) -> None:
        self.actions, self.belief, self.acquisition, self.delta = actions, belief, acquisition, delta
        self.tracks_regret = tracks_regret
        self.ledger = Ledger()
        self._rng = rng
        # Then the acquisition's own maximum is max UCB, and need not be searched twice.
        self._selects_by_upper_bound = isinstance(actions, Finite) and acquisition == UpperConfidenceBound(
            TheoreticalBeta(delta)
        )

    def beta(self, round: int) -> float:
        """The theoretical β_t."""
        return certificate_beta(self.actions, self.belief.kernel, round, self.delta)

    def record(self, decision: Decision, choice: Selection, *, expecting: bool) -> None:
        """Enter a round, before its value comes; `expecting` says that it was selected with others' values awaited."""
        regret = self._regret_bound(decision.round, choice, expecting=expecting) if self.tracks_regret else 0.0
        self.ledger.record(decision, regret, delayed=expecting)

    def gap(self, action: Array, round: int, start: Array | None) -> float:
        """max UCB - LCB(action), and 1/t² on a box."""
        return self._gap(action, round, self._upper(round, start))

    def certificate(self, round: int, best: Array | None, start: Array | None) -> Certificate:
        """What holds before this round; `best` is the atom to give a gap for, `start` where to search first."""
        beta, top = self.beta(round), self._upper(round, start)
        # argmax LCB is where an upper bound with a negative width is largest.
        recommended = self._maximise(-math.sqrt(beta), start).action
        return Certificate(
            round=round,
            delta=self.delta,
            beta=beta,
            recommended=recommended,
            gap=self._gap(recommended, round, top),
            best=best,
            best_gap=None if best is None else self._gap(best, round, top),
            cumulative_regret=self.ledger.regret if self.tracks_regret else None,
            theorem_regret=self._theorem_regret(),
            caveats=self._caveats(),
        )

    def model_order_bound(self, initial: int, steps: int) -> int | None:
        """A bound on the model order so far, where there is one; see the function of the same name."""
        if not isinstance(self.actions, Finite) or not isinstance(self.belief, ExactBelief):
            return None
        epsilon = self.ledger.least_epsilon
        if math.isinf(epsilon):
            return initial
        kernel, noise = self.belief.kernel, self.belief.noise_variance
        return model_order_bound(kernel, noise, self.actions.X, epsilon, initial=initial, steps=steps)

    def _regret_bound(self, round: int, choice: Selection, *, expecting: bool) -> float:
        """max UCB_t - LCB_t(x_t), and 1/t² on a box."""
        if expecting:
            return self.gap(choice.action, round, choice.action)
        by_choice = self._selects_by_upper_bound
        top = choice.score if by_choice else self._upper(round, choice.action)
        return self._difference(top, choice.mean, choice.variance, round)

    def _gap(self, action: Array, round: int, top: float) -> float:
        mean, variance = self.belief.predict(action[None, :])
        return self._difference(top, float(mean[0]), float(variance[0]), round)

    def _difference(self, top: float, mean: float, variance: float, round: int) -> float:
        # The action's own upper bound counts too, should the maximiser on a box have missed it.
        width = math.sqrt(self.beta(round) * variance)
        return max(top - mean, width) + width + discretisation(self.actions, round)

    def _upper(self, round: int, start: Array | None) -> float:
        """max UCB over the actions; on a box, up to the maximiser."""
        return self._maximise(math.sqrt(self.beta(round)), start).score

    def _maximise(self, width: float, start: Array | None) -> Selection:
        return self.actions.maximise(UpperConfidenceBound(), width, self.belief, self._reading_rng(), start)

    def _reading_rng(self) -> np.random.Generator:
        if isinstance(self.actions, Finite):
            return self._rng  # a finite set draws nothing
        return deepcopy(self._rng)

    def _theorem_regret(self) -> float | None:
        beta = self.acquisition.beta if isinstance(self.acquisition, UpperConfidenceBound) else None
        applies = isinstance(beta, TheoreticalBeta) and beta.delta <= self.delta and not self.ledger.delayed
        if beta is None or not applies or not self.ledger.rounds:
            return None
        beta_t = beta(self.ledger.rounds, self.actions, self.belief)
        on_box = isinstance(self.actions, Box)
        return theorem_regret(self.ledger, beta_t, self.belief.kernel, self.belief.noise_variance, on_box)

    def _caveats(self) -> tuple[str, ...]:
        evictions = self.belief.evictions
        caveats = {
            "up to the maximiser: the largest bound on the box is the largest one found": isinstance(self.actions, Box),
            f"{type(self.belief).__name__} approximates the posterior": not self.belief.exact,
            f"heuristic: {evictions} atoms were evicted, on which later actions depend; it may be too sure": (
                evictions > 0
            ),
            "the values do not look drawn from this prior: centre and scale them, or choose another": (
                isinstance(self.belief, ExactBelief) and self.belief.surprise() < SURPRISING
            ),
        }
        return tuple(text for text, holds in caveats.items() if holds)


def greedy_gains(kernel: Kernel, noise_variance: float, X: Array) -> Iterator[float]:
    """Information gains, in nats, of selecting by largest variance, for ever; they never increase."""
    belief = ExactBelief(kernel, noise_variance)
    surface = belief.track(X)
    while True:
        index = int(surface.variance.argmax())
        yield information_gain(float(surface.variance[index]), noise_variance)
        belief.update_at(index, 0.0)


def model_order_bound(
    kernel: Kernel, noise_variance: float, X: Array, epsilon: float, *, initial: int = 0, steps: int = 2000
) -> int | None:
    """A bound on the observations kept on a finite set when each had a gain above ε; None when ε is 0.

    m tested observations have a total gain above m ε, and since information is submodular at most γ̂_k + m g_{k+1}, for
    every k: γ̂_k the gain of k greedy steps, g_{k+1} that of the next. So m < γ̂_k / (ε - g_{k+1}). And one action is
    worth no more than ⌈1/(e^{2ε} - 1) - σ²/v⌉ looks, which bounds m by N times that.

    Args:
        kernel: prior covariance.
        noise_variance: σ².
        X: the actions, shape (N, d).
        epsilon: least effective threshold, nats.
        initial: observations that entered untested.
        steps: greedy steps at most, each O(N · rows).
    """
    if epsilon <= 0.0:
        return None
    looks = math.ceil(noise_variance / variance_threshold(epsilon, noise_variance) - noise_variance / kernel.variance)
    bound, total = len(X) * max(looks, 0), 0.0
    for k, gain in zip(range(steps), greedy_gains(kernel, noise_variance, X), strict=False):
        if gain < epsilon:
            bound = min(bound, math.floor(total / (epsilon - gain)))
        if k > bound:
            break
        total += gain
    return initial + bound


def _short(x: Array) -> str:
    return np.array2string(x, precision=4, threshold=8)
