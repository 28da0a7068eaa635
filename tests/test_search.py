import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from uncubed._typing import Array
from uncubed.acquisition import (
    Acquisition,
    ExpectedImprovement,
    PureExploitation,
    PureExploration,
    Selection,
    UpperConfidenceBound,
)
from uncubed.beliefs import Belief, ProjectedBelief
from uncubed.dimensions import Bool, Categorical, Float, Int
from uncubed.kernels import Matern52
from uncubed.region import Region
from uncubed.search import Held, Search, Worth
from uncubed.space import Params, Space

ACQUISITIONS: dict[str, tuple[Acquisition, float]] = {
    "improvement": (ExpectedImprovement(), 0.5),
    "bound": (UpperConfidenceBound(), 2.0),
    "exploration": (PureExploration(), 0.0),
    "exploitation": (PureExploitation(), 0.0),
}
every_acquisition = pytest.mark.parametrize("name", ACQUISITIONS)

MIXED = {
    "a square": Space({"x": Float(-1.0, 2.0), "y": Float(1e-3, 1e3, log=True)}),
    "mixed": Space({"x": Float(0.0, 1.0), "n": Int(1, 64, log=True), "c": Categorical(["a", "b", "c"]), "seed": 3}),
    "integers": Space({"n": Int(0, 7), "m": Int(-4, 4, step=2)}),
    "labels": Space({"b": Bool(), "c": Categorical([1, "1", 2.5, None])}),
    "with a single value": Space(
        {"x": Float(2.0, 2.0), "n": Int(3, 3), "y": Float(0.0, 1.0), "c": Categorical(["a", "b"])}
    ),
}
DISCRETE = {
    "a line": Space({"n": Int(0, 29)}),
    "a grid": Space({"n": Int(0, 11), "m": Int(0, 5)}),
    "a logarithmic line": Space({"n": Int(1, 1000, log=True)}),
    "switches": Space({name: Bool() for name in "abcdefg"}),
    "one label": Space({"c": Categorical(list("abcdefgh"))}),
    "labels and integers": Space({"c": Categorical(list("abcd")), "d": Categorical(list("abcde")), "n": Int(0, 8)}),
    "a large grid": Space({"n": Int(0, 39), "m": Int(0, 39)}),
}
COVERED = ("a line", "one label", "switches")
"""Spaces so small that the pool has every point."""


def known(space: Space, rng: np.random.Generator, n: int = 12, scale: float = 0.3) -> tuple[Belief, Array]:
    """A belief of some random values, and where they are."""
    belief = ProjectedBelief(Matern52(np.full(space.width, scale)), 1e-4)
    X = space.sample(rng, n)
    for x in X:
        belief.update(x, float(rng.normal()))
    return belief, X


def scores(name: str, belief: Belief, U: Array) -> Array:
    acquisition, parameter = ACQUISITIONS[name]
    mean, variance = belief.predict(U)
    return acquisition.value(mean, np.sqrt(variance), parameter)


def find(
    name: str, space: Space, belief: Belief, near: Array, seed: int = 0, *, worth: Worth | None = None, **options: Any
) -> Selection | None:
    acquisition, parameter = ACQUISITIONS[name]
    rng = np.random.default_rng(seed)
    return Search(space).maximise(acquisition, parameter, belief, rng, near=near, worth=worth or Worth(), **options)


def found(*args: Any, **options: Any) -> Selection:
    selection = find(*args, **options)
    assert selection is not None
    return selection


# What is found may be chosen


@settings(max_examples=60)
@given(
    where=st.sampled_from(list(MIXED)),
    name=st.sampled_from(list(ACQUISITIONS)),
    told=st.sampled_from([0, 1, 12]),
    seed=st.integers(0, 2**32 - 1),
)
def test_what_is_found_is_a_point_of_the_space_and_the_belief_is_quoted(
    where: str, name: str, told: int, seed: int
) -> None:
    space = MIXED[where]
    belief, near = known(space, np.random.default_rng(seed), told)
    before = belief.state()
    got = found(name, space, belief, near, seed)
    u = got.action[None, :]
    np.testing.assert_array_equal(space.snap(u), u)
    np.testing.assert_array_equal(space.encode(space.decode(got.action)), got.action)
    mean, variance = belief.predict(u)
    expected = mean[0], variance[0], scores(name, belief, u)[0]
    np.testing.assert_allclose((got.mean, got.variance, got.score), expected, rtol=1e-6, atol=1e-9)
    assert got.row is None
    assert belief.state() == before
    assert not got.action.flags.writeable


