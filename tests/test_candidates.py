import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers import EXPECTED_GOT
from tests.test_space import LABELS, bits, names, same
from uncubed.candidates import Candidates
from uncubed.columns import MOST_LABELS
from uncubed.dimensions import Categorical
from uncubed.errors import InvalidInputError


class Frame:
    """As much of a data frame as is used."""

    def __init__(self, columns: dict[Any, Any]) -> None:
        self.data, self.columns = columns, list(columns)

    def __getitem__(self, name: str) -> Any:
        return self.data[name]

    def __len__(self) -> int:
        return len(next(iter(self.data.values()), []))


cells = st.integers(-3, 3) | st.floats(-2, 2, width=16) | st.sampled_from([*LABELS, np.int8(2), np.str_("a")])
tables = st.integers(1, 8).flatmap(
    lambda n: st.dictionaries(
        names,
        st.lists(cells, min_size=n, max_size=n)
        | st.lists(st.integers(-9, 9), min_size=n, max_size=n)
        | st.lists(st.booleans(), min_size=n, max_size=n),
        min_size=1,
        max_size=4,
    )
)


def rows_of(table: dict[str, list[Any]]) -> list[dict[str, Any]]:
    return [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]


@given(tables)
def test_rows_come_back_and_are_found(table: dict[str, list[Any]]) -> None:
    rows = rows_of(table)
    candidates = Candidates(rows)
    assert len(candidates) == len(rows)
    for i, row in enumerate(rows):
        assert candidates.params(i) == row
        first = candidates.index(candidates.params(i))
        assert first == candidates.index(row) <= i
        assert bits(candidates.X[first]) == bits(candidates.X[i])
    distinct = {tuple((type(v), v) for v in candidates.params(i).values()) for i in range(len(rows))}
    assert len(np.unique(candidates.X, axis=0)) == len(distinct)


@given(tables)
def test_coordinates_of_candidates_are_in_the_cube_and_grouped_by_column(table: dict[str, list[Any]]) -> None:
    candidates = Candidates(rows_of(table))
    X = candidates.X
    assert X.shape == (len(candidates), candidates.width)
    assert ((X >= 0) & (X <= 1)).all()
    assert not X.flags.writeable
    assert sorted(set(candidates.groups)) == list(range(len(table)))
    for j, name in enumerate(table):
        alone = Candidates([{name: value} for value in table[name]])
        assert bits(X[:, candidates.groups == j]) == bits(alone.X)


@given(tables)
def test_a_frame_is_as_its_rows(table: dict[str, list[Any]]) -> None:
    objects = {name: np.empty(len(values), object) for name, values in table.items()}
    for name, values in table.items():
        objects[name][:] = values
    rows, frame = Candidates(rows_of(table)), Candidates(Frame(objects))
    assert bits(frame.X) == bits(rows.X)
    assert [frame.params(i) for i in range(len(rows))] == [rows.params(i) for i in range(len(rows))]


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int16, np.uint64, bool, object, str])
def test_an_array_is_as_its_rows(dtype: Any) -> None:
    array = np.random.default_rng(3).integers(2, 7, (20, 3)).astype(dtype)
    rows = Candidates([{f"x{j}": value for j, value in enumerate(row)} for row in array.tolist()])
    candidates = Candidates(array)
    assert bits(candidates.X) == bits(rows.X)
    assert all(same(candidates.params(4)[name], value) for name, value in rows.params(4).items())
    assert candidates.index(rows.params(4)) == rows.index(candidates.params(4))


def test_numbers_are_scaled_and_anything_else_is_as_a_categorical() -> None:
    kinds = ["a", "b", "c", "a"]
    candidates = Candidates(Frame({"n": np.array([5, 1, 3, 5]), "kind": np.array(kinds), "one": np.full(4, -0.0)}))
    assert candidates.X[:, 0].tolist() == [1.0, 0.0, 0.5, 1.0]
    choice = Categorical(["a", "b", "c"])
    assert bits(candidates.X[:, 1:4]) == bits(np.array([choice.encode("kind", kind) for kind in kinds]))
    assert bits(candidates.X[:, 4]) == bits(np.zeros(4))
    assert candidates.groups.tolist() == [0, 1, 1, 1, 2]
    assert repr(candidates) == "Candidates(4 rows of n, kind, one)"


def test_what_is_given_may_change_later() -> None:
    array = np.eye(3)
    candidates = Candidates(array)
    array[:] = 7.0
    assert candidates.params(0) == {"x0": 1.0, "x1": 0.0, "x2": 0.0}


def test_whole_numbers_beyond_the_floats_are_told_apart() -> None:
    candidates = Candidates([{"n": 2**60}, {"n": 2**60 + 1}, {"n": np.int64(0)}])
    assert [candidates.index({"n": 2**60 + 1}), candidates.params(1)["n"]] == [1, 2**60 + 1]
    assert Candidates([{"n": 10**30}, {"n": Fraction(1, 2)}]).X.tolist() == [[1.0], [0.0]]


