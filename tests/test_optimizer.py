import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers import EXPECTED_GOT, NOT_NUMBERS
from uncubed.acquisition import ExpectedImprovement, PureExploration, ThompsonSampling, UpperConfidenceBound
from uncubed.budget import Budget
from uncubed.candidates import Candidates
from uncubed.dimensions import Bool, Categorical, Float, Int
from uncubed.errors import InvalidInputError, UnknownDecisionError
from uncubed.history import ENOUGH
from uncubed.optimizer import Optimizer
from uncubed.proposer import Proposer
from uncubed.records import Suggestion
from uncubed.space import Params, Space
from uncubed.vicinity import REACHES

Objective = Callable[[Params], float]

SQUARE = {"x": Float(-1.0, 2.0), "y": Float(1e-3, 1e3, log=True)}
MIXED = {"x": Float(0.0, 1.0), "n": Int(1, 64, log=True), "c": Categorical(["a", "b", "c"]), "seed": 3}
GRID = {"n": Int(0, 11), "m": Int(0, 5)}
LABELS = {"c": Categorical(["a", "b", "c"]), "n": Int(0, 9)}
LINE = {"n": Int(0, 29)}
SMALL = {"b": Bool(), "n": Int(-2, 4, step=2), "c": Categorical([1, "1", None])}
SPACES: dict[str, Mapping[str, Any]] = {"square": SQUARE, "mixed": MIXED, "grid": GRID, "small": SMALL}

CONSTRAINTS: dict[str, Callable[[Params], bool]] = {
    "square": lambda p: p["x"] < 1.0 or p["y"] < 1.0,
    "mixed": lambda p: p["c"] != "b" or p["n"] > 4,
    "grid": lambda p: (p["n"] + p["m"]) % 2 == 0,
    "small": lambda p: not (p["b"] and p["c"] is None),
}

PROBLEMS: dict[str, tuple[Mapping[str, Any], Objective]] = {
    "a hill": (GRID, lambda p: -((p["n"] - 8) ** 2) / 20.0 - (p["m"] - 2) ** 2 / 5.0),
    "a wave": (LINE, lambda p: math.sin(p["n"] / 4.0)),
    "a slope": (LINE, lambda p: 0.3 * p["n"]),
    "labels": (LABELS, lambda p: (p["c"] == "b") - 0.2 * abs(p["n"] - 3)),
}


def cone(p: Params) -> float:
    return -abs(float(p["x"]) - 0.4) - 0.1 * abs(math.log10(p["y"]))


def run(opt: Optimizer, f: Objective, steps: int) -> list[Params]:
    """Ask and tell by hand: what was suggested."""
    asked = []
    for _ in range(steps):
        suggestion = opt.ask()
        opt.tell(suggestion, float(f(suggestion.params)))
        asked.append(suggestion.params)
    return asked


def every(opt: Optimizer) -> list[Params]:
    assert isinstance(opt.space, Space)
    return [opt.space.decode(u) for u in opt.space.grid()]


def state(opt: Optimizer) -> tuple[Any, ...]:
    """All that a refused call must leave as it was."""
    model = opt._model
    pending, failures = list(opt.pending), len(opt.failures)
    return model.belief.state(), len(model.history), pending, failures, opt._outlook.rng.bit_generator.state["state"]


# What is suggested


operations = st.lists(
    st.tuples(
        st.sampled_from(["ask", "ask", "tell", "tell", "fail", "fixed", "enqueue", "outside"]),
        st.integers(0, 2**32 - 1),
    ),
    min_size=1,
    max_size=30,
)


class Driver:
    """Plays operations, and checks each suggestion."""

    def __init__(self, where: str, seed: int) -> None:
        self.rule = CONSTRAINTS[where]
        self.opt = Optimizer(SPACES[where], constraints=[self.rule], seed=seed)
        self.out: list[Suggestion] = []
        self.told = self.failed = 0

    def random_point(self, rng: np.random.Generator) -> Params:
        space = self.opt.space
        points: list[Params] = [space.decode(u) for u in space.sample(rng, 100)]
        return next(p for p in points if self.rule(p))

    def ask(self, fixed: Params | None = None) -> Params:
        suggestion = self.opt.ask(fixed=fixed)
        self.out.append(suggestion)
        params, space = suggestion.params, self.opt.space
        np.testing.assert_array_equal(space.encode(params), suggestion.decision.action)
        assert space.decode(suggestion.decision.action) == params
        assert self.rule(params)
        assert self.opt.pending[suggestion.id] is suggestion
        return params

    def play(self, what: str, number: int) -> None:
        rng = np.random.default_rng(number)
        if what == "ask":
            self.ask()
        elif what == "fixed":
            point = self.random_point(rng)
            names = [name for name in self.opt.space.names if rng.random() < 0.5]
            params = self.ask(fixed={name: point[name] for name in names})
            assert all(params[name] == point[name] for name in names)
        elif what == "enqueue":
            point = self.random_point(rng)
            self.opt.enqueue(point)
            assert self.ask() == point
        elif what == "outside":
            self.opt.tell(self.random_point(rng), float(rng.normal()))
            self.told += 1
        elif self.out and what == "tell":
            self.opt.tell(self.out.pop(rng.integers(len(self.out))), float(rng.normal()))
            self.told += 1
        elif self.out:
            self.opt.fail(self.out.pop(rng.integers(len(self.out))), "crash")
            self.failed += 1


