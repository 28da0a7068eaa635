import math
import warnings
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.helpers import EXPECTED_GOT, NOT_NUMBERS
from uncubed._typing import Array
from uncubed.dimensions import Bool, Categorical, Dimension, Float, Int
from uncubed.errors import InvalidInputError
from uncubed.space import Space

LABELS: list[Any] = [None, True, False, 1, 1.0, "1", "", (), (1,), ("a", None), 0, 2.5, b"1", frozenset({1})]

EXTREME: list[Dimension] = [
    Float(1e6, 1e6 + 1),
    Float(1e15, 1e15 + 1),
    Float(-1e-300, 1e-300),
    Float(0.0, 5e-324),
    Float(5e-324, 5e-323),
    Float(-8e307, 8e307),
    Float(1e-300, 1e300, log=True),
    Float(2.3e-308, 1.7e308, log=True),
    Float(1.0, 1.0 + 1e-9, log=True),
    Float(1.0, math.nextafter(1.0, 2.0), log=True),
    Float(1e300, 1e300 * (1 + 1e-15), log=True),
    Float(0, 0),
    Float(-0.0, 1),
    Float(-1, -0.0),
    Float(3.0, 3.0, log=True),
    Float(0.1, 0.75, step=0.1),
    Float(-1e-90, 1e-90, step=1e-92),
    Float(1e15, 1e15 + 8, step=2.0),
    Float(2.0, 2.0, step=1.0),
    Float(0.0, 1.0, step=3.0),
    Int(0, 10**15),
    Int(-(10**15), 0),
    Int(10**40, 10**40 + 10**30, step=10**20),
    Int(1, 10**12, log=True),
    Int(10**12, 10**12 + 10, log=True),
    Int(10**30, 10**33, step=10**20, log=True),
    Int(-7, 12, step=5),
    Int(4, 4),
    Int(4, 5, log=True),
    Int(0, 3, step=10),
    Categorical(["only"]),
    Categorical(LABELS),
    Bool(),
]


@st.composite
def floats(draw: st.DrawFn) -> Float:
    log = draw(st.booleans())
    ends = st.floats(1e-307 if log else -8e307, 8e307) | st.floats(1e-3 if log else -1e3, 1e3)
    low = draw(ends)
    near = st.integers(0, 2000).map(lambda n: low + n * math.ulp(low))
    low, high = sorted([low, draw(ends | near)])
    return Float(low, high, log=log)


@st.composite
def stepped(draw: st.DrawFn, most: int = 10**9) -> Float:
    step = float(f"{draw(st.integers(1, 999))}e{draw(st.integers(-9, 3))}")
    low = step * draw(st.integers(-9999, 9999)) if draw(st.booleans()) else draw(st.floats(-1e3, 1e3))
    high = low + step * draw(st.floats(0, most))
    assume(step >= 16 * math.ulp(max(abs(low), abs(high))))
    return Float(low, high, step=step)


@st.composite
def ints(draw: st.DrawFn, most: int = 10**12) -> Int:
    log, step = draw(st.booleans()), draw(st.integers(1, 9))
    low = draw(st.integers(1 if log else -most, most))
    return Int(low, low + draw(st.integers(0, most)), log=log, step=step)


small_ints = ints(most=40)
categories = st.lists(st.sampled_from(LABELS), min_size=1, unique_by=lambda v: (type(v), v)).map(Categorical)
names = st.text("abcxyz_", min_size=1, max_size=4)


def spaces(*kinds: st.SearchStrategy[Dimension]) -> st.SearchStrategy[Space]:
    searched = st.dictionaries(names.map(str.lower), st.one_of(*kinds), min_size=1, max_size=4)
    constants = st.dictionaries(names.map(str.upper), st.sampled_from(LABELS), max_size=2)
    return st.builds(lambda s, c: Space({**c, **s}), searched, constants)


some_spaces = spaces(floats(), stepped(), ints(), categories, st.just(Bool()), st.sampled_from(EXTREME))
seeds = st.integers(0, 2**32 - 1)


def bits(x: Array) -> bytes:
    return np.asarray(x, np.float64).tobytes()


def values(dimension: Dimension) -> list[Any]:
    return [dimension.decode(u) for u in dimension.every()]


def same(one: Any, other: Any) -> bool:
    return type(one) is type(other) and bool(one == other)