TABLE = Candidates([{"n": 1, "kind": "a"}, {"n": 2, "kind": "b"}])


@pytest.mark.parametrize(
    ("params", "text"),
    [
        ({"n": 1, "kind": "b"}, r"params: expected a row of the table, got \{'n': 1, 'kind': 'b'\}"),
        ({"n": 3, "kind": "b"}, r"params: expected a row of the table, got .*"),
        ({"n": 1, "kind": "c"}, r"kind: expected one of 'a', 'b', got 'c'"),
        ({"n": "1", "kind": "a"}, r"n: expected a real number, got '1' of type str"),
        ({"n": True, "kind": "a"}, r"n: expected a real number, got True of type bool"),
        ({"n": math.nan, "kind": "a"}, r"n: expected a finite number, got nan"),
        ({"n": 1}, r"params: expected n, kind, got no kind"),
        ({"n": 1, "kind": "a", "z": 1}, r"params: expected n, kind, got unknown z"),
        ([1, "a"], r"params: expected a mapping of names to values, got list"),
    ],
    ids=str,
)
def test_what_is_not_a_row_raises(params: Any, text: str) -> None:
    with pytest.raises(InvalidInputError, match=f"^{text}$"):
        TABLE.index(params)


@pytest.mark.parametrize("bad", [2, -1, 0.0, None])
def test_a_wrong_index_raises(bad: Any) -> None:
    with pytest.raises(InvalidInputError, match="index" + EXPECTED_GOT):
        TABLE.params(bad)


class Unsure:
    """As pandas' NA: whether it equals itself is not known."""

    def __ne__(self, other: object) -> Any:
        return self

    __hash__ = object.__hash__

    def __bool__(self) -> bool:
        raise TypeError


MANY = MOST_LABELS + 1

WRONG_ROWS: list[tuple[Any, str]] = [
    ([{"a": 1.0, "b": 2}, {"a": math.nan, "b": 2}], "row 1, column 'a': expected a finite number, got nan"),
    (np.array([[0.0, 1.0], [1.0, np.inf]]), "row 1, column 'x1': expected a finite number, got inf"),
    ([{"a": 1}, {"a": 10**400}], "row 1, column 'a': expected a finite number, got inf"),
    ([{"a": 1}, {"a": -1e101}], "row 1, column 'a': expected a magnitude of at most 1e.100, got -1e.101"),
    ([{"a": "x"}, {"a": "y"}, {"a": math.nan}], "row 2, column 'a': expected a value, got nan"),
    (Frame({"a": np.array([1, Unsure()], object)}), "row 1, column 'a': expected a value, got "),
    ([{"a": 1}, {"a": [1]}], "a: expected numbers or values with a hash, got unhashable type: 'list'"),
    ([{"a": 1, "b": 2}, {"a": 1}], "row 1: expected a, b, got no b"),
    ([{"a": 1}, {"a": 1, "b": 2}], "row 1: expected a, got unknown b"),
    ([{"a": 1}, {"b": 1}], "row 1: expected a, got unknown b and no a"),
    ([{"a": 1}, 3], "row 1: expected a mapping of names to values, got int"),
    ([{}], "rows: expected at least one row of one column, got 1 of 0"),
    (np.zeros((0, 2)), "rows: expected at least one row of one column, got 0 of 2"),
    ([], "rows: expected a 2-d array, a list of dicts or a data frame, got list of shape"),
    (np.zeros(3), "rows: expected a 2-d array, a list of dicts or a data frame, got ndarray of shape"),
    ([[1, "a"]], "rows: expected a 2-d array, a list of dicts or a data frame, got list of shape"),
    (None, "rows: expected a 2-d array, a list of dicts or a data frame, got NoneType"),
    ([[1, 2], [3]], "rows: expected an array with 2 axes, got a ragged sequence"),
    (np.zeros((2, 1), complex), "x0: expected numbers, text, truth values or objects, got complex128"),
    ([{"": 1}], "rows: expected names that are not empty, got ''"),
    (Frame({0: np.zeros(2)}), "rows: expected names that are not empty, got 0"),
    (
        [{"id": None}, *({"id": i} for i in range(MANY))],
        rf"id: expected numbers, or at most {MOST_LABELS} different values, got {MANY + 1} \(NoneType, int\)",
    ),
]


@pytest.mark.parametrize(("rows", "text"), WRONG_ROWS, ids=[text[:40] for _, text in WRONG_ROWS])
def test_a_wrong_table_raises(rows: Any, text: str) -> None:
    with pytest.raises(InvalidInputError, match=f"^{text}"):
        Candidates(rows)


def test_columns_of_one_name_raise() -> None:
    frame = Frame({"a": np.zeros(2)})
    frame.columns = ["a", "a"]
    with pytest.raises(InvalidInputError, match=r"^rows: expected columns of different names, got "):
        Candidates(frame)


# As a space


