"""Where an acquisition is largest in a space of named parameters, among what is worth trying."""

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from uncubed._typing import Array
from uncubed.acquisition import Acquisition, Selection
from uncubed.actions import shifted, sobol
from uncubed.ascent import ascend, spread
from uncubed.beliefs import Belief, Posterior
from uncubed.dimensions import Dimension
from uncubed.errors import InvalidInputError
from uncubed.region import Region
from uncubed.space import Params, Space
from uncubed.threads import one_thread


class Worth(NamedTuple):
    """What makes an action worth trying.

    Attributes:
        variance: it is informative if its posterior variance is above this.
        width: √β of its upper bound,
        floor: which must reach this, the best lower bound, for the action to be able to be the best.
        new: which of some actions, shape (n, d), are not among those that are not to be tried again; all unless given.
    """

    variance: float = -math.inf
    width: float = 0.0
    floor: float = -math.inf
    new: Callable[[Array], NDArray[np.bool_]] | None = None

    def of(self, mean: Array, variance: Array) -> NDArray[np.bool_]:
        """Which actions are, new or not."""
        worth: NDArray[np.bool_] = (variance > self.variance) & (mean + self.width * np.sqrt(variance) >= self.floor)
        return worth

    def among(self, U: Array, posterior: Posterior) -> NDArray[np.bool_]:
        """Which of these actions are."""
        worth = self.of(*posterior)
        if self.new is not None:
            worth[worth] = self.new(U[worth])
        return worth


class Held(NamedTuple):
    """Coordinates that a search leaves where they are.

    Attributes:
        columns: which, shape (width,).
        values: all coordinates, of which those count, shape (width,).
    """

    columns: NDArray[np.bool_]
    values: Array

    def put(self, U: Array) -> Array:
        """The rows with these coordinates in place."""
        put: Array = np.where(self.columns, self.values, U)
        return put


@final
class Search:
    """Finds where an acquisition is largest, by a fresh pool, then gradients, then single discrete steps.

    Its cost depends on the size of the model and on the numbers given here, not on how much was told.

    Args:
        space: what is searched.
        pool: points spread over the space; as many again lie around the places given to `maximise`. A discrete space of
            at most four times as many is looked at whole.
        starts: points from which gradients are followed.
        steps: how far, at most.
        gain: of the acquisition, that a step must promise: of a logarithm, or in units in which values differ by about
            one.
    """

    def __init__(self, space: Space, *, pool: int = 512, starts: int = 12, steps: int = 30, gain: float = 1e-4) -> None:
        self.space, self.pool, self.starts, self.steps, self.gain = space, pool, starts, steps, gain
        self._every = space.grid() if space.size is not None and space.size <= 4 * pool else None
        self._continuous = np.concatenate([np.full(d.width, d.count is None) for d in space.dimensions.values()])

    @property
    def exhaustive(self) -> bool:
        """Whether every point of the space is looked at."""
        return self._every is not None

    def hold(self, fixed: Mapping[str, Any]) -> Held:
        """What to leave where it is for these parameters to have these values."""
        columns, values = np.zeros(self.space.width, bool), np.zeros(self.space.width)
        for name, value in fixed.items():
            if name not in self.space.dimensions:
                raise InvalidInputError(f"fixed: expected names of {self.space.names}, got {name!r}")
            where = self.space.columns[name]
            columns[where], values[where] = True, self.space.dimensions[name].encode(name, value)
        return Held(columns, values)

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
        held: Held | None = None,
        admissible: Callable[[Params], bool] | None = None,
        within: Region | None = None,
    ) -> Selection | None:
        """The best action found that is worth trying; None if none is.

        Args:
            acquisition: what is maximised.
            parameter: its number.
            belief: what is known.
            rng: of the pool.
            near: places to look around, shape (n, width), the best first.
            worth: what may be chosen,
            otherwise: and what instead if the pool has nothing of it.
            held: coordinates that stay.
            admissible: what the constraints say of a point.
            within: where to look; held parameters are where they are.
        """
        held = held or self.hold({})
        region = within or Region.whole(self.space.width)
        task = _Task(self.space, acquisition, parameter, belief, worth, held, admissible)
        with one_thread(belief.distinct):
            U = self.space.snap(held.put(self._pool(rng, near, region)))
            posterior = belief.predict(U)
            start = task.starts(U, self.starts, posterior)
            if not len(start) and otherwise is not None:
                task = task._replace(worth=otherwise)
                start = task.starts(U, self.starts, posterior)
            if not len(start):
                return None
            ends = np.vstack([start, self.space.snap(held.put(self._climbed(task, start, region)))])
            best = task.best(ends)
            if best is None:  # it was worth trying by less than rounding, or a constraint changed its mind
                return task.selection(start[:1])
            return self._step(task, best)

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
        """The admissible point where the acquisition is largest, as far as is found; None if there is none."""
        return self.maximise(acquisition, parameter, belief, rng, near=near, worth=Worth(), admissible=admissible)

    def _pool(self, rng: np.random.Generator, near: Array, region: Region) -> Array:
        if self._every is not None:
            return self._every
        even = region.filled(shifted(sobol(self.space.width, self.pool), rng))
        if not len(near):
            return even
        around = near[np.arange(self.pool) % len(near)]
        reach = 10.0 ** rng.uniform(-3.0, -0.5, size=(self.pool, 1))
        moved = rng.random(around.shape) < np.maximum(0.5, 2.0 / self.space.width)
        moved_to = around + moved * reach * rng.standard_normal(around.shape)
        return np.vstack([even, region.nearest(np.vstack([near, moved_to]))])

    def _climbed(self, task: "_Task", start: Array, region: Region) -> Array:
        """The ends of ascents within the region, along what is continuous and not held, and where they would lead.

        Of the last step a slope is of no use, so that it is not made there: `best` looks at its end.
        """
        free = self._continuous & ~task.held.columns
        region = region.but_for(~free)
        size = region.size
        scales = np.minimum(np.broadcast_to(task.belief.kernel.length_scale, size.shape), 1.0)
        by_side = np.where(free, size, 0.0)

        def climb(U: Array) -> tuple[Array, Array]:
            posterior = task.belief.gradient(region.filled(U))
            value, gradient = task.acquisition.climb(posterior, task.parameter)
            worth = task.worth.of(posterior.mean, posterior.variance)  # what climbs out of it would be thrown away
            return np.where(worth, value, -np.inf), gradient * by_side

        ascent = ascend(climb, region.spread_out(start), self.steps - 1, self.gain, scales / size)
        return region.filled(np.vstack([ascent.rows, ascent.onwards]))

    def _step(self, task: "_Task", found: Selection) -> Selection:
        """Single steps of discrete parameters, as long as they help."""
        discrete = {n: d for n, d in self.space.dimensions.items() if d.count is not None and d.count > 1}
        for _ in range(self.steps if discrete else 0):
            around = [_stepped(found.action, self.space.columns[name], d) for name, d in discrete.items()]
            better = task.best(np.vstack([found.action, *(task.held.put(rows) for rows in around)]))
            if better is None or (better.action == found.action).all():
                break
            found = better
        return found