@pytest.mark.parametrize("where", SPACES)
@settings(max_examples=8)
@given(played=operations, seed=st.integers(0, 1000))
def test_whatever_happens_suggestions_are_in_the_space_and_satisfy_the_constraints(
    where: str, played: list[tuple[str, int]], seed: int
) -> None:
    driver = Driver(where, seed)
    for what, number in played:
        driver.play(what, number)
        assert list(driver.opt.pending.values()) == sorted(driver.out, key=lambda s: s.id)
        assert len(driver.opt.failures) == driver.failed
    driver.ask()


@pytest.mark.parametrize("where", ["mixed", "grid"])
@pytest.mark.parametrize("acquisition", [ExpectedImprovement(), UpperConfidenceBound(), PureExploration()], ids=repr)
def test_a_seed_settles_everything(where: str, acquisition: Any) -> None:
    runs = []
    for seed in (5, 5, 6):
        opt = Optimizer(SPACES[where], acquisition=acquisition, seed=seed)
        runs.append(run(opt, lambda p: float(len(str(p))) + p.get("n", 0.0), 11))
    assert runs[0] == runs[1] != runs[2]


@pytest.mark.parametrize("where", SPACES)
def test_minimising_is_maximising_the_negative(where: str) -> None:
    def f(p: Params) -> float:
        return math.sin(sum(map(ord, repr(p)))) + float(p.get("n", 0.0))

    up, down = Optimizer(SPACES[where], seed=1), Optimizer(SPACES[where], direction="minimize", seed=1)
    for _ in range(13):
        a, b = up.ask(), down.ask()
        assert a.params == b.params
        assert up.tell(a, f(a.params)) == down.tell(b, -f(b.params))
    high, low = up.best, down.best
    assert (high.params, high.value, high.mean, high.std) == (low.params, -low.value, -low.mean, low.std)
    assert up.certificate().gap == down.certificate().gap
    assert up.done == down.done


@pytest.mark.parametrize("where", SPACES)
def test_reading_does_not_change_what_is_suggested_next(where: str) -> None:
    silent, read = (Optimizer(SPACES[where], constraints=[CONSTRAINTS[where]], seed=3) for _ in range(2))
    for t in range(13):
        if t:
            assert read.best.value >= -1.0
            assert str(read.certificate()).startswith("with probability 0.9, ")
        assert read.done is None or t > 6
        assert len(read.pending) == len(read.failures) == 0
        a, b = silent.ask(), read.ask()
        assert a.params == b.params
        value = math.cos(t)
        silent.tell(a, value)
        read.tell(b, value)


def test_asking_changes_no_belief() -> None:
    opt = Optimizer(SQUARE, seed=0)
    run(opt, cone, 12)
    before = opt._model.belief.state()
    for _ in range(5):
        opt.ask()
    assert opt._model.belief.state() == before
    assert len(opt.pending) == 5


@pytest.mark.parametrize("where", ["square", "mixed", "grid"])
@pytest.mark.parametrize("seed", range(4))
def test_suggestions_that_are_all_out_at_once_are_different(where: str, seed: int) -> None:
    opt = Optimizer(SPACES[where], seed=seed)
    if where == "square":  # on a discrete space a point may be worth several values once noise is suspected
        run(opt, cone, seed * 5)
    asked = [opt.ask() for _ in range(12)]
    assert len({s.decision.action.tobytes() for s in asked}) == 12
    assert [s.id for s in asked] == list(range(asked[0].id, asked[0].id + 12))


def test_several_asked_at_once_are_as_asked_one_by_one() -> None:
    at_once, one = Optimizer(SQUARE, seed=0), Optimizer(SQUARE, seed=0)
    assert [s.params for s in at_once.ask(10, fixed={"x": 0.5})] == [
        one.ask(fixed={"x": 0.5}).params for _ in range(10)
    ]
    assert list(at_once.pending) == list(one.pending)


