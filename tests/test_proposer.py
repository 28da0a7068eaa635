import math

import numpy as np
import pytest

from uncubed.acquisition import ExpectedImprovement, Selection, UpperConfidenceBound
from uncubed.actions import finite_beta
from uncubed.budget import Budget
from uncubed.candidates import Candidates
from uncubed.dimensions import Float, Int
from uncubed.errors import InvalidInputError
from uncubed.model import Model
from uncubed.proposer import Proposer
from uncubed.space import Space

SQUARE = Space({"x": Float(0.0, 1.0), "n": Int(0, 9)})
GRID = Space({"m": Int(0, 9), "n": Int(0, 9)})
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


def test_contenders_are_points_told_the_best_believed_first() -> None:
    p = proposer(SQUARE)
    rows, mean, variance = p.contenders()
    assert (np.diff(mean) <= 0.0).all()
    assert (variance >= 0.0).all()
    assert all(row in p.model.history for row in rows)
    p.model.tell(np.array([0.4, 1.0]), 50.0)
    assert p.contenders().rows[0].tolist() == [0.4, 1.0]


def test_when_nothing_is_worth_it_the_best_of_the_rest_is_proposed() -> None:
    p = proposer(GRID, budget=Budget.resolution(1e3))
    rng = np.random.default_rng(0)
    assert p.find(1, p.model.belief, rng, never) is None
    found = p.propose(1, p.model.belief, p.hold({}), rng, never)
    assert GRID.encode(GRID.decode(found.action)).tolist() == found.action.tolist()


def test_what_no_point_satisfies_is_said() -> None:
    p = proposer(GRID, constraints=[lambda _: False])
    assert len(p.first) == 0
    with pytest.raises(InvalidInputError, match="constraints: expected a point"):
        p.propose(1, p.model.belief, p.hold({}), np.random.default_rng(0), never)


def test_the_first_design_is_in_the_space_without_repeats_and_admissible() -> None:
    for space in (SQUARE, GRID, TABLE):
        first = proposer(space, constraints=[lambda q: next(iter(q.values())) > 0.2]).first
        assert len(np.unique(first, axis=0)) == len(first) > 0
        for u in first:
            assert space.encode(space.decode(u)).tolist() == u.tolist()


def test_no_point_told_has_a_better_lower_bound_than_the_contenders() -> None:
    p = proposer(SQUARE, told=150)
    mean, variance = p.model.belief.predict(p.model.belief.dictionary)
    known = p.contenders()
    assert len(known.mean) < p.model.belief.distinct
    assert float((mean - p.width() * np.sqrt(variance)).max()) <= p._floor() + 1e-9
    assert known.mean[0] == pytest.approx(float(mean.max()))
