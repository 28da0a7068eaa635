import numpy as np
import pytest

from uncubed._typing import Array
from uncubed.book import NO_LESSON, Book
from uncubed.budget import decide
from uncubed.errors import StateError
from uncubed.model import Model
from uncubed.records import Failure, Suggestion

HERE, THERE = np.array([0.25]), np.array([0.75])


def fresh(sign: float = 1.0) -> Book:
    return Book(Model(np.array([0])), sign)


def tell(book: Book, action: Array, value: float, id: int | None = None) -> None:
    book.tell(id, action, value, None, NO_LESSON)


def fail(book: Book, action: Array, id: int | None = None) -> None:
    book.fail(id, action, Failure({}, "crash", book.evaluations + 1))


def suggestion(id: int, action: Array) -> Suggestion:
    return Suggestion({}, id, decide(action, 1.0, 1.0, 0.0, round=id + 1))


def test_values_are_learned_to_be_maximised() -> None:
    up, down = fresh(), fresh(-1.0)
    tell(up, HERE, 3.0)
    tell(down, HERE, -3.0)
    assert up.model.history.values.tolist() == down.model.history.values.tolist() == [3.0]


def test_a_suggestion_is_awaited_until_it_is_answered() -> None:
    book = fresh()
    book.queue.append(HERE)
    book.ask(suggestion(0, HERE), enqueued=True)
    book.ask(suggestion(1, THERE), enqueued=False)
    assert (list(book.pending), book.queue, book.asked, book.tried) == ([0, 1], [], 2, 2)
    tell(book, HERE, 1.0, 0)
    fail(book, THERE, 1)
    assert (list(book.pending), book.told, book.evaluations, book.tried) == ([], 1, 2, 2)


def test_an_action_is_awaited_as_often_as_it_is_out() -> None:
    book = fresh()
    for id in range(3):
        book.ask(suggestion(id, HERE), enqueued=False)
    assert not book.is_awaited(THERE)
    tell(book, HERE, 1.0, 0)
    fail(book, HERE, 1)
    assert list(book.pending) == [2]
    assert book.is_awaited(HERE)
    book.await_no_more(2)
    assert not book.is_awaited(HERE)
    assert not book.pending


def test_failures_wait_for_a_worst_value_and_then_count_as_it() -> None:
    book = fresh()
    fail(book, HERE)
    assert len(book.model.history) == 0
    assert book.was_tried(HERE)
    tell(book, THERE, 5.0)
    assert book.model.history.values.tolist() == [5.0, 5.0]
    assert book.model.history.real.tolist() == [0]
    assert book.gave_no_value(HERE)
    tell(book, HERE, 6.0)
    assert not book.gave_no_value(HERE)


def test_what_is_read_up_to_a_state_is_written_down_and_not_learned() -> None:
    book = fresh()
    book.learns = False
    tell(book, HERE, 1.0)
    book.tell_many(np.array([THERE, HERE]), np.array([2.0, 3.0]), np.full(2, np.nan))
    fail(book, THERE)
    assert len(book.model.history) == 4
    assert book.model.belief.distinct == 0


def test_an_interrupted_change_is_said_from_then_on(monkeypatch: pytest.MonkeyPatch) -> None:
    book = fresh()

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Model, "learn", interrupted)
    with pytest.raises(KeyboardInterrupt):
        tell(book, HERE, 1.0)
    monkeypatch.undo()
    with pytest.raises(StateError, match="resume from the journal"):
        tell(book, HERE, 1.0)