def test_a_space_of_four_points_is_tried_in_four_suggestions() -> None:
    opt = Optimizer({"n": Int(0, 3)}, seed=0)
    assert {opt.ask().params["n"] for _ in range(4)} == {0, 1, 2, 3}


def hills(params: Params) -> float:
    """Many of them, on one that is large."""
    x, y = params["x"], params["y"]
    value: float = math.sin(97.0 * x) * math.sin(83.0 * y) - 3.0 * ((x - 0.4) ** 2 + (y - 0.6) ** 2)
    return value


def test_of_a_function_that_repeats_itself_the_best_value_is_the_best_and_nothing_is_tried_again() -> None:
    opt = Optimizer({"x": Float(0.0, 1.0), "y": Float(0.0, 1.0)}, seed=0)
    rng = np.random.default_rng(0)
    told = [{"x": x, "y": y} for x, y in rng.random((40, 2)).tolist()]
    opt.tell_many(told, [hills(params) for params in told])
    lucky = max(opt.log.values)
    noisy = opt.best
    for _ in range(ENOUGH):
        opt.enqueue(noisy.params)
        opt.tell(opt.ask(), noisy.value)
    assert opt.best.value == lucky == pytest.approx(opt.best.mean, rel=1e-6)
    assert opt.best.std < 1e-4
    assert noisy.mean < noisy.value  # until then it was not believed
    tried = [opt.ask().params for _ in range(20)]
    for params in tried:
        opt.tell(params, hills(params))
    assert len({repr(params) for params in tried}) == 20
    assert opt.best.value == max(opt.log.values)


def noisy_square(params: Params, rng: np.random.Generator) -> float:
    return float(-((params["x"] - 0.4) ** 2) - (params["y"] - 0.6) ** 2 + 0.1 * rng.standard_normal())


def unclear(seed: int = 0, **options: Any) -> Optimizer:
    """With noise, of which nobody knows, and a suggestion that would be next to a point told."""
    opt = Optimizer({"x": Float(0.0, 1.0), "y": Float(0.0, 1.0)}, seed=seed, **options)
    rng = np.random.default_rng(seed)
    told = [{"x": x, "y": y} for x, y in rng.random((40, 2)).tolist()]
    opt.tell_many(told, [noisy_square(params, rng) for params in told])
    return opt


def test_until_it_is_known_whether_values_are_noisy_a_point_as_good_as_one_told_is_that_one() -> None:
    opt, rng = unclear(), np.random.default_rng(1)
    before = len(opt.log.values)
    for _ in range(20):
        suggestion = opt.ask()
        opt.tell(suggestion, noisy_square(suggestion.params, rng))
        if opt._model.noisy:
            break
    assert opt._model.noisy
    tried = [repr(opt.params(k)) for k in range(len(opt.log.values))]
    assert len(set(tried)) == len(tried) - 1  # one look was enough
    assert tried[-1] in tried[:before]


def test_a_look_again_at_a_point_is_not_asked_for_twice_nor_against_what_is_held_or_not_allowed() -> None:
    opt = unclear()
    told = {repr(opt.params(k)) for k in range(40)}
    asked = [repr(opt.ask().params) for _ in range(12)]
    assert len(set(asked)) == 12
    assert told & set(asked)
    assert unclear().ask(fixed={"x": 0.123}).params["x"] == 0.123

    def allows(params: Params) -> bool:
        return repr(params) not in told

    careful = unclear(constraints=[allows])
    assert not told & {repr(careful.ask().params) for _ in range(12)}


def is_told(opt: Optimizer, suggestion: Suggestion) -> bool:
    return suggestion.decision.action in opt._model.history


def until_a_look_again(opt: Optimizer) -> Suggestion:
    """The first one; what comes before gets a value without noise."""
    for _ in range(20):
        if is_told(opt, suggestion := opt.ask()):
            return suggestion
        opt.tell(suggestion, -((suggestion.params["x"] - 0.4) ** 2) - (suggestion.params["y"] - 0.6) ** 2)
    raise AssertionError("none in 20 suggestions")