@settings(max_examples=60)
@given(where=st.sampled_from(list(MIXED)), seed=st.integers(0, 2**32 - 1), data=st.data())
def test_held_coordinates_stay(where: str, seed: int, data: st.DataObject) -> None:
    space = MIXED[where]
    rng = np.random.default_rng(seed)
    belief, near = known(space, rng)
    names = data.draw(st.sets(st.sampled_from(list(space.dimensions))))
    values, columns = space.sample(rng, 1)[0], np.zeros(space.width, bool)
    for name in names:
        columns[space.columns[name]] = True
    got = found("improvement", space, belief, near, held=Held(columns, values))
    np.testing.assert_array_equal(got.action[columns], values[columns])
    np.testing.assert_array_equal(space.snap(got.action[None, :])[0], got.action)
    chosen, given_params = space.decode(got.action), space.decode(values)
    assert all(chosen[name] == given_params[name] for name in names)


def test_of_a_space_that_is_all_held_there_is_one_point() -> None:
    space = MIXED["mixed"]
    belief, near = known(space, np.random.default_rng(0))
    values = space.sample(np.random.default_rng(1), 1)[0]
    got = found("bound", space, belief, near, held=Held(np.ones(space.width, bool), values))
    np.testing.assert_array_equal(got.action, values)


