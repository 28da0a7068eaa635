import math
import multiprocessing
import threading
from collections.abc import Callable
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.helpers import EXPECTED_GOT
from tests.objectives import deadly
from uncubed import Categorical, Float, InvalidInputError, Optimizer, StateError
from uncubed.candidates import Candidates
from uncubed.driver import ALIKE
from uncubed.errors import EvaluationError
from uncubed.run import maximize, minimize, open_study
from uncubed.space import Params

SPACE = {"x": Float(-2.0, 2.0), "act": Categorical(["relu", "tanh"]), "epochs": 3}


def hill(params: Params) -> float:
    return -float((params["x"] - 0.3) ** 2) - float(params["act"] == "tanh")


def told(optimizer: Optimizer) -> list[tuple[Params, float]]:
    return [(optimizer.params(i), float(value)) for i, value in enumerate(optimizer.log.values)]


# What is found


def test_it_finds_the_best() -> None:
    result = maximize(hill, SPACE, evaluations=25, seed=0)
    assert result.params["x"] == pytest.approx(0.3, abs=0.05)
    assert (result.params["act"], result.params["epochs"]) == ("relu", 3)
    assert (result.value, result.params) == (result.best.value, result.best.params)
    assert result.best == result.optimizer.best
    assert result.certificate.gap >= 0
    assert result.evaluations <= 25
    assert result.failures == ()
    assert result.reason == (
        "25 evaluations were made" if result.evaluations == 25 else "nothing informative is left that could be the best"
    )


def test_to_minimize_is_to_maximize_the_negative() -> None:
    up = maximize(hill, SPACE, evaluations=12, seed=1)
    down = minimize(lambda params: -hill(params), SPACE, evaluations=12, seed=1)
    assert told(down.optimizer) == [(params, -value) for params, value in told(up.optimizer)]


def test_one_worker_is_the_same_as_this_thread() -> None:
    here = maximize(hill, SPACE, evaluations=12, seed=1)
    with ThreadPoolExecutor(1) as pool:
        there = maximize(hill, SPACE, evaluations=12, seed=1, executor=pool)
    assert told(there.optimizer) == told(here.optimizer)


def test_without_limits_it_ends_when_it_is_done() -> None:
    result = maximize(lambda p: float(p["k"] == "b"), {"k": Categorical(["a", "b", "c"])}, noise_variance=1e-4, seed=0)
    assert result.params == {"k": "b"}
    assert result.reason == "nothing informative is left that could be the best" == result.optimizer.done


def test_it_is_done_in_parallel_too() -> None:
    with ThreadPoolExecutor(3) as pool:
        result = maximize(
            lambda p: float(p["k"] == "b"),
            {"k": Categorical(["a", "b", "c"])},
            noise_variance=1e-4,
            seed=0,
            executor=pool,
            evaluations=200,
        )
    assert result.params == {"k": "b"}
    assert result.reason == "nothing informative is left that could be the best"


def test_the_tolerance_is_the_optimizer_s() -> None:
    result = maximize(hill, SPACE, evaluations=200, tolerance=10.0, seed=0)
    assert "within the tolerance" in result.reason
    assert result.certificate.gap <= 10.0


def test_a_table_can_be_searched() -> None:
    table = Candidates([{"size": k} for k in range(50)])
    assert maximize(lambda p: -abs(p["size"] - 31), table, evaluations=25, seed=0).params == {"size": 31}


def test_noise_may_be_told_with_the_value() -> None:
    def spread(noise: float) -> float:
        return maximize(lambda p: (hill(p), noise), SPACE, evaluations=10, seed=0).best.std

    assert spread(1e-6) < spread(1.0)


def test_the_objective_cannot_change_what_was_asked() -> None:
    def f(params: Params) -> float:
        return -float(params.pop("x") ** 2)

    assert all("x" in params for params, _ in told(maximize(f, SPACE, evaluations=3).optimizer))