@pytest.mark.parametrize("end", ["cancel", "fail"])
def test_a_look_again_that_brings_nothing_is_the_last_that_is_made_to_find_out(end: str) -> None:
    opt = unclear()
    look = until_a_look_again(opt)
    opt.cancel(look) if end == "cancel" else opt.fail(look, "it is there already")
    assert opt._model.unclear
    nearest = opt._proposer.twin(look.decision.action)
    assert nearest is not None
    assert not opt._outlook._may_be_tried_again(nearest)
    assert len({opt.ask().decision.action.tobytes() for _ in range(5)} - {look.decision.action.tobytes()}) >= 4


def test_a_look_again_is_informative_or_not_made() -> None:
    for seed in range(5):
        rng = np.random.default_rng(seed)
        opt = Optimizer({"x": Float(0.0, 1.0), "y": Float(0.0, 1.0)}, seed=seed, budget=Budget.constant(0.3))
        for _ in range(25):
            suggestion = opt.ask()
            assert suggestion.decision.informative or not is_told(opt, suggestion)
            opt.tell(suggestion, noisy_square(suggestion.params, rng))


def test_a_study_with_looks_again_goes_on_after_an_interruption_as_without_one(tmp_path: Path) -> None:
    uninterrupted, journal = unclear(), tmp_path / "study"
    look = until_a_look_again(uninterrupted)
    with unclear(journal=journal) as interrupted:
        assert until_a_look_again(interrupted).params == look.params
    with Optimizer.resume(journal) as resumed:
        for opt in (uninterrupted, resumed):
            opt.cancel(opt.pending[look.id])
        for _ in range(5):
            assert resumed.ask().params == uninterrupted.ask().params


def test_to_look_whether_it_is_done_does_not_change_a_look_again() -> None:
    looked, not_looked = unclear(), unclear()
    assert looked.done is None
    assert looked.ask().params == not_looked.ask().params


def test_a_decision_says_what_the_value_then_teaches() -> None:
    opt = Optimizer(SQUARE, seed=0)
    for t in range(1, 21):
        suggestion = opt.ask()
        assert suggestion.decision.round == t
        lesson = opt.tell(suggestion, cone(suggestion.params))
        assert lesson.nats == pytest.approx(suggestion.decision.information_gain, rel=1e-9)


# Fixed, enqueued, told from outside


def test_what_is_fixed_is_held_from_the_first_suggestion_on() -> None:
    opt = Optimizer(MIXED, seed=0)
    cases: list[Params] = [{"c": "b"}, {"n": 7}, {"x": 0.25, "c": "a"}, {"x": 0.125, "n": 64, "c": "c"}]
    for t in range(12):
        fixed = cases[t % 4]
        suggestion = opt.ask(fixed=fixed)
        assert suggestion.params.items() >= {**fixed, "seed": 3}.items()
        opt.tell(suggestion, suggestion.params["x"])


def test_what_is_fixed_leaves_the_rest_to_be_optimised() -> None:
    opt = Optimizer({"x": Float(0.0, 1.0), "y": Float(0.0, 1.0)}, seed=0)
    for _ in range(20):
        suggestion = opt.ask(fixed={"x": 0.8})
        opt.tell(suggestion, -((suggestion.params["y"] - suggestion.params["x"] ** 2) ** 2))
    assert opt.best.params["x"] == 0.8
    assert opt.best.params["y"] == pytest.approx(0.64, abs=0.02)


def test_what_is_enqueued_comes_next_in_order() -> None:
    opt, other = Optimizer(MIXED, seed=0), Optimizer(MIXED, seed=0)
    points = [{"x": 0.5, "n": 3, "c": "b"}, {"x": 0.1, "n": 64, "c": "a", "seed": 3}]
    for point in points:
        opt.enqueue(point)
    points[0]["x"] = 0.9  # what was enqueued is not changed by this
    assert opt.ask().params == {"x": 0.5, "n": 3, "c": "b", "seed": 3}
    assert opt.ask().params == {"x": 0.1, "n": 64, "c": "a", "seed": 3}
    other.ask()
    other.ask()
    assert opt.ask().params == other.ask().params


def test_what_is_fixed_is_held_also_while_something_is_enqueued() -> None:
    opt = Optimizer(SQUARE, seed=0)
    opt.enqueue({"x": 0.5, "y": 1.0})
    assert opt.ask(fixed={"x": 1.5}).params["x"] == 1.5
    assert opt.ask().params == {"x": 0.5, "y": 1.0}


def test_values_told_without_asking_are_as_values_of_suggestions() -> None:
    asked, outside = Optimizer(SQUARE, seed=2), Optimizer(SQUARE, seed=2)
    for _ in range(12):
        suggestion = asked.ask()
        outside.tell(suggestion.params, cone(suggestion.params))
        asked.tell(suggestion, cone(suggestion.params))
    assert asked._model.belief.state() == outside._model.belief.state()
    assert asked.best == outside.best