CONSTRAINTS: dict[str, tuple[str, Callable[[Params], bool]]] = {
    "half": ("a square", lambda p: p["x"] < 0.0),
    "a label": ("mixed", lambda p: p["c"] == "b" and p["n"] > 8),
    "parity": ("integers", lambda p: (p["n"] + p["m"] // 2) % 2 == 0),
}


def test_a_small_corner_that_alone_is_admissible_is_found() -> None:
    space = MIXED["a square"]
    for seed in range(10):
        belief, near = known(space, np.random.default_rng(seed))
        got = space.decode(found("bound", space, belief, near, admissible=corner).action)
        assert corner(got)


def corner(p: Params) -> bool:
    return bool(p["x"] > 1.7 and p["y"] > 100.0)


@every_acquisition
@pytest.mark.parametrize("rule", CONSTRAINTS)
@pytest.mark.parametrize("seed", range(3))
def test_what_is_found_is_admissible(name: str, rule: str, seed: int) -> None:
    where, admissible = CONSTRAINTS[rule]
    space = MIXED[where]
    belief, near = known(space, np.random.default_rng(seed))
    got = found(name, space, belief, near, seed, admissible=admissible)
    assert admissible(space.decode(got.action))
    some = space.sample(np.random.default_rng(7), 300)
    some = some[[admissible(space.decode(u)) for u in some]]
    assert got.score >= scores(name, belief, some).max() - 1e-6


def test_where_nothing_is_admissible_nothing_is_found() -> None:
    space = MIXED["mixed"]
    belief, near = known(space, np.random.default_rng(0))
    assert find("bound", space, belief, near, admissible=lambda p: False) is None
    assert find("bound", space, belief, near, admissible=lambda p: True) is not None


def test_a_constraint_that_excludes_nothing_changes_nothing() -> None:
    space = MIXED["mixed"]
    belief, near = known(space, np.random.default_rng(0))
    free = found("improvement", space, belief, near)
    ruled = found("improvement", space, belief, near, admissible=lambda p: True)
    np.testing.assert_array_equal(free.action, ruled.action)


# What is worth trying


@settings(max_examples=80)
@given(
    where=st.sampled_from([*MIXED, *COVERED]),
    name=st.sampled_from(list(ACQUISITIONS)),
    quantiles=st.tuples(st.floats(0.0, 1.1), st.floats(0.0, 1.1)),
    width=st.floats(0.0, 3.0),
    seed=st.integers(0, 2**32 - 1),
)
def test_what_is_found_is_worth_it_and_if_nothing_is_found_nothing_is(
    where: str, name: str, quantiles: tuple[float, float], width: float, seed: int
) -> None:
    space = MIXED[where] if where in MIXED else DISCRETE[where]
    rng = np.random.default_rng(seed)
    belief, near = known(space, rng)
    U = space.grid() if where in COVERED else space.sample(rng, 200)
    mean, variance = belief.predict(U)
    upper = mean + width * np.sqrt(variance)
    least, floor = (
        float(np.quantile(of, min(q, 1.0)) + 10.0 * max(q - 1.0, 0.0))
        for of, q in zip((variance, upper), quantiles, strict=True)
    )
    worth = Worth(least, width, floor)
    got = find(name, space, belief, near, seed, worth=worth)
    clear = (variance > least + 1e-9) & (upper > floor + 1e-9)  # beyond rounding
    if got is None:
        assert where not in COVERED or not clear.any()
    else:
        assert got.variance > least - 1e-12
        assert got.mean + width * math.sqrt(got.variance) >= floor - 1e-9
        if where in COVERED and clear.any():
            assert got.score >= scores(name, belief, U[clear]).max() - 1e-6


@pytest.mark.parametrize("where", MIXED)
def test_where_nothing_is_worth_it_nothing_is_found(where: str) -> None:
    space = MIXED[where]
    belief, near = known(space, np.random.default_rng(0))
    assert find("bound", space, belief, near, worth=Worth(variance=belief.kernel.variance)) is None
    assert find("bound", space, belief, near, worth=Worth(width=1.0, floor=100.0)) is None
    assert find("bound", space, belief, near, worth=Worth(variance=0.0, width=1.0, floor=-100.0)) is not None


@pytest.mark.parametrize("where", MIXED)
def test_where_nothing_is_worth_it_the_search_is_for_what_is_worth_it_otherwise(where: str) -> None:
    space = MIXED[where]
    belief, near = known(space, np.random.default_rng(1))
    nothing, something = Worth(variance=belief.kernel.variance), Worth(variance=1e-3)
    expected = found("bound", space, belief, near, worth=something)
    instead = found("bound", space, belief, near, worth=nothing, otherwise=something)
    first = found("bound", space, belief, near, worth=something, otherwise=Worth(variance=-1.0, floor=0.1))
    for got in (instead, first):
        np.testing.assert_array_equal(got.action, expected.action)
        assert got.score == expected.score
    assert find("bound", space, belief, near, worth=nothing, otherwise=nothing) is None


def test_worth_is_both_tests_and_a_bound_at_the_floor_passes() -> None:
    mean, variance = np.array([0.0, 0.0, 1.0, 1.0]), np.array([4.0, 1.0, 1.0, 0.25])
    assert Worth(0.5, 2.0, 3.0).of(mean, variance).tolist() == [True, False, True, False]
    assert Worth(1.0, 2.0, 3.0).of(mean, variance).tolist() == [True, False, False, False]
    assert Worth().of(mean, variance).all()


@pytest.mark.parametrize("where", DISCRETE)
@every_acquisition
def test_what_is_not_new_is_not_found(where: str, name: str) -> None:
    space = DISCRETE[where]
    U = space.grid()
    belief, near = known(space, np.random.default_rng(0))
    old = {u.tobytes() for u in U[::2]}
    got = found(name, space, belief, near, worth=Worth(new=lambda V: np.array([v.tobytes() not in old for v in V])))
    assert got.action.tobytes() not in old
    assert got.score <= scores(name, belief, U[1::2]).max() + 1e-9
    assert find(name, space, belief, near, worth=Worth(new=lambda V: np.zeros(len(V), bool))) is None


@pytest.mark.parametrize(
    "where",
    [
        "a grid",
        pytest.param(
            "labels and integers",
        ),
    ],
)
def test_the_last_point_of_a_discrete_space_that_is_not_known_is_found(where: str) -> None:
    space = DISCRETE[where]
    U = space.grid()
    missed = []
    for left in range(0, len(U), 5):
        belief, told = ProjectedBelief(Matern52(np.full(space.width, 0.1)), 1e-4), np.delete(U, left, axis=0)
        for x in told:
            belief.update(x, 0.0)
        got = find("improvement", space, belief, told, left, worth=Worth(1e-3))
        missed += [left] if got is None else []
        assert got is None or (got.action == U[left]).all()
    assert missed == []


# It is the largest


@pytest.mark.parametrize("where", DISCRETE)
@every_acquisition
def test_on_a_discrete_space_it_is_the_largest_of_all(where: str, name: str) -> None:
    space = DISCRETE[where]
    U, right = space.grid(), 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        belief, near = known(space, rng, int(rng.integers(0, 30)), float(rng.choice([0.1, 0.3, 1.0])))
        got, top = found(name, space, belief, near, seed), scores(name, belief, U).max()
        assert got.score <= top + 1e-6
        right += got.score >= top - 1e-6
    assert right >= (20 if where in COVERED else 19)


@pytest.mark.parametrize("where", ["a square", "mixed"])
@every_acquisition
def test_it_is_at_least_as_good_as_2000_random_points(where: str, name: str) -> None:
    space, right = MIXED[where], 0
    for seed in range(8):
        rng = np.random.default_rng(seed)
        belief, near = known(space, rng, 25, float(rng.choice([0.2, 0.5])))
        best = scores(name, belief, space.sample(rng, 2000)).max()
        right += found(name, space, belief, near, seed).score >= best
    assert right >= (8 if where == "a square" else 7)


def test_places_given_are_looked_at_and_around() -> None:
    space = Space({name: Float(0.0, 1.0) for name in "abcd"})
    place = space.snap(np.array([[0.31, 0.62, 0.13, 0.84]]))
    belief = ProjectedBelief(Matern52(np.full(4, 0.05)), 1e-4)
    belief.update(place[0], 5.0)
    search, rng = Search(space, steps=0), np.random.default_rng(0)
    there = search.maximise(PureExploitation(), 0.0, belief, rng, near=place, worth=Worth())
    assert there is not None
    np.testing.assert_array_equal(there.action, place[0])
    around = search.maximise(PureExploitation(), 0.0, belief, rng, near=place, worth=Worth(variance=0.01))
    elsewhere = search.maximise(PureExploitation(), 0.0, belief, rng, near=place[:0], worth=Worth())
    assert around is not None
    assert elsewhere is not None
    assert there.score > around.score > elsewhere.score


@pytest.mark.parametrize("name", ACQUISITIONS)
def test_what_is_found_within_a_region_lies_there_and_is_the_best_there(name: str) -> None:
    space = Space({name: Float(0.0, 1.0) for name in "abc"})
    for seed in range(6):
        rng = np.random.default_rng(seed)
        belief, near = known(space, rng, 25, 0.4)
        region = Region.around(near[0], np.array([0.05, 0.1, 0.2]))
        there = found(name, space, belief, near, seed, within=region)
        assert (there.action >= region.low - 1e-12).all()
        assert (there.action <= region.high + 1e-12).all()
        assert there.score >= scores(name, belief, region.filled(rng.random((500, 3)))).max() - 1e-3
        assert there.score <= found(name, space, belief, near, seed).score + 1e-3


@pytest.mark.parametrize("where", MIXED)
def test_all_of_the_cube_is_a_region_like_none(where: str) -> None:
    space = MIXED[where]
    belief, near = known(space, np.random.default_rng(0))
    whole = found("improvement", space, belief, near, within=Region.whole(space.width))
    assert whole.action.tolist() == found("improvement", space, belief, near).action.tolist()


def test_what_is_held_may_lie_outside_of_a_region() -> None:
    space = Space({"x": Float(0.0, 1.0), "y": Float(0.0, 1.0), "n": Int(0, 9)})
    belief, near = known(space, np.random.default_rng(0))
    region = Region.around(np.full(3, 0.2), np.full(3, 0.1))
    held = Search(space).hold({"y": 0.9})
    there = found("improvement", space, belief, near, within=region, held=held).action
    assert there[1] == pytest.approx(0.9)
    assert 0.1 - 1e-12 <= there[0] <= 0.3 + 1e-12


@pytest.mark.parametrize("where", MIXED)
def test_the_generator_settles_what_is_found(where: str) -> None:
    space = MIXED[where]
    belief, near = known(space, np.random.default_rng(0))
    runs = [found("improvement", space, belief, near, seed).action.tolist() for seed in (1, 1)]
    assert runs[0] == runs[1]
