import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.test_search import ACQUISITIONS, every_acquisition
from uncubed._typing import Array
from uncubed.acquisition import PureExploitation, Selection
from uncubed.beliefs import Belief, ProjectedBelief
from uncubed.candidates import Candidates
from uncubed.kernels import Matern52
from uncubed.search import Worth
from uncubed.table import TableSearch


def labelled(n: int, labels: int, seed: int = 0) -> Candidates:
    rng = np.random.default_rng(seed)
    kinds = [f"kind {i}" for i in rng.integers(labels, size=n)]
    return Candidates(
        [{"x": x, "n": int(10 * y), "kind": kind} for (x, y), kind in zip(rng.random((n, 2)), kinds, strict=True)]
    )


TABLES = {
    "a line": Candidates(np.linspace(-1.0, 5.0, 40)[:, None]),
    "a square": Candidates(np.random.default_rng(1).random((900, 2))),
    "repeats": Candidates(np.random.default_rng(1).integers(6, size=(3000, 3))),
    "labels": labelled(600, 4),
    "one row": Candidates([{"a": 1, "b": "x"}] * 3),
}
LARGE = {
    "a long line": Candidates(np.random.default_rng(2).random((20_000, 1)) ** 3),
    "a large square": Candidates(np.random.default_rng(2).random((20_000, 2))),
    "six columns": Candidates(np.random.default_rng(2).random((20_000, 6))),
    "many labels": labelled(20_000, 12),
    "a grid": Candidates(np.stack(np.meshgrid(*[np.arange(30)] * 3), axis=-1).reshape(-1, 3)),
}


def known(table: Candidates, rng: np.random.Generator, n: int = 25, scale: float = 0.3) -> tuple[Belief, Array]:
    """A belief of some random values, and where they are."""
    belief = ProjectedBelief(Matern52(np.full(table.width, scale)), 1e-4)
    X = table.sample(rng, n)
    for x in X:
        belief.update(x, float(rng.normal()))
    return belief, X


def scores(name: str, belief: Belief, U: Array) -> Array:
    acquisition, parameter = ACQUISITIONS[name]
    mean, variance = belief.predict(U)
    return acquisition.value(mean, np.sqrt(variance), parameter)


def find(
    name: str,
    table: Candidates,
    belief: Belief,
    near: Array,
    seed: int = 0,
    *,
    worth: Worth | None = None,
    whole: int = 2048,
    **more: Any,
) -> Selection | None:
    acquisition, parameter = ACQUISITIONS[name]
    search, rng = TableSearch(table, whole=whole), np.random.default_rng(seed)
    return search.maximise(acquisition, parameter, belief, rng, near=near, worth=worth or Worth(), **more)


def found(*args: Any, **more: Any) -> Selection:
    selection = find(*args, **more)
    assert selection is not None
    return selection


# What is found is a row


@settings(max_examples=40)
@given(
    where=st.sampled_from([*TABLES, *LARGE]),
    name=st.sampled_from(list(ACQUISITIONS)),
    told=st.sampled_from([0, 1, 12]),
    seed=st.integers(0, 2**32 - 1),
)
def test_what_is_found_is_a_row_and_the_belief_is_quoted(where: str, name: str, told: int, seed: int) -> None:
    table = {**TABLES, **LARGE}[where]
    belief, near = known(table, np.random.default_rng(seed), told)
    before = belief.state()
    got = found(name, table, belief, near, seed)
    assert got.row is not None
    np.testing.assert_array_equal(got.action, table.at(np.array([got.row]))[0])
    assert got.row == table.index(table.decode(got.action))
    mean, variance = belief.predict(got.action[None, :])
    assert (got.mean, got.variance) == (mean[0], variance[0])
    assert got.score == scores(name, belief, got.action[None, :])[0]
    assert belief.state() == before
    assert not got.action.flags.writeable


@pytest.mark.parametrize("where", ["a square", "six columns"])
def test_the_generator_settles_what_is_found(where: str) -> None:
    table = {**TABLES, **LARGE}[where]
    belief, near = known(table, np.random.default_rng(0))
    assert found("improvement", table, belief, near, 1).row == found("improvement", table, belief, near, 1).row


# It is the largest


@pytest.mark.parametrize("where", TABLES)
@every_acquisition
def test_in_a_small_table_it_is_the_largest_of_all(where: str, name: str) -> None:
    table = TABLES[where]
    for seed in range(5):
        belief, near = known(table, np.random.default_rng(seed))
        expected = scores(name, belief, table.X).max()
        assert found(name, table, belief, near, seed).score == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("where", LARGE)
