"""Rounds against a known function, with what an experiment records of them."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar, final

import numpy as np
from numpy.typing import NDArray

from uncubed import _validation as check
from uncubed._typing import Array, ArrayLike
from uncubed.acquisition import Acquisition
from uncubed.actions import Box, Finite
from uncubed.beliefs import Belief
from uncubed.budget import Budget, Decision
from uncubed.errors import InvalidInputError

_Result = TypeVar("_Result")


@final
@dataclass(frozen=True, eq=False)
class Run:
    """What happened, at every `record_every`-th round and at the last; arrays of shape (recorded,).

    Attributes:
        rounds: the rounds recorded, counted from the start of the run.
        cumulative_regret: Σ f* - f(x_t) from the noiseless f, refused rounds included; None where f* is not known.
        model_order: kept observations, as the paper counts.
        distinct: rows actually stored.
        evaluations: values observed in the run.
        seconds: clock time since the start of the run, less what only measured it (`truth`, `watch`).
        objective_seconds: the part of it spent in f.
        frozen_at: the round from which nothing changed any more, because the acquisition selects a refused action
            for ever; None if that did not happen.
    """

    rounds: NDArray[np.int64]
    cumulative_regret: Array | None
    model_order: NDArray[np.int64]
    distinct: NDArray[np.int64]
    evaluations: NDArray[np.int64]
    seconds: Array
    objective_seconds: Array
    frozen_at: int | None

    @property
    def mean_average_regret(self) -> Array:
        """Reg_t / t at the recorded rounds."""
        if self.cumulative_regret is None:
            raise InvalidInputError("mean_average_regret: expected a run with a known optimum, got one without")
        return self.cumulative_regret / self.rounds

    @property
    def seconds_per_round(self) -> Array:
        """Clock time per round between the recorded rounds."""
        return np.diff(self.seconds, prepend=0.0) / np.diff(self.rounds, prepend=0)


class Player(Protocol):
    """What a run needs of a bandit."""

    actions: Finite | Box
    belief: Belief
    acquisition: Acquisition
    budget: Budget
    act: bool

    def select(self) -> Decision:
        """Start a round."""

    def observe(self, decision: Decision, value: float) -> None:
        """End it with a value."""

    def lose(self, decision: Decision) -> None:
        """End it without."""


def run(
    bandit: Player,
    f: Callable[[Array], float] | ArrayLike,
    rounds: int,
    *,
    noise_std: float = 0.0,
    optimum: float | None = None,
    record_every: int = 1,
    truth: Callable[[Array], float] | None = None,
    watch: Callable[[int], None] | None = None,
    rng: np.random.Generator,
) -> Run:
    """Run rounds of a bandit against f.

    Args:
        bandit: goes on from where it is.
        f: the function, of an action of shape (d,); on a finite set also its values, shape (N,). Where regret is
            asked for it must be noiseless, unless `truth` is given.
        rounds: how many.
        noise_std: standard deviation of Gaussian noise added to each observed value.
        optimum: f*; known where f is given by its values. With it f is called in refused rounds too, once per action
            of a finite set, to measure their regret; without it f is called only when a value is needed.
        record_every: rounds between records; memory is O(rounds / record_every).
        truth: what regret is measured by where calls of f are costly or differ: called in every round, after f if f
            is called. Then f is called only when a value is needed, each time anew.
        watch: called with the round after each recorded one.
        rng: of the noise.
    """
    rounds, noise_std = check.count("rounds", rounds), check.non_negative("noise_std", noise_std)
    payoff, best = _payoff(bandit.actions, f, optimum, once=truth is None)
    if truth is not None and best is None:
        raise InvalidInputError("optimum: expected f*, from which truth measures regret, got None")
    recorder = _Recorder(rounds, check.count("record_every", record_every), watch)
    noise = (lambda: noise_std * rng.standard_normal()) if noise_std else (lambda: 0.0)
    may_freeze = not (bandit.act or bandit.acquisition.depends_on_round or bandit.budget.needs_beta)
    for t in range(1, rounds + 1):
        decision = bandit.select()
        sampled = decision.informative or bandit.act
        value = _sample(bandit, decision, payoff, noise, recorder) if sampled else math.nan
        if best is not None:
            recorder.regret += best - (
                value if sampled and truth is None else recorder.off_the_clock(_measure, truth, payoff, decision)
            )
        if decision.informative:
            recorder.frozen_at = None  # on a box a later search may find what an earlier one missed
        elif may_freeze and recorder.frozen_at is None:
            recorder.frozen_at = t
        recorder.after(t, bandit.belief)
    return recorder.finished(with_regret=best is not None)


class _Recorder:
    """The columns of a `Run`, filled as rounds go by."""

    def __init__(self, rounds: int, every: int, watch: Callable[[int], None] | None) -> None:
        self.rounds, self.every, self.watch = rounds, every, watch
        self.regret, self.evaluations, self.in_objective = 0.0, 0, 0.0
        self.frozen_at: int | None = None
        self._table = np.empty((-(-rounds // every), 7))
        self._start = time.perf_counter()

    def after(self, t: int, belief: Belief) -> None:
        if t % self.every and t != self.rounds:
            return
        seconds = time.perf_counter() - self._start
        row = -(-t // self.every) - 1
        counts = (t, belief.model_order, belief.distinct, self.evaluations)
        self._table[row] = (*counts, self.regret, seconds, self.in_objective)
        if self.watch is not None:
            self.off_the_clock(self.watch, t)

    def off_the_clock(self, measure: Callable[..., _Result], *arguments: Any) -> _Result:
        paused = time.perf_counter()
        result = measure(*arguments)
        self._start += time.perf_counter() - paused
        return result

    def finished(self, *, with_regret: bool) -> Run:
        t, model_order, distinct, evaluations = self._table[:, :4].T.astype(np.int64)
        regret, seconds, in_objective = self._table[:, 4:].T.copy()
        known = regret if with_regret else None
        return Run(t, known, model_order, distinct, evaluations, seconds, in_objective, self.frozen_at)


def _sample(
    bandit: Player,
    decision: Decision,
    payoff: Callable[[Decision], float],
    noise: Callable[[], float],
    recorder: _Recorder,
) -> float:
    """Call f and let the bandit observe; if f fails the bandit no longer waits, and knows what it knew."""
    try:
        start = time.perf_counter()
        value = payoff(decision)
        recorder.in_objective += time.perf_counter() - start
        bandit.observe(decision, value + noise())
    except BaseException:
        bandit.lose(decision)
        raise
    recorder.evaluations += 1
    return value


def _measure(truth: Callable[[Array], float] | None, payoff: Callable[[Decision], float], decision: Decision) -> float:
    return payoff(decision) if truth is None else check.real("truth", truth(decision.action))


def _payoff(
    actions: Finite | Box, f: Callable[[Array], float] | ArrayLike, optimum: float | None, *, once: bool
) -> tuple[Callable[[Decision], float], float | None]:
    """f of a decision, and f* where it is known."""
    best = None if optimum is None else check.real("optimum", optimum)
    if not callable(f):
        return _from_table(actions, f, best)
    if best is None or isinstance(actions, Box) or not once:
        return lambda decision: check.real("f", f(decision.action)), best
    known: dict[int | None, float] = {}

    def remembered(decision: Decision) -> float:
        if decision.index not in known:
            known[decision.index] = check.real("f", f(decision.action))
        return known[decision.index]

    return remembered, best


def _from_table(
    actions: Finite | Box, values: ArrayLike, best: float | None
) -> tuple[Callable[[Decision], float], float]:
    if isinstance(actions, Box):
        raise InvalidInputError("f: expected a function on a Box, got an array of values")
    table = check.array("f", values, ndim=1)
    if table.size != len(actions):
        raise InvalidInputError(f"f: expected {len(actions)} values, one per action, got {table.size}")
    numbers = table.tolist()
    return lambda decision: numbers[decision.index or 0], float(table.max()) if best is None else best
