"""What can be promised: bounds on the gap, the regret and the model order, from what happened.

They hold with probability 1 - δ when f is drawn from the prior used, for any way of selecting actions from the past.
β_t is always the theoretical one, whatever the acquisition uses.
"""

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import final

import numpy as np

from uncubed._typing import Array
from uncubed.acquisition import Selection, UpperConfidenceBound
from uncubed.actions import Box, Finite
from uncubed.beliefs import Belief, ExactBelief
from uncubed.information import information_gain, variance_threshold
from uncubed.kernels import Kernel

BOX_EVENTS = 3
"""On a box δ is split over the optimum, the selected actions and the recommended one."""


@final
@dataclass(frozen=True)
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

    def record(self, informative: bool, gain: float, epsilon: float, regret: float) -> None:
        """Add one round."""
        self.rounds += 1
        self.regret += regret
        if informative:
            self.kept_gain += gain
            self.least_epsilon = min(self.least_epsilon, epsilon)
        else:
            self.refused_epsilon += epsilon

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


def upper(actions: Finite | Box, belief: Belief, beta: float, rng: np.random.Generator, start: Array | None) -> float:
    """max UCB over the actions; on a box, up to the maximiser."""
    return actions.maximise(UpperConfidenceBound(), math.sqrt(beta), belief, rng, start).score


def most_certain(
    actions: Finite | Box, belief: Belief, beta: float, rng: np.random.Generator, start: Array | None
) -> Selection:
    """argmax LCB over the actions."""
    return actions.maximise(UpperConfidenceBound(), -math.sqrt(beta), belief, rng, start)


def theorem_regret(ledger: Ledger, beta: float, kernel: Kernel, noise_variance: float, on_box: bool) -> float:
    """Theorem 3.2 with the realised gain, √(C_1 T β_T (I_T + Σ ε)), and π²/6 on a box.

    C_1 = 8v / log(1 + v/σ²), which is the printed one at prior variance v = 1. Σ ε is over the refused rounds, so it
    is ε|M^C_T| when ε is constant.
    """
    v = kernel.variance
    c1 = 8.0 * v / math.log1p(v / noise_variance)
    bound = math.sqrt(c1 * ledger.rounds * beta * (ledger.kept_gain + ledger.refused_epsilon))
    return bound + (math.pi**2 / 6.0 if on_box else 0.0)


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
