"""It ends by itself, and says why and how far it can still be."""

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

from uncubed.budget import Budget
from uncubed.candidates import Candidates
from uncubed.dimensions import Categorical, Float, Int
from uncubed.optimizer import Optimizer
from uncubed.space import Params

Objective = Callable[[Params], float]

TABLE = np.random.default_rng(5).random((3000, 2))  # more than are looked at whole
GRID = {"n": Int(0, 11), "m": Int(0, 5), "c": Categorical(["a", "b"])}


def wave(p: Params) -> float:
    return math.sin(6.0 * p["x0"]) + math.cos(4.0 * p["x1"])


def hill(p: Params) -> float:
    return float(-((p["n"] - 8) ** 2) / 20.0 - (p["m"] - 2) ** 2 / 5.0 + (p["c"] == "b"))


SETTINGS: dict[str, tuple[Mapping[str, Any] | Candidates, Objective]] = {
    "table": (Candidates(TABLE), wave),
    "grid": (GRID, hill),
}
BUDGETS = [
    Budget.constant(0.2),
    Budget.constant(0.5),
    Budget.resolution(0.1, relative=True),
    Budget.gap(0.5),
]


def finished(opt: Optimizer, f: Objective, noise: float, most: int = 150) -> Optimizer:
    rng = np.random.default_rng(0)
    while opt.done is None and opt.evaluations < most:
        suggestion = opt.ask()
        opt.tell(suggestion, f(suggestion.params) + noise * float(rng.normal()))
    assert opt.done is not None
    return opt


@pytest.mark.parametrize("budget", BUDGETS, ids=["0.2 nats", "0.5 nats", "resolution", "gap"])
@pytest.mark.parametrize("where", SETTINGS)
@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_done_means_a_gap_of_at_most_twice_root_beta_threshold(where: str, budget: Budget, direction: str) -> None:
    space, f = SETTINGS[where]
    opt = finished(Optimizer(space, budget=budget, direction=direction, seed=1), f, 0.1)
    assert opt.done == "nothing informative is left that could be the best"
    promise, proposer = opt.certificate(), opt._proposer
    threshold = opt._model.scaling.spread**2 * proposer.threshold(opt._book.asked + 1)
    assert promise.gap <= 2.0 * proposer.width() * math.sqrt(threshold) * (1.0 + 1e-9)
    assert promise.gap <= promise.best_gap * (1.0 + 1e-9)
    assert not any("search" in caveat for caveat in promise.caveats)


@pytest.mark.parametrize("where", SETTINGS)
def test_what_is_certified_on_a_finite_set_holds(where: str) -> None:
    space, f = SETTINGS[where]
    opt = finished(Optimizer(space, seed=1), f, 0.05)
    every = [opt.space.decode(u) for u in (opt.space.X if isinstance(opt.space, Candidates) else opt.space.grid())]
    best = max(f(p) for p in every)
    promise = opt.certificate()
    assert best - f(promise.recommended.params) <= promise.gap
    assert best - f(promise.best.params) <= promise.best_gap
    milestone = opt.milestones[-1]
    assert milestone.lower <= best <= milestone.upper


def test_a_tolerance_ends_it_once_the_gap_is_certified() -> None:
    for tolerance in (0.1, 1.0, 3.0):
        opt = finished(Optimizer(GRID, tolerance=tolerance, noise_variance=1e-4, seed=0), hill, 0.0)
        assert opt.done is not None
        assert opt.done.startswith("the certified gap") == (opt.certificate().gap <= tolerance)
    sooner = finished(Optimizer(GRID, tolerance=3.0, noise_variance=1e-4, seed=0), hill, 0.0)
    later = finished(Optimizer(GRID, noise_variance=1e-4, seed=0), hill, 0.0)
    assert sooner.evaluations < later.evaluations


def test_a_number_of_evaluations_ends_it_failures_included() -> None:
    opt = Optimizer({"x": Float(0, 1)}, evaluations=5, seed=0)
    for k in range(5):
        assert opt.done is None
        suggestion = opt.ask()
        if k % 2:
            opt.fail(suggestion, "crash")
        else:
            opt.tell(suggestion, suggestion.params["x"])
    assert opt.done == "5 evaluations were made"
    assert opt.evaluations == 5


def test_what_is_enqueued_is_tried_before_it_is_done() -> None:
    opt = finished(Optimizer(GRID, seed=0), hill, 0.0)
    point = {"n": 0, "m": 0, "c": "a"}
    opt.enqueue(point)
    assert opt.done is None
    assert opt.ask().params == point


def test_milestones_come_at_numbers_that_grow_geometrically() -> None:
    opt = Optimizer({"x": Float(0, 1)}, seed=0)
    for x in np.linspace(0.0, 1.0, 200):
        opt.tell({"x": float(x)}, math.sin(5 * float(x)))
    counts = [milestone.evaluations for milestone in opt.milestones]
    assert counts == sorted(set(counts))
    assert len(counts) <= 8 + math.log(200 / 6) / math.log(9 / 8)
    assert all(m.lower <= m.upper for m in opt.milestones)
    widths = [m.upper - m.lower for m in opt.milestones]
    assert widths[-1] < widths[0]


# Tables


def test_of_a_table_rows_are_suggested_and_the_best_is_found() -> None:
    table = Candidates(TABLE)
    opt = finished(Optimizer(table, seed=2), wave, 0.0, most=60)
    assert opt.best.value >= np.quantile([wave(table.params(i)) for i in range(len(table))], 0.999)
    for i in range(opt.evaluations):
        assert table.index(opt.params(i)) is not None