@every_acquisition
def test_in_a_large_table_it_is_among_the_best_of_a_thousand(where: str, name: str) -> None:
    table = LARGE[where]
    for seed in range(3):
        belief, near = known(table, np.random.default_rng(seed), scale=(0.2, 0.5, 1.0)[seed])
        every = scores(name, belief, table.at(table.different))
        got = found(name, table, belief, near, seed)
        assert got.score >= np.quantile(every, 0.999)


@pytest.mark.parametrize("where", LARGE)
@every_acquisition
def test_the_largest_of_all_rows_is_that_of_one_look(where: str, name: str) -> None:
    table, (acquisition, parameter) = LARGE[where], ACQUISITIONS[name]
    belief, near = known(table, np.random.default_rng(3))
    every = scores(name, belief, table.at(table.different))
    got = TableSearch(table).largest(acquisition, parameter, belief, np.random.default_rng(0), near=near)
    assert got is not None
    assert got.score == pytest.approx(every.max(), abs=1e-6)
    assert got.action.tolist() == table.at(np.array([got.row]))[0].tolist()


def test_the_largest_of_all_admissible_rows() -> None:
    table = LARGE["a grid"]
    belief, near = known(table, np.random.default_rng(3))
    acquisition, parameter = ACQUISITIONS["bound"]
    ruled = TableSearch(table).largest(
        acquisition, parameter, belief, np.random.default_rng(0), near=near, admissible=lambda p: p["x0"] == 7
    )
    assert ruled is not None
    U = table.at(np.flatnonzero(table.having({"x0": 7})))
    assert ruled.score == pytest.approx(scores("bound", belief, U).max(), abs=1e-6)
    assert (
        TableSearch(table).largest(
            acquisition, parameter, belief, np.random.default_rng(0), near=near, admissible=lambda p: False
        )
        is None
    )


@pytest.mark.parametrize("where", LARGE)
def test_no_neighbour_is_better(where: str) -> None:
    table = LARGE[where]
    search, (acquisition, parameter) = TableSearch(table, pool=8, starts=2), ACQUISITIONS["bound"]
    for seed in range(10):
        rng = np.random.default_rng(seed)
        belief, near = known(table, rng)
        got = search.maximise(acquisition, parameter, belief, rng, near=near[:0], worth=Worth())
        assert got is not None
        neighbours = table.at(table.near(got.action[None, :], 8)[0])
        assert got.score >= scores("bound", belief, neighbours).max() - 1e-6


def test_a_far_hilltop_is_climbed_from_few_rows() -> None:
    table = LARGE["a long line"]
    for row in range(0, 2000, 100):
        belief = ProjectedBelief(Matern52(0.3), 1e-4)
        belief.update(table.at(np.array([row]))[0], 1.0)
        rng = np.random.default_rng(row)
        got = TableSearch(table, pool=8).maximise(
            PureExploitation(), 0.0, belief, rng, near=belief.dictionary[:0], worth=Worth()
        )
        assert got is not None
        assert got.row == row


def test_places_given_are_looked_at_and_around() -> None:
    table = LARGE["six columns"]
    belief = ProjectedBelief(Matern52(np.full(6, 0.05)), 1e-4)
    belief.update(table.at(np.array([5]))[0], 1.0)
    search, told = TableSearch(table, pool=64, steps=0), belief.dictionary
    there, around, elsewhere = (
        search.maximise(PureExploitation(), 0.0, belief, np.random.default_rng(0), near=near, worth=worth)
        for near, worth in ((told, Worth()), (told, Worth(0.01)), (told[:0], Worth(0.01)))
    )
    assert there is not None
    assert around is not None
    assert elsewhere is not None
    assert there.row == 5
    assert there.score > around.score > elsewhere.score


# What is worth trying


@settings(max_examples=40)
@given(
    where=st.sampled_from([*TABLES, *LARGE]),
    name=st.sampled_from(list(ACQUISITIONS)),
    quantiles=st.tuples(st.floats(0.0, 1.01), st.floats(0.0, 1.01)),
    width=st.floats(0.0, 3.0),
    seed=st.integers(0, 2**32 - 1),
)
def test_something_is_found_if_and_only_if_some_row_is_worth_it(
    where: str, name: str, quantiles: tuple[float, float], width: float, seed: int
) -> None:
    table = {**TABLES, **LARGE}[where]
    belief, near = known(table, np.random.default_rng(seed))
    mean, variance = belief.predict(table.at(table.different))
    upper = mean + width * np.sqrt(variance)
    least, floor = (
        float(np.quantile(of, min(q, 1.0)) + 10.0 * max(q - 1.0, 0.0))
        for of, q in zip((variance, upper), quantiles, strict=True)
    )
    got = find(name, table, belief, near, seed, worth=Worth(least, width, floor))
    clear = (variance > least + 1e-9) & (upper > floor + 1e-9)  # beyond rounding
    if got is None:
        assert not clear.any()
    else:
        assert got.variance > least - 1e-9
        assert got.mean + width * math.sqrt(got.variance) >= floor - 1e-9


