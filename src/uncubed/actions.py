"""Where an acquisition is maximised: a finite set, or a box."""

import hashlib
import math
from functools import cache, cached_property, lru_cache, partial
from typing import final

import numpy as np
from numpy.typing import NDArray
from scipy.stats.qmc import Sobol

from uncubed import _validation as check
from uncubed._typing import Array, ArrayLike
from uncubed.acquisition import Acquisition, Selection
from uncubed.ascent import ascend, spread
from uncubed.beliefs import Belief
from uncubed.beliefs.surface import Surface
from uncubed.draws import Draws
from uncubed.errors import InvalidInputError
from uncubed.kernels import Kernel
from uncubed.threads import one_thread

JOINT_DRAW = 1024
"""Most actions in one joint draw (Thompson sampling): beyond it a random subset of so many is drawn."""

_ATOMS_IN_POOL = 64  # the dictionary is where peaks of improvement are; at most so many of it join the pool


@final
class Finite:
    """A finite set of actions, the rows of X.

    The belief keeps mean and variance of all of them up to date, so a selection is one pass over the set.

    >>> Finite([[0.0], [0.5], [1.0]])
    Finite(3 actions of dimension 1)
    """

    def __init__(self, X: ArrayLike) -> None:
        clean = check.points("X", X).copy()
        if clean.size == 0:
            raise InvalidInputError(f"X: expected at least one action with one coordinate, got shape {clean.shape}")
        clean.flags.writeable = False
        self.X = clean
        self._draws: Draws | None = None  # made when it is drawn from

    def __repr__(self) -> str:
        return f"Finite({len(self.X)} actions of dimension {self.dimension})"

    def __len__(self) -> int:
        return len(self.X)

    @property
    def dimension(self) -> int:
        """Coordinates of an action."""
        return int(self.X.shape[1])

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the actions: a saved state fits only the set it came from."""
        return hashlib.sha256(self.X.tobytes()).hexdigest()

    def theoretical_beta(self, round: int, kernel: Kernel, delta: float, events: int = 2) -> float:
        """2 log(|X| t² π² / 6δ) (Lemma 1: it covers all actions at once, so nothing is split)."""
        return finite_beta(len(self.X), round, delta)

    def contains(self, action: Array) -> bool:
        """Whether the action is a row of X."""
        return bool((self.X == action).all(axis=1).any())

    def maximise(
        self,
        acquisition: Acquisition,
        parameter: float,
        belief: Belief,
        rng: np.random.Generator,
        start: Array | None = None,
    ) -> Selection:
        """The row at which the acquisition is largest, the first of equals."""
        surface = self._surface(belief)
        scores = acquisition.value(surface.mean, surface.std, parameter)
        index = int(scores.argmax())
        return self._selected(surface, index, float(scores[index]))

    def maximise_draw(self, belief: Belief, rng: np.random.Generator) -> Selection:
        """The row at which one joint draw of f, on at most `JOINT_DRAW` rows, is largest."""
        surface = self._surface(belief)
        rows = self._rows_to_draw(surface, rng)
        draw = self._draw(rows, belief, surface, rng)
        best = int(draw.argmax())
        return self._selected(surface, int(rows[best]), float(draw[best]))

    def _rows_to_draw(self, surface: Surface, rng: np.random.Generator) -> NDArray[np.intp]:
        """All, or of a large set some at random with the one believed to be the best."""
        if len(self.X) <= JOINT_DRAW:
            return np.arange(len(self.X))
        rows = rng.choice(len(self.X), JOINT_DRAW, replace=False)
        rows[0] = int(surface.mean.argmax())
        return rows

    def _draw(self, rows: NDArray[np.intp], belief: Belief, surface: Surface, rng: np.random.Generator) -> Array:
        if len(rows) == len(self.X):
            if self._draws is None or self._draws.kernel != belief.kernel:
                self._draws = Draws(belief.kernel, self.X)
            if self._draws.has(belief):
                return self._draws.draw(belief, surface, rng)
        return belief.sample(self.X[rows], 1, rng).reshape(-1)

    def prepare(self, belief: Belief) -> None:
        """Have the belief keep mean and variance of these actions."""
        self._surface(belief)

    def _surface(self, belief: Belief) -> Surface:
        surface = belief.surface
        return surface if surface is not None and surface.X is self.X else belief.track(self.X)

    def _selected(self, surface: Surface, index: int, score: float) -> Selection:
        return Selection(self.X[index], float(surface.mean[index]), float(surface.variance[index]), score, index)


@final
class Box:
    """All points between `lower` and `upper`.

    The maximum of an acquisition is searched on a fresh pool, a Sobol sequence shifted at random with some of the
    dictionary, then by projected gradient ascent from the best few and from the last maximiser, all at once. The cost
    of a call depends on the size of the model and on the numbers given here, not on the round.

    Args:
        lower: lower bounds, shape (d,).
        upper: upper bounds, shape (d,).
        pool: points in the pool; a power of two is spread most evenly.
        starts: points from which gradient ascent starts.
        steps: most steps of gradient ascent.
    """

    def __init__(
        self, lower: ArrayLike, upper: ArrayLike, *, pool: int = 512, starts: int = 8, steps: int = 40
    ) -> None:
        self.lower = check.array("lower", lower, ndim=1).copy()
        self.upper = check.point("upper", upper, self.lower.size).copy()
        if self.lower.size == 0:
            raise InvalidInputError("lower: expected at least one coordinate, got none")
        if not (self.lower < self.upper).all():
            j = int(np.argmin(self.lower < self.upper))
            raise InvalidInputError(
                f"upper: expected upper > lower in every coordinate, got {self.upper[j]:g} <= {self.lower[j]:g} at {j}"
            )
        self.lower.flags.writeable = self.upper.flags.writeable = False
        self.pool = check.count("pool", pool, least=2)
        self.starts = check.count("starts", starts)
        self.steps = check.count("steps", steps, least=0)

    def __repr__(self) -> str:
        return f"Box({self.lower.tolist()}, {self.upper.tolist()})"

    @property
    def dimension(self) -> int:
        """Coordinates of an action."""
        return self.lower.size

    @property
    def widths(self) -> Array:
        """upper - lower."""
        return self.upper - self.lower

    def contains(self, action: Array) -> bool:
        """Whether the action lies in the box."""
        return bool((self.lower <= action).all() and (action <= self.upper).all())

    def prepare(self, belief: Belief) -> None:
        """Check that the belief can be used here."""
        belief.kernel.check_dimension(self.dimension)
        if belief.dimension not in (None, self.dimension):
            raise InvalidInputError(
                f"belief: expected actions of dimension {self.dimension}, got a belief about {belief.dimension}"
            )

    def theoretical_beta(self, round: int, kernel: Kernel, delta: float, events: int = 2) -> float:
        """2 log(2 events π_t / δ) + 2d log τ_t, τ_t = t² d b √log(2 events d a / δ), π_t = t²π²/6, r = 1 (Lemma 9).

        δ is shared equally by `events` kinds of point at which f must lie within the bounds: the optimum, whose share
        is halved again between its grid and the Lipschitz constant, the selected actions, and so on.

        Raises:
            NotDifferentiableError: for kernels without differentiable sample paths.
        """
        d, t2 = self.dimension, float(round) ** 2
        log_a, b = _derivative_tail(kernel, tuple(self.widths.tolist()))
        root = math.sqrt(math.log(2.0 * events * d / delta) + log_a)
        log_tau = max(0.0, math.log(t2 * d * b * root))
        return 2.0 * math.log(2.0 * events * t2 * math.pi**2 / (6.0 * delta)) + 2.0 * d * log_tau

    def maximise(
        self,
        acquisition: Acquisition,
        parameter: float,
        belief: Belief,
        rng: np.random.Generator,
        start: Array | None = None,
    ) -> Selection:
        """The best point found; see the class for how."""
        with one_thread(belief.distinct):
            U = self._pool(belief, rng, start)
            posterior = belief.predict(self._scaled(U))
            scores = acquisition.value(posterior.mean, np.sqrt(posterior.variance), parameter)
            best = spread(U, scores, self.starts)
            if start is not None and 0 not in best:
                best = np.append(best, 0)
            climb = partial(self._value_and_gradient, acquisition, parameter, belief)
            U, scores, _ = ascend(climb, U[best], self.steps)
            x = self._scaled(U[int(scores.argmax())])
            mean, variance = belief.predict(x[None, :])
        x.flags.writeable = False
        return Selection(x, float(mean[0]), float(variance[0]), float(scores.max()), None)

    def maximise_draw(self, belief: Belief, rng: np.random.Generator) -> Selection:
        """The point of a fresh pool of `JOINT_DRAW` points at which one joint draw of f is largest."""
        X = self._scaled(shifted(sobol(self.dimension, JOINT_DRAW), rng))
        draw = belief.sample(X, 1, rng)[0]
        best = int(draw.argmax())
        mean, variance = belief.predict(X[best : best + 1])
        x = X[best].copy()
        x.flags.writeable = False
        return Selection(x, float(mean[0]), float(variance[0]), float(draw[best]), None)

    def _pool(self, belief: Belief, rng: np.random.Generator, start: Array | None) -> Array:
        """Points in the unit cube: the last maximiser first, if there is one."""
        U = shifted(sobol(self.dimension, self.pool), rng)
        atoms = belief.dictionary
        if len(atoms) > _ATOMS_IN_POOL:
            atoms = atoms[rng.choice(len(atoms), _ATOMS_IN_POOL, replace=False)]
        U = np.vstack([U, self._unit(atoms)]) if len(atoms) else U
        if start is not None:
            U[0] = self._unit(start)
        return U

    def _unit(self, X: Array) -> Array:
        return np.clip((X - self.lower) / self.widths, 0.0, 1.0)

    def _scaled(self, U: Array) -> Array:
        return np.clip(self.lower + U * self.widths, self.lower, self.upper)

    def _value_and_gradient(
        self, acquisition: Acquisition, parameter: float, belief: Belief, U: Array
    ) -> tuple[Array, Array]:
        value, gradient = acquisition.value_and_gradient(belief, self._scaled(U), parameter)
        return value, gradient * self.widths


def finite_beta(actions: int, round: int, delta: float) -> float:
    """β_t of a finite set, 2 log(|X| t² π² / 6δ) (Lemma 1)."""
    return 2.0 * math.log(actions * round * round * math.pi**2 / (6.0 * delta))


@cache
def sobol(dimension: int, n: int) -> Array:
    """The first n points of a Sobol sequence, shape (n, d)."""
    points: Array = Sobol(dimension, scramble=False).random_base2(max(1, math.ceil(math.log2(n))))[:n]
    points.flags.writeable = False
    return points


def shifted(points: Array, rng: np.random.Generator) -> Array:
    """The points moved by one random vector, modulo 1: as even as they were, and never the same."""
    shifted: Array = (points + rng.random(points.shape[1])) % 1.0
    return shifted


@lru_cache(maxsize=64)
def _derivative_tail(kernel: Kernel, widths: tuple[float, ...]) -> tuple[float, float]:
    return kernel.derivative_tail(widths)