def test_past_values_told_at_once_are_known() -> None:
    rng = np.random.default_rng(0)
    rows = [{"x": int(x) / 64.0, "y": 1.0} for x in rng.choice(np.arange(-64, 129), 30, replace=False)]
    opt, one = Optimizer(SQUARE, seed=0), Optimizer(SQUARE, seed=0)
    opt.tell_many(rows, [cone(row) for row in rows])
    for row in rows:
        one.tell(row, cone(row))
    best = max(rows, key=cone)
    for told in (opt, one):
        np.testing.assert_array_equal(told.space.encode(told.best.params), told.space.encode(best))
        assert told.best.value == cone(best)
    opt.tell_many([], [])
    assert len(opt._model.history) == 30


def test_values_come_in_any_order() -> None:
    best = []
    for order in (list(range(12)), list(np.random.default_rng(0).permutation(12))):
        opt = Optimizer(SQUARE, seed=4)
        asked = [opt.ask() for _ in range(12)]
        for k in order:
            opt.tell(asked[k], cone(asked[k].params))
            assert asked[k].id not in opt.pending
        assert not opt.pending
        best.append(opt.best)
        again = Optimizer(SQUARE, seed=4)
        assert [again.ask().params for _ in range(12)] == [s.params for s in asked]
    assert (best[0].params, best[0].value) == (best[1].params, best[1].value)
    assert best[0].mean == pytest.approx(best[1].mean, abs=0.05)


def test_a_suggestion_is_answered_once() -> None:
    opt = Optimizer(SQUARE, seed=0)
    told, failed = opt.ask(), opt.ask()
    opt.tell(told, 1.0)
    opt.fail(failed, "crash")
    before = state(opt)
    for answered in (told, failed):
        with pytest.raises(UnknownDecisionError, match=f"suggestion {answered.id}" + EXPECTED_GOT):
            opt.tell(answered, 2.0)
        with pytest.raises(UnknownDecisionError, match=f"suggestion {answered.id}" + EXPECTED_GOT):
            opt.fail(answered, "again")
    assert state(opt) == before


def test_a_suggestion_of_another_optimizer_is_not_known() -> None:
    one, other = Optimizer(SQUARE, seed=0), Optimizer(SQUARE, seed=1)
    one.ask()
    with pytest.raises(UnknownDecisionError):
        one.tell(other.ask(), 1.0)


# Failures


def test_failures_are_recorded_and_await_nothing() -> None:
    opt = Optimizer(SQUARE, seed=0)
    suggestion = opt.ask()
    opt.fail(suggestion, "out of memory")
    opt.fail({"x": 0.5, "y": 1.0}, "NaN")
    assert [(f.params, f.reason) for f in opt.failures] == [
        (suggestion.params, "out of memory"),
        ({"x": 0.5, "y": 1.0}, "NaN"),
    ]
    assert not opt.pending
    with pytest.raises(InvalidInputError, match="best" + EXPECTED_GOT):
        _ = opt.best
    opt.tell({"x": 1.25, "y": 1.0}, 3.0)
    assert any("worst value told: 2" in caveat for caveat in opt.certificate().caveats)


def test_where_evaluations_fail_fewer_are_suggested() -> None:
    # The objective rises into where it fails.
    inside = []
    for fails in (False, True):
        opt = Optimizer({"x": Float(0.0, 1.0)}, seed=0)
        asked = []
        for _ in range(24):
            suggestion = opt.ask()
            x = suggestion.params["x"]
            if fails and x > 0.5:
                opt.fail(suggestion, "crash")
            else:
                opt.tell(suggestion, math.sin(2.0 * x))
            asked.append(x)
        inside.append(sum(x > 0.5 for x in asked))
        best = opt.best.params["x"]
    assert inside[1] < inside[0]
    assert 0.4 < best <= 0.5


def test_failures_before_anything_was_told_are_as_the_worst_told_later() -> None:
    early, late = Optimizer(SQUARE, seed=0), Optimizer(SQUARE, seed=0)
    point = {"x": 1.5, "y": 1.0}
    early.fail(point, "crash")
    early.tell({"x": 0.0, "y": 1.0}, 2.0)
    late.tell({"x": 0.0, "y": 1.0}, 2.0)
    late.fail(point, "crash")
    assert early._model.belief.state() == late._model.belief.state()


