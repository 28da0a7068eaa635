"""What to try next: what is queued, then the first design, then what a search finds."""

import math
from collections.abc import Mapping
from copy import copy
from typing import Any, final

import numpy as np

from uncubed._typing import Array
from uncubed.acquisition import Selection
from uncubed.beliefs import Belief
from uncubed.book import Book
from uncubed.candidates import Candidates
from uncubed.proposer import Proposer
from uncubed.space import Space


@final
class Outlook:
    """Looks ahead; what it saw is kept until something changes, so that to look whether a study is done costs nothing.

    Args:
        space: where the points are.
        book: what happened, with the model.
        proposer: searches.
        rng: of the next search.
    """

    def __init__(self, space: Space | Candidates, book: Book, proposer: Proposer, rng: np.random.Generator) -> None:
        self._space, self._book, self._proposer, self._model = space, book, proposer, book.model
        self.rng = rng
        self._foreseen: tuple[Selection | None, np.random.Generator] | None = None

    def forget(self) -> None:
        """Something has changed."""
        self._foreseen = None

    def go_on(self, rng: np.random.Generator) -> None:
        """A suggestion went out, after which the generator is as this one."""
        self.rng, self._foreseen = rng, None

    def spare(self) -> np.random.Generator:
        """A generator that goes on as that of the next search does, for looks that change nothing."""
        return np.random.Generator(copy(self.rng.bit_generator))  # `deepcopy` takes three times as long

    def next(self, fixed: Mapping[str, Any], *, enqueued: bool) -> tuple[Selection, np.random.Generator]:
        """What comes next with these parameters held, and the generator after it."""
        first, tried = self._proposer.first, self._book.tried
        if enqueued or (tried < len(first) and not fixed):
            left = (u for u in np.roll(first, -tried, axis=0) if not self._book.was_tried(u))
            return self.at(self._book.queue[0] if enqueued else next(left)), self.rng
        if self._foreseen is not None and self._foreseen[0] is not None and not fixed:
            return self._or_twin(self._foreseen[0]), self._foreseen[1]
        rng, held = self.spare(), self._proposer.hold(fixed)
        found = self._proposer.propose(self._round, self._expecting(), held, rng, self._repeats, turn=self._turn)
        return found if fixed else self._or_twin(found), rng

    def worthwhile(self) -> Selection | None:
        """What is worth trying next, if anything is."""
        if self._foreseen is None:
            rng = self.spare()
            found = self._proposer.find(self._round, self._expecting(), rng, self._repeats, turn=self._turn)
            self._foreseen = found, rng
        return self._foreseen[0]

    def at(self, action: Array) -> Selection:
        """What is expected of a point that was not searched for, as if what is pending had come."""
        mean, variance = self._expecting().predict(action[None, :])
        return Selection(action, float(mean[0]), float(variance[0]), math.nan, None)

    @property
    def _round(self) -> int:
        return self._book.asked + 1

    @property
    def _turn(self) -> int:
        return self._book.tried + 1

    def _expecting(self) -> Belief:
        """What is believed, with variances as if what is pending had come."""
        pending = [s.decision.action for s in self._book.pending.values()]
        return self._model.belief.condition(np.array(pending)) if pending else self._model.belief

    def _repeats(self, found: Selection) -> bool:
        """Whether a point is being tried, or was and nothing is to be learned; noisy ones may be worth another look."""
        if self._book.is_awaited(found.action) or self._book.gave_no_value(found.action):
            return True
        exact = self._proposer.is_known(found) or self._model.history.repeats_itself
        return exact and self._book.was_tried(found.action)

    def _or_twin(self, found: Selection) -> Selection:
        """This, or instead a point that was tried, if nobody knows yet whether values are noisy."""
        action = None if found.row is not None else self._proposer.twin(found.action)
        if action is None or not self._may_be_tried_again(action):
            return found
        twin = self.at(action)
        return twin if twin.variance > self._proposer.threshold(self._round) else found

    def _may_be_tried_again(self, action: Array) -> bool:
        """Whether a value was told there, and every look again so far has brought one: none is out, failed or lost."""
        history = self._model.history
        answered = self._book.asked_again == history.looks and history.exact_at(action) is not None
        return answered and self._proposer.admissible(self._space.decode(action))
