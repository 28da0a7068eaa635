"""Ask and tell: the search for the best of a costly function."""

import math
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from typing import Any, NamedTuple, final, overload

import numpy as np

from uncubed import _validation as check
from uncubed._typing import Array
from uncubed.acquisition import Acquisition, ExpectedImprovement, Selection, ThompsonSampling, UpperConfidenceBound
from uncubed.actions import Box, finite_beta, shifted, sobol
from uncubed.beliefs import Belief
from uncubed.budget import Budget, decide
from uncubed.certificate import BOX_EVENTS
from uncubed.errors import InvalidInputError, UnknownDecisionError
from uncubed.kernels import Kernel
from uncubed.model import Lesson, Model
from uncubed.records import Failure, Promise, Suggestion, Trial
from uncubed.search import Held, Search, Worth
from uncubed.space import Params, Space

DEFAULT_EPSILON = 0.5 * math.log(1.3)
"""Least information worth an evaluation: the variance must exceed 0.3 of the noise's."""

_NEAR = 32  # of the best points told, around which is searched


class _Contenders(NamedTuple):
    """Points told, the best believed first, with their posterior."""

    rows: Array
    mean: Array
    variance: Array

    @property
    def near(self) -> Array:
        """Places to search around."""
        return self.rows[:_NEAR]