class _Task(NamedTuple):
    """One maximisation."""

    space: Space
    acquisition: Acquisition
    parameter: float
    belief: Belief
    worth: Worth
    held: Held
    admissible: Callable[[Params], bool] | None

    def starts(self, U: Array, n: int, posterior: Posterior) -> Array:
        """The best rows that are worth trying and admissible, spread out, at most n; may be none."""
        scores, worth = self._scores(posterior), self.worth.among(U, posterior)
        U, scores = U[worth], scores[worth]
        while len(U):
            rows = spread(U, scores, n)
            allowed = np.array([self._allows(U[k]) for k in rows])
            if allowed.all() or allowed.sum() * 2 >= n:
                chosen: Array = U[rows[allowed]]
                return chosen
            U, scores = np.delete(U, rows[~allowed], axis=0), np.delete(scores, rows[~allowed])
        return U

    def best(self, U: Array) -> Selection | None:
        """The best row that is worth trying and admissible, if there is one."""
        posterior = self.belief.predict(U)
        scores = self._scores(posterior)
        rows = np.flatnonzero(self.worth.among(U, posterior))
        for k in rows[np.argsort(-scores[rows], kind="stable")]:
            if self._allows(U[k]):
                return _selection(U[k], posterior, scores, k)
        return None

    def selection(self, rows: Array) -> Selection:
        """A row as it is."""
        posterior = self.belief.predict(rows)
        return _selection(rows[0], posterior, self._scores(posterior), 0)

    def _scores(self, posterior: Posterior) -> Array:
        return self.acquisition.value(posterior.mean, np.sqrt(posterior.variance), self.parameter)

    def _allows(self, u: Array) -> bool:
        return self.admissible is None or self.admissible(self.space.decode(u))


def _selection(u: Array, posterior: Posterior, scores: Array, k: int) -> Selection:
    action = u.copy()
    action.flags.writeable = False
    return Selection(action, float(posterior.mean[k]), float(posterior.variance[k]), float(scores[k]), None)


def _stepped(u: Array, columns: slice, dimension: Dimension) -> Array:
    """The point with one discrete parameter changed: to any other category, or by powers of two of its step."""
    near = dimension.near(u[columns])
    rows = np.tile(u, (len(near), 1))
    rows[:, columns] = near
    return rows
