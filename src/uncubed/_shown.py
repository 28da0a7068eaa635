"""What is read of an optimiser to show it, and how much of it is drawn."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from uncubed._typing import Array
from uncubed.beliefs import Posterior
from uncubed.records import Failure, Log, Milestone, Trial
from uncubed.space import Params

Indices = NDArray[np.int64]


class Study(Protocol):
    """An optimiser, as far as it is shown: nothing here starts a search."""

    @property
    def space(self) -> object: ...
    @property
    def direction(self) -> str: ...
    @property
    def evaluations(self) -> int: ...
    @property
    def failures(self) -> Sequence[Failure]: ...
    @property
    def best(self) -> Trial: ...
    @property
    def model_order(self) -> int: ...
    @property
    def log(self) -> Log: ...
    @property
    def milestones(self) -> Sequence[Milestone]: ...
    def params(self, index: int, /) -> Params: ...
    def predict(self, rows: Sequence[Params], /) -> Posterior: ...
    def importance(self) -> dict[str, float]: ...


def decimate(x: Array, y: Array, most: int) -> Indices:
    """Points that look like all of them: the least and the largest of each stretch, and the two ends.

    Args:
        x: where they are drawn, in ascending order, shape (n,).
        y: their values, shape (n,).
        most: points to keep, at least 4.

    Returns:
        Which to keep, in ascending order; all where there are no more than `most`.
    """
    if len(x) <= most:
        return np.arange(len(x))
    starts = np.unique(np.searchsorted(x, np.linspace(x[0], x[-1], (most - 2) // 2, endpoint=False)))
    stretches = np.split(y, starts[1:])
    extremes = [(stretch.argmin(), stretch.argmax()) for stretch in stretches]
    return np.unique(np.append((starts[:, None] + extremes).ravel(), [0, len(x) - 1]))


def typical(values: Array, direction: str, most: int) -> Indices:
    """Some of the values told, in ascending order of place: half of them the best, the rest spread evenly."""
    if len(values) <= most:
        return np.arange(len(values))
    best = np.argpartition(-sign(direction) * values, most // 2)[: most // 2]
    spread = np.linspace(0, len(values) - 1, most - len(best)).astype(np.int64)
    return np.union1d(best, spread)


def best_so_far(values: Array, direction: str) -> Array:
    """The best of the values up to each."""
    best: Array = (np.maximum if direction == "maximize" else np.minimum).accumulate(values)
    return best


def visible(values: Array, direction: str) -> tuple[float, float]:
    """A range for an axis: all values, but for bad ones so far off that the rest would be a line."""
    good = sign(direction) * values
    best, usual = good.max(), np.quantile(good, 0.1, method="higher")
    worst = max(good.min(), usual - 3.0 * (best - usual)) if best > usual else good.min()
    low, high = sorted((sign(direction) * float(worst), sign(direction) * float(best)))
    return low, high


def sign(direction: str) -> float:
    """Of the objective where larger is better."""
    return 1.0 if direction == "maximize" else -1.0


def short(value: object, length: int = 16) -> str:
    """A value as a few characters on one line."""
    text = f"{value:.4g}" if isinstance(value, float) else " ".join(str(value).split())
    return text if len(text) <= length else text[: length - 1] + "…"
