"""A table to choose from, and the place of its rows in the unit cube."""

import hashlib
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from uncubed import _validation as check
from uncubed._typing import Array, ArrayLike
from uncubed.columns import column_of
from uncubed.errors import InvalidInputError
from uncubed.places import Places, Rows
from uncubed.space import Params, check_names, groups_of, named, slices_of


@final
class Candidates:
    """A table to choose a row from.

    Numbers are scaled to [0, 1] by the least and the largest of their column; a column of anything else is encoded as a
    `Categorical` of the values in it. Rows may repeat: those of the same coordinates count as the first of them.

    >>> table = Candidates([{"size": 10, "kind": "a"}, {"size": 30, "kind": "b"}, {"size": 20, "kind": "a"}])
    >>> table.X.tolist()
    [[0.0, 0.0], [1.0, 1.0], [0.5, 0.0]]
    >>> table.params(2), table.index({"size": 30, "kind": "b"})
    ({'size': 20, 'kind': 'a'}, 1)

    Args:
        rows: a 2-d array, whose columns are named x0, x1, ...; a list of dicts; or a data frame.

    Attributes:
        names: of the columns.
        width: coordinates of a row.
        groups: the column that each coordinate belongs to, shape (width,).
        numeric: the coordinates that are numbers, shape (width,).
    """

    def __init__(self, rows: Any) -> None:
        self._columns = {name: column_of(name, values) for name, values in _table(rows).items()}
        self.names = list(self._columns)
        widths = [column.width for column in self._columns.values()]
        self.width = sum(widths)
        self.groups = groups_of(widths)
        self.numeric = np.array([not column.labelled for column in self._columns.values()])[self.groups]
        self._slices = slices_of(widths)
        self._cells = np.column_stack([column.places() for column in self._columns.values()])

    def __repr__(self) -> str:
        return f"Candidates({len(self)} rows of {', '.join(self.names)})"

    def __len__(self) -> int:
        return len(self._cells)

    @property
    def size(self) -> int:
        """How many rows differ in their coordinates."""
        return len(self.different)

    @property
    def different(self) -> Rows:
        """The rows that have the coordinates of no row before them, shape (size,)."""
        return self._places.different

    @cached_property
    def X(self) -> Array:  # noqa: N802  as in the formulas
        """Coordinates of all rows, shape (n, width): much memory if rows and labels are many."""
        X = self.at(np.arange(len(self)))
        X.flags.writeable = False
        return X

    @cached_property
    def digest(self) -> str:
        """SHA-256 of names, kinds and values, labels by their `repr`: a study fits only the table it came from."""
        digest = hashlib.sha256(str(len(self)).encode())
        for name, column in self._columns.items():
            digest.update(repr((name, column.kind())).encode())
            digest.update(column.cells())
        return digest.hexdigest()

    # Rows

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
        place = np.array([column.place(params[name]) for name, column in self._columns.items()])
        for row in self._places.rows(place).tolist():
            # Numbers too near to each other for the scaling differ at one place.
            if all(column.equal(params[name], row) for name, column in self._columns.items()):
                return int(row)
        raise InvalidInputError(f"params: expected a row of the table, got {dict(params)!r}")

    def having(self, fixed: Mapping[str, Any]) -> NDArray[np.bool_]:
        """Which rows have these values, shape (n,).

        Raises:
            InvalidInputError: a name or a value is not of this table, or no row has all of them.
        """
        check_names("fixed", fixed, known=self._columns, needed=())
        has = np.ones(len(self), bool)
        for name, value in fixed.items():
            has &= self._columns[name].equal(value, slice(None))
        if not has.any():
            raise InvalidInputError(f"fixed: expected values of a row of the table, got {dict(fixed)!r}")
        return has

    # Coordinates

    def at(self, rows: Rows) -> Array:
        """The coordinates of some rows, shape (m, width)."""
        cells: Array = self._cells[rows]
        if self.width == len(self._columns):
            return cells
        return np.hstack([column.coordinates(cells[:, j]) for j, column in enumerate(self._columns.values())])

    def encode(self, params: Mapping[str, Any]) -> Array:
        """The coordinates of a row, shape (width,).

        Raises:
            InvalidInputError: as `index`.
        """
        u: Array = self.at(np.array([self.index(params)]))[0]
        return u

    def decode(self, u: ArrayLike) -> Params:
        """The first row at these coordinates, or nearest to them."""
        return self.params(self.row(u))

    def row(self, u: ArrayLike) -> int:
        """The number of the first row at these coordinates, or nearest to them."""
        return int(self.nearest(check.point("u", u, self.width)[None, :])[0])

    def snap(self, U: ArrayLike) -> Array:
        """Rows of coordinates moved to the nearest of the table, shape (m, width)."""
        return self.at(self.nearest(U))

    def sample(self, rng: np.random.Generator, n: int) -> Array:
        """Coordinates of random rows, shape (n, width)."""
        return self.at(self.different[rng.integers(self.size, size=n)])

    def nearest(self, U: ArrayLike) -> Rows:
        """The first row at each of these coordinates, or nearest to them when labels are rounded, shape (m,)."""
        return self._places.nearest(self._rounded(check.points("U", U, self.width)))

    def near(self, U: Array, n: int) -> Rows:
        """Some of the nearest different rows of each, found quickly, shape (m, at most n)."""
        return self._places.near(self._rounded(U), n)

    def _rounded(self, U: Array) -> Array:
        columns = zip(self._columns.values(), self._slices, strict=True)
        return np.column_stack([column.rounded(U[:, where]) for column, where in columns])

    @cached_property
    def _places(self) -> Places:
        return Places(self._cells, [column.labelled for column in self._columns.values()])


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
