from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.helpers import EXPECTED_GOT, NOT_NUMBERS, NOT_POINTS
from uncubed import _validation as check
from uncubed.errors import InvalidInputError, UncubedError

NUMBERS: dict[Callable[[str, Any], float], list[float]] = {
    check.real: [],
    check.positive: [0.0, -0.0, -1e-300],
    check.non_negative: [-1e-300, -1.0],
    check.probability: [0.0, 1.0, -0.1, 1.1],
}


def name_of(value: Any) -> str:
    return value.__name__ if callable(value) else f"{value!r:.16}"


@pytest.mark.parametrize(
    ("function", "bad"), [(f, bad) for f, own in NUMBERS.items() for bad in [*own, *NOT_NUMBERS]], ids=name_of
)
def test_a_wrong_number_raises_with_its_name_expected_and_got(function: Callable[[str, Any], float], bad: Any) -> None:
    with pytest.raises(InvalidInputError, match="^thing" + EXPECTED_GOT):
        function("thing", bad)


@pytest.mark.parametrize("function", NUMBERS, ids=name_of)
@pytest.mark.parametrize("value", [0.5, np.float32(0.5), np.array(0.5), np.array([0.5]), Fraction(1, 2)], ids=name_of)
def test_any_real_number_becomes_a_float(function: Callable[[str, Any], float], value: Any) -> None:
    number = function("thing", value)
    assert type(number) is float
    assert number == 0.5


@pytest.mark.parametrize("edge", [check.LARGEST, -check.LARGEST, 0, 5e-324])
def test_the_edges_are_inside(edge: float) -> None:
    assert check.real("thing", edge) == edge


@pytest.mark.parametrize("bad", [0, -1, 1.0, True, np.True_, "3", None, np.nan, [1], np.array([1, 2])], ids=name_of)
def test_a_wrong_count_raises(bad: Any) -> None:
    with pytest.raises(InvalidInputError, match="^thing" + EXPECTED_GOT):
        check.count("thing", bad)


@pytest.mark.parametrize("value", [1, 7, np.int32(7), np.uint8(7)])
def test_any_integer_becomes_an_int(value: Any) -> None:
    assert type(check.count("thing", value)) is int
    assert check.count("thing", value) == value
    assert check.count("thing", 0, least=0) == 0


@pytest.mark.parametrize("bad", NOT_POINTS, ids=repr)
def test_what_is_not_a_point_raises_alone_and_among_points(bad: Any) -> None:
    with pytest.raises(InvalidInputError, match="^thing" + EXPECTED_GOT):
        check.point("thing", bad, 2)
    with pytest.raises(InvalidInputError, match="^thing" + EXPECTED_GOT):
        check.points("thing", [bad], 2)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e200])
def test_the_message_says_where_the_wrong_number_is(bad: float) -> None:
    X = np.zeros((4, 3))
    X[2, 1] = bad
    X[3, 0] = bad
    with pytest.raises(InvalidInputError, match=r"at \[2, 1\]"):
        check.points("thing", X)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, np.int64, np.uint8])
@pytest.mark.parametrize("order", ["C", "F"])
def test_any_real_array_becomes_contiguous_doubles_and_stays_as_it_was(dtype: type, order: Any) -> None:
    raw: NDArray[Any] = np.asarray(np.arange(6).reshape(2, 3), dtype=dtype, order=order)
    before = raw.copy()
    clean = check.points("thing", raw, 3)
    assert clean.dtype == np.float64
    assert clean.flags.c_contiguous
    np.testing.assert_array_equal(clean, before)
    np.testing.assert_array_equal(raw, before)
    assert np.shares_memory(clean, raw) == (dtype is np.float64 and order == "C")


def test_an_empty_set_of_points_is_a_set_of_points() -> None:
    assert check.points("thing", np.empty((0, 2)), 2).shape == (0, 2)


def test_an_invalid_input_is_a_value_error_and_ours() -> None:
    assert issubclass(InvalidInputError, ValueError)
    assert issubclass(InvalidInputError, UncubedError)
