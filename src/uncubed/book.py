"""What was asked and told: suggestions that are out, failures, what is queued, and the model that learns from it."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import final

import numpy as np

from uncubed._typing import Array
from uncubed.errors import StateError
from uncubed.model import Lesson, Model
from uncubed.records import Failure, Milestone, Suggestion
from uncubed.threads import one_thread

NO_LESSON = Lesson(kept=False, nats=0.0, model_order=0, clipped=False)


@final
class Book:
    """Takes down what happens, the same whether it happens now or is read from a journal.

    Args:
        model: learns what is told.
        sign: 1 if the objective is to be maximised, -1 if minimised: the model always maximises.
    """

    def __init__(self, model: Model, sign: float) -> None:
        self.model, self.sign = model, sign
        self.pending: dict[int, Suggestion] = {}
        self._awaited: Counter[bytes] = Counter()  # the actions of these
        self.queue: list[Array] = []
        self.failures: list[Failure] = []
        self.milestones: list[Milestone] = []
        self.asked = self.told = 0
        self.asked_again = 0
        """Suggestions of points whose value was known."""
        self.learns = True
        """Not while a journal is read up to a state that is known."""
        self._never: set[bytes] = set()  # actions that failed and never gave a value
        self._unplaced: list[Array] = []  # actions that failed before anything was told
        self._changing = False

    @property
    def evaluations(self) -> int:
        """Values told, and failures."""
        return self.told + len(self.failures)

    @property
    def tried(self) -> int:
        """Points that need not be tried first any more."""
        return len(self.model.history) + len(self.pending) + len(self._unplaced)

    def is_awaited(self, action: Array) -> bool:
        """Whether a value is to come from there."""
        return self._awaited[action.tobytes()] > 0

    def was_tried(self, action: Array) -> bool:
        """Whether a value or a failure came from there, or is awaited."""
        return self.gave_no_value(action) or action in self.model.history or self.is_awaited(action)

    def gave_no_value(self, action: Array) -> bool:
        """Whether an evaluation there failed, and none gave a value."""
        return action.tobytes() in self._never

    def ask(self, suggestion: Suggestion, *, enqueued: bool) -> None:
        """A suggestion went out."""
        if enqueued:
            del self.queue[0]
        self.asked = suggestion.id + 1
        self.asked_again += suggestion.decision.action in self.model.history
        self.pending[suggestion.id] = suggestion
        self._awaited[suggestion.decision.action.tobytes()] += 1

    def await_no_more(self, id: int) -> None:
        """The value of a suggestion came, or will not."""
        self._awaited[self.pending.pop(id).decision.action.tobytes()] -= 1

    def tell(self, id: int | None, action: Array, value: float, noise: float | None, lesson: Lesson) -> None:
        """A value came."""
        with self.changing():
            self._learn(action, self.sign * value, noise, lesson, looked=id is not None)
            self._never.discard(action.tobytes())
            self._answered(id)
            self.told += 1
            self._place_failures()

    def tell_many(self, X: Array, values: Array, noises: Array) -> None:
        """Many values came at once."""
        with self.changing():
            (self.model.tell_many if self.learns else self.model.write_down_many)(X, self.sign * values, noises)
            self._never.difference_update(action.tobytes() for action in X)
            self.told += len(X)
            self._place_failures()

    def fail(self, id: int | None, action: Array, failure: Failure) -> None:
        """An evaluation gave no value."""
        with self.changing():
            self.failures.append(failure)
            self._unplaced.append(action)
            if action not in self.model.history:
                self._never.add(action.tobytes())
            self._answered(id)
            self._place_failures()

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Ctrl-C in here leaves something half done, which `check` says from then on."""
        self.check()
        self._changing = True
        with one_thread(self.model.max_model_order):
            yield
        self._changing = False

    def check(self) -> None:
        """Raise if a change was interrupted."""
        if self._changing:
            raise StateError(
                "expected a whole state, got one interrupted while it learned; resume from the journal if there is one"
            )

    def _answered(self, id: int | None) -> None:
        if id is not None:
            self.await_no_more(id)

    def _learn(self, action: Array, value: float, noise: float | None, lesson: Lesson, **how: bool) -> None:
        (self.model.learn if self.learns else self.model.write_down)(action, value, noise, lesson, **how)

    def _place_failures(self) -> None:
        """Tell the model of failures, once there is a worst value to stand for them."""
        if self._unplaced and len(self.model.history):
            worst = float(np.min(self.model.history.values))
            for action in self._unplaced:
                self._learn(action, worst, None, NO_LESSON, imputed=True)
            self._unplaced.clear()
