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
from uncubed.acquisition import Acquisition, Selection, TheoreticalBeta, UpperConfidenceBound
from uncubed.actions import Box, Finite
from uncubed.beliefs import Belief, ExactBelief
from uncubed.budget import Budget, Decision, decide
from uncubed.certificate import (
    Certificate,
    Ledger,
    certificate_beta,
    discretisation,
    model_order_bound,
    most_certain,
    theorem_regret,
    upper,
)
from uncubed.errors import InvalidInputError, LostValueWarning, StateError, UnknownDecisionError
from uncubed.rounds import Run, run

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
        max_pending: decisions whose values are awaited at once; beyond it the oldest is given up as lost.
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
        seed: int | None = None,
    ) -> None:
        self.actions: Finite | Box = _of_kind("actions", actions, Finite, Box)
        self.belief: Belief = _of_kind("belief", belief, Belief)
        self.acquisition: Acquisition = _of_kind("acquisition", acquisition or UpperConfidenceBound(), Acquisition)
        self.budget: Budget = _of_kind("budget", budget or Budget.keep_all(), Budget)
        self.act, self.certify = bool(act), bool(certify)
        self.delta = check.probability("delta", delta)
        self.max_pending = check.count("max_pending", max_pending)
        self._rng = np.random.default_rng(seed)
        self._round = 0
        self._evaluations = 0
        self._initial = belief.model_order
        self._pending: dict[int, Decision] = {}
        self._expecting: Belief | None = None  # the belief conditioned on what is pending; None when out of date
        self._last: Array | None = None
        self._ledger = Ledger()
        # Then the acquisition's own maximum is the certificate's max UCB, and need not be searched twice.
        self._selects_by_upper_bound = isinstance(actions, Finite) and self.acquisition == UpperConfidenceBound(
            TheoreticalBeta(self.delta)
        )
        actions.prepare(belief)
        if certify or self.budget.needs_beta:
            certificate_beta(actions, belief.kernel, 1, delta)  # raises here, not in the first round
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
        t = self._round + 1
        belief = self._belief_expecting_pending()
        self._ledger.delayed |= bool(self._pending)
        choice = self.acquisition.choose(t, self.actions, belief, self._rng, self._last)
        threshold = self._threshold(t)
        decision = decide(choice.action, choice.variance, belief.noise_variance, threshold, round=t, index=choice.row)
        regret = self._regret_bound(t, choice) if self.certify else 0.0
        self._ledger.record(decision.informative, decision.information_gain, decision.epsilon, regret)
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
        self._check_awaited(decision)
        value = check.real("value", value)
        if self._learns_from(decision):
            self._learn(decision.action, decision.index, value)
        self._forget(decision)
        self._evaluations += 1

    def lose(self, decision: Decision) -> None:
        """Say that the value of a decision will never come."""
        self._check_awaited(decision)
        self._forget(decision)

    def add(self, action: ArrayLike, value: float) -> None:
        """Learn a value observed outside the rounds, such as an initial point; it enters untested."""
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
        rng: np.random.Generator | None = None,
    ) -> Run:
        """Run rounds against a known function, for experiments; see `uncubed.rounds.run`.

        The noise is drawn by the bandit's own generator unless another is given.
        """
        rng = self._rng if rng is None else rng
        return run(self, f, rounds, noise_std=noise_std, optimum=optimum, record_every=record_every, rng=rng)

    # Certificates

    def gap(self, action: ArrayLike) -> float:
        """An upper bound on f* - f(action): max UCB - LCB(action), and 1/t² on a box."""
        return self._gap(self._member(action), self._upper())

    def certificate(self) -> Certificate:
        """What can be promised now; `print` it.

        The confidence is shared by the rounds, one belief each: of certificates read between two rounds, while values
        come in, each holds by itself, but not all of them together.
        """
        t, beta = self._round + 1, self._certificate_beta()
        top = self._upper()
        recommended = most_certain(self.actions, self.belief, beta, self._reading_rng(), self._last).action
        best = self.best.action if self.belief.distinct else None
        return Certificate(
            round=t,
            delta=self.delta,
            beta=beta,
            recommended=recommended,
            gap=self._gap(recommended, top),
            best=best,
            best_gap=None if best is None else self._gap(best, top),
            cumulative_regret=self._ledger.regret if self.certify else None,
            theorem_regret=self._theorem_regret(),
            caveats=self._caveats(),
        )

    def model_order_bound(self, *, steps: int = 2000) -> int | None:
        """A bound on the model order so far, from the prior alone; see `certificate.model_order_bound`.

        None on a box, for a belief other than `ExactBelief`, or when the budget keeps everything.
        """
        if not isinstance(self.actions, Finite) or not isinstance(self.belief, ExactBelief):
            return None
        epsilon = self._ledger.least_epsilon
        if math.isinf(epsilon):
            return self._initial
        kernel, noise = self.belief.kernel, self.belief.noise_variance
        return model_order_bound(kernel, noise, self.actions.X, epsilon, initial=self._initial, steps=steps)

    # On disk

    def save(self, path: str | PathLike[str]) -> None:
        """Write the state as JSON; its size is that of the model, not of the history or of the action set.

        What was updated is computed afresh first, so that this bandit and a loaded one go on alike to the last bit.
        """
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
        settings = {key: _state.decode(value) for key, value in state["settings"].items()}
        kernel = _state.decode(state["belief"]["kernel"])
        belief = _state.class_of(state["belief"]["type"]).restore(kernel, state["belief"]["state"])
        bandit = cls(_actions_from(state["actions"], actions), belief, **settings)
        bandit._rng.bit_generator.state = state["random"]
        bandit._round, bandit._evaluations, bandit._initial = state["round"], state["evaluations"], state["initial"]
        bandit._ledger = Ledger.restore(state["ledger"])
        bandit._last = None if state["last"] is None else _read_only(state["last"])
        for saved in state["pending"]:
            decision = Decision(**{**saved, "action": _read_only(saved["action"])})
            bandit._pending[decision.round] = decision
        return bandit

    def _as_json(self) -> dict[str, Any]:
        settings = {
            name: _state.encode(getattr(self, name))
            for name in ("acquisition", "budget", "act", "certify", "delta", "max_pending")
        }
        belief = {"type": _state.name_of(self.belief), "kernel": _state.encode(self.belief.kernel)}
        return {
            "kind": "bandit",
            "version": VERSION,
            "settings": settings,
            "actions": _actions_as_json(self.actions),
            "belief": {**belief, "state": self.belief.state()},
            "random": self._rng.bit_generator.state,
            "round": self._round,
            "evaluations": self._evaluations,
            "initial": self._initial,
            "ledger": self._ledger.state(),
            "last": None if self._last is None else self._last.tolist(),
            "pending": [_decision_as_json(d) for d in self._pending.values()],
        }

    # Inside

    def _threshold(self, t: int) -> float:
        beta = certificate_beta(self.actions, self.belief.kernel, t, self.delta) if self.budget.needs_beta else None
        noise = self.belief.noise_variance
        threshold = self.budget.threshold(noise, self.actions.dimension, 1.0, t, beta=beta)
        return min(threshold, _LARGEST_RATIO * noise)

    def _regret_bound(self, t: int, choice: Selection) -> float:
        """max UCB_t - LCB_t(x_t), and 1/t² on a box."""
        beta = certificate_beta(self.actions, self.belief.kernel, t, self.delta)
        if self._selects_by_upper_bound and not self._pending:
            top = choice.score
        else:
            top = upper(self.actions, self.belief, beta, self._reading_rng(), choice.action)
        mean, variance = choice.mean, choice.variance
        if self._pending:
            posterior = self.belief.predict(choice.action[None, :])
            mean, variance = float(posterior.mean[0]), float(posterior.variance[0])
        return _upper_less_lower(top, mean, math.sqrt(beta * variance)) + discretisation(self.actions, t)

    def _member(self, action: ArrayLike) -> Array:
        clean = check.point("action", action, self.actions.dimension)
        if not self.actions.contains(clean):
            raise InvalidInputError(f"action: expected a point of {self.actions!r}, got {clean.tolist()}")
        return clean

    def _learn(self, action: Array, index: int | None, value: float) -> None:
        if index is None or self.belief.surface is None:
            self.belief.update(action, value)
        else:
            self.belief.update_at(index, value)
        cap = self.budget.max_model_order
        while cap is not None and self.belief.distinct > cap:
            self.belief.evict()

    def _await(self, decision: Decision) -> None:
        self._pending[decision.round] = decision
        self._expecting = None
        if len(self._pending) > self.max_pending:
            lost = self._pending.pop(next(iter(self._pending)))
            warnings.warn(
                f"no value came for round {lost.round} while {self.max_pending} newer ones were awaited: "
                "it is given up as lost",
                LostValueWarning,
                stacklevel=3,
            )

    def _forget(self, decision: Decision) -> None:
        del self._pending[decision.round]
        self._expecting = None

    def _check_awaited(self, decision: Decision) -> None:
        if not isinstance(decision, Decision):
            raise InvalidInputError(f"decision: expected a Decision from select(), got {type(decision).__name__}")
        awaited = self._pending.get(decision.round)
        if awaited is decision:
            return
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

    def _belief_expecting_pending(self) -> Belief:
        expected = [d.action for d in self._pending.values() if self._learns_from(d)]
        if not expected:
            return self.belief
        if self._expecting is None:
            self._expecting = self.belief.condition(np.array(expected))
        return self._expecting

    def _learns_from(self, decision: Decision) -> bool:
        return decision.informative or self.belief.absorbs

    def _certificate_beta(self) -> float:
        return certificate_beta(self.actions, self.belief.kernel, self._round + 1, self.delta)

    def _upper(self) -> float:
        return upper(self.actions, self.belief, self._certificate_beta(), self._reading_rng(), self._last)

    def _gap(self, action: Array, top: float) -> float:
        mean, variance = self.belief.predict(action[None, :])
        width = math.sqrt(self._certificate_beta() * float(variance[0]))
        return _upper_less_lower(top, float(mean[0]), width) + discretisation(self.actions, self._round + 1)

    def _reading_rng(self) -> np.random.Generator:
        """For reading: a certificate must not change what is selected next."""
        if isinstance(self.actions, Finite):
            return self._rng  # a finite set draws nothing
        copy = np.random.default_rng(0)
        copy.bit_generator.state = self._rng.bit_generator.state
        return copy

    def _theorem_regret(self) -> float | None:
        beta = self.acquisition.beta if isinstance(self.acquisition, UpperConfidenceBound) else None
        applies = isinstance(beta, TheoreticalBeta) and beta.delta <= self.delta and not self._ledger.delayed
        if beta is None or not applies or not self._round:
            return None
        beta_t = beta(self._round, self.actions, self.belief)
        on_box = isinstance(self.actions, Box)
        return theorem_regret(self._ledger, beta_t, self.belief.kernel, self.belief.noise_variance, on_box)

    def _caveats(self) -> tuple[str, ...]:
        caveats = {
            "up to the maximiser: the largest bound on the box is the largest one found": isinstance(self.actions, Box),
            f"{type(self.belief).__name__} approximates the posterior": not self.belief.exact,
            f"heuristic: {self.belief.evictions} atoms were evicted, and later actions depend on them": (
                self.belief.evictions > 0
            ),
        }
        return tuple(text for text, holds in caveats.items() if holds)


