"""Points told that may be the best."""

import math
from typing import NamedTuple

import numpy as np

from uncubed._typing import Array
from uncubed.model import Model
from uncubed.threads import one_thread

NEAR = 32
"""Of the best points told, around which is searched."""


class Contenders(NamedTuple):
    """Points told that may be the best, the best believed first, with their posterior."""

    rows: Array
    mean: Array
    variance: Array

    def floor(self, width: float) -> float:
        """The largest of their lower bounds, `width` standard deviations below their means."""
        return float((self.mean - width * np.sqrt(self.variance)).max(initial=-math.inf))


def contenders(model: Model, width: float) -> Contenders:
    """Those of the best values, and atoms believed to be good: no point told has a larger lower bound of this width."""
    history, belief = model.history, model.belief
    if not len(history):
        return Contenders(np.empty((0, history.dimension)), np.empty(0), np.empty(0))
    means = belief.atom_means()
    likely = np.argsort(-means, kind="stable")[:NEAR]
    known = _believed(model, np.vstack([history.best, belief.dictionary[likely]]))
    # No lower bound is above its mean: an atom with a mean below the best one of these has none that counts.
    more = means > known.floor(width)
    more[likely] = False
    return _believed(model, np.vstack([known.rows, belief.dictionary[more]])) if more.any() else known


def _believed(model: Model, rows: Array) -> Contenders:
    """Each of these points once, the best believed first."""
    rows = _distinct(rows)
    with one_thread(model.belief.distinct):
        mean, variance = model.predict(rows)
    order = np.argsort(-mean, kind="stable")
    return Contenders(rows[order], mean[order], variance[order])


def _distinct(rows: Array) -> Array:
    """Each row once, in order: what `np.unique` gives, several times as fast for few."""
    rows = rows[np.lexsort(rows.T[::-1])]
    repeated = np.logical_and.reduce(rows[1:] == rows[:-1], axis=1)
    return rows[np.append(True, ~repeated)] if np.count_nonzero(repeated) else rows
