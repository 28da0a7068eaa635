"""A table to choose from, and the place of its rows in the unit cube."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from uncubed import _validation as check
from uncubed._typing import Array
from uncubed.dimensions import Categorical, is_missing, plain
from uncubed.errors import InvalidInputError
from uncubed.space import Params, check_names, groups_of, named, slices_of

MOST_LABELS = 256
"""Most different values in a column of candidates that are not numbers: each has a coordinate."""


@final
class Candidates:
    """A table to choose a row from.

    Numbers are scaled to [0, 1] by the least and the largest of their column; a column of anything else is encoded as a
    `Categorical` of the values in it. Rows may repeat.

    >>> table = Candidates([{"size": 10, "kind": "a"}, {"size": 30, "kind": "b"}, {"size": 20, "kind": "a"}])
    >>> table.X.tolist()
    [[0.0, 0.0], [1.0, 1.0], [0.5, 0.0]]
    >>> table.params(2), table.index({"size": 30, "kind": "b"})
    ({'size': 20, 'kind': 'a'}, 1)

    Args:
        rows: a 2-d array, whose columns are named x0, x1, ...; a list of dicts; or a data frame.

    Attributes:
        X: coordinates of the rows, shape (n, width).
        width: coordinates of a row.
        groups: the column that each coordinate belongs to, shape (width,).
    """

    def __init__(self, rows: Any) -> None:
        self._columns = {name: _column(name, values) for name, values in _table(rows).items()}
        widths = [column.width for column in self._columns.values()]
        self.width = sum(widths)
        self.groups = groups_of(widths)
        self.X: Array = np.empty((len(rows), self.width))
        for column, where in zip(self._columns.values(), slices_of(widths), strict=True):
            self.X[:, where] = column.places()
        self.X.flags.writeable = False

    def __repr__(self) -> str:
        return f"Candidates({len(self)} rows of {', '.join(self._columns)})"

    def __len__(self) -> int:
        return len(self.X)

    def params(self, index: int) -> Params:
        """A row, by name."""
        row = check.index("index", index, len(self))
        return {name: column.value(row) for name, column in self._columns.items()}

    def index(self, params: Mapping[str, Any]) -> int:
        """The first row that is equal.

        Raises:
            InvalidInputError: a name or a value is not of this table, or none of its rows is equal.
        """
        check_names("params", params, known=self._columns, needed=self._columns)
        equal = np.logical_and.reduce([column.equal(params[name]) for name, column in self._columns.items()])
        if not equal.any():
            raise InvalidInputError(f"params: expected a row of the table, got {dict(params)!r}")
        return int(equal.argmax())


class _Column(ABC):
    """One column of a table."""

    def __init__(self, name: str, width: int) -> None:
        self.name, self.width = name, width

    @abstractmethod
    def places(self) -> Array:
        """Coordinates of every row, shape (n, width)."""

    @abstractmethod
    def value(self, row: int) -> Any:
        """What a row has."""

    @abstractmethod
    def equal(self, value: Any) -> NDArray[np.bool_]:
        """Whether each row has this value, shape (n,)."""


@final
class _Numbers(_Column):
    """Integers, or floats if one of them is."""

    def __init__(self, name: str, values: NDArray[Any]) -> None:
        super().__init__(name, 1)
        self.values = values.astype(np.float64) + 0.0 if values.dtype.kind == "f" else values.copy()
        wrong = ~(np.abs(self.values.astype(np.float64)) <= check.LARGEST)
        if wrong.any():
            check.real(_cell(int(wrong.argmax()), name), self.value(int(wrong.argmax())))

    def places(self) -> Array:
        values = self.values.astype(np.float64)
        low, high = values.min(), values.max()
        places: Array = ((values - low) / (high - low if high > low else 1.0))[:, None]
        return places

    def value(self, row: int) -> Any:
        return self.values[row].item()

    def equal(self, value: Any) -> NDArray[np.bool_]:
        number = check.real(self.name, value)
        equal: NDArray[np.bool_] = self.values == (int(value) if isinstance(value, Integral) else number)
        return equal


@final
class _Labels(_Column):
    """Anything else, by its place among the different values."""

    def __init__(self, name: str, values: list[Any]) -> None:
        keys = list(zip(map(type, values), values, strict=True))
        try:
            number = {key: i for i, key in enumerate(dict.fromkeys(keys))}
        except TypeError as error:
            raise InvalidInputError(f"{name}: expected numbers or values with a hash, got {error}") from error
        self.labels = np.fromiter(map(number.__getitem__, keys), np.int64, len(keys))
        different = [value for _, value in number]
        self._check(name, different)
        self.choice = Categorical(different)
        super().__init__(name, self.choice.width)

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
        return self.choice.places(self.labels)

    def value(self, row: int) -> Any:
        return self.choice.choices[int(self.labels[row])]

    def equal(self, value: Any) -> NDArray[np.bool_]:
        equal: NDArray[np.bool_] = self.labels == self.choice.index(self.name, value)
        return equal


def _column(name: str, values: NDArray[Any] | list[Any]) -> _Column:
    if not isinstance(values, np.ndarray):
        return _listed(name, values)
    if values.dtype.kind in "fiu":
        return _Numbers(name, values)
    if values.dtype.kind in "bOUST":
        return _listed(name, values.tolist())
    raise InvalidInputError(f"{name}: expected numbers, text, truth values or objects, got {values.dtype}")


def _listed(name: str, values: list[Any]) -> _Column:
    if any(issubclass(kind, np.generic) for kind in set(map(type, values))):
        values = list(map(plain, values))
    kinds = set(map(type, values))
    if bool in kinds or not all(issubclass(kind, Real) for kind in kinds):
        return _Labels(name, values)
    numbers = np.array(values)
    if numbers.dtype.kind == "O":  # beyond 64 bits, or fractions
        numbers = np.array([check.real(_cell(row, name), value) for row, value in enumerate(values)])
    return _Numbers(name, numbers)


def _table(rows: Any) -> dict[str, Any]:
    """The columns of a table by name."""
    if hasattr(rows, "columns"):  # a data frame
        names = list(rows.columns)
        if len(set(names)) < len(names):
            raise InvalidInputError(f"rows: expected columns of different names, got {names}")
        table = {name: np.asarray(rows[name]) for name in names}
    elif isinstance(rows, Sequence) and len(rows) and isinstance(rows[0], Mapping):
        table = _transposed(rows)
    else:
        table = _numbered(rows)
    if not len(rows) or not table:
        raise InvalidInputError(f"rows: expected at least one row of one column, got {len(rows)} of {len(table)}")
    return named(table, "rows")


def _transposed(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    names = rows[0].keys()
    for i, row in enumerate(rows):
        if type(row) is not dict or row.keys() != names:
            check_names(f"row {i}", row, known=names, needed=names)
    return {name: [row[name] for row in rows] for name in names}


def _numbered(rows: Any) -> dict[str, Any]:
    try:
        raw = np.asarray(rows)
    except ValueError as error:
        raise InvalidInputError("rows: expected an array with 2 axes, got a ragged sequence") from error
    if raw.ndim != 2 or (raw.dtype.kind not in "fiub" and raw is not rows):
        got = f"{type(rows).__name__} of shape {raw.shape} and dtype {raw.dtype}"
        raise InvalidInputError(f"rows: expected a 2-d array, a list of dicts or a data frame, got {got}")
    return {f"x{j}": raw[:, j] for j in range(raw.shape[1])}


def _cell(row: int, name: str) -> str:
    return f"row {row}, column {name!r}"
