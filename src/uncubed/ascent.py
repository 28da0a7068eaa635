"""Climbing in the unit cube from several points at once."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from uncubed._typing import Array

_NEAR = 0.1  # of the cube's side: starts nearer than this are likely to climb one hill
_FIRST_MOVE, _LONGEST_MOVE = 0.1, 0.5  # of the cube's side
_PROBE = 0.01  # of the scales, where they are known: a first move that shows how the slope changes
_STILL = 1e-5  # of the cube's side: shorter moves change no value that matters
_TRIED = 4  # steps before a row is given up
_HOPE = 4.0  # times what a row expects of its next step: what it may still gain; twice what a parabola gives
_TINY = 1e-300
_STEEPEST = 1e100  # slopes of a logarithm where a variance vanishes


class Ascent(NamedTuple):
    """What was reached.

    Attributes:
        rows: shape (n, d),
        values: there, shape (n,),
        onwards: and where the next step would lead, which nobody has looked at yet; here, where none is worth it.
    """

    rows: Array
    values: Array
    onwards: Array


class _Step(NamedTuple):
    """A step of every row: where to, shape (n, d), by how much, the gain that its slope promises, if it is worth it."""

    trial: Array
    move: Array
    gain: Array
    moving: NDArray[np.bool_]


def ascend(
    climb: Callable[[Array], tuple[Array, Array]],
    U: Array,
    steps: int,
    least: float = 0.0,
    scales: Array | None = None,
) -> Ascent:
    """Projected quasi-Newton ascent (BFGS), monotone, from every row at once.

    It ends when no row moves that may still become the best.

    Args:
        climb: values, shape (n,), and gradients, shape (n, d), at rows of the cube.
        U: where to start, shape (n, d).
        steps: at most.
        least: gain of a step below which it is not made, in the units of the values.
        scales: lengths over which values change alike along each coordinate, shape (d,), where they are known.
    """
    f, g = climb(U)
    hills = _Hills(g, np.ones(g.shape[1]), _FIRST_MOVE) if scales is None else _Hills(g, scales, _PROBE)
    reach = np.ones(len(U))
    trial, move, gain, moving = hills.step(U, g, reach, least)
    for step in range(steps):
        if not np.count_nonzero(moving if step < _TRIED else moving & (f + _HOPE * gain >= f.max())):
            break
        f_trial, g_trial = climb(trial)  # also of rows without hope, which may see another slope
        concave = hills.learn(moving, move, g - g_trial)
        better = moving & (f_trial > f)
        factor = np.where(concave, 0.5, 0.25)
        factor[better] = 2.0
        reach[moving] *= factor[moving]
        reach[better & concave] = 1.0
        f = np.where(better, f_trial, f)
        better = better[:, None]
        U, g = np.where(better, trial, U), np.where(better, g_trial, g)
        trial, move, gain, moving = hills.step(U, g, reach, least)
    return Ascent(U, f, np.where(moving[:, None], trial, U))


class _Hills:
    """H at each row: the inverse of minus the Hessian there, as far as moves have shown it; shape (n, d, d)."""

    def __init__(self, g: Array, scales: Array, first: float) -> None:
        self._metric = scales**2
        self._unit = np.diag(self._metric)
        self._H = (first / np.maximum(_longest(g * scales), _TINY))[:, None, None] * self._unit
        self._unmoved, self._first = np.ones(len(g), bool), first

    def promise(self, gain: Array) -> Array:
        """What a move's gain stands for: a first move only shows how the slope changes, and may be gone on with."""
        return np.where(self._unmoved, gain / self._first, gain)

    def step(self, U: Array, g: Array, reach: Array, least: float) -> _Step:
        """Where to go from rows of these slopes, within the cube."""
        trial = U + _shortened(self.summit(_inward(U, g)), reach)
        np.minimum(np.maximum(trial, 0.0, out=trial), 1.0, out=trial)
        move = trial - U
        gain = _dot(move, g)
        return _Step(trial, move, gain, (self.promise(gain) > least) & (_longest(move) >= _STILL))

    def summit(self, g: Array) -> Array:
        """How far it is to the top, shape (n, d); along no coordinate without slope."""
        return np.where(g == 0.0, 0.0, (self._H @ g[:, :, None])[:, :, 0])

    def learn(self, moving: NDArray[np.bool_], s: Array, y: Array) -> NDArray[np.bool_]:
        """Take in moves s of some rows, after which the slope was less by y; which of them showed a hill, no hollow."""
        bend, size = _dot(s, y), _longest(y)
        concave: NDArray[np.bool_] = bend > np.maximum(1e-10 * _longest(s) * size, _TINY)
        concave &= moving & (size < _STEEPEST)
        if (self._unmoved & moving).any():
            self._rescale(moving, concave, bend, y, size)
        inverse = np.where(concave, 1.0 / np.where(concave, bend, 1.0), 0.0)[:, None]
        y = np.where(concave[:, None], y, 0.0)  # of the others nothing is learned, and their square may overflow
        Hy = (self._H @ y[:, :, None])[:, :, 0]
        half = 0.5 * (1.0 + inverse * _dot(y, Hy)[:, None]) * s - Hy
        change = half[:, :, None] * (inverse * s)[:, None, :]
        self._H += change + change.transpose(0, 2, 1)
        return concave

    def _rescale(
        self, moving: NDArray[np.bool_], concave: NDArray[np.bool_], bend: Array, y: Array, size: Array
    ) -> None:
        """Before the first update of a row: curvature as on its first move, by the scales in all directions."""
        unit = y / np.maximum(size, _TINY)[:, None]
        square = np.maximum(_dot(unit * self._metric, unit), _TINY)
        scale = bend / np.maximum(size, _TINY) / square / np.maximum(size, _TINY)
        first = concave & self._unmoved
        self._H[first] = scale[first, None, None] * self._unit
        self._unmoved &= ~moving


def _inward(U: Array, g: Array) -> Array:
    """The slope along which there is room: not up from 1, nor down from 0."""
    return np.where(U == (g > 0.0), 0.0, g)


def _shortened(move: Array, reach: Array) -> Array:
    shortened: Array = move * (reach * np.minimum(1.0, _LONGEST_MOVE / np.maximum(_longest(move), _TINY)))[:, None]
    return shortened


def _dot(a: Array, b: Array) -> Array:
    dots: Array = np.add.reduce(a * b, axis=1)  # of few numbers several times as fast as einsum
    return dots


def _longest(a: Array) -> Array:
    longest: Array = np.maximum.reduce(np.abs(a), axis=1)
    return longest


def spread(U: Array, scores: Array, n: int) -> NDArray[np.intp]:
    """Rows to start from: half the best, half the best that are not near another, or all may climb one hill."""
    rows = np.argsort(-scores, kind="stable")[: n - n // 2].tolist()
    free, columns = np.ones(len(U), bool), np.ascontiguousarray(U.T)  # along many rows it is faster than along few
    for taken in range(n):
        if taken >= len(rows):
            if not free.any():
                break
            left = np.flatnonzero(free)
            rows.append(int(left[scores[left].argmax()]))
        free &= np.maximum.reduce(np.abs(columns - columns[:, rows[taken], None])) > _NEAR
    return np.array(rows, np.intp)