def test_what_failed_before_anything_was_told_is_not_suggested_again() -> None:
    opt, asked = Optimizer(SQUARE, seed=0), []
    for _ in range(4):
        suggestion = opt.ask()
        opt.fail(suggestion, "crash")
        asked.append(suggestion.decision.action.tobytes())
    assert len(set(asked)) == 4


@pytest.mark.parametrize(
    "space", [{"a": Int(0, 5), "b": Int(0, 5)}, Candidates(np.random.default_rng(0).random((36, 2)))]
)
def test_before_anything_was_told_what_failed_is_tried_again_when_all_has_failed(space: Any) -> None:
    opt, asked = Optimizer(space, seed=0), []
    for _ in range(40):
        suggestion = opt.ask()
        opt.fail(suggestion, "crash")
        asked.append(suggestion.decision.action.tobytes())
    assert len(set(asked[:36])) == 36
    assert opt.done is None


def test_failures_are_placed_by_values_told_at_once_too() -> None:
    opt, one = Optimizer(SQUARE, seed=0), Optimizer(SQUARE, seed=0)
    for o in (opt, one):
        o.fail({"x": 1.5, "y": 1.0}, "crash")
    opt.tell_many([{"x": 0.0, "y": 1.0}], [2.0])
    one.tell({"x": 0.0, "y": 1.0}, 2.0)
    assert len(opt._model.history) == len(one._model.history) == 2


def test_what_failed_is_not_the_best() -> None:
    for seed in range(5):
        opt = Optimizer(SQUARE, seed=seed)
        good, bad = opt.ask(), opt.ask()
        opt.tell(good, 1.0)
        opt.fail(bad, "crash")
        assert opt.best.params == good.params


def test_the_value_of_a_point_that_failed_too_is_what_was_told_there() -> None:
    opt = Optimizer(SQUARE, seed=0)
    for point, value in [({"x": 1.5, "y": 1.0}, -5.0), ({"x": 0.5, "y": 1.0}, 2.0)] * 3:
        opt.tell(point, value)
        opt.fail(point, "out of memory")
    assert opt.best.value == 2.0


# The best, the end and what is certified


def test_best_is_the_point_with_the_largest_mean_and_not_the_luckiest_value() -> None:
    opt = Optimizer({"x": Float(0.0, 1.0)}, noise_variance=1.0, seed=0)
    with pytest.raises(InvalidInputError, match="best" + EXPECTED_GOT):
        _ = opt.best
    for x, value in [(0.0, 2.5), (0.125, -1.0), (0.5, 1.5), (0.5, 1.6), (0.5, 1.4), (1.0, -1.0)] * 2 + [
        (0.0, -1.0)
    ] * 6:
        opt.tell({"x": x}, value)
    assert opt._model.history.values.max() == 2.5
    assert opt.best.params == {"x": 0.5}
    assert opt.best.value == pytest.approx(1.5, rel=1e-12)
    assert opt.best.std > 0.0


def test_on_a_square_more_is_found_than_by_chance() -> None:
    opt = Optimizer(SQUARE, direction="minimize", seed=0)
    run(opt, lambda p: 7.0 - 1e3 * cone(p), 30)
    chance = [cone(opt.space.decode(u)) for u in opt.space.sample(np.random.default_rng(0), 300)]
    assert -1e-3 * (opt.best.value - 7.0) > max(chance)


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("seed", range(2))
def test_on_a_discrete_space_the_end_comes_and_the_best_is_then_the_best(name: str, seed: int) -> None:
    space, f = PROBLEMS[name]
    opt = Optimizer(space, seed=seed)
    values = [f(p) for p in every(opt)]
    while opt.done is None:
        run(opt, f, 1)
        told = len(opt._model.history)
        assert told <= len(values)
        certificate = opt.certificate()
        assert certificate.best == opt.best
        if told >= 8:  # before that the fitted prior is not to be believed
            assert certificate.gap >= max(values) - f(certificate.best.params) >= 0.0
    assert opt.best.value == max(values)
    assert "nothing" in opt.done
    assert opt.certificate().gap < 0.05 * np.ptp(values)
    assert opt.space.encode(opt.ask().params) is not None


def test_while_values_are_awaited_it_is_about_what_more_to_ask() -> None:
    space, f = PROBLEMS["a wave"]
    opt = Optimizer(space, seed=0)
    run(opt, f, 7)
    out: list[Suggestion] = []
    while opt.done is None and len(out) < 60:
        out.append(opt.ask())
    assert len(out) < 60  # as if the values had come as expected
    assert opt.evaluations == 7
    for suggestion in out:
        opt.cancel(suggestion)
    assert (opt.done is None) == bool(out)  # what was expected has not come