@given(some_spaces, seeds)
def test_what_is_decoded_encodes_to_the_same_place_to_the_last_bit(space: Space, seed: int) -> None:
    rng = np.random.default_rng(seed)
    for U in (space.sample(rng, 5), space.snap(rng.uniform(-0.2, 1.2, (5, space.width)))):
        for u in U:
            assert bits(space.encode(space.decode(u))) == bits(u)


@given(some_spaces, seeds)
def test_samples_and_what_is_snapped_are_inside_and_snapping_again_changes_nothing(space: Space, seed: int) -> None:
    rng = np.random.default_rng(seed)
    for U in (
        space.sample(rng, 5),
        space.snap(rng.uniform(-0.2, 1.2, (5, space.width))),
        space.snap(-np.zeros((1, space.width))),
    ):
        assert ((U >= 0) & (U <= 1)).all()
        assert not np.signbit(U).any()
        assert bits(space.snap(U)) == bits(U)


@given(some_spaces, seeds)
def test_any_place_decodes_as_the_one_it_snaps_to(space: Space, seed: int) -> None:
    for u in np.random.default_rng(seed).uniform(-0.2, 1.2, (3, space.width)):
        assert space.decode(u) == space.decode(space.snap([u])[0])


@given(floats(), st.data())
def test_a_told_float_decodes_to_one_of_the_same_place(dimension: Float, data: st.DataObject) -> None:
    told = data.draw(st.floats(dimension.low, dimension.high))
    place = dimension.encode("x", told)
    decoded = dimension.decode(place)
    assert type(decoded) is float
    assert dimension.low <= decoded <= dimension.high
    assert bits(dimension.encode("x", decoded)) == bits(place)


@given(st.integers(-99999, 99999), st.sampled_from([1e-3, 1.0, 1e3]))
def test_a_told_float_of_few_digits_comes_back_as_it_is(digits: int, unit: float) -> None:
    told = float(f"{digits * unit / 1e5:.5g}")
    dimension = Float(-unit, unit)
    assert dimension.decode(dimension.encode("x", told)) == told
    if told > 0:
        scaled = Float(1e-8, 1e3, log=True)
        assert scaled.decode(scaled.encode("x", told)) == told


@given(st.floats(0, 1))
def test_floats_are_spaced_evenly_or_as_their_logarithms(u: float) -> None:
    assert Float(-2, 3).decode(np.array([u])) == pytest.approx(5 * u - 2, rel=0, abs=1e-11)
    assert math.log10(Float(1e-4, 1e3, log=True).decode(np.array([u]))) == pytest.approx(7 * u - 4, rel=0, abs=1e-11)


@given(st.one_of(ints(), st.sampled_from([d for d in EXTREME if isinstance(d, Int)])), st.data())
def test_a_told_int_comes_back_as_it_is(dimension: Int, data: st.DataObject) -> None:
    last = dimension.count - 1
    index = data.draw(st.integers(0, last) | st.integers(max(0, last - 3), last))
    told = dimension.low + dimension.step * index
    assert same(dimension.decode(dimension.encode("x", told)), told)


@given(stepped(), st.data())
def test_a_told_multiple_comes_back_as_a_decimal_however_it_was_computed(dimension: Float, data: st.DataObject) -> None:
    assert dimension.count is not None
    assert dimension.step is not None
    index = data.draw(st.integers(0, dimension.count - 1))
    exact = float(Decimal(repr(dimension.low)) + index * Decimal(repr(dimension.step)))
    for told in (exact, dimension.low + index * dimension.step):
        assert dimension.decode(dimension.encode("x", told)) == exact
    assert dimension.low <= exact <= dimension.high
    with pytest.raises(InvalidInputError, match=r"x: expected a number from .* by"):
        dimension.encode("x", exact + 0.4 * dimension.step)


@given(stepped(most=50))
def test_a_step_of_a_real_number_ends_where_optuna_s_does(dimension: Float) -> None:
    optuna = pytest.importorskip("optuna")
    assume(dimension.step and dimension.step > 1e9 * math.ulp(max(abs(dimension.low), abs(dimension.high))))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        other = optuna.distributions.FloatDistribution(dimension.low, dimension.high, step=dimension.step)
    assert values(dimension)[-1] == other.high
    assert all(other._contains(value) for value in values(dimension))


