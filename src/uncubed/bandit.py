"""Algorithm 1: select, test, sample what is worth it, learn."""

import math
import warnings
from collections.abc import Callable, Mapping
from os import PathLike
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, final

import numpy as np

from uncubed import _state
from uncubed import _validation as check
from uncubed._typing import Array, ArrayLike
from uncubed.acquisition import Acquisition, UpperConfidenceBound
from uncubed.actions import Box, Finite
from uncubed.beliefs import Belief
from uncubed.budget import Budget, Decision, decide
from uncubed.certificate import Certificate, Certifier, Ledger
from uncubed.errors import InvalidInputError, LostValueWarning, NotDifferentiableError, StateError, UnknownDecisionError
from uncubed.rounds import Run, run
from uncubed.schedules import TheoreticalBeta

VERSION = 1
"""Of the saved state."""

_LARGEST_RATIO = 1e300  # of threshold to noise: a budget that refuses everything still has a finite ε


class Estimate(NamedTuple):
    """An action and what the belief says of it."""

    action: Array
    mean: float
    std: float


@final
class Bandit:
    """Compressed GP bandits (Algorithm 1): one action a round, sampled only when it is informative.

    >>> import numpy as np, uncubed as uc
    >>> X = np.linspace(-8, 8, 200)[:, None]
    >>> bandit = uc.Bandit(uc.Finite(X), belief=uc.ExactBelief(uc.SquaredExponential()))
    >>> for _ in range(30):
    ...     d = bandit.select()
    ...     if d.informative:
    ...         bandit.observe(d, np.sin(d.action[0]) + np.cos(d.action[0]) + 0.1 * d.action[0])
    >>> round(float(bandit.best.action[0]), 1)
    7.1

    The prior mean is 0 and its variance the kernel's: centre and scale values to that first.

    Args:
        actions: `Finite` or `Box`.
        belief: what is known at the start; the bandit updates it and should be its only user.
        acquisition: how actions are selected.
        budget: which of them are worth sampling.
        act: take refused actions too (an online system must serve something); a belief that `absorbs` learns from
            their values, an `ExactBelief` ignores them.
        certify: keep the sum for the certificate of cumulative regret. On a finite set it costs at most one more pass
            a round; on a box it doubles the time of `select`.
        delta: failure probability of the certificates.
        max_pending: decisions whose values are awaited at once; beyond it the oldest is given up as lost. Selecting
            while values are awaited costs as much as learning them.
        max_delay: rounds after which a value that has not come is given up as lost.
        seed: of everything random.
    """

    def __init__(
        self,
        actions: Finite | Box,
        belief: Belief,
        acquisition: Acquisition | None = None,
        budget: Budget | None = None,
        *,
        act: bool = False,
        certify: bool = True,
        delta: float = 0.1,
        max_pending: int = 64,
        max_delay: int = 1024,
        seed: int | None = None,
    ) -> None:
        self.actions: Finite | Box = check.kind("actions", actions, Finite, Box)
        self.belief: Belief = check.kind("belief", belief, Belief)
        self.acquisition: Acquisition = check.kind(
            "acquisition",
            UpperConfidenceBound(TheoreticalBeta(delta)) if acquisition is None else acquisition,
            Acquisition,
        )
        self.budget: Budget = check.kind("budget", Budget.keep_all() if budget is None else budget, Budget)
        self.act, self.certify = bool(act), bool(certify)
        self.delta = check.probability("delta", delta)
        self.max_pending = check.count("max_pending", max_pending)
        self.max_delay = check.count("max_delay", max_delay)
        self._rng = np.random.default_rng(None if seed is None else check.count("seed", seed, least=0))
        self._round = 0
        self._evaluations = 0
        self._initial = belief.model_order
        self._pending: dict[int, Decision] = {}
        self._expecting: Belief | None = None  # the belief conditioned on what is pending; None when out of date
        self._last: Array | None = None
        self._half_learned = False  # an interrupt in the middle of an update must not go unnoticed
        self._certifier = Certifier(
            actions, belief, self.acquisition, self.delta, self._rng, tracks_regret=self.certify
        )
        actions.prepare(belief)
        if certify or self.budget.needs_beta:
            self._certifier.beta(1)  # raises here, not in the first round
        if isinstance(self.acquisition, UpperConfidenceBound):
            self.acquisition.parameter(1, actions, belief, self._rng)

    def __repr__(self) -> str:
        return f"Bandit({self.actions!r}, round {self.round}, {self.belief.model_order} kept; {self.budget})"

    # Reading

    @property
    def round(self) -> int:
        """Rounds selected so far."""
        return self._round

    @property
    def evaluations(self) -> int:
        """Values observed for decisions; initial points aside."""
        return self._evaluations

    @property
    def pending(self) -> Mapping[int, Decision]:
        """Decisions whose values are awaited, by round."""
        return MappingProxyType(self._pending)

    @property
    def best(self) -> Estimate:
        """The atom with the largest posterior mean; not the luckiest value."""
        atoms = self.belief.dictionary
        if not len(atoms):
            raise InvalidInputError("best: expected at least one observed value, got none yet")
        mean, variance = self.belief.predict(atoms)
        row = int(mean.argmax())
        return Estimate(atoms[row].copy(), float(mean[row]), math.sqrt(float(variance[row])))

    # A round

    def select(self) -> Decision:
        """Select the next action and decide whether it is worth sampling.

        The belief does not change. While earlier values are awaited the selection expects them: variances are as if
        they had come.
        """
        self._check_whole()
        t = self._round + 1
        self._give_up(before=t - self.max_delay)
        belief = self._belief_expecting_pending()
        choice = self.acquisition.choose(t, self.actions, belief, self._rng, self._last)
        threshold = self._threshold(t)
        decision = decide(choice.action, choice.variance, belief.noise_variance, threshold, round=t, index=choice.row)
        self._certifier.record(decision, choice, expecting=belief is not self.belief)
        self._round, self._last = t, choice.action
        if decision.informative or self.act:
            self._await(decision)
        return decision

    def observe(self, decision: Decision, value: float) -> None:
        """Learn the value of a decision, now or later, in any order.

        Raises:
            InvalidInputError: the value cannot be used; it is still awaited.
            UnknownDecisionError: no value of this decision is awaited. In both cases nothing has changed.
        """
        self._check_whole()
        decision = self._awaited(decision)
        value = check.real("value", value)
        if self._learns_from(decision):
            self._learn(decision.action, decision.index, value)
        self._forget(decision)
        self._evaluations += 1

    def lose(self, decision: Decision) -> None:
        """Say that the value of a decision will never come."""
        decision = self._awaited(decision)
        self._forget(decision)

    def add(self, action: ArrayLike, value: float) -> None:
        """Learn a value observed outside the rounds, such as an initial point; it enters untested."""
        self._check_whole()
        clean = self._member(action)
        self._learn(clean, None, check.real("value", value))
        self._initial += 1
        self._expecting = None

    def run(
        self,
        f: Callable[[Array], float] | ArrayLike,
        rounds: int,
        *,
        noise_std: float = 0.0,
        optimum: float | None = None,
        record_every: int = 1,
        truth: Callable[[Array], float] | None = None,
        watch: Callable[[int], None] | None = None,
        rng: np.random.Generator | None = None,
    ) -> Run:
        """Run rounds against a known function, for experiments; see `uncubed.rounds.run`.

        The noise is drawn by the bandit's own generator unless another is given.
        """
        rng = self._rng if rng is None else rng
        return run(
            self,
            f,
            rounds,
            noise_std=noise_std,
            optimum=optimum,
            record_every=record_every,
            truth=truth,
            watch=watch,
            rng=rng,
        )

    # Certificates

    def gap(self, action: ArrayLike) -> float:
        """An upper bound on f* - f(action): max UCB - LCB(action), and 1/t² on a box."""
        return self._certifier.gap(self._member(action), self._round + 1, self._last)

    def certificate(self) -> Certificate:
        """What can be promised now; `print` it.

        The confidence is shared by the rounds, one belief each: of certificates read between two rounds, while values
        come in, each holds by itself, but not all of them together.
        """
        self._check_whole()
        best = self.best.action if self.belief.distinct else None
        return self._certifier.certificate(self._round + 1, best, self._last)

    def model_order_bound(self, *, steps: int = 2000) -> int | None:
        """A bound on the model order so far, from the prior alone; see `certificate.model_order_bound`.

        None on a box, for a belief other than `ExactBelief`, or when the budget keeps everything.
        """
        return self._certifier.model_order_bound(self._initial, steps)

    # On disk

    def save(self, path: str | PathLike[str]) -> None:
        """Write the state as JSON; its size is that of the model, not of the history or of the action set.

        What was updated is computed afresh first, so that this bandit and a loaded one go on alike to the last bit.
        """
        self._check_whole()
        self.belief.refresh()
        self._expecting = None
        _state.write(Path(path), self._as_json())

    @classmethod
    def load(cls, path: str | PathLike[str], actions: Finite | Box | None = None) -> "Bandit":
        """The bandit that was saved.

        Args:
            path: where.
            actions: the same `Finite` set, which is not saved; a `Box` may be left out.
        """
        state = _state.read(Path(path), "bandit", VERSION)
        if actions is not None:
            check.kind("actions", actions, Finite, Box)
        try:
            return cls._restore(state, actions)
        except (StateError, NotDifferentiableError):
            raise
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise StateError(f"{path}: expected the parts of a saved bandit, got a spoilt one ({error!r})") from error

    @classmethod
    def _restore(cls, state: dict[str, Any], actions: Finite | Box | None) -> "Bandit":
        settings = {key: _state.decode(value) for key, value in state["settings"].items()}
        kernel = _state.decode(state["belief"]["kernel"])
        belief = _state.class_of(state["belief"]["type"]).restore(kernel, state["belief"]["state"])
        bandit = cls(_state.decode_actions(state["actions"], actions), belief, **settings)
        bandit._rng.bit_generator.state = state["random"]
        bandit._round, bandit._evaluations, bandit._initial = state["round"], state["evaluations"], state["initial"]
        bandit._certifier.ledger = Ledger.restore(state["ledger"])
        bandit._last = None if state["last"] is None else _state.read_only(state["last"])
        for saved in state["pending"]:
            decision = _state.decode_decision(saved)
            bandit._pending[decision.round] = decision
        return bandit

    def _as_json(self) -> dict[str, Any]:
        settings = {
            name: _state.encode(getattr(self, name))
            for name in ("acquisition", "budget", "act", "certify", "delta", "max_pending", "max_delay")
        }
        belief = {"type": _state.name_of(self.belief), "kernel": _state.encode(self.belief.kernel)}
        return {
            "kind": "bandit",
            "version": VERSION,
            "settings": settings,
            "actions": _state.encode_actions(self.actions),
            "belief": {**belief, "state": self.belief.state()},
            "random": self._rng.bit_generator.state,
            "round": self._round,
            "evaluations": self._evaluations,
            "initial": self._initial,
            "ledger": self._certifier.ledger.state(),
            "last": None if self._last is None else self._last.tolist(),
            "pending": [_state.encode_decision(d) for d in self._pending.values()],
        }

    # Inside

    def _threshold(self, t: int) -> float:
        beta = self._certifier.beta(t) if self.budget.needs_beta else None
        noise = self.belief.noise_variance
        threshold = self.budget.threshold(noise, self.actions.dimension, 1.0, t, beta=beta)
        return min(threshold, _LARGEST_RATIO * noise)

    def _member(self, action: ArrayLike) -> Array:
        clean = check.point("action", action, self.actions.dimension)
        if not self.actions.contains(clean):
            raise InvalidInputError(f"action: expected a point of {self.actions!r}, got {clean.tolist()}")
        return clean

    def _learn(self, action: Array, index: int | None, value: float) -> None:
        self._half_learned = True
        if index is None or self.belief.surface is None:
            self.belief.update(action, value)
        else:
            self.belief.update_at(index, value)
        cap = self.budget.max_model_order
        while cap is not None and self.belief.distinct > cap:
            self.belief.evict()
        self._half_learned = False

    def _check_whole(self) -> None:
        if self._half_learned:
            raise StateError(
                "belief: expected one that has learned its values whole, got one interrupted while it learned; "
                "load the last save"
            )

    def _await(self, decision: Decision) -> None:
        self._pending[decision.round] = decision
        self._expecting = None
        if len(self._pending) > self.max_pending:
            self._lose_oldest(f"while {self.max_pending} newer ones were awaited")

    def _give_up(self, *, before: int) -> None:
        while self._pending and next(iter(self._pending)) < before:
            self._lose_oldest(f"in {self.max_delay} rounds")

    def _lose_oldest(self, when: str) -> None:
        lost = self._pending.pop(next(iter(self._pending)))
        self._expecting = None
        warnings.warn(
            f"no value came for round {lost.round} {when}: it is given up as lost; should it come, use add()",
            LostValueWarning,
            stacklevel=4,
        )

    def _forget(self, decision: Decision) -> None:
        del self._pending[decision.round]
        self._expecting = None

    def _awaited(self, decision: Decision) -> Decision:
        if not isinstance(decision, Decision):
            raise InvalidInputError(f"decision: expected a Decision from select(), got {type(decision).__name__}")
        awaited = self._pending.get(decision.round)
        if awaited is decision:
            return awaited
        if decision.round > self._round:
            raise UnknownDecisionError(f"round {decision.round} was never selected here; the last one is {self._round}")
        if awaited is None and not decision.informative and not self.act:
            raise UnknownDecisionError(
                f"round {decision.round} was refused as uninformative: no value is expected (act=True takes it anyway)"
            )
        if awaited is None:
            raise UnknownDecisionError(f"round {decision.round} was answered before, or given up as lost")
        if not np.array_equal(awaited.action, decision.action):
            raise UnknownDecisionError(f"round {decision.round} selected another action: is this another bandit's?")
        return awaited

    def _belief_expecting_pending(self) -> Belief:
        expected = [d.action for d in self._pending.values() if self._learns_from(d)]
        if not expected:
            return self.belief
        if self._expecting is None:
            self._expecting = self.belief.condition(np.array(expected))
        return self._expecting

    def _learns_from(self, decision: Decision) -> bool:
        return decision.informative or self.belief.absorbs
