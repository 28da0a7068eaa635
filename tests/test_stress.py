"""Objectives that are not nice: it behaves, and what it does is sensible."""

import math
from typing import Any

import numpy as np
import pytest

from uncubed.dimensions import Categorical, Float, Int
from uncubed.optimizer import Optimizer
from uncubed.space import Params

SQUARE = {"x": Float(0.0, 1.0), "y": Float(0.0, 1.0)}


def bowl(p: Params) -> float:
    return float((p["x"] - 0.3) ** 2 + (p["y"] - 0.6) ** 2)


def run(f: Any, n: int, space: Any = SQUARE, **options: Any) -> Optimizer:
    opt = Optimizer(space, direction="minimize", seed=4, **options)
    for _ in range(n):
        suggestion = opt.ask()
        opt.tell(suggestion, float(f(suggestion.params)))
    return opt


@pytest.mark.parametrize("constant", [0.0, 1.0, -1e9, 1e-9])
def test_a_constant_is_learned_and_its_optimum_certified_to_be_it(constant: float) -> None:
    opt = run(lambda _: constant, 25)
    assert opt.best.value == constant
    assert opt.best.mean == pytest.approx(constant, rel=1e-9, abs=1e-12)
    assert math.isfinite(opt.certificate().gap)
    distances = [abs(opt.params(i)["x"] - opt.params(j)["x"]) for i in range(25) for j in range(i)]
    assert min(distances) < max(distances)  # not one point over and over


def test_of_a_step_the_better_side_is_found_and_then_preferred() -> None:
    opt = run(lambda p: 0.0 if p["x"] > 0.7 else 1.0, 40)
    assert opt.best.value == 0.0
    assert opt.best.mean < 0.3
    assert np.mean(opt.log.values[20:]) < np.mean(opt.log.values[:10])


@pytest.mark.parametrize("unit", [1e9, 1e-9])
@pytest.mark.parametrize("offset", [0.0, 3.0])
def test_units_and_offsets_do_not_matter(unit: float, offset: float) -> None:
    plain, scaled = run(bowl, 20), run(lambda p: unit * (bowl(p) + offset), 20)
    assert scaled.best.params["x"] == pytest.approx(0.3, abs=0.05)
    assert scaled.best.params["y"] == pytest.approx(0.6, abs=0.05)
    if offset == 0.0:
        assert scaled.certificate().gap == pytest.approx(unit * plain.certificate().gap, rel=0.5)


def test_outliers_of_a_million_are_clipped_and_the_rest_is_learned() -> None:
    rng = np.random.default_rng(0)
    opt = run(lambda p: 1e6 if rng.random() < 0.15 else bowl(p), 50)
    assert bowl(opt.best.params) < 0.02
    assert any("clipped" in caveat for caveat in opt.certificate().caveats)


def test_an_outlier_that_looks_like_the_best_is_not_believed_for_ever() -> None:
    # Not wherever it comes: now and then all that is seen later looks like noise beside it.
    assert sum(is_left_behind(place) for place in range(7, 27, 3)) >= 5


def is_left_behind(place: int) -> bool:
    """Whether a search goes on after one false value, the best by far."""
    told = iter([False] * place + [True] + [False] * 100)
    opt = run(lambda p: -1e6 if next(told) else bowl(p), 45)
    found = bowl(opt.best.params) < 0.1 or opt.best.value < -1e5
    return bool(found and np.median([bowl(opt.params(i)) for i in range(30, 45)]) < 0.5)


def test_one_dimension() -> None:
    opt = run(lambda p: math.sin(12 * p["x"]) + p["x"], 25, {"x": Float(0, 1)})
    assert opt.best.params["x"] == pytest.approx(0.386, abs=0.02)


def test_twenty_dimensions() -> None:
    space = {f"x{k}": Float(-1.0, 1.0) for k in range(20)}
    opt = run(lambda p: sum((v - 0.2) ** 2 for v in p.values()), 60, space)
    assert opt.best.value < 0.5 * float(np.median(opt.log.values[:20]))