@pytest.mark.parametrize(
    "dimension", [Int(0, 99), Int(1, 1000, log=True), Float(0.0, 5.0, step=0.1), Int(-4, 9, step=3)]
)
def test_near_a_value_are_those_by_powers_of_two_of_the_step(dimension: Int | Float) -> None:
    every = dimension.every()
    for index in (0, 3, len(every) - 1):
        near = [index + sign * 2**k for k in range(20) for sign in (-1, 1) if 0 <= index + sign * 2**k < len(every)]
        np.testing.assert_array_equal(dimension.near(every[index]), every[near])


@given(categories)
def test_each_choice_comes_back_with_its_type_and_no_two_are_nearer_than_others(dimension: Categorical) -> None:
    assert all(same(dimension.decode(dimension.encode("x", c)), c) for c in dimension.choices)
    U = dimension.every()
    distances = np.linalg.norm(U[:, None] - U[None], axis=-1)
    np.testing.assert_allclose(distances, 1.0 - np.eye(len(U)), atol=1e-15)


@given(small_ints, st.lists(st.floats(-0.1, 1.1), min_size=1, max_size=20))
def test_a_place_snaps_to_the_nearest_of_all(dimension: Int, places: list[float]) -> None:
    every, U = dimension.every()[:, 0], np.clip(np.array(places), 0, 1)
    distance = np.abs(dimension.snap(np.array(places)[:, None])[:, 0] - U)
    np.testing.assert_array_equal(distance, np.abs(every[:, None] - U).min(axis=0))


@given(small_ints)
def test_ints_are_spaced_evenly_or_as_their_logarithms(dimension: Int) -> None:
    numbers = values(dimension)
    assert numbers == list(range(dimension.low, dimension.high + 1, dimension.step))
    if len(numbers) > 1:
        scale = np.log(numbers) if dimension.log else np.array(numbers)
        even = (scale - scale[0]) / (scale[-1] - scale[0])
        np.testing.assert_allclose(dimension.every()[:, 0], even, atol=1e-12)
    each = np.concatenate([dimension.encode("x", number) for number in numbers])
    assert bits(each) == bits(dimension.every())


@given(spaces(ints(most=5), stepped(most=5), categories, st.just(Float(2, 2))))
def test_the_grid_has_every_point_once(space: Space) -> None:
    grid = space.grid()
    assert grid.shape == (space.size, space.width)
    assert len(np.unique(grid, axis=0)) == space.size
    assert bits(space.snap(grid)) == bits(grid)
    points = {tuple((type(v), v) for v in space.decode(u).values()) for u in grid[:200]}
    assert len(points) == min(200, len(grid))


def test_a_continuous_space_has_no_size_and_no_grid() -> None:
    space = Space({"n": Int(1, 3), "x": Float(0, 1)})
    assert space.size is None
    with pytest.raises(InvalidInputError, match="grid" + EXPECTED_GOT):
        space.grid()


@given(some_spaces)
def test_coordinates_of_one_parameter_share_a_group(space: Space) -> None:
    assert space.groups.shape == (space.width,)
    for i, (name, dimension) in enumerate(space.dimensions.items()):
        assert (space.groups[space.columns[name]] == i).all()
        assert (space.groups == i).sum() == dimension.width


@pytest.mark.parametrize("dimension", EXTREME, ids=repr)
def test_extreme_ranges_keep_their_ends(dimension: Dimension) -> None:
    u = np.zeros(dimension.width)
    first, last = dimension.decode(u), dimension.decode(u + np.arange(1, dimension.width + 1) / dimension.width)
    if isinstance(dimension, Float) and dimension.step is None:
        assert (first, last) == (dimension.low, dimension.high)
    if isinstance(dimension, Int):
        assert (first, last) == (dimension.low, dimension.low + dimension.step * (dimension.count - 1))
    if isinstance(dimension, Categorical):
        assert same(first, dimension.choices[0])
        assert same(last, dimension.choices[-1])


def test_no_zero_has_a_sign() -> None:
    for dimension in (Float(-0.0, 1.0), Float(-1.0, -0.0), Float(-0.0, -0.0)):
        assert not np.signbit([dimension.encode("x", -0.0)[0], dimension.decode(dimension.encode("x", -0.0))]).any()


