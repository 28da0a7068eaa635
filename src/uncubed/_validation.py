"""Checks at the border: each returns a clean value or raises with what was expected and what came."""

import math
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any

import numpy as np

from uncubed._typing import Array, ArrayLike
from uncubed.errors import InvalidInputError

LARGEST = 1e100
"""Largest magnitude accepted for a value or a coordinate, and largest inverse of a positive number: the square of a
value divided by a noise variance is still finite."""


def real(name: str, value: Any) -> float:
    """A finite real number of magnitude at most `LARGEST`."""
    if type(value) is float and -LARGEST <= value <= LARGEST:  # the way of every round
        return value
    if isinstance(value, np.ndarray) and value.size == 1:
        value = value.item()
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real):
        raise InvalidInputError(f"{name}: expected a real number, got {value!r} of type {type(value).__name__}")
    try:
        number = float(value)
    except OverflowError:  # an int beyond the floats
        number = math.inf
    if not math.isfinite(number):
        raise InvalidInputError(f"{name}: expected a finite number, got {number}")
    if abs(number) > LARGEST:
        raise InvalidInputError(f"{name}: expected a magnitude of at most {LARGEST:g}, got {number:g}")
    return number


def kind(name: str, value: Any, *kinds: type) -> Any:
    """An object of one of these kinds."""
    if not isinstance(value, kinds):
        expected = " or ".join(k.__name__ for k in kinds)
        raise InvalidInputError(f"{name}: expected {expected}, got {type(value).__name__}")
    return value


def clean(record: Any, name: str, checked: Callable[[str, Any], Any]) -> None:
    """Check a field of a frozen dataclass and keep what the check returns."""
    object.__setattr__(record, name, checked(name, getattr(record, name)))


def positive(name: str, value: Any) -> float:
    """A number above zero, between 1/LARGEST and LARGEST."""
    number = real(name, value)
    if number <= 0:
        raise InvalidInputError(f"{name}: expected a number above 0, got {number:g}")
    if number < 1.0 / LARGEST:
        raise InvalidInputError(f"{name}: expected a number of at least {1.0 / LARGEST:g}, got {number:g}")
    return number


def optional(name: str, value: Any, checked: Callable[[str, Any], Any]) -> Any:
    """None, or what the check returns."""
    return None if value is None else checked(name, value)


def non_negative(name: str, value: Any) -> float:
    """A finite number of at least zero."""
    number = real(name, value)
    if number < 0:
        raise InvalidInputError(f"{name}: expected a number of at least 0, got {number:g}")
    return number


def probability(name: str, value: Any) -> float:
    """A number strictly between 0 and 1."""
    number = real(name, value)
    if not 0 < number < 1:
        raise InvalidInputError(f"{name}: expected a number between 0 and 1 (both excluded), got {number:g}")
    return number


def count(name: str, value: Any, *, least: int = 1) -> int:
    """An integer of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise InvalidInputError(f"{name}: expected an integer, got {value!r} of type {type(value).__name__}")
    if value < least:
        raise InvalidInputError(f"{name}: expected an integer of at least {least}, got {value}")
    return int(value)


def index(name: str, value: Any, size: int) -> int:
    """A row of a table of `size` rows."""
    if type(value) is int and 0 <= value < size:  # the way of every round
        return value
    number = count(name, value, least=0)
    if number >= size:
        raise InvalidInputError(f"{name}: expected an integer below {size}, got {number}")
    return number


def array(name: str, values: ArrayLike, *, ndim: int) -> Array:
    """A finite float64 array with `ndim` axes; copies only when it must."""
    try:
        raw = np.asarray(values)
    except ValueError as error:
        raise InvalidInputError(f"{name}: expected an array with {ndim} axes, got a ragged sequence") from error
    if raw.dtype.kind not in "fiu":
        raise InvalidInputError(f"{name}: expected real numbers, got dtype {raw.dtype}")
    if raw.ndim != ndim:
        raise InvalidInputError(f"{name}: expected ndim = {ndim}, got ndim = {raw.ndim} (shape {raw.shape})")
    result = np.ascontiguousarray(raw, dtype=np.float64)
    if result.size and not np.abs(result).max() <= LARGEST:
        at = np.unravel_index(int(np.argmax(~(np.abs(result) <= LARGEST))), result.shape)
        where = ", ".join(str(int(i)) for i in at)
        raise InvalidInputError(
            f"{name}: expected finite numbers of magnitude at most {LARGEST:g}, got {result[at]} at [{where}]"
        )
    return result


def points(name: str, values: ArrayLike, dimension: int | None = None) -> Array:
    """Rows of points, shape (n, dimension)."""
    X = array(name, values, ndim=2)
    if dimension is not None and X.shape[1] != dimension:
        raise InvalidInputError(f"{name}: expected shape (n, {dimension}), got {X.shape}")
    return X


def point(name: str, value: ArrayLike, dimension: int) -> Array:
    """One point, shape (dimension,)."""
    x = array(name, value, ndim=1)
    if x.shape != (dimension,):
        raise InvalidInputError(f"{name}: expected shape ({dimension},), got {x.shape}")
    return x