def test_a_table_of_labels_and_numbers_can_be_fixed_constrained_and_enqueued() -> None:
    rows = [{"size": s, "kind": k, "ok": s % 3 > 0} for s in range(60) for k in ("a", "b", "c")]
    opt = Optimizer(Candidates(rows), constraints=[lambda p: bool(p["ok"])], seed=0)
    opt.enqueue(rows[7])
    assert opt.ask().params == rows[7]
    for k in range(25):
        suggestion = opt.ask(fixed={"kind": "b"} if k % 2 else None)
        assert suggestion.params in rows
        assert suggestion.params["ok"]
        assert not k % 2 or suggestion.params["kind"] == "b"
        assert suggestion.decision.index is None or rows[suggestion.decision.index] == suggestion.params
        opt.tell(suggestion, suggestion.params["size"] / 60 - (suggestion.params["kind"] == "c"))
    assert opt.best.params["size"] > 50
    opt.tell_many(rows[:40], [0.1] * 40)
    assert opt.evaluations == 65


def test_a_table_of_one_row_is_done_after_a_few_looks_at_it() -> None:
    opt = finished(Optimizer(Candidates([{"x": 1.0, "k": "a"}]), seed=0), lambda _: 3.0, 0.1, most=15)
    assert opt.best.params == {"x": 1.0, "k": "a"}


def test_who_keeps_all_is_never_done_but_by_limits() -> None:
    opt = Optimizer({"n": Int(0, 3)}, budget=Budget.keep_all(), evaluations=60, seed=0)
    reasons = set()
    while opt.evaluations < 60:
        reasons.add(opt.done)
        suggestion = opt.ask()
        opt.tell(suggestion, float(suggestion.params["n"]))
    assert reasons == {None}
    assert opt.done == "60 evaluations were made"


@pytest.mark.parametrize("seed", range(3))
def test_a_tolerance_that_the_certificate_reaches_ends_it(seed: int) -> None:
    opt, rng = Optimizer({"x": Float(0.0, 1.0), "y": Float(0.0, 1.0)}, seed=seed), np.random.default_rng(seed)
    for _ in range(25):
        suggestion = opt.ask()
        opt.tell(suggestion, math.sin(5.0 * suggestion.params["x"]) + 0.3 * float(rng.standard_normal()))
    opt.tolerance = 1.001 * opt.certificate().gap
    assert opt.done is not None
    assert opt.done.startswith("the certified gap")


def waves(a: int, b: int) -> float:
    return math.sin(100.0 * a / 19.0) + math.sin(77.0 * b / 19.0) - 0.02 * (a - 9) ** 2


def scattered(a: int, b: int) -> float:
    return (3 * a * a + 4 * b * b) * 7919 % 997 / 100.0


@pytest.mark.parametrize(
    ("f", "n", "most", "before"),
    [(waves, 20, 256, 0), (scattered, 10, 20, 90)],
    ids=["all is remembered", "a model that forgets"],
)
def test_a_value_that_is_known_is_not_asked_for_again_and_the_search_ends(
    f: Callable[[int, int], float], n: int, most: int, before: int
) -> None:
    opt, rng = (
        Optimizer({"a": Int(0, n - 1), "b": Int(0, n - 1)}, seed=1, max_model_order=most),
        np.random.default_rng(0),
    )
    points = [divmod(int(k), n) for k in rng.permutation(n * n)]
    while not opt._model.exact:
        suggestion = opt.ask()
        opt.tell(suggestion, f(suggestion.params["a"], suggestion.params["b"]))
    if before:
        opt.tell_many([{"a": a, "b": b} for a, b in points[:before]], [f(a, b) for a, b in points[:before]])
    while opt.done is None:
        suggestion = opt.ask()
        assert opt._model.history.exact_at(suggestion.decision.action) is None
        opt.tell(suggestion, f(suggestion.params["a"], suggestion.params["b"]))
    left = n * n - opt._model.history.distinct
    after = {opt.ask().decision.action.tobytes() for _ in range(min(left, 5))}
    assert len(after) == min(left, 5)
    assert not any(action.tobytes() in after for action in opt._model.history.all_rows())


@pytest.mark.parametrize("cap", [12, 256])
@pytest.mark.parametrize("seed", range(3))
def test_what_failed_is_not_tried_again_and_the_search_ends(seed: int, cap: int) -> None:
    opt = Optimizer({"a": Int(0, 9), "b": Int(0, 9)}, seed=seed, max_model_order=cap)
    failed: set[bytes] = set()
    while opt.done is None:
        suggestion = opt.ask()
        a, b = suggestion.params["a"], suggestion.params["b"]
        action = suggestion.decision.action.tobytes()
        assert action not in failed
        if (a + b) % 3:
            failed.add(action)
            opt.fail(suggestion, "crash")
        else:
            opt.tell(suggestion, scattered(a, b))
    assert len(failed) > 30


@pytest.mark.parametrize("seed", [12, 44])
def test_while_it_is_awaited_a_value_of_an_exact_function_is_not_asked_for_again(seed: int) -> None:
    opt, rng = Optimizer({"a": Int(0, 9), "b": Int(0, 4)}, seed=seed), np.random.default_rng(seed)
    while opt.done is None:
        suggestion = opt.ask()
        if opt._model.exact:
            same = [s for s in opt.pending.values() if s.params == suggestion.params]
            assert same == [suggestion]
        if len(out := list(opt.pending.values())) == 8:
            one = out[int(rng.integers(8))]
            opt.tell(one, -float((one.params["a"] - 3) ** 2 + (one.params["b"] - 2) ** 2))
    assert opt._model.exact