def _upper_less_lower(top: float, mean: float, width: float) -> float:
    """max UCB - LCB; the action's own upper bound counts too, should the maximiser on a box have missed it."""
    return max(top - mean, width) + width


def _read_only(values: list[float]) -> Array:
    array = np.array(values, float)
    array.flags.writeable = False
    return array


def _of_kind(name: str, value: Any, *kinds: type) -> Any:
    if not isinstance(value, kinds):
        expected = " or ".join(kind.__name__ for kind in kinds)
        raise InvalidInputError(f"{name}: expected {expected}, got {type(value).__name__}")
    return value


def _actions_as_json(actions: Finite | Box) -> dict[str, Any]:
    if isinstance(actions, Finite):
        return {"type": "Finite", "shape": list(actions.X.shape), "digest": actions.digest}
    bounds = {"lower": actions.lower.tolist(), "upper": actions.upper.tolist()}
    return {"type": "Box", **bounds, "pool": actions.pool, "starts": actions.starts, "steps": actions.steps}


def _actions_from(state: dict[str, Any], actions: Finite | Box | None) -> Finite | Box:
    if state["type"] == "Box" and actions is None:
        return Box(state["lower"], state["upper"], pool=state["pool"], starts=state["starts"], steps=state["steps"])
    if actions is None:
        raise StateError(f"actions: expected the Finite set of shape {tuple(state['shape'])} that was used, got None")
    if _actions_as_json(actions) != state:
        raise StateError(f"actions: expected the {state['type']} that was saved, got another: {actions!r}")
    return actions


def _decision_as_json(decision: Decision) -> dict[str, Any]:
    return {
        "action": decision.action.tolist(),
        "variance": decision.variance,
        "information_gain": decision.information_gain,
        "epsilon": decision.epsilon,
        "informative": decision.informative,
        "round": decision.round,
        "index": decision.index,
    }
