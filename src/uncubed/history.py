"""Everything that was told, with repeats merged beside it."""

import heapq
from typing import final

import numpy as np

from uncubed._typing import Array
from uncubed.fit import Observations

CONTENDERS = 64
"""Largest values whose actions are at hand, however long the history is."""


@final
class History:
    """Actions and values in the order they came; memory doubles as it fills.

    Args:
        dimension: of an action.
    """

    def __init__(self, dimension: int) -> None:
        self._X, self._values = np.empty((16, dimension)), np.empty(16)
        self._rows: dict[bytes, list[float]] = {}  # count, mean and scatter of the values at each distinct action
        self._best: list[tuple[float, int]] = []  # a heap of the largest values and their places
        self._length = 0

    def __len__(self) -> int:
        return self._length

    @property
    def distinct(self) -> int:
        """Actions that differ."""
        return len(self._rows)

    @property
    def actions(self) -> Array:
        """Shape (n, d)."""
        return self._X[: self._length]

    @property
    def values(self) -> Array:
        """In the objective's units, shape (n,)."""
        return self._values[: self._length]

    def add(self, action: Array, value: float) -> None:
        """Write down one value."""
        if self._length == len(self._values):
            self._X = np.vstack([self._X, np.empty_like(self._X)])
            self._values = np.concatenate([self._values, np.empty_like(self._values)])
        self._X[self._length], self._values[self._length] = action, value
        self._remember(value)
        self._length += 1
        self._merge(action, value)

    @property
    def best(self) -> Array:
        """Actions of the `CONTENDERS` largest values, the largest first, shape (n, d)."""
        return self._X[[-place for _, place in sorted(self._best, reverse=True)]]

    def __contains__(self, action: Array) -> bool:
        return action.tobytes() in self._rows

    def all_rows(self) -> Array:
        """The distinct actions in the order they first came, shape (m, d)."""
        return np.frombuffer(b"".join(self._rows)).reshape(len(self._rows), self._X.shape[1])

    def observations(self, X: Array) -> Observations:
        """What was seen at these actions, each told before, shape (m, d)."""
        count, mean, scatter = np.array([self._rows[x.tobytes()] for x in X]).reshape(len(X), 3).T
        return Observations(X, mean, count, float(scatter.sum()))

    def _remember(self, value: float) -> None:
        entry = (value, -self._length)  # of equal values the first
        (heapq.heappush if len(self._best) < CONTENDERS else heapq.heappushpop)(self._best, entry)

    def _merge(self, action: Array, value: float) -> None:
        row = self._rows.setdefault(action.tobytes(), [0.0, 0.0, 0.0])
        row[0] += 1.0
        change = value - row[1]
        row[1] += change / row[0]
        row[2] += change * (value - row[1])