@final
class Optimizer:
    """Finds the best of a costly function, one suggestion at a time.

    >>> import uncubed as uc
    >>> opt = uc.Optimizer({"x": uc.Float(-2.0, 2.0)}, direction="minimize", seed=0)
    >>> for _ in range(15):
    ...     s = opt.ask()
    ...     taught = opt.tell(s, (s.params["x"] - 0.3) ** 2)
    >>> round(opt.best.params["x"], 1)
    0.3

    Args:
        space: parameters by name.
        direction: "maximize" or "minimize".
        acquisition: how suggestions are chosen; expected improvement unless given.
        budget: which of them are worth an evaluation.
        kernel: where the fit starts, and its class.
        noise_variance: of a value, where it is known.
        constraints: functions of the params; a point is tried only if all say True.
        max_model_order: atoms of the model at most, which bounds the time of a suggestion.
        delta: failure probability of what is certified.
        seed: of everything random.
    """

    def __init__(
        self,
        space: Mapping[str, Any],
        *,
        direction: str = "maximize",
        acquisition: Acquisition | None = None,
        budget: Budget | None = None,
        kernel: Kernel | None = None,
        noise_variance: float | None = None,
        constraints: Sequence[Callable[[Params], bool]] = (),
        max_model_order: int = 256,
        delta: float = 0.1,
        seed: int | None = None,
    ) -> None:
        self.space = Space(space)
        self.direction = _direction(direction)
        self.acquisition: Acquisition = _acquisition(acquisition)
        self.budget: Budget = check.kind("budget", budget or Budget.constant(DEFAULT_EPSILON), Budget)
        self.constraints = _functions(constraints)
        self.delta = check.probability("delta", delta)
        self._sign = 1.0 if direction == "maximize" else -1.0
        self._rng = np.random.default_rng(None if seed is None else check.count("seed", seed, least=0))
        self._model = Model(
            self.space.groups,
            noise_variance=None if noise_variance is None else check.positive("noise_variance", noise_variance),
            kernel=kernel,
            max_model_order=check.count("max_model_order", max_model_order),
            seed=int(self._rng.integers(2**32)),
        )
        self._search = Search(self.space)
        self._box = Box(np.zeros(self.space.width), np.ones(self.space.width))
        self._first = self._design(min(4 + 2 * len(self.space.dimensions), 20))
        self._queue: list[Params] = []
        self._pending: dict[int, Suggestion] = {}
        self.failures: list[Failure] = []
        self._failed: set[bytes] = set()  # actions that never gave a value
        self._unplaced: list[Array] = []  # actions that failed before anything was told
        self._known: _Contenders | None = None  # None when out of date
        self._asked = 0

    # Asking and telling

    @overload
    def ask(self, n: None = None, *, fixed: Mapping[str, Any] | None = None) -> Suggestion: ...

    @overload
    def ask(self, n: int, *, fixed: Mapping[str, Any] | None = None) -> list[Suggestion]: ...

    def ask(self, n: int | None = None, *, fixed: Mapping[str, Any] | None = None) -> Suggestion | list[Suggestion]:
        """What to try next; the model does not change.

        While earlier suggestions are pending, variances are as if their values had come, so that several may be out at
        once and do not clump.

        Args:
            n: how many at once, as a list; one by itself unless given.
            fixed: parameters to hold at these values.
        """
        held = self._held(fixed or {})
        return self._suggest(held) if n is None else [self._suggest(held) for _ in range(check.count("n", n))]

    def tell(self, what: Suggestion | Mapping[str, Any], value: float) -> Lesson:
        """Learn a value, of a suggestion or of any point of the space; what it taught."""
        action, number = self._action(what), check.real("value", value)
        lesson = self._model.tell(action, self._sign * number)
        self._known = None
        self._failed.discard(action.tobytes())
        if isinstance(what, Suggestion):
            del self._pending[what.id]
        self._place_failures()
        return lesson

    def tell_many(self, rows: Sequence[Mapping[str, Any]], values: Sequence[float]) -> None:
        """Learn past values at once: one fit, and linear time."""
        X = np.array([self.space.encode(row) for row in rows]).reshape(len(rows), self.space.width)
        numbers = np.array([check.real("value", value) for value in values])
        if len(X) != len(numbers):
            raise InvalidInputError(f"values: expected {len(X)}, one per row, got {len(numbers)}")
        if len(X):
            self._model.tell_many(X, self._sign * numbers)
            self._known = None
            self._place_failures()

    def fail(self, what: Suggestion | Mapping[str, Any], reason: str) -> None:
        """Say that an evaluation gave no value: a crash, NaN, a time-out.

        The model takes it for a value as bad as the worst told, so that the search stays away from there.
        """
        action = self._action(what)
        self.failures.append(Failure(self.space.decode(action), str(reason)))
        self._unplaced.append(action)
        if action not in self._model.history:
            self._failed.add(action.tobytes())
        if isinstance(what, Suggestion):
            del self._pending[what.id]
        self._place_failures()

    def enqueue(self, params: Mapping[str, Any]) -> None:
        """Try this point next."""
        self._queue.append(self.space.decode(self.space.encode(params)))

    @property
    def pending(self) -> Mapping[int, Suggestion]:
        """Suggestions whose values are awaited, by id."""
        return dict(self._pending)

    @property
    def best(self) -> Trial:
        """The point told with the largest posterior mean: not the luckiest value."""
        rows, mean, variance = self._contenders()
        k = next((k for k, row in enumerate(rows) if row.tobytes() not in self._failed), None)
        if k is None:
            raise InvalidInputError("best: expected at least one value told, got none yet")
        scaling = self._model.scaling
        seen = self._model.history.observations(rows[k : k + 1])
        believed = scaling.centre + scaling.spread * float(mean[k])
        std = scaling.spread * math.sqrt(float(variance[k]))
        return Trial(self.space.decode(rows[k]), self._sign * float(seen.mean[0]), self._sign * believed, std)

    @property
    def done(self) -> str | None:
        """Why nothing more is worth trying; None while something is.

        On continuous and on large discrete spaces this is up to the search, which may miss a narrow peak. To look does
        not change what is suggested next: the search draws from a copy of the generator.
        """
        if len(self._model.history) < len(self._first) or self._pending:
            return None
        found = self._find(self._model.belief, self._held({}), self._worth(), deepcopy(self._rng))
        return None if found is not None else "nothing informative is left that could be the best"

    def certificate(self) -> Promise:
        """How far from the best the best point can still be."""
        best, belief, scaling = self.best, self._model.belief, self._model.scaling
        width = self._width()
        bound = UpperConfidenceBound()
        top = self._search.maximise(
            bound,
            width,
            belief,
            deepcopy(self._rng),
            near=self._contenders().near,
            worth=Worth(),
            admissible=self._allowed,
        )
        lower = (self._sign * best.mean - scaling.centre) / scaling.spread - width * best.std / scaling.spread
        upper = lower if top is None else max(top.score, lower + 2.0 * width * best.std / scaling.spread)
        return Promise(best, scaling.spread * (upper - lower), self.delta, self._caveats())

    # Inside

    def _suggest(self, held: Held) -> Suggestion:
        action, variance = self._next(held)
        noise = self._model.belief.noise_variance
        decision = decide(action, variance, noise, self._threshold(), round=self._asked + 1)
        suggestion = Suggestion(self.space.decode(action), self._asked, decision)
        self._asked += 1
        self._pending[suggestion.id] = suggestion
        return suggestion

    def _place_failures(self) -> None:
        """Tell the model of failures, once there is a worst value to stand for them."""
        if self._unplaced and len(self._model.history):
            worst = float(self._model.history.values.min())
            for action in self._unplaced:
                self._model.tell(action, worst)
            self._unplaced.clear()
            self._known = None

    def _caveats(self) -> tuple[str, ...]:
        caveats = {
            "hyper-parameters were learned: it holds under the fitted model": True,
            "up to the search, which may miss a narrow peak": not self._search.exhaustive,
            "fewer values than the first design": len(self._model.history) < len(self._first),
            f"{self._model.belief.evictions} atoms were evicted": self._model.belief.evictions > 0,
            f"{self._model.clipped} values were clipped": self._model.clipped > 0,
            f"{len(self.failures)} failures count as the worst value told": bool(self.failures),
        }
        return tuple(text for text, holds in caveats.items() if holds)

    def _next(self, held: Held) -> tuple[Array, float]:
        """An action, and its posterior variance with what is pending."""
        belief = self._expecting()
        tried = len(self._model.history) + len(self._pending) + len(self._unplaced)
        if self._queue and not held.columns.any():
            action = self.space.encode(self._queue.pop(0))
        elif tried < len(self._first) and not held.columns.any():
            action = self._first[tried]
        else:
            return self._informative(belief, held)
        return action, float(belief.predict(action[None, :]).variance[0])

    def _informative(self, belief: Belief, held: Held) -> tuple[Array, float]:
        """The best of what is worth it; when nothing is, the best of the rest."""
        for worth in (self._worth(), Worth()):
            found = self._find(belief, held, worth, self._rng)
            if found is not None:
                return found.action, found.variance
        raise InvalidInputError("constraints: expected a point that satisfies them, got none in a whole search")

    def _find(self, belief: Belief, held: Held, worth: Worth, rng: np.random.Generator) -> Selection | None:
        near = self._contenders().near
        parameter = self._parameter(belief, rng)
        return self._search.maximise(
            self.acquisition, parameter, belief, rng, near=near, worth=worth, held=held, admissible=self._allowed
        )

    def _worth(self) -> Worth:
        """Informative, and with an upper bound that reaches the best lower bound known."""
        _, mean, variance = self._contenders()
        width = self._width()
        floor = float((mean - width * np.sqrt(variance)).max()) if len(mean) else -math.inf
        return Worth(self._threshold(), width, floor)

    def _width(self) -> float:
        """√β."""
        return math.sqrt(self._beta())

    def _beta(self) -> float:
        t, kernel = len(self._model.history) + 1, self._model.belief.kernel
        if self.space.size is not None:
            return finite_beta(self.space.size, t, self.delta)
        return self._box.theoretical_beta(t, kernel, self.delta, BOX_EVENTS)

    @property
    def _allowed(self) -> Callable[[Params], bool] | None:
        return self._admissible if self.constraints else None

    def _parameter(self, belief: Belief, rng: np.random.Generator) -> float:
        known = self._contenders()
        if isinstance(self.acquisition, UpperConfidenceBound) or not len(known.rows):
            return self.acquisition.parameter(self._asked + 1, self._box, belief, rng)
        # Improvement over the best that is believed, not over the luckiest value.
        return float(known.mean[0])

    def _threshold(self) -> float:
        noise, scale = self._model.belief.noise_variance, self._model.scaling.spread
        beta = self._beta() if self.budget.needs_beta else None
        return self.budget.threshold(noise, self.space.width, scale, self._asked + 1, beta=beta)

    def _expecting(self) -> Belief:
        """The belief with variances as if what is pending had come."""
        if not self._pending:
            return self._model.belief
        return self._model.belief.condition(np.array([s.decision.action for s in self._pending.values()]))

    def _contenders(self) -> "_Contenders":
        """Points told that may be the best: those of the best values, and the model's atoms."""
        if self._known is None:
            history, belief = self._model.history, self._model.belief
            rows = np.empty((0, self.space.width))
            if len(history):
                rows = np.unique(np.vstack([history.best, belief.dictionary]), axis=0)
            mean, variance = belief.predict(rows)
            order = np.argsort(-mean, kind="stable")
            self._known = _Contenders(rows[order], mean[order], variance[order])
        return self._known

    def _design(self, n: int) -> Array:
        even = self.space.snap(shifted(sobol(self.space.width, max(n, 2)), self._rng))
        even = even[np.sort(np.unique(even, axis=0, return_index=True)[1])]
        rows = [u for u in even if self._admissible(self.space.decode(u))]
        return np.array(rows).reshape(len(rows), self.space.width)

    def _admissible(self, params: Params) -> bool:
        return all(constraint(params) for constraint in self.constraints)

    def _held(self, fixed: Mapping[str, Any]) -> Held:
        check.kind("fixed", fixed, Mapping)
        columns, values = np.zeros(self.space.width, bool), np.zeros(self.space.width)
        for name, value in fixed.items():
            if name not in self.space.dimensions:
                raise InvalidInputError(f"fixed: expected names of {list(self.space.dimensions)}, got {name!r}")
            where = self.space.columns[name]
            columns[where], values[where] = True, self.space.dimensions[name].encode(name, value)
        return Held(columns, values)

    def _action(self, what: Suggestion | Mapping[str, Any]) -> Array:
        if not isinstance(what, Suggestion):
            return self.space.encode(what)
        if self._pending.get(what.id) is not what:
            raise UnknownDecisionError(
                f"suggestion {what.id}: expected one whose value is awaited, got one that is not"
            )
        return what.decision.action


def _direction(direction: str) -> str:
    if direction not in ("maximize", "minimize"):
        raise InvalidInputError(f"direction: expected 'maximize' or 'minimize', got {direction!r}")
    return direction


def _acquisition(given: Acquisition | None) -> Acquisition:
    acquisition: Acquisition = check.kind("acquisition", given or ExpectedImprovement(), Acquisition)
    if isinstance(acquisition, ThompsonSampling):
        raise InvalidInputError("acquisition: expected one with a value at each point, got ThompsonSampling")
    return acquisition


def _functions(constraints: Sequence[Callable[[Params], bool]]) -> tuple[Callable[[Params], bool], ...]:
    for constraint in constraints:
        if not callable(constraint):
            raise InvalidInputError(f"constraints: expected functions, got {type(constraint).__name__}")
    return tuple(constraints)
