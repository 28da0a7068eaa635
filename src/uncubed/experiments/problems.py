"""What is optimised: two functions, and a training run."""

from collections.abc import Callable
from functools import cache
from itertools import product
from pathlib import Path
from typing import Protocol, final

import numpy as np

from uncubed import Bandit, Box, Finite, InvalidInputError, Run
from uncubed._typing import Array
from uncubed.experiments import logistic
from uncubed.experiments.config import Setting

_INITIAL, _NOISE, _TRAINING, _MEASURING, BANDIT, SKETCH = range(6)
"""What a seed's streams of random numbers are for."""


def stream(seed: int, purpose: int, *more: int) -> np.random.Generator:
    """Random numbers of their own for each purpose, so that what one method draws does not shift another's."""
    return np.random.default_rng([seed, purpose, *more])


def derived(seed: int, purpose: int) -> int:
    """A seed of its own for what takes a number; the seed itself would repeat the first stream."""
    return int(np.random.SeedSequence([seed, purpose]).generate_state(1, np.uint64)[0])


class Objective(Protocol):
    """What one run is played against."""

    actions: Finite | Box

    def value(self, action: Array) -> float:
        """An observation, as a round would make it."""

    def truth(self, action: Array) -> float:
        """What regret is measured by."""

    @property
    def optimum(self) -> float:
        """What regret is measured from."""

    def play(self, bandit: Bandit, rounds: int, record_every: int, watch: Callable[[int], None]) -> Run:
        """Run rounds of a bandit."""


def objective(setting: Setting, seed: int, mnist: Path | None = None) -> Objective:
    """A fresh objective for one run."""
    return Training(setting, seed, logistic.load(setting.data, mnist)) if setting.data else Function(setting, seed)


def initial_points(setting: Setting, seed: int) -> Array:
    """The random points that are known before the first round, shape (n, d); equal for all methods of a seed."""
    rng = stream(seed, _INITIAL)
    where = actions(setting)
    if isinstance(where, Finite):
        return where.X[rng.integers(len(where), size=setting.initial)]
    return rng.uniform(where.lower, where.upper, size=(setting.initial, where.dimension))


DOMAINS: dict[str, tuple[tuple[float, float], ...]] = {
    "example": ((-8.0, 8.0),),
    "rosenbrock": ((-2.0, 2.0), (-2.0, 2.0)),
    "rosenbrock-standardised": ((-2.0, 2.0), (-2.0, 2.0)),
    "logistic": ((0.0, 1.0),) * 4,
    "logistic-raw": ((-6.0, 0.0), (20.0, 2000.0), (0.0, 0.75), (0.0, 1.0)),
}
"""The ends of each dimension. In raw units a logistic regressor's are those of the cube's in `Hyperparameters`."""


@cache
def grid(problem: str, levels: tuple[int, ...]) -> Finite:
    """So many levels of each dimension."""
    axes = [np.linspace(low, high, n) for (low, high), n in zip(_domain(problem), levels, strict=True)]
    return Finite(np.array(list(product(*axes))))


def actions(setting: Setting) -> Finite | Box:
    """The grid of a setting, or the box it spans."""
    if not setting.box:
        return grid(setting.problem, setting.levels)
    return Box(*(list(ends) for ends in zip(*_domain(setting.problem), strict=True)))


def _domain(problem: str) -> tuple[tuple[float, float], ...]:
    if problem not in DOMAINS:
        raise InvalidInputError(f"problem: expected one of {', '.join(DOMAINS)}, got {problem!r}")
    return DOMAINS[problem]


def example(X: Array) -> Array:
    """Sin x + cos x + 0.1 x, of rows."""
    x = X[:, 0]
    result: Array = np.sin(x) + np.cos(x) + 0.1 * x
    return result


def rosenbrock(X: Array) -> Array:
    """-((1 - x)² + 10 (y - x²)²), of rows; the largest value is 0."""
    x, y = X.T
    result: Array = -((1.0 - x) ** 2 + 10.0 * (y - x**2) ** 2)
    return result


