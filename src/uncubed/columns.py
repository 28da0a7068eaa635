"""One column of a table, and where its values are in the unit cube."""

from abc import ABC, abstractmethod
from numbers import Integral, Real
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from uncubed import _validation as check
from uncubed._typing import Array
from uncubed.dimensions import Categorical, is_missing, plain
from uncubed.errors import InvalidInputError

MOST_LABELS = 256
"""Most different values in a column of candidates that are not numbers: each has a coordinate."""


class Column(ABC):
    """One column of a table."""

    def __init__(self, name: str, width: int, labelled: int) -> None:
        self.name, self.width, self.labelled = name, width, labelled

    @abstractmethod
    def places(self) -> Array:
        """A number for each row, the same for values of the same coordinates, shape (n,)."""

    @abstractmethod
    def place(self, value: Any) -> float:
        """That number for a value."""

    @abstractmethod
    def coordinates(self, places: Array) -> Array:
        """Of such numbers, shape (m, width)."""

    @abstractmethod
    def rounded(self, U: Array) -> Array:
        """The number for coordinates, those of labels the nearest, shape (m,)."""

    @abstractmethod
    def value(self, row: int) -> Any:
        """What a row has."""

    @abstractmethod
    def equal(self, value: Any, rows: int | slice) -> Any:
        """Whether rows have this value."""

    @abstractmethod
    def kind(self) -> str:
        """Of the values."""

    @abstractmethod
    def cells(self) -> bytes:
        """Of all rows."""


@final
class Numbers(Column):
    """Integers, or floats if one of them is."""

    def __init__(self, name: str, values: NDArray[Any]) -> None:
        super().__init__(name, 1, 0)
        self.values = values.astype("<f8") + 0.0 if values.dtype.kind == "f" else values.astype(_integers(values))
        floats = self.values.astype(np.float64)
        wrong = ~(np.abs(floats) <= check.LARGEST)
        if wrong.any():
            check.real(_cell(int(wrong.argmax()), name), self.value(int(wrong.argmax())))
        self.low, high = float(floats.min()), float(floats.max())
        self.range = high - self.low if high > self.low else 1.0

    def places(self) -> Array:
        places: Array = (self.values.astype(np.float64) - self.low) / self.range
        return places

    def place(self, value: Any) -> float:
        return (float(self._number(value)) - self.low) / self.range

    def coordinates(self, places: Array) -> Array:
        return places[:, None]

    def rounded(self, U: Array) -> Array:
        return U[:, 0]

    def value(self, row: int) -> Any:
        return self.values[row].item()

    def equal(self, value: Any, rows: int | slice) -> Any:
        return self.values[rows] == self._number(value)

    def kind(self) -> str:
        return self.values.dtype.str

    def cells(self) -> bytes:
        return self.values.tobytes()

    def _number(self, value: Any) -> float | int:
        number = check.real(self.name, value)
        return int(value) if isinstance(value, Integral) else number


@final
class Labels(Column):
    """Anything else, by its place among the different values."""

    def __init__(self, name: str, values: list[Any]) -> None:
        keys = list(zip(map(type, values), values, strict=True))
        try:
            self.numbers = {key: i for i, key in enumerate(dict.fromkeys(keys))}
        except TypeError as error:
            raise InvalidInputError(f"{name}: expected numbers or values with a hash, got {error}") from error
        self.labels = np.fromiter(map(self.numbers.__getitem__, keys), "<i8", len(keys))
        different = [value for _, value in self.numbers]
        self._check(name, different)
        self.choice = Categorical(different)
        super().__init__(name, self.choice.width, self.choice.count)

    def _check(self, name: str, different: list[Any]) -> None:
        for i, value in enumerate(different):
            if is_missing(value):
                where = _cell(int((self.labels == i).argmax()), name)
                raise InvalidInputError(f"{where}: expected a value, got {value!r}")
        if len(different) > MOST_LABELS:
            kinds = ", ".join(sorted({type(value).__name__ for value in different}))
            raise InvalidInputError(
                f"{name}: expected numbers, or at most {MOST_LABELS} different values, got {len(different)} ({kinds})"
            )

    def places(self) -> Array:
        return self.labels.astype(np.float64)

    def place(self, value: Any) -> float:
        return float(self._label(value))

    def coordinates(self, places: Array) -> Array:
        return self.choice.places(places.astype(np.int64))

    def rounded(self, U: Array) -> Array:
        places: Array = np.rint(np.clip(U[:, 0], 0, self.choice.count - 1)) if self.width == 1 else U.argmax(axis=1)
        return places

    def value(self, row: int) -> Any:
        return self.choice.choices[int(self.labels[row])]

    def equal(self, value: Any, rows: int | slice) -> Any:
        return self.labels[rows] == self._label(value)

    def kind(self) -> str:
        return repr([(type(value).__qualname__, value) for value in self.choice.choices])

    def cells(self) -> bytes:
        return self.labels.tobytes()

    def _label(self, value: Any) -> int:
        value = plain(value)
        try:
            return self.numbers[type(value), value]
        except (KeyError, TypeError):  # the message is the choice's
            return self.choice.index(self.name, value)


def _integers(values: NDArray[Any]) -> str:
    """The type of 8 bytes that holds them."""
    return "<u8" if values.dtype.kind == "u" and values.size and values.max() > np.iinfo(np.int64).max else "<i8"


def column_of(name: str, values: NDArray[Any] | list[Any]) -> Column:
    """The column of these values: of numbers if all of them are."""
    if not isinstance(values, np.ndarray):
        return _listed(name, values)
    if values.dtype.kind in "fiu":
        return Numbers(name, values)
    if values.dtype.kind in "bOUST":
        return _listed(name, values.tolist())
    raise InvalidInputError(f"{name}: expected numbers, text, truth values or objects, got {values.dtype}")


def _listed(name: str, values: list[Any]) -> Column:
    if any(issubclass(kind, np.generic) for kind in set(map(type, values))):
        values = list(map(plain, values))
    kinds = set(map(type, values))
    if bool in kinds or not all(issubclass(kind, Real) for kind in kinds):
        return Labels(name, values)
    numbers = np.array(values)
    if numbers.dtype.kind == "O":  # beyond 64 bits, or fractions
        numbers = np.array([check.real(_cell(row, name), value) for row, value in enumerate(values)])
    return Numbers(name, numbers)


def _cell(row: int, name: str) -> str:
    return f"row {row}, column {name!r}"
