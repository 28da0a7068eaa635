"""Real and whole numbers."""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from numbers import Integral
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from uncubed import _validation as check
from uncubed._typing import Array
from uncubed.dimensions.base import Dimension
from uncubed.errors import InvalidInputError

FINEST = 40
"""Binary digits of a continuous coordinate, where the numbers themselves have as many."""

CLOSEST = 2.0**-50
"""Least distance of the places of two whole numbers, for both to be exact."""


def snapped_to(steps: float | Array, U: Array) -> Array:
    """Coordinates moved to a lattice of so many steps from 0 to 1."""
    snapped: Array = np.round(np.clip(U, 0.0, 1.0) * steps) / steps
    return snapped + 0.0  # no -0


@final
@dataclass(frozen=True)
class Float(Dimension):
    """A real number from `low` to `high`, both included; with `log` its logarithm is searched evenly.

    With a `step` it is discrete: `low`, `low + step` and so on, to at most `high`; 0.1 is a tenth in this.

    >>> Float(1e-5, 1.0, log=True).decode(np.array([0.4]))
    0.001
    >>> Float(0.1, 0.75, step=0.1).decode(np.array([0.4]))
    0.3
    """

    low: float
    high: float
    log: bool = False
    step: float | None = None

    def __post_init__(self) -> None:
        check.clean(self, "low", _finite)
        check.clean(self, "high", _finite)
        _check_range(self.low, self.high, self.log)
        if math.isinf(self.high - self.low):
            raise InvalidInputError(f"high: expected high - low to be finite, got {self.low} and {self.high}")
        if self.step is not None:
            check.clean(self, "step", check.positive)
            if self.log:
                raise InvalidInputError(f"step: expected None for a logarithm, got {self.step}")
            self._multiples  # noqa: B018  which raises if it is too small

    def __repr__(self) -> str:
        step = "" if self.step is None else f", step={self.step}"
        return f"Float(low={self.low}, high={self.high}, log={self.log}{step})"

    @property
    def width(self) -> int:
        return 1

    @property
    def count(self) -> int | None:
        if self._multiples is not None:
            return self._multiples.indices.count
        return None if self.low < self.high else 1

    @property
    def lattice(self) -> float | None:
        return self._steps if self.count is None else None

    def encode(self, name: str, value: Any) -> Array:
        number = _finite(name, value)
        if self._multiples is not None:
            return self._multiples.indices.encode(name, self._multiples.index(name, value, number))
        inside = min(max(number, self.low), self.high)
        if inside != number and not _rounded(value, inside):
            raise InvalidInputError(f"{name}: expected a number from {self.low} to {self.high}, got {number}")
        return np.array([self._place(inside)])

    def decode(self, u: Array) -> float:
        if self._multiples is not None:
            return self._multiples.value(self._multiples.indices.decode(u))
        place = 0.0 if self.count == 1 else round(min(max(float(u[0]), 0.0), 1.0) * self._steps) / self._steps
        if place in (0.0, 1.0):
            return self.high if place else self.low
        low, high = self._ends
        x = low + place * (high - low)
        exact = min(max(math.exp(x) if self.log else x, self.low), self.high)
        shorter = (float(f"{exact:.{digits}g}") for digits in (3, 6, 9, 12, 15))
        for short in (*([] if self.log else [0.0]), *shorter):  # the first of the same place, for readers
            if self.low <= short <= self.high and self._place(short) == place:
                return short
        return exact

    def snap(self, U: Array) -> Array:
        if self._multiples is not None:
            return self._multiples.indices.snap(U)
        if self.count == 1:
            return np.zeros(U.shape)
        return snapped_to(self._steps, U)

    def sample(self, rng: np.random.Generator, n: int) -> Array:
        return self.snap(rng.random((n, 1))) if self._multiples is None else self._multiples.indices.sample(rng, n)

    def every(self) -> Array:
        if self.count is None:
            raise InvalidInputError("grid: expected discrete parameters, got a continuous one")
        return np.zeros((1, 1)) if self._multiples is None else self._multiples.indices.every()

    def near(self, u: Array) -> Array:
        return self.every() if self._multiples is None else self._multiples.indices.near(u)

    def _place(self, number: float) -> float:
        if self._steps == 1:
            return float(number - self.low > self.high - number)
        low, high = self._ends
        u = ((math.log(number) if self.log else number) - low) / (high - low)
        return round(u * self._steps) / self._steps

    @cached_property
    def _multiples(self) -> "_Multiples | None":
        return None if self.step is None else _Multiples(self.low, self.high, self.step)

    @cached_property
    def _ends(self) -> tuple[float, float]:
        return (math.log(self.low), math.log(self.high)) if self.log else (self.low, self.high)

    @cached_property
    def _steps(self) -> float:
        """Of the lattice, a power of 2: so few that the rounding of the numbers does not cross half a step."""
        low, high = self._ends
        rounding = math.ulp(max(abs(low), abs(high), 1.0 if self.log else 0.0))
        digits = math.frexp((high - low) / rounding / 16)[1] - 1
        return 2.0 ** max(0, min(FINEST, digits))


