import numpy as np
import pytest

from uncubed.dimensions import Categorical, Float, Int
from uncubed.errors import InvalidInputError
from uncubed.optimizer import Optimizer
from uncubed.space import Params

SPACE = {"x": Float(0.0, 1.0), "n": Int(0, 5), "c": Categorical(["a", "b", "c"]), "k": 7}


def f(p: Params) -> float:
    return 100.0 + 20.0 * float(p["x"]) - float(p["c"] == "b")


def told(direction: str, n: int = 20) -> Optimizer:
    opt = Optimizer(SPACE, direction=direction, seed=1)
    for _ in range(n):
        suggestion = opt.ask()
        opt.tell(suggestion, f(suggestion.params))
    return opt


@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_everything_is_in_the_objectives_units_and_sign(direction: str) -> None:
    opt = told(direction)
    rows = [opt.params(i) for i in range(20)]
    np.testing.assert_array_equal(opt.log.values, [f(row) for row in rows])
    mean, variance = opt.predict(rows)
    np.testing.assert_allclose(mean, opt.log.values, atol=0.5)
    assert (np.sqrt(variance) < 2.0).all()
    best = opt.best
    assert best.value == f(best.params)
    assert best.mean == pytest.approx(float(opt.predict([best.params]).mean[0]))
    assert best.std == pytest.approx(float(np.sqrt(opt.predict([best.params]).variance[0])), abs=1e-4)
    promise = opt.certificate()
    assert promise.best.params == best.params
    assert promise.gap <= promise.best_gap
    assert np.isnan(promise.recommended.value) or promise.recommended.value == f(promise.recommended.params)


def test_what_matters_more_is_more_important() -> None:
    importance = told("maximize").importance()
    assert list(importance) == ["x", "n", "c"]
    assert sum(importance.values()) == pytest.approx(1.0)
    assert importance["x"] > importance["n"]


def test_an_entry_that_is_not_there_is_refused() -> None:
    opt = told("maximize", 3)
    for index in (3, -1, 1.5):
        with pytest.raises(InvalidInputError, match="index"):
            opt.params(index)  # type: ignore[arg-type]


def test_failures_are_no_entries_of_the_log() -> None:
    opt = told("maximize", 5)
    opt.fail(opt.ask(), "crash")
    opt.tell({"x": 0.5, "n": 1, "c": "a"}, 1.0)
    assert len(opt.log.values) == 6
    assert opt.params(5) == {"x": 0.5, "n": 1, "c": "a", "k": 7}
    assert (opt.evaluations, opt.failures[0].evaluation) == (7, 6)