def test_the_scalars_of_numpy_are_as_pythons() -> None:
    assert Int(1, 9).encode("n", np.int64(3)) == Int(1, 9).encode("n", 3)
    low, high, letters = np.float32(0.0), np.int64(9), np.array(["a", "b", "c"])
    dimension: Dimension
    for dimension in (Int(low, high), Float(low, high)):  # type: ignore[arg-type]
        assert repr(dimension) == repr(type(dimension)(0, 9))
        assert dimension.encode("n", np.uint8(3)) == dimension.encode("n", 3.0)
    assert Float(0, 1).encode("x", np.float32(0.5)) == Float(0, 1).encode("x", 0.5)
    assert Float(0, 1).encode("x", Fraction(1, 2)) == Float(0, 1).encode("x", np.array(0.5))
    assert Bool().encode("b", np.bool_(True)) == Bool().encode("b", True)
    three = Categorical(letters)  # type: ignore[arg-type]
    assert three == Categorical(["a", "b", "c"])
    assert bits(three.encode("c", np.str_("b"))) == bits(three.encode("c", "b"))
    assert Categorical([np.int64(1), np.int64(2)]).encode("c", 2) == 1.0


@given(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6))
def test_an_end_rounded_to_float32_is_still_that_end(one: float, other: float) -> None:
    dimension = Float(min(one, other), max(one, other))
    for end in (dimension.low, dimension.high):
        assert 0 <= dimension.encode("x", np.float32(end))[0] <= 1
    beyond = np.nextafter(np.float32(dimension.high), np.float32(np.inf))
    with pytest.raises(InvalidInputError, match="x" + EXPECTED_GOT):
        dimension.encode("x", np.nextafter(beyond, np.float32(np.inf)))


def test_constants_are_in_every_point_and_may_be_left_out() -> None:
    array = np.arange(3)
    space = Space({"k": 3, "x": Float(0, 1), "nan": math.nan, "a": array})
    point = space.decode([0.25])
    assert list(point) == ["k", "x", "nan", "a"]
    assert (point["k"], point["x"]) == (3, 0.25)
    for told in (point, {"x": 0.25}, {"x": 0.25, "k": np.int64(3)}, {"x": 0.25, "a": array.copy()}):
        assert space.encode(told) == 0.25


SPACE = Space({"lr": Float(1e-4, 1.0, log=True), "n": Int(1, 9, step=2), "act": Categorical(["a", "b", 1]), "k": 3})
GOOD = {"lr": 0.1, "n": 3, "act": "a", "k": 3}


def test_a_good_point_comes_back() -> None:
    assert SPACE.decode(SPACE.encode(GOOD)) == GOOD
    assert repr(SPACE).startswith("Space({'lr': Float(low=0.0001, high=1.0, log=True)")


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"depth": 3}, r"params: expected lr, n, act, k, got unknown depth"),
        ({7: 3}, r"params: expected lr, n, act, k, got unknown 7"),
        ({"lr": ...}, r"params: expected lr, n, act, k, got no lr"),
        ({"lr": ..., "n": ..., "z": 0}, r"params: expected lr, n, act, k, got unknown z and no lr, n"),
        ({"lr": 2.0}, r"lr: expected a number from 0.0001 to 1.0, got 2.0"),
        ({"lr": 0}, r"lr: expected a number from 0.0001 to 1.0, got 0.0"),
        ({"lr": math.nextafter(1.0, 2.0)}, r"lr: expected a number from 0.0001 to 1.0, got 1.0000000000000002"),
        ({"n": 2}, r"n: expected a whole number from 1 to 9 by 2, got 2"),
        ({"n": 11}, r"n: expected a whole number from 1 to 9 by 2, got 11"),
        ({"n": -1}, r"n: expected a whole number from 1 to 9 by 2, got -1"),
        ({"n": 2.5}, r"n: expected a whole number, got 2.5"),
        ({"act": True}, r"act: expected one of 'a', 'b', 1, got True"),
        ({"act": 1.0}, r"act: expected one of 'a', 'b', 1, got 1.0"),
        ({"k": 4}, r"k: expected the constant 3, got 4"),
        ({"k": 3.0}, r"k: expected the constant 3, got 3.0"),
    ],
    ids=str,
)
def test_a_wrong_point_raises(change: dict[Any, Any], text: str) -> None:
    point = {name: value for name, value in {**GOOD, **change}.items() if value is not ...}
    with pytest.raises(InvalidInputError, match=f"^{text}$"):
        SPACE.encode(point)


