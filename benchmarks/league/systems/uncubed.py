"""uncubed as it comes, and the same expected improvement with a dense model and without either test of a point."""

from typing import Any, final

import uncubed as uc
from benchmarks.league.protocol import LABEL, Point, Space, System


class _Asking(System):
    """An `Optimizer`: of named numbers, or of a table's rows."""

    packages = ("uncubed", "numpy", "scipy")

    def __init__(self, space: Space, seed: int, **options: Any) -> None:
        super().__init__(space, seed)
        self._optimizer = uc.Optimizer(_where(space), direction="minimize", seed=seed, **options)
        self._asked: uc.Suggestion | None = None

    def ask(self) -> Point:
        self._asked = self._optimizer.ask()
        return self.space.listed(self._asked.params)

    def tell(self, point: Point, value: float) -> None:
        asked, self._asked = self._asked, None
        self._optimizer.tell(params_of(self.space, point) if asked is None else asked, value)

    def load(self, points: list[Point], values: list[float]) -> None:
        self._optimizer.tell_many([params_of(self.space, point) for point in points], values)

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


def space_of(space: Space) -> dict[str, Any] | list[dict[str, Any]]:
    """Parameters by name, or all rows of a table."""
    if space.is_box:
        return {name: uc.Float(0.0, 1.0) for name in space.names}
    return [params_of(space, row) for row in space.rows().tolist()]


def params_of(space: Space, point: Point) -> dict[str, Any]:
    """Labels as words, so that they are not taken for numbers."""
    named = space.named(point)
    return {
        n: str(named[n]) if d.kind == LABEL else named[n] for n, d in zip(space.names, space.dimensions, strict=True)
    }


def _where(space: Space) -> dict[str, Any] | uc.Candidates:
    return space_of(space) if space.is_box else uc.Candidates(space_of(space))