@given(tables, st.integers(0, 2**32 - 1))
def test_encode_and_decode_are_inverse_and_rows_stay_where_they_are(table: dict[str, list[Any]], seed: int) -> None:
    candidates = Candidates(rows_of(table))
    X, rng = candidates.X, np.random.default_rng(seed)
    assert bits(candidates.snap(X)) == bits(X)
    for i, u in enumerate(X):
        params = candidates.params(i)
        assert bits(candidates.encode(params)) == bits(u)
        assert rows_equal(candidates.decode(u), params)
        assert candidates.row(u) == candidates.index(params)
    anywhere = rng.random((5, candidates.width))
    snapped, some = candidates.snap(anywhere), candidates.sample(rng, 5)
    assert {row.tobytes() for row in np.vstack([snapped, some])} <= {row.tobytes() for row in X}
    assert bits(candidates.at(candidates.nearest(anywhere))) == bits(snapped)


def rows_equal(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return one.keys() == other.keys() and all(same(one[name], other[name]) for name in one)


@given(tables)
def test_the_size_counts_places_and_each_has_its_first_row(table: dict[str, list[Any]]) -> None:
    candidates = Candidates(rows_of(table))
    _, first = np.unique(candidates.X, axis=0, return_index=True)
    assert candidates.size == len(first)
    assert candidates.different.tolist() == sorted(first)
    assert candidates.names == list(table)


def test_every_place_is_sampled() -> None:
    candidates = Candidates(np.array([[1.0], [1.0], [1.0], [2.0], [3.0]]))
    some = candidates.sample(np.random.default_rng(0), 3000)[:, 0]
    assert [round(float((some == u).mean()), 1) for u in (0.0, 0.5, 1.0)] == [0.3, 0.3, 0.3]


@given(tables, st.data())
def test_rows_that_have_given_values(table: dict[str, list[Any]], data: st.DataObject) -> None:
    rows = rows_of(table)
    candidates = Candidates(rows)
    names_held = data.draw(st.sets(st.sampled_from(list(table))))
    chosen = candidates.params(data.draw(st.integers(0, len(rows) - 1)))
    fixed = {name: chosen[name] for name in names_held}
    expected = [all(same(candidates.params(i)[n], v) for n, v in fixed.items()) for i in range(len(rows))]
    assert candidates.having(fixed).tolist() == expected


@pytest.mark.parametrize(
    ("fixed", "text"),
    [
        ({"n": 1, "kind": "b"}, r"fixed: expected values of a row of the table, got \{'n': 1, 'kind': 'b'\}"),
        ({"n": 7}, r"fixed: expected values of a row of the table, got \{'n': 7\}"),
        ({"kind": "c"}, r"kind: expected one of 'a', 'b', got 'c'"),
        ({"z": 1}, r"fixed: expected n, kind, got unknown z"),
    ],
)
def test_fixed_values_of_no_row_raise(fixed: Any, text: str) -> None:
    with pytest.raises(InvalidInputError, match=f"^{text}$"):
        TABLE.having(fixed)


CHANGED = {
    "a number": ([{"n": 1, "k": "a"}, {"n": 3, "k": "b"}]),
    "a kind of number": ([{"n": 1.0, "k": "a"}, {"n": 2.0, "k": "b"}]),
    "a label": ([{"n": 1, "k": "a"}, {"n": 2, "k": "c"}]),
    "which row has a label": ([{"n": 1, "k": "a"}, {"n": 2, "k": "a"}]),
    "a kind of label": ([{"n": 1, "k": "a"}, {"n": 2, "k": b"b"}]),
    "a name": ([{"n": 1, "kk": "a"}, {"n": 2, "kk": "b"}]),
    "the order of rows": ([{"n": 2, "k": "b"}, {"n": 1, "k": "a"}]),
    "a row more": ([{"n": 1, "k": "a"}, {"n": 2, "k": "b"}, {"n": 2, "k": "b"}]),
}


@pytest.mark.parametrize("what", CHANGED)
def test_the_digest_changes_with(what: str) -> None:
    assert Candidates(CHANGED[what]).digest != Candidates([{"n": 1, "k": "a"}, {"n": 2, "k": "b"}]).digest


@given(st.integers(0, 11), st.integers(0, 2), st.floats(-1.0, 1.0))
def test_the_digest_changes_with_any_cell(row: int, column: int, value: float) -> None:
    array = np.random.default_rng(0).random((12, 3))
    before = Candidates(array).digest
    assert Candidates(array.tolist()).digest == before
    changed = array[row, column] != value
    array[row, column] = value
    assert (Candidates(array).digest != before) == changed


def test_a_frame_of_pandas_is_as_its_rows() -> None:
    pandas = pytest.importorskip("pandas")
    rows = [{"n": 1, "x": 0.5, "kind": "a", "on": True}, {"n": 2, "x": 0.25, "kind": "b", "on": False}]
    frame, listed = Candidates(pandas.DataFrame(rows)), Candidates(rows)
    assert bits(frame.X) == bits(listed.X)
    assert [frame.params(i) for i in (0, 1)] == rows
    assert frame.index(rows[1]) == 1
    assert frame.digest == listed.digest
