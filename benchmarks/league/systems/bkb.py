"""BKB, with the hyper-parameters that it does not learn: fitted after 1, 2, 4, … times its first design."""

import math
from typing import final

import numpy as np
from scipy.stats import qmc

import uncubed as uc
from benchmarks.league.protocol import Point, Space, System
from benchmarks.league.systems.uncubed import table_of
from uncubed._typing import Array
from uncubed.fit import fit
from uncubed.observations import Observations

FIT_ROWS = 256
"""Values that are fitted to at most, evenly from all."""


@final
class Bkb(System):
    """Upper confidence bounds of BKB's width on a sketch; its recommendation is the action told of the largest mean."""

    packages = ("uncubed", "numpy", "scipy")

    def __init__(self, space: Space, seed: int) -> None:
        super().__init__(space, seed)
        d = len(space.dimensions)
        self._table = None if space.is_box else table_of(space)
        first = qmc.Sobol(d, seed=seed).random_base2(math.ceil(math.log2(2 * (d + 1))))
        self._first = [space.at(u) for u in first[: 2 * (d + 1)]]
        self._actions: list[Array] = []
        self._values: list[float] = []
        self._bandit: uc.Bandit | None = None
        self._decision: uc.Decision | None = None
        self._fitted = 0

    def ask(self) -> Point:
        told = len(self._values)
        if told < len(self._first):
            return self._first[told]
        if told >= 2 * self._fitted:
            self._refit()
        assert self._bandit is not None
        self._decision = self._bandit.select()
        return self._point(self._decision.action)

    def tell(self, point: Point, value: float) -> None:
        decision, self._decision = self._decision, None
        self._actions.append(self._action(point) if decision is None else decision.action)
        self._values.append(-value)
        if self._bandit is not None:
            scaled = (-value - self._centre) / self._scale
            if decision is None:
                self._bandit.add(self._actions[-1], scaled)
            else:
                self._bandit.observe(decision, scaled)

    def recommend(self) -> Point:
        if self._bandit is None:
            return self._point(self._actions[int(np.argmax(self._values))])
        mean = self._bandit.belief.predict(np.array(self._actions)).mean
        return self._point(self._actions[int(np.argmax(mean))])

    def _refit(self) -> None:
        X, values = np.array(self._actions), np.array(self._values)
        self._fitted, self._centre, self._scale = len(X), values.mean(), values.std() or 1.0
        scaled = (values - self._centre) / self._scale
        groups = np.arange(X.shape[1]) if self._table is None else self._table.groups
        start = uc.Matern52(np.full(X.shape[1], 0.3 * np.sqrt(X.shape[1])))
        some = np.unique(np.linspace(0, len(X) - 1, FIT_ROWS).astype(int))
        found = fit(start, 1e-2, _merged(X[some], scaled[some]), groups=groups)
        belief = uc.SketchedBelief(found.kernel, max(found.noise_variance, 1e-6), seed=self.seed)
        width = uc.UpperConfidenceBound(uc.SketchedBeta())
        self._bandit = uc.Bandit(
            self._set(), belief, width, uc.Budget.keep_all(), act=True, certify=False, seed=self.seed
        )
        for action, value in zip(X, scaled.tolist(), strict=True):
            self._bandit.add(action, value)

    def _set(self) -> uc.Finite | uc.Box:
        d = len(self.space.dimensions)
        return uc.Box(np.zeros(d), np.ones(d)) if self._table is None else uc.Finite(self._table.X)

    def _action(self, point: Point) -> Array:
        return np.array(point, float) if self._table is None else self._table.encode(self.space.worded(point))

    def _point(self, action: Array) -> Point:
        if self._table is None:
            return self.space.at(action)
        return self.space.listed(self._table.decode(action))


def _merged(X: Array, values: Array) -> Observations:
    rows, which = np.unique(X, axis=0, return_inverse=True)
    count = np.bincount(which).astype(float)
    mean = np.bincount(which, values) / count
    return Observations(rows, mean, count, np.bincount(which, (values - mean[which]) ** 2).astype(float))