@pytest.mark.parametrize("where", LARGE)
def test_the_one_row_worth_trying_is_found(where: str) -> None:
    table = LARGE[where]
    belief, near = known(table, np.random.default_rng(0))
    mean, variance = belief.predict(table.at(table.different))
    upper = np.sort(mean + 2.0 * np.sqrt(variance))
    only = Worth(width=2.0, floor=float(upper[-2:].mean()))
    got = found("exploration", table, belief, near[:0], worth=only)
    assert got.row == table.different[(mean + 2.0 * np.sqrt(variance)).argmax()]


@pytest.mark.parametrize("whole", [10, 10**6], ids=["a pool", "all rows"])
@pytest.mark.parametrize("where", LARGE)
def test_a_row_that_is_not_new_is_not_found(where: str, whole: int) -> None:
    table = LARGE[where]
    belief, near = known(table, np.random.default_rng(0))
    best = found("bound", table, belief, near, whole=whole)

    def but_for_the_best(U: Array) -> NDArray[np.bool_]:
        new: NDArray[np.bool_] = (best.action != U).any(axis=1)
        return new

    other = found("bound", table, belief, near, whole=whole, worth=Worth(new=but_for_the_best))
    assert other.row != best.row
    assert find("bound", table, belief, near, worth=Worth(new=lambda U: np.zeros(len(U), bool))) is None


def test_a_repeat_is_found_where_it_is_the_best() -> None:
    table = LARGE["a large square"]
    belief = ProjectedBelief(Matern52(np.full(2, 0.2)), 0.5)  # noisy
    belief.update(table.at(np.array([77]))[0], 3.0)
    got = TableSearch(table).maximise(
        PureExploitation(), 0.0, belief, np.random.default_rng(0), near=belief.dictionary, worth=Worth(0.1)
    )
    assert got is not None
    assert got.row == 77


# What may be chosen


@settings(max_examples=40)
@given(
    where=st.sampled_from(["repeats", "labels", "many labels", "a grid"]),
    seed=st.integers(0, 2**32 - 1),
    data=st.data(),
)
def test_held_values_stay(where: str, seed: int, data: st.DataObject) -> None:
    table = {**TABLES, **LARGE}[where]
    rng = np.random.default_rng(seed)
    belief, near = known(table, rng)
    row = table.params(int(rng.integers(len(table))))
    fixed = {name: row[name] for name in data.draw(st.sets(st.sampled_from(table.names)))}
    held = TableSearch(table).hold(fixed)
    got = found("bound", table, belief, near, seed, held=held, whole=data.draw(st.sampled_from([0, 2048])))
    assert fixed.items() <= table.decode(got.action).items()
    every = scores("bound", belief, table.at(np.flatnonzero(table.having(fixed))))
    assert got.score >= np.quantile(every, 0.99) - 1e-9


@every_acquisition
@pytest.mark.parametrize("where", ["labels", "many labels"])
def test_what_is_found_is_admissible(name: str, where: str) -> None:
    table = {**TABLES, **LARGE}[where]
    belief, near = known(table, np.random.default_rng(0))
    got = table.decode(
        found(name, table, belief, near, admissible=lambda p: p["kind"] == "kind 2" and p["n"] < 3).action
    )
    assert (got["kind"], got["n"] < 3) == ("kind 2", True)


@pytest.mark.parametrize("where", ["a square", "six columns"])
def test_a_single_admissible_row_is_found_and_none_where_there_is_none(where: str) -> None:
    table = {**TABLES, **LARGE}[where]
    belief, near = known(table, np.random.default_rng(0))
    only = table.params(321)
    assert found("bound", table, belief, near, admissible=lambda p: p == only).row == 321
    assert find("bound", table, belief, near, admissible=lambda p: False) is None
    free, ruled = (found("bound", table, belief, near, admissible=rule).row for rule in (None, lambda p: True))
    assert free == ruled


@pytest.mark.parametrize("where", ["a square", "six columns"])
def test_where_no_row_may_be_chosen_nothing_is_found(where: str) -> None:
    table = {**TABLES, **LARGE}[where]
    belief, near = known(table, np.random.default_rng(0))
    assert find("bound", table, belief, near, held=np.zeros(len(table), bool)) is None
