"""Choices without an order, and when two values are the same."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from uncubed import _validation as check
from uncubed._typing import Array
from uncubed.dimensions.base import Dimension
from uncubed.errors import InvalidInputError


@final
@dataclass(frozen=True)
class Categorical(Dimension):
    """One of some choices, none nearer to one than to another.

    >>> Categorical(["adam", "sgd"]).decode(np.array([0.7]))
    'sgd'

    Args:
        choices: at least one, each once; 1, 1.0, True and "1" are different.
    """

    choices: Sequence[Any]

    def __post_init__(self) -> None:
        check.clean(self, "choices", _distinct)

    @property
    def width(self) -> int:
        return self.count if self.count > 2 else 1

    @property
    def count(self) -> int:
        return len(self.choices)

    def encode(self, name: str, value: Any) -> Array:
        places: Array = self.places(np.array([self.index(name, value)]))[0]
        return places

    def decode(self, u: Array) -> Any:
        return self.choices[int(self._nearest(np.array([u]))[0])]

    def snap(self, U: Array) -> Array:
        return self.places(self._nearest(U))

    def sample(self, rng: np.random.Generator, n: int) -> Array:
        return self.places(rng.integers(self.count, size=n))

    def every(self) -> Array:
        return self.places(np.arange(self.count))

    def index(self, name: str, value: Any) -> int:
        """Which choice a value is."""
        for index, choice in enumerate(self.choices):
            if same(choice, value):
                return index
        known = ", ".join(map(repr, self.choices[:8])) + (", ..." if self.count > 8 else "")
        raise InvalidInputError(f"{name}: expected one of {known}, got {value!r}")

    def places(self, index: NDArray[np.int64]) -> Array:
        """One coordinate for two choices; for more one each, at distances of 1 from each other; shape (n, width)."""
        if self.width == 1:
            return index[:, None].astype(float)
        places = np.zeros((len(index), self.width))
        places[np.arange(len(index)), index] = math.sqrt(0.5)
        return places

    def _nearest(self, U: Array) -> NDArray[np.int64]:
        if self.width == 1:
            return np.rint(np.clip(U[:, 0], 0, self.count - 1)).astype(np.int64)
        nearest: NDArray[np.int64] = U.argmax(axis=1)
        return nearest


def Bool() -> Categorical:  # noqa: N802  reads as the other kinds do
    """False or True."""
    return Categorical((False, True))


def _distinct(name: str, choices: Any) -> tuple[Any, ...]:
    listed = choices.tolist() if isinstance(choices, np.ndarray) else choices
    if isinstance(listed, str | bytes) or not isinstance(listed, Sequence) or not listed:
        raise InvalidInputError(f"{name}: expected a list of at least one choice, got {choices!r}")
    for i, choice in enumerate(listed):
        if is_missing(choice):
            raise InvalidInputError(f"{name}: expected values that are equal to themselves, got {choice!r}")
        if any(same(choice, other) for other in listed[:i]):
            raise InvalidInputError(f"{name}: expected each only once, got {choice!r} twice")
    return tuple(listed)


def same(one: Any, other: Any) -> bool:
    """Equal and of one kind: True is not 1, and 1 is not 1.0, but NumPy's scalars are as Python's."""
    one, other = plain(one), plain(other)
    if one is other:
        return True
    if isinstance(one, np.ndarray):
        return type(other) is np.ndarray and np.array_equal(one, other)
    return type(one) is type(other) and bool(one == other)


def plain(value: Any) -> Any:
    """NumPy's scalars as Python's."""
    return value.item() if isinstance(value, np.number | np.bool_ | np.str_) else value


def is_missing(value: Any) -> bool:
    """Whether a value is not equal to itself: NaN, NaT, pandas' NA."""
    try:
        return bool(value != value)  # noqa: PLR0124
    except TypeError:
        return True
    except ValueError:  # an array
        return False