@final
@dataclass(frozen=True)
class Int(Dimension):
    """A whole number from `low` by `step` to at most `high`; with `log` its logarithm is searched evenly.

    >>> Int(1, 8).decode(np.array([0.5]))
    5
    """

    low: int
    high: int
    log: bool = False
    step: int = 1

    def __post_init__(self) -> None:
        check.clean(self, "low", _whole)
        check.clean(self, "high", _whole)
        check.clean(self, "step", check.count)
        _check_range(self.low, self.high, self.log)
        if self._last and self._closest < CLOSEST:
            scale = " on a logarithmic scale" if self.log else ""
            raise InvalidInputError(
                f"high: expected values at least 2^-50 of the range apart{scale}, got {self.count} values"
            )

    @property
    def width(self) -> int:
        return 1

    @property
    def count(self) -> int:
        return self._last + 1

    def encode(self, name: str, value: Any) -> Array:
        number = _whole(name, value)
        index, rest = divmod(number - self.low, self.step)
        if rest or not 0 <= index <= self._last:
            by = f" by {self.step}" if self.step > 1 else ""
            raise InvalidInputError(f"{name}: expected a whole number from {self.low} to {self.high}{by}, got {number}")
        return self._places(np.array([index]))

    def decode(self, u: Array) -> int:
        return self.low + self.step * int(self._nearest(np.array([u]))[0, 0])

    def snap(self, U: Array) -> Array:
        return self._places(self._nearest(U))

    def sample(self, rng: np.random.Generator, n: int) -> Array:
        if self.log:
            return self.snap(rng.random((n, 1)))
        return self._places(rng.integers(self.count, size=(n, 1)))

    def every(self) -> Array:
        return self._places(np.arange(self.count)[:, None])

    def near(self, u: Array) -> Array:
        """By powers of two of the step, to both sides."""
        powers = 2 ** np.arange(self.count.bit_length())
        index = self._nearest(np.array([u])) + np.column_stack([-powers, powers]).reshape(-1, 1)
        return self._places(index[(index >= 0) & (index <= self._last)][:, None])

    @property
    def _last(self) -> int:
        return (self.high - self.low) // self.step

    @property
    def _closest(self) -> float:
        """Distance of the places of the last two values, which are nearest to each other."""
        if not self.log:
            return 1.0 / self._last
        ratio = self.step / self.low
        return math.log1p(ratio / (1.0 + ratio * (self._last - 1))) / math.log1p(ratio * self._last)

    def _places(self, index: NDArray[np.int64]) -> Array:
        """Where the values of these indices are; the one way to compute it, so that equal values have equal places."""
        last = self._last
        if last == 0 or not self.log:
            return index / max(last, 1)
        ratio = self.step / self.low
        places: Array = np.log1p(ratio * index) / np.log1p(ratio * last)  # log(value / low), for the largest it is 1
        return places

    def _nearest(self, U: Array) -> NDArray[np.int64]:
        last, clipped = self._last, np.clip(U, 0.0, 1.0)
        if last == 0 or not self.log:
            return np.rint(clipped * last).astype(np.int64)
        ratio = self.step / self.low
        below = np.floor(np.expm1(clipped * math.log1p(ratio * last)) / ratio).astype(np.int64)
        around = np.clip(below + np.arange(-1, 3).reshape(4, *[1] * U.ndim), 0, last)
        best = np.abs(self._places(around) - clipped).argmin(axis=0)
        nearest: NDArray[np.int64] = np.take_along_axis(around, best[None], axis=0)[0]
        return nearest


@final
class _Multiples:
    """Numbers from `low` by a step, which are known by their indices: decimals, as they are written."""

    def __init__(self, low: float, high: float, step: float) -> None:
        self.low, self.step = Fraction(repr(low)), Fraction(repr(step))
        least = 16 * math.ulp(max(abs(low), abs(high)))
        if step < least:
            raise InvalidInputError(f"step: expected at least {least:g}, for values to be distinct, got {step}")
        self.indices = Int(0, (Fraction(repr(high)) - self.low) // self.step)

    def value(self, index: int) -> float:
        return float(self.low + index * self.step)

    def index(self, name: str, value: Any, number: float) -> int:
        """The one of a value that is this number, also of one that was computed and is a few roundings off."""
        index = min(max(round((Fraction(number) - self.low) / self.step), 0), self.indices.high)
        nearest = self.value(index)
        slack = max(1e-6 * float(self.step), 4 * math.ulp(nearest))
        if abs(number - nearest) > slack and not _rounded(value, nearest):
            first, last, step = self.value(0), self.value(self.indices.high), float(self.step)
            raise InvalidInputError(f"{name}: expected a number from {first} to {last} by {step}, got {number}")
        return index


def _check_range(low: float, high: float, log: Any) -> None:
    check.kind("log", log, bool)
    if low > high:
        raise InvalidInputError(f"high: expected at least low = {low}, got {high}")
    least = np.finfo(np.float64).tiny  # below it digits are lost
    if log and low < least:
        raise InvalidInputError(f"low: expected a positive number (of at least {least:g}) for its log, got {low}")


def _finite(name: str, value: Any) -> float:
    """A finite number, also one too large for a coordinate; never -0."""
    if isinstance(value, float | np.floating) and math.isfinite(value):
        return float(value) + 0.0
    return check.real(name, value) + 0.0


def _rounded(value: Any, number: float) -> bool:
    """Whether a value is a number in a type of fewer digits, such as float32."""
    return isinstance(value, np.floating) and abs(float(value) - number) <= 0.5 * float(np.spacing(abs(value)))


def _whole(name: str, value: Any) -> int:
    number = check.real(name, value)
    if not number.is_integer():
        raise InvalidInputError(f"{name}: expected a whole number, got {number}")
    return int(value) if isinstance(value, Integral) else int(number)
