"""Where an acquisition is largest in a table, among the rows that are worth trying."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from uncubed._typing import Array
from uncubed.acquisition import Acquisition, Selection
from uncubed.ascent import ascend, spread
from uncubed.beliefs import Belief
from uncubed.candidates import Candidates
from uncubed.places import Rows
from uncubed.search import Worth
from uncubed.space import Params
from uncubed.threads import one_thread

_CHUNK = 1024  # rows that are predicted at once: their kernel with a model fits the cache
_AROUND = 32  # neighbours that are looked at in a step


@final
class TableSearch:
    """Finds the row of a table at which an acquisition is largest.

    A small table is looked at whole. In a large one: random rows and rows around places given; then gradients from the
    best, as if there were rows everywhere; then the rows near their ends, and from neighbour to neighbour. The cost of
    this does not depend on the length of the table. Only when it finds nothing worth trying are all rows looked at, as
    many as it takes to find one: that there is none is certain.

    Args:
        table: what is searched.
        whole: rows of a table that is looked at whole.
        pool: random rows in a larger one; half as many again lie around the places given to `maximise`.
        starts: rows from which gradients are followed.
        steps: along gradients, and then from neighbour to neighbour, at most.
    """

    exhaustive = True
    """Whether every row is looked at before `maximise` finds nothing, and by `largest`."""

    def __init__(
        self, table: Candidates, *, whole: int = 2048, pool: int = 512, starts: int = 8, steps: int = 12
    ) -> None:
        self.table, self.whole, self.pool, self.starts, self.steps = table, whole, pool, starts, steps

    def hold(self, fixed: Mapping[str, Any]) -> NDArray[np.bool_] | None:
        """The rows that may be chosen for these columns to have these values; None for all."""
        return self.table.having(fixed) if fixed else None

    def maximise(
        self,
        acquisition: Acquisition,
        parameter: float,
        belief: Belief,
        rng: np.random.Generator,
        *,
        near: Array,
        worth: Worth,
        otherwise: Worth | None = None,
        held: NDArray[np.bool_] | None = None,
        admissible: Callable[[Params], bool] | None = None,
    ) -> Selection | None:
        """The best row found that is worth trying; None if no row is.

        Args:
            acquisition: what is maximised.
            parameter: its number.
            belief: what is known.
            rng: of the pool.
            near: places to look around, shape (n, width), the best first.
            worth: what may be chosen,
            otherwise: and what instead if no row is.
            held: the rows that may be chosen, as `hold` gives them; all unless given.
            admissible: what the constraints say of a row.
        """
        task = _Task(self.table, acquisition, parameter, belief, worth, held, admissible)
        rows = task.rows()
        with one_thread(belief.distinct):
            pool = rows if len(rows) <= self.whole else self._pool(rows, rng, near)
            found = self._best(task, rows, pool)
            if found is None and otherwise is not None:
                task = task._replace(worth=otherwise)
                found = self._best(task, rows, pool)
            return task.selection(found)

    def largest(
        self,
        acquisition: Acquisition,
        parameter: float,
        belief: Belief,
        rng: np.random.Generator,
        *,
        near: Array,
        admissible: Callable[[Params], bool] | None = None,
    ) -> Selection | None:
        """The row where the acquisition is largest of all admissible ones; None if there is none.

        Every row is looked at, in pieces of bounded memory.
        """
        task = _Task(self.table, acquisition, parameter, belief, Worth(), None, admissible)
        best: tuple[float, int] | None = None
        with one_thread(belief.distinct):
            for piece in _pieces(task.rows()):
                rows, scores = task.look(piece)
                better = scores > best[0] if best else np.ones(len(rows), bool)
                best = next(task.admitted(rows[better], scores[better]), best)
            return task.selection(best and best[1])

    def _best(self, task: "_Task", rows: Rows, pool: Rows) -> int | None:
        if len(pool) == len(rows):
            return task.best(rows)
        starts = task.starts(pool, self.starts)
        return self._climbed(task, starts) if len(starts) else _first(task, rows)

    def _pool(self, rows: Rows, rng: np.random.Generator, near: Array) -> Rows:
        pool = rows[rng.integers(len(rows), size=self.pool)]
        if len(near):
            around = self.table.near(self._moved(rng, near), 1).reshape(-1)
            pool = np.concatenate([pool, self.table.nearest(near), around])
        return np.unique(pool)

    def _moved(self, rng: np.random.Generator, near: Array) -> Array:
        """Places moved towards random rows in some columns: numbers some of the way, labels all of it."""
        table, n = self.table, self.pool // 2
        around = near[np.arange(n) % len(near)]
        moved = rng.random((n, len(table.names))) < 0.5
        reach = np.where(table.numeric, 10.0 ** rng.uniform(-3.0, 0.0, size=(n, 1)), 1.0)
        return around + moved[:, table.groups] * reach * (table.sample(rng, n) - around)

    def _climbed(self, task: "_Task", starts: Rows) -> int:
        ends = ascend(task.climb, self.table.at(starts), self.steps).rows
        row, around = int(starts[0]), np.append(starts, self.table.near(ends, _AROUND))
        for _ in range(self.steps + 1):
            better = task.best(np.union1d(row, around))
            if better in (row, None):  # None: it was worth trying by less than rounding
                break
            row = better
            around = self.table.near(self.table.at(np.array([row])), _AROUND)
        return row


class _Task(NamedTuple):
    """One maximisation."""

    table: Candidates
    acquisition: Acquisition
    parameter: float
    belief: Belief
    worth: Worth
    held: NDArray[np.bool_] | None
    admissible: Callable[[Params], bool] | None

    def rows(self) -> Rows:
        """All that may be chosen."""
        different = self.table.different
        return different if self.held is None else different[self.held[different]]

    def look(self, rows: Rows) -> tuple[Rows, Array]:
        """Those of the rows that may be chosen and are worth it, and their scores."""
        if self.held is not None:
            rows = rows[self.held[rows]]
        U = self.table.at(rows)
        mean, variance = posterior = self.belief.predict(U)
        worth = self.worth.among(U, posterior)
        return rows[worth], self.acquisition.value(mean[worth], np.sqrt(variance[worth]), self.parameter)

    def admitted(self, rows: Rows, scores: Array) -> Iterator[tuple[float, int]]:
        """Scores and rows that are admissible, the best first."""
        for k in np.argsort(-scores, kind="stable"):
            if self.admissible is None or self.admissible(self.table.params(int(rows[k]))):
                yield float(scores[k]), int(rows[k])

    def best(self, rows: Rows) -> int | None:
        """The best admissible row worth trying."""
        return next((row for _, row in self.admitted(*self.look(rows))), None)

    def starts(self, rows: Rows, n: int) -> Rows:
        """Some of the best of those, spread out, at most n."""
        some = [found for found, _ in zip(self.admitted(*self.look(rows)), range(8 * n), strict=False)]
        if not some:
            return rows[:0]
        scores, best = np.array([score for score, _ in some]), np.array([row for _, row in some])
        starts: Rows = best[spread(self.table.at(best), scores, n)]
        return starts

    def climb(self, U: Array) -> tuple[Array, Array]:
        """Values and gradients between the rows, along the numbers."""
        value, gradient = self.acquisition.value_and_gradient(self.belief, U, self.parameter)
        return value, np.where(self.table.numeric, gradient, 0.0)

    def selection(self, row: int | None) -> Selection | None:
        """What the belief says of a row."""
        if row is None:
            return None
        U = self.table.at(np.array([row]))
        mean, variance = self.belief.predict(U)
        score = self.acquisition.value(mean, np.sqrt(variance), self.parameter)
        U.flags.writeable = False
        return Selection(U[0], float(mean[0]), float(variance[0]), float(score[0]), row)


def _first(task: _Task, rows: Rows) -> int | None:
    """The best row of the first piece that has one worth trying."""
    return next((row for row in map(task.best, _pieces(rows)) if row is not None), None)


def _pieces(rows: Rows) -> Iterator[Rows]:
    """All rows, each piece from the whole length: what is worth trying may lie together."""
    pieces = -(-len(rows) // _CHUNK)
    return (rows[piece::pieces] for piece in range(pieces))
