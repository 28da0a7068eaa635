import math
from collections.abc import Callable

import numpy as np
import pytest

from uncubed._typing import Array
from uncubed.acquisition import ExpectedImprovement, NoisyImprovement, Selection, UpperConfidenceBound
from uncubed.actions import finite_beta
from uncubed.budget import Budget
from uncubed.candidates import Candidates
from uncubed.dimensions import Float, Int
from uncubed.errors import InvalidInputError
from uncubed.history import ENOUGH
from uncubed.model import Model
from uncubed.proposer import Proposer
from uncubed.region import Region
from uncubed.rippled import Rippled
from uncubed.space import Space
from uncubed.vicinity import EVERYWHERE, REACHES, WIDE, Place

SQUARE = Space({"x": Float(0.0, 1.0), "n": Int(0, 9)})
GRID = Space({"m": Int(0, 9), "n": Int(0, 9)})
BOX = Space({name: Float(0.0, 1.0) for name in "xyz"})
TABLE = Candidates(np.random.default_rng(0).random((4000, 2)))


def never(found: Selection) -> bool:
    return False


def proposer(space: Space | Candidates, told: int = 15, **options: object) -> Proposer:
    model = Model(space.groups)
    for u in space.sample(np.random.default_rng(1), told):
        model.tell(u, float(np.sin(4.0 * u[0]) + u[1]))
    given = {"acquisition": ExpectedImprovement(), "budget": Budget.constant(0.05), "constraints": (), "delta": 0.1}
    return Proposer(space, model, rng=np.random.default_rng(0), **{**given, **options})  # type: ignore[arg-type]


@pytest.mark.parametrize("space", [SQUARE, GRID, TABLE], ids=["mixed", "grid", "table"])
def test_the_bounds_enclose_what_is_known_and_differ_by_what_is_not(space: Space | Candidates) -> None:
    p = proposer(space)
    recommended, lower, upper, width = p.bounds(np.random.default_rng(0))
    known = p.contenders()
    assert lower >= float((known.mean - width * np.sqrt(known.variance)).max()) - 1e-9
    assert upper >= float((known.mean + width * np.sqrt(known.variance)).max()) - 1e-9
    X = space.sample(np.random.default_rng(2), 500)
    mean, variance = p.model.predict(X)
    if p.exhaustive:
        assert upper >= float((mean + width * np.sqrt(variance)).max()) - 1e-9
        assert upper - lower <= 2.0 * width * math.sqrt(variance.max()) + 1e-9
    at = p.model.predict(recommended[None, :])
    assert lower == pytest.approx(float(at.mean[0] - width * math.sqrt(at.variance[0])), abs=1e-6)


def test_the_width_is_that_of_a_finite_set_where_the_space_is_one() -> None:
    p = proposer(GRID)
    assert p.width() ** 2 == pytest.approx(finite_beta(100, 16, 0.1))
    assert proposer(SQUARE).width() > p.width()
    bound = proposer(GRID, acquisition=UpperConfidenceBound())
    assert bound._parameter(16, np.random.default_rng(0)) == pytest.approx(p.width())


def noisy(u: Array, rng: np.random.Generator) -> float:
    return float(np.sin(4.0 * u[0]) + u[1] + 0.2 * rng.standard_normal())


def told(value: Callable[[Array, np.random.Generator], float]) -> Proposer:
    p, rng = proposer(SQUARE, told=0), np.random.default_rng(0)
    for u in SQUARE.sample(rng, 40):
        p.model.tell(u, value(u, rng))
    return p


def say_again(p: Proposer, more: float) -> None:
    rows, values = p.model.history.actions[:ENOUGH].copy(), p.model.history.values[:ENOUGH].copy()
    for row, value in zip(rows, values, strict=True):
        p.model.tell(row, float(value + more), looked=True)


def test_the_twin_of_a_point_is_a_good_one_told_that_is_as_near_as_the_noise() -> None:
    p = told(noisy)
    assert p.model.unclear
    kernel, noise = p.model.belief.kernel, p.model.belief.noise_variance
    rows = p.contenders().rows
    twins = 0
    for u in SQUARE.sample(np.random.default_rng(1), 100):
        twin = p.twin(u)
        differences = 2.0 * (kernel.variance - kernel(u[None, :], rows)[0])
        assert (twin is None) == (differences.min() > noise)
        if twin is not None:
            twins += 1
            assert twin.tolist() == rows[differences.argmin()].tolist()
    assert 0 < twins < 100
    assert all(p.twin(row) is not None for row in rows)


def test_once_it_is_known_whether_values_are_noisy_points_have_no_twins() -> None:
    exact, differs, smooth = told(noisy), told(noisy), told(lambda u, _: float(np.sin(4.0 * u[0]) + u[1]))
    say_again(exact, 0.0)
    say_again(differs, 0.1)
    for p in (exact, differs, smooth):
        assert not p.model.unclear
        assert all(p.twin(row) is None for row in p.contenders().rows)


def test_where_values_are_known_to_be_noisy_a_suggestion_is_where_one_value_helps_most() -> None:
    p = told(noisy)
    assert p.model.noisy is False
    assert isinstance(p._aim(), ExpectedImprovement)
    first = p.model.history.actions[0].copy()
    p.model.tell(first, noisy(first, np.random.default_rng(5)))
    assert p.model.noisy
    aim = p._aim()
    assert isinstance(aim, NoisyImprovement)
    assert aim.noise_variance == p.model.belief.noise_variance
    found = proposed(p)
    at, xi = SQUARE.sample(np.random.default_rng(2), 300), float(p.contenders().mean[0])
    mean, variance = p.model.belief.predict(at)
    worth = p.worth(1).of(mean, variance)
    assert worth.any()
    assert found.score >= aim.value(mean, np.sqrt(variance), xi)[worth].max()
    given = proposer(SQUARE, acquisition=UpperConfidenceBound())
    given.model.tell(first, 0.0, noise=0.1)
    assert given._aim() is given.acquisition


