"""Standard functions to minimise, with known optima, and noise by a fraction of their spread.

Formulas and optima are those of Surjanovic and Bingham's Virtual Library of Simulation Experiments (sfu.ca/~ssurjano)
unless said. Where the optimum lies in the middle of the usual box, the box is moved: an optimiser that tries the centre
first should not win by it. Functions with a long tail are taken as logarithms, as is usual for them.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import numpy as np
from scipy.stats import qmc

import uncubed as uc
from uncubed._typing import Array


@final
@dataclass(frozen=True)
class Problem:
    """A function on a box.

    Attributes:
        name: with its dimension.
        function: of a point, shape (d,).
        low: corner of the box, shape (d,).
        high: the other corner.
        optimum: its least value there.
        where: one place where it is taken, shape (d,).
    """

    name: str
    function: Callable[[Array], float]
    low: tuple[float, ...]
    high: tuple[float, ...]
    optimum: float
    where: tuple[float, ...]

    @property
    def space(self) -> dict[str, Any]:
        """Parameters x0, x1, …"""
        return {f"x{k}": uc.Float(a, b) for k, (a, b) in enumerate(zip(self.low, self.high, strict=True))}

    def __call__(self, params: Mapping[str, float]) -> float:
        return float(self.function(np.array([params[f"x{k}"] for k in range(len(self.low))])))

    @cached_property
    def spread(self) -> float:
        """Standard deviation of the values over the box."""
        U = qmc.Sobol(len(self.low), seed=0).random(4096)
        low, high = np.array(self.low), np.array(self.high)
        return float(np.std([self.function(x) for x in low + U * (high - low)]))


def forrester(x: Array) -> float:
    return float((6.0 * x[0] - 2.0) ** 2 * np.sin(12.0 * x[0] - 4.0))


def branin(x: Array) -> float:
    bowl = (x[1] - 5.1 / (4.0 * np.pi**2) * x[0] ** 2 + 5.0 / np.pi * x[0] - 6.0) ** 2
    return float(bowl + 10.0 * (1.0 - 1.0 / (8.0 * np.pi)) * np.cos(x[0]) + 10.0)


def log_goldstein_price(x: Array) -> float:
    a, b = x
    first = 19.0 - 14.0 * a + 3.0 * a**2 - 14.0 * b + 6.0 * a * b + 3.0 * b**2
    second = 18.0 - 32.0 * a + 12.0 * a**2 + 48.0 * b - 36.0 * a * b + 27.0 * b**2
    return float(np.log((1.0 + (a + b + 1.0) ** 2 * first) * (30.0 + (2.0 * a - 3.0 * b) ** 2 * second)))


def camel(x: Array) -> float:
    a, b = x
    return float((4.0 - 2.1 * a**2 + a**4 / 3.0) * a**2 + a * b + (-4.0 + 4.0 * b**2) * b**2)


def rastrigin(x: Array) -> float:
    return float(10.0 * len(x) + np.sum(x**2 - 10.0 * np.cos(2.0 * np.pi * x)))


def ackley(x: Array) -> float:
    root, waves = np.sqrt(np.mean(x**2)), np.mean(np.cos(2.0 * np.pi * x))
    return float(20.0 * -np.expm1(-0.2 * root) + np.e - np.exp(waves))


def levy(x: Array) -> float:
    w = 1.0 + (x - 1.0) / 4.0
    ends = np.sin(np.pi * w[0]) ** 2 + (w[-1] - 1.0) ** 2 * (1.0 + np.sin(2.0 * np.pi * w[-1]) ** 2)
    return float(ends + np.sum((w[:-1] - 1.0) ** 2 * (1.0 + 10.0 * np.sin(np.pi * w[:-1] + 1.0) ** 2)))


def log_rosenbrock(x: Array) -> float:
    return float(np.log1p(np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)))


def griewank(x: Array) -> float:
    return float(1.0 + np.sum(x**2) / 4000.0 - np.prod(np.cos(x / np.sqrt(np.arange(1, len(x) + 1)))))


def styblinski_tang(x: Array) -> float:
    return float(0.5 * np.sum(x**4 - 16.0 * x**2 + 5.0 * x))


_WEIGHTS = np.array([1.0, 1.2, 3.0, 3.2])
_A3 = np.array([[3.0, 10.0, 30.0], [0.1, 10.0, 35.0]] * 2)
_P3 = 1e-4 * np.array([[3689, 1170, 2673], [4699, 4387, 7470], [1091, 8732, 5547], [381, 5743, 8828]])
_A6 = np.array(
    [[10, 3, 17, 3.5, 1.7, 8], [0.05, 10, 17, 0.1, 8, 14], [3, 3.5, 1.7, 10, 17, 8], [17, 8, 0.05, 10, 0.1, 14]]
)
_P6 = 1e-4 * np.array(
    [
        [1312, 1696, 5569, 124, 8283, 5886],
        [2329, 4135, 8307, 3736, 1004, 9991],
        [2348, 1451, 3522, 2883, 3047, 6650],
        [4047, 8828, 8732, 5743, 1091, 381],
    ]
)


def hartmann3(x: Array) -> float:
    return -float(_WEIGHTS @ np.exp(-np.sum(_A3 * (x - _P3) ** 2, axis=1)))


def hartmann6(x: Array) -> float:
    return -float(_WEIGHTS @ np.exp(-np.sum(_A6 * (x - _P6) ** 2, axis=1)))


def _cube(
    name: str, function: Callable[[Array], float], sides: tuple[float, float], *, d: int, optimum: float, where: float
) -> Problem:
    low, high = sides
    return Problem(f"{name}-{d}", function, (low,) * d, (high,) * d, optimum, (where,) * d)


_HARTMANN3 = (0.11458887, 0.55564886, 0.85254695)
_HARTMANN6 = (0.20168951, 0.15001069, 0.47687397, 0.27533243, 0.31165162, 0.65730053)

PROBLEMS: dict[str, Problem] = {
    problem.name: problem
    for problem in (
        _cube("forrester", forrester, (0.0, 1.0), d=1, optimum=-6.020740055767083, where=0.757248757841856),
        Problem("branin-2", branin, (-5.0, 0.0), (10.0, 15.0), 0.39788735772973816, (np.pi, 2.275)),
        Problem("log-goldstein-price-2", log_goldstein_price, (-2.0,) * 2, (2.0,) * 2, math.log(3.0), (0.0, -1.0)),
        Problem("camel-2", camel, (-3.0, -2.0), (3.0, 2.0), -1.0316284534898774, (0.08984201, -0.71265640)),
        _cube("rastrigin", rastrigin, (-2.0, 4.0), d=2, optimum=0.0, where=0.0),
        Problem("hartmann-3", hartmann3, (0.0,) * 3, (1.0,) * 3, -3.862779787332663, _HARTMANN3),
        _cube("ackley", ackley, (-5.0, 10.0), d=4, optimum=0.0, where=0.0),
        _cube("levy", levy, (-10.0, 10.0), d=4, optimum=0.0, where=1.0),
        _cube("log-rosenbrock", log_rosenbrock, (-2.0, 2.0), d=4, optimum=0.0, where=1.0),
        _cube("griewank", griewank, (-5.0, 10.0), d=5, optimum=0.0, where=0.0),
        _cube(
            "styblinski-tang",
            styblinski_tang,
            (-5.0, 5.0),
            d=5,
            optimum=-5.0 * 39.16616570377142,
            where=-2.903534027771177,
        ),
        Problem("hartmann-6", hartmann6, (0.0,) * 6, (1.0,) * 6, -3.322368011415515, _HARTMANN6),
        _cube("levy", levy, (-10.0, 10.0), d=10, optimum=0.0, where=1.0),
    )
}
"""By name, from 1 to 10 dimensions."""

NOISES = {"none": 0.0, "3 %": 0.03}
"""Standard deviation of a value, as a fraction of the function's spread."""
