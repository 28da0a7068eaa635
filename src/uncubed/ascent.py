"""Climbing in the unit cube from several points at once."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from uncubed._typing import Array

_NEAR = 0.1  # of the cube's side: starts nearer than this are likely to climb one hill


def ascend(climb: Callable[[Array], tuple[Array, Array]], U: Array, steps: int) -> tuple[Array, Array]:
    """Projected gradient ascent with Barzilai-Borwein steps, monotone, from every row at once.

    Args:
        climb: values, shape (n,), and gradients, shape (n, d), at rows of the cube.
        U: where to start, shape (n, d).
        steps: at most.

    Returns:
        The rows reached and their values.
    """
    f, g = climb(U)
    step = 0.1 / np.maximum(np.abs(g).max(axis=1), 1e-300)
    for _ in range(steps):
        trial = np.clip(U + step[:, None] * g, 0.0, 1.0)
        move = trial - U
        if np.abs(move).max() < 1e-7:  # of the widths: the value is then exact to rounding
            break
        f_trial, g_trial = climb(trial)
        better = f_trial > f
        bend = np.einsum("ij,ij->i", move, g - g_trial)  # positive where the value is concave on the move
        length = np.einsum("ij,ij->i", move, move)
        longer = np.where(bend > 1e-12 * length, length / np.maximum(bend, 1e-300), 4.0 * step)
        step = np.where(better, longer, np.minimum(0.25 * step, longer))
        U = np.where(better[:, None], trial, U)
        f, g = np.where(better, f_trial, f), np.where(better[:, None], g_trial, g)
        step = np.minimum(step, 1.0 / np.maximum(np.abs(g).max(axis=1), 1e-300))  # further is outside the cube
    return U, f


def spread(U: Array, scores: Array, n: int) -> NDArray[np.intp]:
    """Rows to start from: half the best, half the best that are not near another, or all may climb one hill."""
    rows = np.argsort(-scores, kind="stable")[: n - n // 2].tolist()
    free = np.ones(len(U), bool)
    for taken in range(n):
        if taken >= len(rows):
            if not free.any():
                break
            left = np.flatnonzero(free)
            rows.append(int(left[scores[left].argmax()]))
        free &= np.abs(U - U[rows[taken]]).max(axis=1) > _NEAR
    return np.array(rows, np.intp)
