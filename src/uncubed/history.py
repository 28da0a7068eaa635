"""Everything that was told, with repeats merged beside it."""

import heapq
import math
from typing import final

import numpy as np
from numpy.typing import NDArray

from uncubed._typing import Array
from uncubed.observations import Observations

CONTENDERS = 64
"""Largest values whose actions are at hand, however long the history is."""

ROUNDING = 1e-12
"""Of a value: what differs less is the same."""

ENOUGH = 3
"""Values that came again as before, from which on they are taken to be exact; of few outcomes two may agree."""


@final
class History:
    """Actions and values in the order they came; memory doubles as it fills.

    Args:
        dimension: of an action.
    """

    def __init__(self, dimension: int) -> None:
        self.dimension = dimension
        self._table = np.empty(
            16,
            dtype=[
                ("action", float, (dimension,)),
                ("value", float),
                ("noise", float),
                ("nats", np.float32),
                ("model_order", np.int32),
                ("imputed", bool),
            ],
        )
        # Of the values at each distinct action: count, mean and scatter of those whose noise is not known, then the
        # precision and the mean of those whose noise is.
        self._rows: dict[bytes, list[float]] = {}
        self._best: list[tuple[float, int]] = []  # a heap of the largest values and their places
        self._real: NDArray[np.intp] = np.empty(0, np.intp)
        self._length = self._imputed = 0
        self._same = self._differ = self._known = 0  # values that came again: as before, and not; and with a noise
        self._looked = 0  # of those as before, how many were evaluated for it
        self._failed: dict[bytes, list[float]] = {}  # of actions with values that were made up, the same without them

    def __len__(self) -> int:
        return self._length

    @property
    def distinct(self) -> int:
        """Actions that differ."""
        return len(self._rows)

    @property
    def actions(self) -> Array:
        """Shape (n, d)."""
        return self._column("action")

    @property
    def values(self) -> Array:
        """In the objective's units, shape (n,)."""
        return self._column("value")

    @property
    def noises(self) -> Array:
        """Noise variance of each value, NaN where it is not known, shape (n,)."""
        return self._column("noise")

    @property
    def nats(self) -> NDArray[np.float32]:
        """Information that each value gave, shape (n,)."""
        return self._table["nats"][: self._length]

    @property
    def model_orders(self) -> NDArray[np.int32]:
        """Atoms of the model after each value, shape (n,)."""
        return self._table["model_order"][: self._length]

    @property
    def real(self) -> NDArray[np.intp]:
        """Places of the values that were told, not made up for a failure."""
        if len(self._real) + self._imputed != self._length:
            self._real = np.flatnonzero(~self._table["imputed"][: self._length])
        return self._real

    def add(
        self,
        action: Array,
        value: float,
        *,
        noise: float = math.nan,
        nats: float = 0.0,
        model_order: int = 0,
        imputed: bool = False,
        looked: bool = False,
    ) -> None:
        """Write down one value; `looked` if it was evaluated for this, and is no copy of what is known."""
        if self._length == len(self._table):
            self._table = np.concatenate([self._table, np.empty_like(self._table)])
        self._table[self._length] = (action, value, noise, nats, model_order, imputed)
        self._remember(value)
        self._length += 1
        self._imputed += imputed
        self._merge(action, value, noise, imputed=imputed, looked=looked)

    @property
    def repeats_itself(self) -> bool:
        """Whether to tell again is to tell the same: it was some times, and never otherwise."""
        return self._same >= ENOUGH and not self._has_noise

    @property
    def is_exact(self) -> bool:
        """Whether to look again shows the same: it did some times, and never otherwise."""
        return self._looked >= ENOUGH and not self._has_noise

    @property
    def is_noisy(self) -> bool:
        """Whether to tell again was to tell something else."""
        return self._differ > 0

    @property
    def is_unclear(self) -> bool:
        """Whether nothing says that values are exact, or that they are not."""
        return self._looked < ENOUGH and not self._has_noise

    @property
    def looks(self) -> int:
        """Values that came again as before, evaluated for it."""
        return self._looked

    @property
    def _has_noise(self) -> bool:
        return self._differ + self._known > 0

    @property
    def best(self) -> Array:
        """Actions of the `CONTENDERS` largest values, the largest first, shape (n, d)."""
        return self.actions[[-place for _, place in sorted(self._best, reverse=True)]]

    @property
    def largest(self) -> Array:
        """The largest value, shape (1,), or (0,) before the first."""
        return np.array([value for value, _ in heapq.nlargest(1, self._best)])

    def __contains__(self, action: Array) -> bool:
        return action.tobytes() in self._rows

    def all_rows(self) -> Array:
        """The distinct actions in the order they first came, shape (m, d)."""
        return np.frombuffer(b"".join(self._rows)).reshape(len(self._rows), self.dimension)

    def observations(self, X: Array) -> Observations:
        """What was seen at these actions, each told before, shape (m, d)."""
        merged = np.array([self._seen(x.tobytes()) for x in X]).reshape(len(X), 5)
        count, mean, scatter, precision, known_mean = merged.T
        unknown, known = count > 0.0, precision > 0.0
        return Observations(
            np.vstack([X[unknown], X[known]]),
            np.append(mean[unknown], known_mean[known]),
            np.append(count[unknown], np.ones(known.sum())),
            np.append(scatter[unknown], np.zeros(known.sum())),
            np.append(np.full(unknown.sum(), math.nan), 1.0 / precision[known]),
        )

    def to_learn(self, places: NDArray[np.intp]) -> Array:
        """Values of these places; of an exact function, what was told there in the place of what was made up."""
        values: Array = self.values[places]
        for k in np.flatnonzero(self._table["imputed"][: self._length][places]) if self.is_exact else ():
            told = self.exact_at(self.actions[places[k]])
            values[k] = values[k] if told is None else told
        return values

    def mean_at(self, action: Array) -> float:
        """The mean of the values told there, of those whose noise is known if there are any; NaN if there are none."""
        count, mean, _, precision, known_mean = self._told(action.tobytes())
        if precision > 0.0:
            return known_mean
        return mean if count > 0.0 else math.nan

    def exact_at(self, action: Array) -> float | None:
        """The value told there, if there is no noise; None if there is none."""
        count, mean, _, precision, _ = self._told(action.tobytes())
        return None if count == 0.0 or precision > 0.0 else mean

    def _column(self, name: str) -> Array:
        column: Array = self._table[name][: self._length]
        return column

    def _remember(self, value: float) -> None:
        entry = (value, -self._length)  # of equal values the first
        (heapq.heappush if len(self._best) < CONTENDERS else heapq.heappushpop)(self._best, entry)

    def _told(self, key: bytes) -> list[float]:
        """What was seen at an action, without what was made up."""
        return self._failed.get(key) or self._rows.get(key) or _nothing()

    def _seen(self, key: bytes) -> list[float]:
        """What was seen at an action, all in all; what was made up says nothing of the noise, nor of what is known."""
        told = self._told(key)
        if self.is_exact and told[0] > 0.0:
            return told
        count, mean, _, *known = self._rows[key]
        return [count, mean, told[2], *known]

    def _merge(self, action: Array, value: float, noise: float, *, imputed: bool, looked: bool) -> None:
        key = action.tobytes()
        row = self._rows.setdefault(key, _nothing())
        if imputed:
            self._failed.setdefault(key, row.copy())
        else:
            self._compare(self._told(key), value, noise, looked=looked)
            if key in self._failed:
                _take(self._failed[key], value, noise)
        _take(row, value, noise)

    def _compare(self, told: list[float], value: float, noise: float, *, looked: bool) -> None:
        """Count whether a value came again as before."""
        if noise > 0.0:
            self._known += 1  # whoever knows its noise has some
        elif told[0] > 0.0:
            same = math.isclose(value, told[1], rel_tol=ROUNDING)
            self._same, self._differ = self._same + same, self._differ + (not same)
            self._looked += looked and same


def _nothing() -> list[float]:
    return [0.0] * 5


def _take(row: list[float], value: float, noise: float) -> None:
    """Add a value to what was seen at an action."""
    if noise > 0.0:
        row[3] += 1.0 / noise
        row[4] += (value - row[4]) / (noise * row[3])
        return
    row[0] += 1.0
    change = value - row[1]
    row[1] += change / row[0]
    row[2] += change * (value - row[1])
