"""Finding the rows of a table by where they are, exactly and nearly."""

import math
from collections.abc import Sequence
from typing import final

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from uncubed._typing import Array

Rows = NDArray[np.intp]
"""Numbers of rows of a table."""

_CONDENSED = 8  # coordinates for all labels together, in a tree
_EXACT = 8  # coordinates up to which a tree finds the nearest without looking at most rows
_MIXED = [(np.uint64(30), np.uint64(0xBF58476D1CE4E5B9)), (np.uint64(27), np.uint64(0x94D049BB133111EB))]  # SplitMix64
_RANKED = 8  # neighbours of which the nearest is taken


@final
class Places:
    """The places of a table's rows: by their hash for equal ones, by a tree for near ones.

    The square of a distance is that of the numbers plus 1 for each label that differs. A tree on a coordinate per label
    would be as large as the table is long and as slow; where labels are many, each has a random vector of 8 coordinates
    instead, which keeps distances roughly, and those of a few neighbours are then computed.

    Args:
        places: numbers from 0 to 1, and labels by their number, shape (n, columns).
        labels: how many labels each column has, 0 for numbers.

    Attributes:
        different: the first row of each place, in order.
    """

    def __init__(self, places: Array, labels: Sequence[int]) -> None:
        self._places = places
        self._is_label = np.array(labels) > 0
        self._vectors = _vectors([count for count in labels if count])
        self._salt = np.random.default_rng(1).integers(2**64, size=places.shape[1], dtype=np.uint64)
        keys = self._hashed(places)
        self._order = np.argsort(keys, kind="stable")
        self._keys = keys[self._order]
        self.different: Rows = np.sort(self._order[np.flatnonzero(np.diff(self._keys, prepend=~self._keys[0]))])
        self._tree: cKDTree | None = None

    def rows(self, place: Array) -> Rows:
        """All rows at one place, in order."""
        key = self._hashed(place[None, :])[0]
        return self._order[np.searchsorted(self._keys, key) : np.searchsorted(self._keys, key, "right")]

    def first(self, places: Array) -> Rows:
        """The first row at each place, -1 where there is none."""
        found = np.searchsorted(self._keys, self._hashed(places))
        rows = self._order[np.minimum(found, len(self._keys) - 1)]
        return np.where((self._places[rows] == places).all(axis=1), rows, -1)

    def nearest(self, places: Array) -> Rows:
        """The row nearest to each place, the first of equals; in many coordinates, one of the nearest."""
        rows = self.first(places)
        absent = rows < 0
        if absent.any():
            some = self.near(places[absent], _RANKED, slack=0.0)
            best = self._distances(places[absent], some).argmin(axis=1)
            rows[absent] = some[np.arange(len(some)), best]
        return rows

    def near(self, places: Array, n: int, *, slack: float = 1.0) -> Rows:
        """Some of the nearest different rows, shape (m, at most n).

        Args:
            places: around which, shape (m, columns).
            n: how many of each.
            slack: how much further they may be than the nearest, as a fraction, to be found sooner.
        """
        tree = self._built()
        slack += max(0, tree.m - _EXACT) / 4.0
        n = min(n, len(self.different))
        _, found = tree.query(self._condensed(places), np.arange(1, n + 1), eps=slack)
        rows: Rows = self.different[found]
        return rows

    def _hashed(self, places: Array) -> NDArray[np.uint64]:
        """64 bits for each place; two of a million different places share them once in ten million tables."""
        bits = (places + 0.0).view(np.uint64) ^ self._salt  # + 0: -0 and 0 are one place
        for shift, factor in _MIXED:
            bits ^= bits >> shift
            bits *= factor
        bits ^= bits >> np.uint64(31)
        hashed: NDArray[np.uint64] = bits.sum(axis=1, dtype=np.uint64)
        return hashed

    def _built(self) -> cKDTree:
        if self._tree is None:
            condensed = self._condensed(self._places[self.different])
            self._tree = cKDTree(condensed, balanced_tree=False, compact_nodes=False)  # medians are slow where many tie
        return self._tree

    def _condensed(self, places: Array) -> Array:
        parts = [places[:, ~self._is_label]]
        if self._is_label.any():
            labels = places[:, self._is_label].astype(np.intp).T
            parts.append(sum(vectors[column] for vectors, column in zip(self._vectors, labels, strict=True)))
        return np.hstack(parts)

    def _distances(self, places: Array, rows: Rows) -> Array:
        """Squares of the distances from each place to its rows, shape (m, n)."""
        apart = self._places[rows] - places[:, None, :]
        distances: Array = np.where(self._is_label, apart != 0.0, apart * apart).sum(axis=2)
        return distances


def _vectors(counts: Sequence[int]) -> list[Array]:
    """A vector for each label of each column: orthogonal if they are few; 1 apart, or about that."""
    total = sum(counts)
    if total <= _CONDENSED:
        every = np.eye(total)
    else:
        every = np.random.default_rng(0).standard_normal((total, _CONDENSED)) / math.sqrt(_CONDENSED)
    return np.split(math.sqrt(0.5) * every, np.cumsum(counts)[:-1])