def test_seconds_end_it(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = count()
    monkeypatch.setattr("uncubed.driver.monotonic", lambda: float(next(ticks)))
    result = maximize(hill, SPACE, seconds=100, seed=0)
    assert result.reason == "100 seconds have passed"
    assert 1 < result.evaluations < 100


# Failures


NOT_VALUES: list[Any] = [
    (None, "value: expected a real number, got None of type NoneType"),
    ("0.5", "value: expected a real number, got '0.5' of type str"),
    (True, "value: expected a real number, got True of type bool"),
    ([1.0], "value: expected a real number, got [1.0] of type list"),
    (math.nan, "value: nan"),
    (-math.inf, "value: -inf"),
    (np.float32("nan"), "value: nan"),
    (1e200, "value: expected a magnitude of at most 1e+100, got 1e+200"),
    (10**400, "value: expected a finite number, got inf"),
    ((1.0, 0.0), "noise_variance: expected a number above 0, got 0"),
    ((1.0,), "value: expected a number, or a value and its noise variance, got (1.0,)"),
]


@pytest.mark.parametrize(("answer", "reason"), NOT_VALUES, ids=lambda x: repr(x)[:20])
def test_what_is_no_value_is_a_failure(answer: Any, reason: str) -> None:
    answers = iter([1.0, answer, 2.0])
    result = maximize(lambda _: next(answers), SPACE, evaluations=3)
    assert [failure.reason for failure in result.failures] == [reason]
    assert [value for _, value in told(result.optimizer)] == [1.0, 2.0]


@pytest.mark.parametrize("value", [1, np.float32(1.0), np.array(1.0), np.array([1.0])])
def test_numbers_of_any_kind_are_values(value: Any) -> None:
    assert maximize(lambda _: value, SPACE, evaluations=1).value == 1.0


def test_an_exception_is_a_failure() -> None:
    calls = count()

    def f(params: Params) -> float:
        if next(calls) == 1:
            raise ZeroDivisionError("by\nzero")
        return hill(params)

    result = maximize(f, SPACE, evaluations=5, seed=0)
    assert [failure.reason for failure in result.failures] == ["ZeroDivisionError: by zero"]
    assert result.evaluations == 5


def wrong(_: Params) -> float:
    raise NameError("name 'hil' is not defined")


def test_an_objective_that_is_wrong_is_not_evaluated_for_ever() -> None:
    with pytest.raises(EvaluationError, match=r"the first 10 .* NameError: name 'hil' is not defined") as raised:
        maximize(wrong, SPACE, evaluations=200)
    assert isinstance(raised.value.__cause__, NameError)
    assert raised.value.optimizer.evaluations == ALIKE


@pytest.mark.parametrize(
    "first",
    [lambda n: 1.0, lambda n: math.nan, lambda n: "text"],
    ids=["a value", "not a number", "another failure"],
)
def test_failures_alike_after_something_else_do_not_end_it(first: Callable[[int], Any]) -> None:
    calls = count()

    def f(params: Params) -> Any:
        number = next(calls)
        return first(number) if number == 0 else 1.0 if number == ALIKE + 2 else wrong(params)

    assert maximize(f, SPACE, evaluations=ALIKE + 3).evaluations == ALIKE + 3


def test_not_a_number_may_come_as_often_as_it_likes() -> None:
    calls = count()
    result = maximize(lambda _: math.nan if next(calls) < 2 * ALIKE else 1.0, SPACE, evaluations=2 * ALIKE + 1)
    assert len(result.failures) == 2 * ALIKE


def test_no_value_at_all_is_an_error() -> None:
    with pytest.raises(EvaluationError, match=r"expected at least one value, got 3 failures, .* value: nan; 3 eval"):
        maximize(lambda _: math.nan, SPACE, evaluations=3)


# Journals


def test_the_same_call_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "study.jsonl"
    maximize(hill, SPACE, evaluations=6, journal=path, seed=0)
    result = maximize(hill, SPACE, evaluations=12, journal=str(path), seed=0)
    assert told(result.optimizer) == told(maximize(hill, SPACE, evaluations=12, seed=0).optimizer)
    again = maximize(lambda _: pytest.fail("nothing is left to do"), SPACE, evaluations=12, journal=path)
    assert told(again.optimizer) == told(result.optimizer)


def test_the_tolerance_is_that_of_the_call(tmp_path: Path) -> None:
    path = tmp_path / "study.jsonl"
    first = maximize(hill, SPACE, evaluations=50, tolerance=10.0, journal=path, seed=0)
    closer = maximize(hill, SPACE, evaluations=50, tolerance=first.certificate.gap / 2, journal=path)
    assert closer.evaluations > first.evaluations
    assert closer.certificate.gap <= first.certificate.gap / 2
    kept = maximize(hill, SPACE, evaluations=50, journal=path)  # the study's own, which is reached
    assert kept.evaluations == closer.evaluations
    with pytest.raises(InvalidInputError, match="tolerance: expected a number above 0"):
        maximize(hill, SPACE, tolerance=0.0, journal=path)


def test_what_was_pending_comes_first(tmp_path: Path) -> None:
    path = tmp_path / "study.jsonl"
    with Optimizer(SPACE, journal=path, seed=0) as optimizer:
        pending = [suggestion.params for suggestion in optimizer.ask(3)]
    result = maximize(hill, SPACE, evaluations=5, journal=path)
    assert [params for params, _ in told(result.optimizer)][:3] == pending
    assert result.optimizer.pending == {}


def test_a_table_goes_on(tmp_path: Path) -> None:
    table, path = Candidates([{"size": k} for k in range(50)]), tmp_path / "study.jsonl"
    maximize(lambda p: float(p["size"]), table, evaluations=3, journal=path)
    assert maximize(lambda p: float(p["size"]), table, evaluations=6, journal=path).evaluations == 6


def test_another_study_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "study.jsonl"
    maximize(hill, SPACE, evaluations=3, journal=path)
    with pytest.raises(StateError, match="to minimize, got one to maximize"):
        minimize(hill, SPACE, evaluations=6, journal=path)
    for other in ({**SPACE, "x": Float(-2.0, 3.0)}, {**SPACE, "more": 1}, {**SPACE, "epochs": 4}, {"x": SPACE["x"]}):
        with pytest.raises(StateError, match=EXPECTED_GOT):
            maximize(hill, other, evaluations=6, journal=path)
    reordered = dict(reversed(SPACE.items()))
    assert maximize(hill, reordered, evaluations=6, journal=path).evaluations == 6


def test_an_empty_file_is_a_new_study(tmp_path: Path) -> None:
    path = tmp_path / "study.jsonl"
    path.touch()
    assert maximize(hill, SPACE, evaluations=3, journal=path).evaluations == 3


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("threads", [False, True])
def test_an_interrupt_leaves_a_whole_journal(tmp_path: Path, error: type[BaseException], threads: bool) -> None:
    path, calls = tmp_path / "study.jsonl", count()

    def f(params: Params) -> float:
        if next(calls) == 3:
            raise error
        return hill(params)

    with ThreadPoolExecutor(1) as pool, pytest.raises(error):
        maximize(f, SPACE, evaluations=6, journal=path, seed=0, executor=pool if threads else None)
    with open_study(SPACE, "maximize", path) as optimizer:
        assert (optimizer.evaluations, len(optimizer.pending)) == (3, 1)
    result = maximize(hill, SPACE, evaluations=6, journal=path)
    assert told(result.optimizer) == told(maximize(hill, SPACE, evaluations=6, seed=0).optimizer)


# Several at once


def test_as_many_run_as_there_are_workers() -> None:
    together = threading.Barrier(3, timeout=600)

    def f(params: Params) -> float:
        together.wait()  # for two others
        return hill(params)

    with ThreadPoolExecutor(3) as pool:
        assert maximize(f, SPACE, evaluations=9, executor=pool).evaluations == 9


def test_a_slow_one_does_not_hold_up_the_others() -> None:
    release, calls = threading.Event(), count(1)

    def f(params: Params) -> float:
        number = next(calls)
        if number == 8:
            release.set()
        if number == 1:
            assert release.wait(600)
        return hill(params)

    with ThreadPoolExecutor(2) as pool:
        result = maximize(f, SPACE, evaluations=8, executor=pool, seed=0)
    with Optimizer(SPACE, seed=0) as optimizer:
        first = optimizer.ask().params
    assert result.evaluations == 8
    assert [params for params, _ in told(result.optimizer)].index(first) >= 6  # told last, or before the one after


def test_a_time_out_is_a_failure_and_the_others_go_on() -> None:
    release, calls = threading.Event(), count()

    def f(params: Params) -> float:
        if next(calls) == 0:
            release.wait(600)
        return hill(params)

    with ThreadPoolExecutor(2) as pool:
        try:
            result = maximize(f, SPACE, evaluations=6, executor=pool, timeout=2.0, seed=0)
        finally:
            release.set()
    with Optimizer(SPACE, seed=0) as optimizer:
        first = optimizer.ask().params
    assert [(failure.params, failure.reason) for failure in result.failures] == [
        (first, "time-out: no value within 2 seconds")
    ]
    assert result.evaluations == 6
    assert first not in [params for params, _ in told(result.optimizer)]


def test_when_no_worker_is_left_it_ends() -> None:
    release, calls = threading.Event(), count()

    def f(params: Params) -> float:
        if next(calls) >= 1:
            release.wait(600)
        return hill(params)

    with ThreadPoolExecutor(1) as pool:
        try:
            result = maximize(f, SPACE, executor=pool, timeout=1.5)
        finally:
            release.set()
    assert result.reason == "every worker is held by an evaluation that timed out"
    assert (result.evaluations, len(result.failures)) == (2, 1)


def test_a_worker_that_comes_back_works_on() -> None:
    release, calls = threading.Event(), count()

    class Releasing(ThreadPoolExecutor):
        """Its worker comes back as soon as it is given up: `cancel` is called then."""

        def submit(self, *arguments: Any, **named: Any) -> Future[Any]:
            future = super().submit(*arguments, **named)
            cancel = future.cancel
            future.cancel = lambda: (release.set(), cancel())[1]  # type: ignore[method-assign,func-returns-value]
            return future

    def f(params: Params) -> float:
        if next(calls) == 0:
            release.wait(600)
        return hill(params)

    with Releasing(1) as pool:
        result = maximize(f, SPACE, evaluations=4, executor=pool, timeout=2.0)
    assert result.reason == "4 evaluations were made"
    assert len(result.failures) == 1


class Other:
    """A future of another kind, with no more than is needed."""

    def __init__(self, value: Any) -> None:
        self._value = value

    def add_done_callback(self, fn: Callable[[Any], Any]) -> None:
        threading.Thread(target=fn, args=[self]).start()

    def result(self) -> Any:
        return self._value

    def exception(self) -> BaseException | None:
        return None

    def cancel(self) -> None:
        pass


class OtherExecutor:
    def submit(self, f: Callable[[Params], Any], params: Params) -> Other:
        return Other(f(params))


def test_any_executor_will_do() -> None:
    assert maximize(hill, SPACE, evaluations=5, executor=OtherExecutor(), workers=2).evaluations == 5  # type: ignore[arg-type]


def test_a_worker_that_dies_loses_nothing_told(tmp_path: Path) -> None:
    path = tmp_path / "study.jsonl"
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(2, mp_context=spawn) as pool:
        with pytest.raises(EvaluationError, match="executor: expected workers that live, got one that died") as raised:
            maximize(deadly, SPACE, journal=path, executor=pool, seed=0)
        told_before = told(raised.value.optimizer)
        with open_study(SPACE, "maximize", path) as optimizer:
            assert told(optimizer) == told_before
            assert optimizer.pending == {}
    result = maximize(hill, SPACE, journal=path, evaluations=len(told_before) + 5)
    assert told(result.optimizer)[: len(told_before)] == told_before


def test_alone_the_one_that_died_has_failed() -> None:
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        with pytest.raises(EvaluationError, match=r"they evaluated {'act': 'relu'};") as raised:
            maximize(deadly, {"act": Categorical(["relu"])}, executor=pool)
        with pytest.raises(EvaluationError, match="they evaluated nothing yet") as broken_before:
            maximize(deadly, {"act": Categorical(["tanh"])}, executor=pool)
    assert [failure.reason for failure in raised.value.optimizer.failures] == ["its worker died"]
    assert broken_before.value.optimizer.evaluations == 0
    assert broken_before.value.optimizer.pending == {}


# Wrong input


@pytest.mark.parametrize(
    "wrong",
    [
        {"evaluations": 0},
        {"evaluations": 1.5},
        {"seconds": 0},
        {"seconds": math.inf},
        {"timeout": 1.0},
        {"workers": 2},
        {"executor": 4},
        {"executor": OtherExecutor(), "workers": 0},
        {"executor": OtherExecutor(), "timeout": -1.0},
        {"learning_rate": 0.1},
        {"tolerance": -1.0},
    ],
    ids=lambda wrong: " ".join(
        f"{name} {value if isinstance(value, int | float) else ''}" for name, value in wrong.items()
    ),
)
def test_wrong_options_are_named(wrong: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "study.jsonl"
    with pytest.raises(InvalidInputError, match=EXPECTED_GOT):
        maximize(hill, SPACE, journal=path, **{"evaluations": 3, **wrong})
    assert not path.exists()


def test_an_objective_must_be_callable() -> None:
    with pytest.raises(InvalidInputError, match="f: expected a function"):
        maximize(0.5, SPACE, evaluations=1)  # type: ignore[arg-type]


def test_unknown_options_are_named_for_a_study_that_is_there(tmp_path: Path) -> None:
    maximize(hill, SPACE, evaluations=3, journal=tmp_path / "study.jsonl")
    with pytest.raises(InvalidInputError, match="got learning_rate"):
        maximize(hill, SPACE, evaluations=6, journal=tmp_path / "study.jsonl", learning_rate=0.1)  # type: ignore[call-arg]