def test_one_category_and_one_value_are_no_trouble() -> None:
    space = {"c": Categorical(["only"]), "n": Int(3, 3), "x": Float(0, 1), "z": Float(2.0, 2.0)}
    opt = run(lambda p: abs(p["x"] - 0.5), 20, space)
    assert opt.best.params["x"] == pytest.approx(0.5, abs=0.05)
    alone = Optimizer({"c": Categorical(["only"])}, noise_variance=1e-6, seed=0)
    while alone.done is None:
        alone.tell(alone.ask(), 1.0)
    assert alone.evaluations < 15


def test_a_thousand_duplicates_are_one_row() -> None:
    opt = Optimizer(SQUARE, direction="minimize", seed=0)
    rng = np.random.default_rng(0)
    opt.tell_many([{"x": 0.5, "y": 0.5}] * 1000, rng.normal(1.0, 0.1, 1000).tolist())
    assert opt.model_order == 1
    assert opt.best.mean == pytest.approx(1.0, abs=0.02)
    assert opt.ask().params != {"x": 0.5, "y": 0.5}


def test_values_known_to_be_noisy_count_for_less() -> None:
    opt = Optimizer(SQUARE, seed=0)
    for k in range(12):
        point = {"x": k / 11, "y": (7 * k % 12) / 11}
        opt.tell(point, 0.0, 1e-4)
    lucky = {"x": 0.5, "y": 0.1}
    opt.tell(lucky, 5.0, 100.0)
    assert abs(opt.predict([lucky]).mean[0]) < 0.5
    opt.tell(lucky, 5.0, 1e-4)
    assert opt.predict([lucky]).mean[0] > 3.0


def test_past_rows_of_more_points_than_are_fitted_are_all_learned() -> None:
    rng = np.random.default_rng(0)
    rows = [{"x": x, "y": y} for x, y in rng.random((600, 2)).tolist()]
    opt = Optimizer(SQUARE, direction="minimize", seed=0)
    opt.tell_many(rows, [bowl(row) for row in rows])
    assert opt._model.belief.absorbed == 600
    np.testing.assert_allclose(opt.predict(rows[:50]).mean, [bowl(row) for row in rows[:50]], atol=0.01)
    opt.tell_many(rows[:3], [bowl(row) for row in rows[:3]])  # a few more, without a pass over all
    assert opt._model.belief.absorbed == 603
    assert opt.evaluations == 603


@pytest.mark.parametrize(
    ("space", "f"),
    [
        ({"n": Int(1, 10**9, log=True)}, lambda p: math.log(p["n"] / 1234) ** 2),
        (SQUARE, bowl),
    ],
    ids=["integers", "square"],
)
def test_of_an_exact_function_no_point_is_asked_for_again_and_again(space: Any, f: Any) -> None:
    opt = Optimizer(space, direction="minimize", seed=4, evaluations=60)
    while opt.done is None:
        suggestion = opt.ask()
        opt.tell(suggestion, f(suggestion.params))
    seen = [tuple(opt.params(i).values()) for i in range(opt.evaluations)]
    assert max(seen.count(point) for point in seen) <= 6
    assert f(opt.best.params) < 1e-4


def test_constraints_that_leave_next_to_nothing() -> None:
    opt = Optimizer(SQUARE, direction="minimize", constraints=[lambda p: abs(p["x"] + p["y"] - 1.0) < 5e-4], seed=0)
    for _ in range(15):
        suggestion = opt.ask()
        assert abs(suggestion.params["x"] + suggestion.params["y"] - 1.0) < 5e-4
        opt.tell(suggestion, bowl(suggestion.params))
    assert opt.best.value < 0.1


@pytest.mark.parametrize("seed", range(3))
def test_of_an_exact_function_a_full_model_stays_right(seed: int) -> None:
    opt = Optimizer(SQUARE, direction="minimize", max_model_order=12, seed=seed)
    for _ in range(70):
        suggestion = opt.ask()
        opt.tell(suggestion, bowl(suggestion.params))
    near = [i for i in range(70) if opt.log.values[i] < 0.2]  # the worst are clipped
    np.testing.assert_allclose(opt.predict([opt.params(i) for i in near]).mean, opt.log.values[near], atol=0.1)
    assert opt.best.value < 5e-3