EXAMPLE_ARGMAX = float(np.arccos(-0.1 / np.sqrt(2.0)) - np.pi / 4 + 2.0 * np.pi)
"""Where the derivative √2 cos(x + π/4) + 0.1 vanishes at the highest peak."""


def scaled(problem: str, levels: tuple[int, ...]) -> tuple[Callable[[Array], Array], float]:
    """The function of rows that a bandit sees, and its largest value on the box."""
    if problem == "example":
        return example, float(example(np.array([[EXAMPLE_ARGMAX]]))[0])
    if problem == "rosenbrock":
        return rosenbrock, 0.0
    raw = rosenbrock(grid(problem, levels).X)
    mean, spread = float(raw.mean()), float(raw.std())
    return lambda X: (rosenbrock(X) - mean) / spread, -mean / spread


@final
class Function:
    """A noiseless function, observed with Gaussian noise."""

    def __init__(self, setting: Setting, seed: int) -> None:
        self.actions = actions(setting)
        self._f, largest = scaled(setting.problem, setting.levels)
        self._table = self._f(self.actions.X) if isinstance(self.actions, Finite) else None
        self._optimum = largest if self._table is None else float(self._table.max())
        self._noise_std, self._rng = setting.noise_std, stream(seed, _NOISE)

    @property
    def optimum(self) -> float:
        return self._optimum

    def value(self, action: Array) -> float:
        return self.truth(action) + self._noise_std * float(self._rng.standard_normal())

    def truth(self, action: Array) -> float:
        return float(self._f(action[None, :])[0])

    def play(self, bandit: Bandit, rounds: int, record_every: int, watch: Callable[[int], None]) -> Run:
        return bandit.run(
            self.truth if self._table is None else self._table,
            rounds,
            noise_std=self._noise_std,
            optimum=self._optimum,
            record_every=record_every,
            watch=watch,
            rng=self._rng,
        )


@final
class Training:
    """The validation accuracy of a training run; no two are alike.

    Regret is measured by the accuracy of the round's own training run. A refused round has none: there the mean
    of the action's earlier runs stands for it, and an action never trained is trained once off the clock.
    """

    optimum = 1.0
    """For the time being; the report measures from the best accuracy seen in any run."""

    def __init__(self, setting: Setting, seed: int, data: logistic.Data) -> None:
        self.actions = actions(setting)
        self.best_seen = 0.0
        self._low, high = np.array(DOMAINS[setting.problem]).T
        self._width = high - self._low
        self._data, self._epochs, self._seed = data, setting.epochs, seed
        self._runs = {_TRAINING: 0, _MEASURING: 0}
        self._seen: dict[bytes, list[float]] = {}
        self._fresh: float | None = None

    def value(self, action: Array) -> float:
        self._fresh = self._train(action, _TRAINING)
        return self._fresh

    def truth(self, action: Array) -> float:
        fresh, self._fresh = self._fresh, None
        if fresh is not None:
            return fresh
        if action.tobytes() not in self._seen:
            self._train(action, _MEASURING)
        return float(np.mean(self._seen[action.tobytes()]))

    def play(self, bandit: Bandit, rounds: int, record_every: int, watch: Callable[[int], None]) -> Run:
        self._fresh = None
        return bandit.run(
            self.value, rounds, optimum=self.optimum, record_every=record_every, truth=self.truth, watch=watch
        )

    def _train(self, action: Array, purpose: int) -> float:
        rng = stream(self._seed, purpose, self._runs[purpose])
        self._runs[purpose] += 1
        how = logistic.Hyperparameters.from_cube((action - self._low) / self._width)
        accuracy = logistic.validation_accuracy(self._data, how, epochs=self._epochs, rng=rng)
        self._seen.setdefault(action.tobytes(), []).append(accuracy)
        self.best_seen = max(self.best_seen, accuracy)
        return accuracy