@pytest.mark.parametrize("bad", NOT_NUMBERS, ids=lambda v: f"{v!r:.12}")
@pytest.mark.parametrize("name", ["lr", "n", "act", "k"])
def test_a_value_of_another_kind_raises(name: str, bad: Any) -> None:
    with pytest.raises(InvalidInputError, match=name + EXPECTED_GOT):
        SPACE.encode({**GOOD, name: bad})


@pytest.mark.parametrize("bad", [None, "lr", [("lr", 1)], 3])
def test_what_is_not_a_mapping_raises(bad: Any) -> None:
    for call in (SPACE.encode, Space):
        with pytest.raises(InvalidInputError, match=EXPECTED_GOT + type(bad).__name__):
            call(bad)


def test_coordinates_of_another_shape_or_not_finite_raise() -> None:
    for bad in ([0.0] * 4, [math.nan] * 5, [["a"] * 5]):
        with pytest.raises(InvalidInputError, match="u" + EXPECTED_GOT):
            SPACE.decode(bad)
        with pytest.raises(InvalidInputError, match="U" + EXPECTED_GOT):
            SPACE.snap([bad])


WRONG: dict[str, Callable[[], Any]] = {
    "high: expected at least low = 2.0, got 1.0": lambda: Float(2, 1),
    "high: expected at least low = 2, got 1": lambda: Int(2, 1),
    "high: expected high - low to be finite, got -1e.308 and 1e.308": lambda: Float(-1e308, 1e308),
    "high: expected values at least .* of the range apart, got 10000000000000001 values": lambda: Int(0, 10**16),
    "high: expected values at least .* of the range apart on a log": lambda: Int(1, 10**15, log=True),
    "low: expected a positive number .* for its log, got 0.0": lambda: Float(0, 1, log=True),
    "low: expected a positive number .* for its log, got -3": lambda: Int(-3, 1, log=True),
    "low: expected a positive number .* for its log, got 5e-324": lambda: Float(5e-324, 1, log=True),
    "low: expected a finite number, got nan": lambda: Float(math.nan, 1),
    "high: expected a finite number, got inf": lambda: Float(0, math.inf),
    "high: expected a finite number, got nan": lambda: Int(0, math.nan),  # type: ignore[arg-type]
    "high: expected a whole number, got 2.5": lambda: Int(0, 2.5),  # type: ignore[arg-type]
    "low: expected a real number, got True of type bool": lambda: Int(True, 2),
    "low: expected a real number, got '0' of type str": lambda: Float("0", 2),  # type: ignore[arg-type]
    "step: expected an integer of at least 1, got 0": lambda: Int(0, 2, step=0),
    "step: expected a number above 0, got 0": lambda: Float(0, 2, step=0),
    "step: expected None for a logarithm, got 0.1": lambda: Float(1, 2, log=True, step=0.1),
    "step: expected at least 2, for values to be distinct, got 0.5": lambda: Float(1e15, 1e15 + 9, step=0.5),
    "log: expected bool, got int": lambda: Float(1, 2, log=1),  # type: ignore[arg-type]
    r"choices: expected a list of at least one choice, got \[\]": lambda: Categorical([]),
    "choices: expected a list of at least one choice, got 'abc'": lambda: Categorical("abc"),
    "choices: expected a list of at least one choice, got {1}": lambda: Categorical({1}),  # type: ignore[arg-type]
    "choices: expected each only once, got 'a' twice": lambda: Categorical(["a", "b", "a"]),
    "choices: expected each only once, got 1 twice": lambda: Categorical([np.int64(1), 1]),
    "choices: expected values that are equal to themselves, got nan": lambda: Categorical([1, math.nan]),
    "space: expected at least one parameter to search, got constants only": lambda: Space({"k": 3}),
    "space: expected names that are not empty, got ''": lambda: Space({"": Bool()}),
    "space: expected names that are not empty, got 3": lambda: Space({3: Bool()}),  # type: ignore[dict-item]
    r"b: expected Bool\(...\), got Bool without parentheses": lambda: Space({"b": Bool, "x": Float(0, 1)}),
    r"x: expected Float\(...\), got Float without parentheses": lambda: Space({"x": Float}),
}


@pytest.mark.parametrize("text", WRONG)
def test_a_wrong_space_raises(text: str) -> None:
    with pytest.raises(InvalidInputError, match=f"^{text}"):
        WRONG[text]()
