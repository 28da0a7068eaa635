"""The driver, where an executor is not as good as its word; `test_run.py` has the rest."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import uncubed as uc
from uncubed.driver import ALIKE
from uncubed.errors import EvaluationError
from uncubed.space import Params

SPACE = {"x": uc.Float(-2.0, 2.0)}


def hill(params: Params) -> float:
    return -float((params["x"] - 0.3) ** 2)


class Cancelling(ThreadPoolExecutor):
    """Cancels some evaluations itself, as a cluster does that was restarted."""

    def __init__(self, which: Callable[[int], bool]) -> None:
        super().__init__(1)
        self._which, self.submitted = which, 0

    def submit(self, *arguments: Any, **named: Any) -> Future[Any]:
        self.submitted += 1
        if not self._which(self.submitted):
            return super().submit(*arguments, **named)
        future: Future[Any] = Future()
        future.cancel()
        future.set_running_or_notify_cancel()
        return future


def test_what_others_cancel_is_no_failure_and_does_not_count() -> None:
    with Cancelling(lambda number: number % 3 == 0) as pool:
        result = uc.maximize(hill, SPACE, evaluations=12, executor=pool, seed=0)
    assert pool.submitted > 12
    assert (result.evaluations, result.failures, result.optimizer.pending) == (12, (), {})
    values = [hill(result.optimizer.params(i)) for i in range(12)]
    assert result.optimizer.log.values.tolist() == values


def test_what_is_cancelled_first_is_suggested_again() -> None:
    with Cancelling(lambda number: number == 1) as pool:
        cancelled = uc.maximize(hill, SPACE, evaluations=1, executor=pool, seed=0)
    assert cancelled.params == uc.maximize(hill, SPACE, evaluations=1, seed=0).params


def test_an_executor_that_cancels_all_is_not_asked_for_ever() -> None:
    with (
        Cancelling(lambda number: number > 4) as pool,
        pytest.raises(EvaluationError, match=f"executor: expected evaluations to end, got {ALIKE} cancelled") as raised,
    ):
        uc.maximize(hill, SPACE, executor=pool, seed=0)
    assert raised.value.optimizer.evaluations == 4


def test_an_executor_that_was_shut_down_loses_nothing_told() -> None:
    pool = ThreadPoolExecutor(1)

    def last(params: Params) -> float:
        if len(told) == 4:
            pool.shutdown(wait=False)
        told.append(params)
        return hill(params)

    told: list[Params] = []
    expected = "executor: expected one that takes evaluations, got RuntimeError: cannot schedule new futures"
    with pytest.raises(EvaluationError, match=expected) as raised:
        uc.maximize(last, SPACE, executor=pool, seed=0)
    optimizer = raised.value.optimizer
    assert [optimizer.params(i) for i in range(5)] == told
    assert [s.params for s in optimizer.pending.values()] != []  # what could not be submitted is tried first later


def test_what_is_awaited_is_evaluated_although_nothing_more_is_needed(tmp_path: Path) -> None:
    journal = tmp_path / "study.jsonl"
    with uc.Optimizer(SPACE, seed=0, journal=journal) as opt:
        while True:
            suggestion = opt.ask()
            if opt.done is not None:  # as if it were known already
                break
            opt.tell(suggestion, hill(suggestion.params))
        told = opt.evaluations
    result = uc.maximize(hill, SPACE, journal=journal, seed=0)
    assert result.optimizer.pending == {}
    assert result.evaluations == told + 1
