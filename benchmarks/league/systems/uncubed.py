"""uncubed as it comes, and the same expected improvement with a dense model and without either test of a point."""

from typing import Any, final

import uncubed as uc
from benchmarks.league.protocol import Point, Space, System


class _Asking(System):
    """An `Optimizer`: of named numbers, or of a table's rows."""

    packages = ("uncubed", "numpy", "scipy")

    def __init__(self, space: Space, seed: int, **options: Any) -> None:
        super().__init__(space, seed)
        where = {name: uc.Float(0.0, 1.0) for name in space.names} if space.is_box else table_of(space)
        self._optimizer = uc.Optimizer(where, direction="minimize", seed=seed, **options)
        self._asked: uc.Suggestion | None = None

    def ask(self) -> Point:
        self._asked = self._optimizer.ask()
        return self.space.listed(self._asked.params)

    def tell(self, point: Point, value: float) -> None:
        asked, self._asked = self._asked, None
        self._optimizer.tell(self.space.worded(point) if asked is None else asked, value)

    def load(self, points: list[Point], values: list[float]) -> None:
        self._optimizer.tell_many([self.space.worded(point) for point in points], values)

    def recommend(self) -> Point:
        return self.space.listed(self._optimizer.best.params)


@final
class Uncubed(_Asking):
    """No option set."""


@final
class Dense(_Asking):
    """Every action is informative, every one can be the best, and every one is an atom."""

    def __init__(self, space: Space, seed: int) -> None:
        budget = uc.Budget.keep_all()
        super().__init__(space, seed, budget=budget, max_model_order=10**6, delta=1e-300)


def table_of(space: Space) -> uc.Candidates:
    """All rows."""
    return uc.Candidates([space.worded(row) for row in space.rows().tolist()])