def test_all_of_the_space_is_searched_in_turn_with_what_is_near_the_best() -> None:
    p = proposer(BOX, told=30)
    for turn, reach in enumerate(REACHES):
        region = near(p, turn) or Region.whole(3)
        assert (region.size < 1.0).any() == (reach < EVERYWHERE)
        for found in (proposed(p, turn), p.find(1, p.model.belief, np.random.default_rng(0), never, turn=turn)):
            everywhere = p._find(
                1, p.model.belief, p.hold({}), np.random.default_rng(0), worth=p.worth(1), otherwise=None
            )
            assert found is not None
            assert everywhere is not None
            np.testing.assert_allclose(region.nearest(found.action), found.action, rtol=0, atol=1e-12)
            assert found.score <= everywhere.score + 0.05  # the search is a quick one
            if reach == EVERYWHERE:
                assert found.action.tolist() == everywhere.action.tolist()


def test_where_parameters_are_held_all_else_may_be_anywhere() -> None:
    p = proposer(BOX, told=30)
    assert not any(p._places(turn, p.hold({"x": 0.3})) for turn in range(len(REACHES)))


def test_the_more_values_the_more_hills_they_may_tell_of() -> None:
    p = told(noisy)
    say_again(p, 0.0)
    kernel = p.model.belief.kernel
    assert isinstance(kernel, Rippled)
    scales = np.minimum(np.broadcast_to(kernel.length_scale, (2,)), 1.0)
    for turn, reach in enumerate(REACHES):
        hills = (reach / math.sqrt(scales.prod()) / kernel.ratio) ** 2
        many = WIDE <= reach < EVERYWHERE and hills > len(p.model.history) ** 2
        assert len(p._places(turn, p.hold({}))) == (reach < EVERYWHERE) + many


def near(p: Proposer, turn: int) -> Region | None:
    places = p._places(turn, p.hold({}))
    return places[-1].region if places else None


@pytest.mark.parametrize(
    "p",
    [proposer(GRID), proposer(TABLE), proposer(BOX, acquisition=UpperConfidenceBound()), proposer(BOX, told=0)],
    ids=["grid", "table", "bound", "nothing told"],
)
def test_what_is_looked_at_whole_or_chosen_by_a_bound_has_no_region(p: Proposer) -> None:
    assert all(near(p, turn) is None for turn in range(len(REACHES)))


def test_of_an_exact_function_what_was_told_is_known_whatever_the_model_has_forgotten() -> None:
    p = told(noisy)
    row = p.contenders().rows[0]
    forgotten, elsewhere = (Selection(x, 0.0, 1.0, 0.0, None) for x in (row, row + 1e-3))
    assert not p.is_known(forgotten)
    say_again(p, 0.0)
    assert p.is_known(forgotten)
    assert not p.is_known(elsewhere)


def test_what_is_known_near_the_best_is_left_for_what_is_not() -> None:
    p = proposer(BOX, told=30)

    closest = REACHES.index(min(REACHES))
    region = near(p, closest)
    assert region is not None

    def within(found: Selection) -> bool:
        return bool(np.abs(region.nearest(found.action) - found.action).max() < 1e-9)

    assert within(proposed(p, closest))
    assert not within(proposed(p, closest, repeats=within))


def test_where_a_place_asks_for_what_is_unknown_that_is_proposed_or_else_the_next_place(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    p = proposer(BOX, told=8)
    region, usual = near(p, 1), proposed(p, 1)
    assert region is not None
    for unknown in (1.2 * usual.variance, 1e9):
        places = [Place(region, unknown), Place(Region.whole(3))]
        monkeypatch.setattr(p, "_places", lambda turn, held, places=places: places)
        found = proposed(p, 1)
        assert (found.variance > unknown) == (unknown < 1e9)
        assert (region.nearest(found.action) == found.action).all() == (unknown < 1e9)


def proposed(p: Proposer, turn: int = 0, repeats: Callable[[Selection], bool] = never) -> Selection:
    return p.propose(1, p.model.belief, p.hold({}), np.random.default_rng(0), repeats, turn=turn)


def test_when_nothing_is_worth_it_the_best_of_the_rest_is_proposed() -> None:
    p = proposer(GRID, budget=Budget.resolution(1e3))
    rng = np.random.default_rng(0)
    assert p.find(1, p.model.belief, rng, never, turn=1) is None
    found = proposed(p, 1)
    assert GRID.encode(GRID.decode(found.action)).tolist() == found.action.tolist()


def test_what_no_point_satisfies_is_said() -> None:
    p = proposer(GRID, constraints=[lambda _: False])
    assert len(p.first) == 0
    with pytest.raises(InvalidInputError, match="constraints: expected a point"):
        proposed(p)


def test_the_first_design_is_in_the_space_without_repeats_and_admissible() -> None:
    for space in (SQUARE, GRID, TABLE):
        first = proposer(space, constraints=[lambda q: next(iter(q.values())) > 0.2]).first
        assert len(np.unique(first, axis=0)) == len(first) > 0
        for u in first:
            assert space.encode(space.decode(u)).tolist() == u.tolist()
