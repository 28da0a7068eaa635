from typing import Any

import numpy as np
import pytest

from tests.test_space import bits
from uncubed.columns import Labels, Numbers, column_of

COLUMNS: dict[str, tuple[Any, type]] = {
    "floats": (np.array([0.1, -3.0, 0.7, 0.1]), Numbers),
    "small floats": (np.array([0.1, 0.2, 0.1], np.float32), Numbers),
    "integers": ([3, 1, 2**40], Numbers),
    "large integers": (np.array([2**63 + 7, 5], np.uint64), Numbers),
    "one number": ([4.0, 4.0], Numbers),
    "text": (np.array(["b", "a", "c", "b"]), Labels),
    "truth values": (np.array([True, False]), Labels),
    "one label": (["a", "a"], Labels),
    "mixed": ([1, "1", 1.0, True, None, (1, 2)], Labels),
}
every_column = pytest.mark.parametrize("name", COLUMNS)


@every_column
def test_a_value_has_the_place_of_its_row(name: str) -> None:
    values, kind = COLUMNS[name]
    column = column_of("c", values)
    assert isinstance(column, kind)
    places = column.places()
    for row in range(len(values)):
        value = column.value(row)
        assert bits(np.array(column.place(value))) == bits(places[row])
        assert column.equal(value, row)
        assert column.equal(value, slice(None)).tolist() == [
            type(other) is type(value) and other == value for other in map(column.value, range(len(values)))
        ]


@every_column
def test_coordinates_have_the_place_they_came_from(name: str) -> None:
    column = column_of("c", COLUMNS[name][0])
    places = column.places()
    U = column.coordinates(places)
    assert U.shape == (len(places), column.width)
    np.testing.assert_array_equal(column.rounded(U), places)
    if column.labelled:
        assert set(places) == set(range(column.labelled))
        np.testing.assert_array_equal(column.rounded(0.9 * U + 0.04), places)


def test_kinds_and_cells_tell_columns_apart_but_not_the_bytes_of_a_number() -> None:
    different = [column_of("c", values) for values, _ in COLUMNS.values()]
    assert len({(column.kind(), column.cells()) for column in different}) == len(different)
    small, large = (column_of("c", np.array([1, 200, 3], dtype)) for dtype in (np.uint8, np.int64))
    assert (small.kind(), small.cells()) == (large.kind(), large.cells())
