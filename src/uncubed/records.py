"""What an optimiser says: what to try, what failed, what is best, what can be promised."""

from dataclasses import dataclass
from typing import NamedTuple, final

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
    """

    params: Params
    reason: str


class Trial(NamedTuple):
    """A point and what is known of it, in the objective's units.

    Attributes:
        params: by name.
        value: the mean of what was told there.
        mean: of the model's belief.
        std: of the model's belief.
    """

    params: Params
    value: float
    mean: float
    std: float


@final
@dataclass(frozen=True, eq=False)
class Promise:
    """What can be promised, in the objective's units, with probability 1 - δ if f is drawn from the fitted prior.

    Attributes:
        best: the point it is about.
        gap: how much better than there f can be at most anywhere.
        delta: failure probability.
        caveats: why it may not hold.
    """

    best: Trial
    gap: float
    delta: float
    caveats: tuple[str, ...]

    def __str__(self) -> str:
        lines = [
            f"with probability {1 - self.delta:g}, f is nowhere better than at {self.best.params} by {self.gap:.4g}"
        ]
        return "\n".join([*lines, *(f"  but: {caveat}" for caveat in self.caveats)])
