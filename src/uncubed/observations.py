"""What was seen, with repeats merged: all that a likelihood needs."""

from dataclasses import dataclass, field
from typing import final

import numpy as np

from uncubed._typing import Array


@final
@dataclass(frozen=True, eq=False)
class Observations:
    """What a likelihood needs: rows with repeats merged.

    Attributes:
        X: actions, distinct but where their noise differs, shape (M, d).
        mean: of the values at each, shape (M,).
        count: how many values that is, shape (M,).
        scatter: Σ (value - mean)² over the repeats at each whose noise is to be learned, shape (M,).
        noise: variance of one value's noise where it was given, shape (M,); NaN, as in all rows unless given, where it
            is to be learned.
    """

    X: Array
    mean: Array
    count: Array
    scatter: Array
    noise: Array = field(default_factory=lambda: np.array(np.nan))

    def __post_init__(self) -> None:
        for name in ("scatter", "noise"):
            given = np.asarray(getattr(self, name))
            whole = given if given.shape == self.mean.shape else np.broadcast_to(given, self.mean.shape)
            object.__setattr__(self, name, whole)
