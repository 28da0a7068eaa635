import numpy as np
import pytest

from uncubed._typing import Array
from uncubed.acquisition import ExpectedImprovement, Selection
from uncubed.book import NO_LESSON, Book
from uncubed.budget import Budget, decide
from uncubed.dimensions import Float
from uncubed.model import Model
from uncubed.outlook import Outlook
from uncubed.proposer import Proposer
from uncubed.records import Suggestion
from uncubed.space import Space

SPACE = Space({"x": Float(0.0, 1.0), "y": Float(0.0, 1.0)})


def told(n: int) -> Outlook:
    model = Model(SPACE.groups)
    book, rng = Book(model, 1.0), np.random.default_rng(0)
    budget = Budget.constant(0.05)
    given = {"acquisition": ExpectedImprovement(), "budget": budget, "constraints": (), "delta": 0.1, "rng": rng}
    outlook = Outlook(SPACE, book, Proposer(SPACE, model, **given), rng)  # type: ignore[arg-type]
    for _ in range(n):
        go_on(outlook)
    return outlook


def out(outlook: Outlook, found: Selection, id: int) -> None:
    decision = decide(found.action, found.variance, 1.0, 0.0, round=id + 1, index=None)
    outlook._book.ask(Suggestion({}, id, decision), enqueued=False)


def go_on(outlook: Outlook) -> Array:
    found, rng = outlook.next({}, enqueued=False)
    out(outlook, found, outlook._book.asked)
    outlook.go_on(rng)
    value = float(np.sin(4.0 * found.action[0]) + found.action[1] * np.cos(3.0 * found.action[1]))
    outlook._book.tell(outlook._book.asked - 1, found.action, value, None, NO_LESSON)
    outlook.forget()
    return found.action


def test_the_first_design_comes_first_and_then_what_is_searched_for() -> None:
    outlook = told(0)
    first = outlook._proposer.first
    begun = [go_on(outlook) for _ in first]
    np.testing.assert_array_equal(begun, first)
    assert not (go_on(outlook) == first).all(axis=1).any()


def test_what_is_queued_comes_before_all_else() -> None:
    for outlook in (told(2), told(12)):
        outlook._book.queue.append(np.array([0.123, 0.456]))
        found, rng = outlook.next({}, enqueued=True)
        assert found.action.tolist() == [0.123, 0.456]
        assert rng is outlook.rng


@pytest.mark.parametrize("looks", [1, 3])
def test_to_look_changes_nothing_of_what_comes_next_and_costs_nothing_the_second_time(
    looks: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = told(12), told(12)
    seen = [one.worthwhile() for _ in range(looks)]
    assert all(found is seen[0] for found in seen)
    before = one.rng.bit_generator.state
    (after_look, its), (found, rng) = one.next({}, enqueued=False), other.next({}, enqueued=False)
    assert after_look.action.tolist() == found.action.tolist()
    assert its.bit_generator.state == rng.bit_generator.state
    assert one.rng.bit_generator.state == before


def test_what_was_seen_is_not_what_comes_next_where_parameters_are_held() -> None:
    outlook = told(12)
    seen = outlook.worthwhile()
    assert seen is not None
    held, _ = outlook.next({"x": 0.25}, enqueued=False)
    assert held.action[0] == 0.25 != seen.action[0]


def test_after_a_suggestion_it_looks_again() -> None:
    outlook = told(12)
    seen = outlook.worthwhile()
    outlook.go_on(outlook.spare())
    assert outlook.worthwhile() is not seen


def test_after_a_change_it_looks_again() -> None:
    outlook = told(12)
    seen = outlook.worthwhile()
    assert seen is not None
    outlook._book.tell(None, seen.action, -5.0, None, NO_LESSON)
    assert outlook.worthwhile() is seen
    outlook.forget()
    again = outlook.worthwhile()
    assert again is not None
    assert again.action.tolist() != seen.action.tolist()


def test_what_is_out_is_not_proposed_and_counts_as_if_its_value_had_come() -> None:
    outlook = told(12)
    found, _ = outlook.next({}, enqueued=False)
    variance = outlook.at(found.action).variance
    out(outlook, found, outlook._book.asked)
    outlook.forget()
    assert outlook.at(found.action).variance < variance
    assert outlook.next({}, enqueued=False)[0].action.tolist() != found.action.tolist()


def test_what_is_expected_of_a_point_is_what_is_believed_there() -> None:
    outlook, x = told(12), np.array([0.3, 0.7])
    mean, variance = outlook._model.belief.predict(x[None, :])
    assert outlook.at(x)[1:3] == (float(mean[0]), float(variance[0]))


def test_a_spare_generator_goes_on_as_that_of_the_search_and_leaves_it_alone() -> None:
    outlook = told(12)
    state = outlook.rng.bit_generator.state
    drawn = outlook.spare().random(5)
    assert outlook.rng.bit_generator.state == state
    np.testing.assert_array_equal(outlook.rng.random(5), drawn)
