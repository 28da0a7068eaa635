"""A study to show, of any length and without a search."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from uncubed._shown import best_so_far
from uncubed._typing import Array
from uncubed.beliefs import Posterior
from uncubed.candidates import Candidates
from uncubed.records import Log, Milestone, Trial
from uncubed.space import Params, Space


class FakeFailure(NamedTuple):
    params: Params
    reason: str
    evaluation: int


@dataclass
class FakeStudy:
    """As an `Optimizer`, with values told at random points; the belief is a mean weighted by nearness."""

    space: Space | Candidates
    values: Array
    direction: str = "maximize"
    failures: Sequence[Any] = ()
    seed: int = 0
    U: Array = field(init=False)

    def __post_init__(self) -> None:
        rng = np.random.default_rng(self.seed)
        if isinstance(self.space, Space):
            self.U = self.space.sample(rng, max(len(self.values), 1))
        else:
            self.U = self.space.X[rng.integers(len(self.space), size=max(len(self.values), 1))]

    @property
    def evaluations(self) -> int:
        return len(self.values) + len(self.failures)

    @property
    def log(self) -> Log:
        n = len(self.values)
        orders = np.minimum(np.arange(1, n + 1), 12 + np.log1p(np.arange(n)).astype(np.int64))
        return Log(self.values, (2.0 / (1.0 + np.arange(n))).astype(np.float32), orders.astype(np.int32))

    @property
    def model_order(self) -> int:
        return int(self.log.model_orders[-1]) if len(self.values) else 0

    @property
    def milestones(self) -> list[Milestone]:
        best = best_so_far(self.values, self.direction)
        sign = 1.0 if self.direction == "maximize" else -1.0
        counts = [2**k for k in range(3, 20) if 2**k <= len(self.values)]
        spread = float(self.values.std()) if counts else 0.0
        bands = [(n, float(best[n - 1]), spread * 8.0 / n**0.6) for n in counts]
        return [Milestone(n, m, *sorted((m - sign * 0.2 * width, m + sign * width))) for n, m, width in bands]

    @property
    def best(self) -> Trial:
        k = int(np.argmax(self.values) if self.direction == "maximize" else np.argmin(self.values))
        return Trial(self.params(k), float(self.values[k]), float(self.values[k]), 0.01)

    def params(self, index: int) -> Params:
        if isinstance(self.space, Space):
            return self.space.decode(self.U[index])
        return self.space.params(int(np.abs(self.space.X - self.U[index]).sum(axis=1).argmin()))

    def predict(self, rows: Sequence[Params]) -> Posterior:
        assert isinstance(self.space, Space)
        X, U, y = np.array([self.space.encode(row) for row in rows]), self.U[:300], self.values[:300]
        near = np.exp(-8.0 * ((X[:, None] - U[None]) ** 2).sum(axis=2)) + 1e-12
        return Posterior((near @ y) / near.sum(axis=1), np.var(y) / (1.0 + near.sum(axis=1)))

    def importance(self) -> dict[str, float]:
        names = list(self.space.dimensions) if isinstance(self.space, Space) else list(self.params(0))
        return {name: 2.0 * (i + 1) / (len(names) * (len(names) + 1)) for i, name in enumerate(names)}


def failures(*evaluations: int) -> list[FakeFailure]:
    return [FakeFailure({}, "crashed", at) for at in evaluations]