def test_a_coarser_budget_ends_sooner() -> None:
    space, f = PROBLEMS["a hill"]
    steps = []
    for budget in (None, Budget.resolution(0.3, relative=True)):
        opt = Optimizer(space, budget=budget, seed=0)
        while opt.done is None:
            run(opt, f, 1)
        steps.append(len(opt._model.history))
    assert steps[1] < steps[0]


def test_a_certificate_scales_with_the_objective() -> None:
    space, f = PROBLEMS["a hill"]
    one, other = Optimizer(space, seed=0), Optimizer(space, seed=0)
    assert run(one, f, 12) == run(other, lambda p: 1024.0 * f(p), 12)
    assert other.certificate().gap == 1024.0 * one.certificate().gap
    assert other.best.std == 1024.0 * one.best.std


def test_less_certainty_is_a_smaller_gap() -> None:
    space, f = PROBLEMS["a hill"]
    gaps = []
    for delta in (0.01, 0.5):
        opt = Optimizer(space, delta=delta, seed=0)
        run(opt, f, 8)
        gaps.append(opt.certificate().gap)
        assert opt.certificate().delta == delta
    assert gaps[0] > gaps[1]


def test_caveats_say_what_may_not_hold() -> None:
    square = Optimizer(SQUARE, max_model_order=3, seed=0)
    square.tell({"x": 1.9, "y": 1.0}, 1e9)
    run(square, lambda p: math.sin(9.0 * p["x"]), 30)
    text = str(square.certificate())
    grid = Optimizer(GRID, seed=0)
    run(grid, PROBLEMS["a hill"][1], 8)
    assert "narrow peak" in text
    assert "narrow peak" not in str(grid.certificate())
    assert "clipped" in text
    assert "clipped" not in str(grid.certificate())


