"""What can be said of a study: the best, what is believed, what can be promised; in the objective's own units."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, final

import numpy as np

from uncubed import _validation as check
from uncubed._typing import Array
from uncubed.beliefs import Posterior
from uncubed.book import Book
from uncubed.candidates import Candidates
from uncubed.errors import InvalidInputError
from uncubed.proposer import Proposer
from uncubed.records import Log, Milestone, Promise, Trial
from uncubed.space import Params, Space


@final
class Account:
    """Answers about what a book has taken down; nothing here changes anything.

    Args:
        space: where the points are.
        book: what happened, with the model.
        proposer: knows the bounds.
    """

    def __init__(self, space: Space | Candidates, book: Book, proposer: Proposer) -> None:
        self._space, self._book, self._proposer, self._model = space, book, proposer, book.model

    def log(self) -> Log:
        """What was told, in the order it came."""
        history = self._model.history
        real = history.real
        return Log(self._book.sign * history.values[real], history.nats[real], history.model_orders[real])

    def params(self, index: int) -> Params:
        """The point of an entry of the log."""
        history = self._model.history
        return self._space.decode(history.actions[history.real[check.index("index", index, self._book.told)]])

    def encoded(self, rows: Sequence[Mapping[str, Any]]) -> Array:
        """The coordinates of points, shape (n, width)."""
        return np.array([self._space.encode(row) for row in rows]).reshape(len(rows), self._space.width)

    def predict(self, rows: Sequence[Mapping[str, Any]]) -> Posterior:
        """What is believed of the objective at these points, as of a trial's `mean` and `std`."""
        mean, variance = self._model.predict(self.encoded(rows))
        middle, half = self._believed(mean, np.sqrt(variance))
        return Posterior(self._book.sign * middle, half**2)

    def importance(self) -> dict[str, float]:
        """Inverse length-scales, as fractions of their sum."""
        scales = np.broadcast_to(self._model.belief.kernel.length_scale, (self._space.width,))
        first = np.unique(self._space.groups, return_index=True)[1]
        inverse = 1.0 / scales[first]
        return dict(zip(self._space.names, (inverse / inverse.sum()).tolist(), strict=True))

    def best(self) -> Trial:
        """The point told with the largest posterior mean; of an exact function, the largest value."""
        rows, mean, variance = self._proposer.contenders()
        k = next((k for k, row in enumerate(rows) if not self._book.gave_no_value(row)), None)
        if k is None:
            raise InvalidInputError("best: expected at least one value told, got none yet")
        return self._trial(rows[k], mean[k], variance[k])

    def promise(self, rng: np.random.Generator, *, whole: bool) -> Promise:
        """How far from the best one can still be; `whole` looks at every row of a table."""
        best, scaling = self.best(), self._model.scaling
        recommended, lower, upper, width = self._proposer.bounds(rng, whole=whole)
        rows = np.array([recommended, self._space.encode(best.params)])
        mean, variance = self._model.predict(rows)
        best_lower = float(mean[1] - width * math.sqrt(variance[1]))
        lower = max(lower, best_lower)  # they may differ by rounding
        least, best_least, most = scaling.unscaled(np.array([lower, best_lower, upper])).tolist()
        return Promise(
            recommended=self._trial(recommended, mean[0], variance[0]),
            gap=most - least,
            best=best,
            best_gap=most - best_least,
            delta=self._proposer.delta,
            caveats=self._caveats(),
        )

    def milestone(self, rng: np.random.Generator) -> Milestone:
        """How far it is now, up to the search."""
        sign, bounds = self._book.sign, self._proposer.glance(rng)
        ends = sign * self._model.scaling.unscaled(np.array([bounds.lower, bounds.upper]))
        return Milestone(self._book.evaluations, self.best().mean, *sorted(ends.tolist()))

    def _trial(self, action: Array, mean: float, variance: float) -> Trial:
        sign = self._book.sign
        value = sign * self._model.history.mean_at(action)
        middle, half = self._believed(np.array(mean), np.sqrt(variance))
        return Trial(self._space.decode(action), value, sign * float(middle), float(half))

    def _believed(self, mean: Array, std: Array) -> tuple[Array, Array]:
        """In the objective's units the middle, and half the width of what lies within a standard deviation.

        Where values are not bent these are mean and standard deviation; where they are, moments would be of the far
        tail alone.
        """
        scaling = self._model.scaling
        low, middle, high = scaling.unscaled(np.array([mean - std, mean, mean + std]))
        half: Array = 0.5 * (high - low)
        return middle, half

    def _caveats(self) -> tuple[str, ...]:
        model, failures = self._model, len(self._book.failures)
        caveats = {
            "hyper-parameters were learned: it holds under the fitted model": True,
            "up to the search, which may miss a narrow peak": not self._proposer.exhaustive,
            "fewer values than the first design": len(model.history) < len(self._proposer.first),
            f"atoms were evicted: {model.belief.evictions}": model.belief.evictions > 0,
            f"values were clipped: {model.clipped}": model.clipped > 0,
            f"failures count as the worst value told: {failures}": failures > 0,
        }
        return tuple(text for text, holds in caveats.items() if holds)
