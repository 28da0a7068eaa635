"""What an optimiser says: what to try, what failed, what is best, what can be promised."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from uncubed._typing import Array
from uncubed.budget import Decision
from uncubed.space import Params


@final
@dataclass(frozen=True, eq=False)
class Suggestion:
    """What to try next.

    Attributes:
        params: the point, by name.
        id: of this suggestion.
        decision: why, and whether it is worth an evaluation.
    """

    params: Params
    id: int
    decision: Decision


@final
@dataclass(frozen=True, eq=False)
class Failure:
    """An evaluation that gave no value.

    Attributes:
        params: the point, by name.
        reason: what went wrong.
        evaluation: which one it was, from 1, with the values told.
    """

    params: Params
    reason: str
    evaluation: int


class Trial(NamedTuple):
    """A point and what is known of it, in the objective's units.

    Attributes:
        params: by name.
        value: the mean of what was told there.
        mean: of the model's belief; where values are bent, its middle.
        std: of the model's belief; where values are bent, half the width of its central 68 %.
    """

    params: Params
    value: float
    mean: float
    std: float


class Log(NamedTuple):
    """Values told, in the order they came.

    Attributes:
        values: in the objective's units, shape (n,).
        nats: information that each gave, shape (n,); NaN for values told many at once.
        model_orders: atoms of the model after each, shape (n,).
    """

    values: Array
    nats: NDArray[np.float32]
    model_orders: NDArray[np.int32]


class Milestone(NamedTuple):
    """How far a study was, in the objective's units and up to the search, also in a table.

    Attributes:
        evaluations: made by then.
        mean: of the model's belief at the best point.
        lower: the least that the best of all can be,
        upper: and the largest, with the probability of the certificates. When minimising, lower is what may still be
            reached and upper what is there.
    """

    evaluations: int
    mean: float
    lower: float
    upper: float


@final
@dataclass(frozen=True, eq=False)
class Promise:
    """What can be promised, in the objective's units, with probability 1 - δ if f is drawn from the fitted prior.

    Attributes:
        recommended: the point of which most is certain; its value is NaN if none was told there.
        gap: how much better than there f can be at most anywhere.
        best: the point told with the best posterior mean.
        best_gap: how much better than there f can be at most anywhere.
        delta: failure probability.
        caveats: why it may not hold.
    """

    recommended: Trial
    gap: float
    best: Trial
    best_gap: float
    delta: float
    caveats: tuple[str, ...]

    def elsewhere(self, decode: Callable[[Params], Params], *caveats: str) -> "Promise":
        """The same in another tool's params, with what else may not hold there."""
        best, recommended = (of._replace(params=decode(of.params)) for of in (self.best, self.recommended))
        return replace(self, best=best, recommended=recommended, caveats=(*self.caveats, *caveats))

    def __str__(self) -> str:
        lines = [
            f"with probability {1 - self.delta:g}, f is nowhere better",
            f"  than at the recommended {self.recommended.params} by {self.gap:.4g}",
            f"  than at the best {self.best.params} by {self.best_gap:.4g}",
        ]
        return "\n".join([*lines, *(f"  but: {caveat}" for caveat in self.caveats)])