@pytest.mark.parametrize("anew", [False, True], ids=["one after the other", "each by a new one that is told the past"])
def test_everywhere_is_looked_at_however_suggestions_are_asked_for(anew: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    turns: set[int] = set()
    propose = Proposer.propose

    def recorded(self: Proposer, *given: Any, turn: int) -> Any:
        turns.add(turn % len(REACHES))
        return propose(self, *given, turn=turn)

    monkeypatch.setattr(Proposer, "propose", recorded)
    opt, past = Optimizer(SQUARE, seed=0), list[Params]()
    for _ in range(16):
        if anew and past:
            opt = Optimizer(SQUARE, seed=0)
            opt.tell_many(past, [cone(p) for p in past])
        past += run(opt, cone, 1)
    assert turns == set(range(len(REACHES)))


# What is wrong


WRONG = [
    v for v in NOT_NUMBERS if not isinstance(v, np.ndarray) and not (isinstance(v, float) and not math.isfinite(v))
]


@pytest.mark.parametrize("value", WRONG, ids=repr)
def test_a_value_that_is_no_number_is_refused_and_nothing_changes(value: Any) -> None:
    opt = Optimizer(SQUARE, seed=0)
    run(opt, cone, 3)
    suggestion = opt.ask()
    before = state(opt)
    for what in (suggestion, {"x": 0.5, "y": 1.0}):
        with pytest.raises(InvalidInputError, match="value" + EXPECTED_GOT):
            opt.tell(what, value)
    with pytest.raises(InvalidInputError, match="value" + EXPECTED_GOT):
        opt.tell_many([{"x": 0.5, "y": 1.0}] * 2, [1.0, value])
    assert state(opt) == before
    opt.tell(suggestion, 1.0)


@pytest.mark.parametrize(
    ("point", "message"),
    [
        ({"x": 0.5}, "no y"),
        ({"x": 0.5, "y": 1.0, "z": 1}, "unknown z"),
        ({"x": 2.5, "y": 1.0}, r"x: expected .* got 2\.5"),
        ({"x": "a", "y": 1.0}, r"x: expected .* got 'a'"),
        ({"x": math.nan, "y": 1.0}, "x: expected .* got nan"),
        ([0.5, 1.0], "params: expected a mapping .* got list"),
        (None, "params: expected a mapping .* got NoneType"),
    ],
    ids=repr,
)
def test_a_point_that_is_not_of_the_space_is_refused_and_nothing_changes(point: Any, message: str) -> None:
    opt = Optimizer(SQUARE, seed=0)
    run(opt, cone, 3)
    before = state(opt)
    calls: list[Callable[[], object]] = [
        lambda: opt.tell(point, 1.0),
        lambda: opt.fail(point, "crash"),
        lambda: opt.enqueue(point),
        lambda: opt.tell_many([{"x": 0.5, "y": 1.0}, point], [1.0, 2.0]),
    ]
    for call in calls:
        with pytest.raises(InvalidInputError, match=message):
            call()
    assert state(opt) == before
    other = Optimizer(SQUARE, seed=0)
    run(other, cone, 3)
    assert opt.ask().params == other.ask().params


@pytest.mark.parametrize(
    ("fixed", "message"),
    [
        ({"z": 1}, r"fixed: expected names of \['x', 'y'\], got 'z'"),
        ({"x": 7.0}, r"x: expected a number from -1\.0 to 2\.0, got 7\.0"),
        (3, "fixed" + EXPECTED_GOT),
    ],
)
def test_what_cannot_be_fixed_is_refused_and_nothing_changes(fixed: Any, message: str) -> None:
    opt = Optimizer(SQUARE, seed=0)
    opt.enqueue({"x": 0.5, "y": 1.0})
    before = state(opt)
    with pytest.raises(InvalidInputError, match=message):
        opt.ask(fixed=fixed)
    assert state(opt) == before
    assert opt.ask().params == {"x": 0.5, "y": 1.0}


def test_as_many_values_as_rows_are_expected() -> None:
    opt = Optimizer(SQUARE, seed=0)
    with pytest.raises(InvalidInputError, match="values: expected 1, one per row, got 2"):
        opt.tell_many([{"x": 0.5, "y": 1.0}], [1.0, 2.0])
    assert len(opt._model.history) == 0


def test_constraints_that_nothing_satisfies_are_said() -> None:
    opt = Optimizer(SQUARE, constraints=[lambda p: p["x"] > 5.0], seed=0)
    with pytest.raises(InvalidInputError, match="constraints" + EXPECTED_GOT):
        opt.ask()
    assert not opt.pending


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"direction": "max"}, "direction: expected 'maximize' or 'minimize', got 'max'"),
        ({"direction": None}, "direction: expected 'maximize' or 'minimize', got None"),
        ({"delta": 1.0}, "delta" + EXPECTED_GOT),
        ({"max_model_order": 0}, "max_model_order" + EXPECTED_GOT),
        ({"kernel": 3}, "kernel" + EXPECTED_GOT),
        ({"noise_variance": -1.0}, "noise_variance"),
        ({"noise_variance": "a"}, "noise_variance"),
        ({"budget": 3}, "budget" + EXPECTED_GOT),
        ({"acquisition": 3}, "acquisition" + EXPECTED_GOT),
        ({"acquisition": ThompsonSampling()}, "acquisition" + EXPECTED_GOT),
        ({"constraints": [3]}, "constraints"),
        ({"seed": -1}, "seed" + EXPECTED_GOT),
    ],
    ids=repr,
)
def test_what_an_optimizer_cannot_be_made_of_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        Optimizer(SQUARE, **options)


def test_a_point_that_is_expected_is_pending_and_the_search_looks_elsewhere() -> None:
    opt, other = Optimizer(SQUARE, seed=0), Optimizer(SQUARE, seed=0)
    for _ in range(12):
        for each in (opt, other):
            suggestion = each.ask()
            each.tell(suggestion, cone(suggestion.params))
    would = other.ask()
    opt.enqueue({"x": 0.5, "y": 0.5})
    expected = opt.expect(would.params)
    assert expected.params == would.params
    assert opt.pending == {expected.id: expected}
    assert opt.ask().params == {"x": 0.5, "y": 0.5}
    assert opt.ask().params != would.params
    opt.tell(expected, 0.7)
    assert opt.log.values[-1] == 0.7


def test_what_is_expected_is_written_down(tmp_path: Path) -> None:
    with Optimizer(SQUARE, seed=0, journal=tmp_path / "study.jsonl") as opt:
        opt.tell(opt.ask(), 1.0)
        expected = opt.expect({"x": 0.5, "y": 0.5})
    with Optimizer.resume(tmp_path / "study.jsonl") as resumed:
        assert resumed.pending.keys() == {expected.id}
        assert resumed.pending[expected.id].params == expected.params
        resumed.tell(expected, 2.0)


def test_another_tolerance_is_another_search_whether_done_was_read_or_not() -> None:
    read, unread = Optimizer(SQUARE, seed=0), Optimizer(SQUARE, seed=0)
    for opt in (read, unread):
        for _ in range(20):
            suggestion = opt.ask()
            opt.tell(suggestion, cone(suggestion.params))
    assert read.done is None
    for opt in (read, unread):
        opt.tolerance = 1e-3
    assert read.ask().params == unread.ask().params
