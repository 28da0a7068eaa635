import dataclasses
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers import EXPECTED_GOT, NOT_NUMBERS
from uncubed.budget import Budget, decide
from uncubed.errors import InvalidInputError
from uncubed.information import information_gain

NOISE, DIMENSION, SCALE, ROUND, BETA = 1e-3, 3, 4.0, 17, 12.0

CASES: dict[str, tuple[Callable[..., Budget], float, list[str]]] = {
    "keep_all": (Budget.keep_all, -math.inf, ["every action"]),
    "constant": (lambda **cap: Budget.constant(0.25, **cap), NOISE * (math.exp(0.5) - 1.0), ["0.25"]),
    "for_horizon": (lambda **cap: Budget.for_horizon(500, **cap), NOISE * 500 ** (-1 / 6), ["500", "1/(2p)"]),
    "for_horizon alpha": (lambda **cap: Budget.for_horizon(500, 0.7, **cap), NOISE * 500**-0.7, ["500", "0.7"]),
    "absolute": (
        lambda **cap: Budget.absolute(0.125, **cap),
        math.exp(0.25) / (2.0 * math.pi * math.e) - NOISE,
        ["0.125"],
    ),
    "resolution": (lambda **cap: Budget.resolution(0.3, **cap), (0.3 / SCALE) ** 2, ["0.3", "units"]),
    "resolution relative": (
        lambda **cap: Budget.resolution(0.3, relative=True, **cap),
        0.3**2,
        ["0.3", "spread"],
    ),
    "gap": (lambda **cap: Budget.gap(0.6, **cap), (0.6 / SCALE / (2.0 * math.sqrt(BETA))) ** 2, ["0.6"]),
}

every_budget = pytest.mark.parametrize("name", CASES)


@every_budget
def test_the_threshold_is_its_formula(name: str) -> None:
    make, expected, _ = CASES[name]
    assert make().threshold(NOISE, DIMENSION, SCALE, ROUND, beta=BETA) == pytest.approx(expected, rel=1e-12)


@every_budget
def test_the_threshold_takes_its_four_arguments_by_position(name: str) -> None:
    budget, expected = CASES[name][0](), CASES[name][1]
    if budget.needs_beta:
        with pytest.raises(InvalidInputError, match="beta" + EXPECTED_GOT):
            budget.threshold(NOISE, DIMENSION, SCALE, ROUND)
    else:
        assert budget.threshold(NOISE, DIMENSION, SCALE, ROUND) == pytest.approx(expected, rel=1e-12)


@every_budget
def test_printed_it_says_how_it_was_chosen_and_its_cap(name: str) -> None:
    make, _, numbers = CASES[name]
    text = str(make())
    assert text.startswith(name.split(maxsplit=1)[0])
    assert all(number in text for number in numbers)
    assert "atoms" not in text
    assert str(make(max_model_order=37)) == f"{text}; at most 37 atoms"


@every_budget
def test_the_cap_is_carried_and_changes_no_threshold(name: str) -> None:
    make = CASES[name][0]
    capped = make(max_model_order=37)
    assert (make().max_model_order, capped.max_model_order) == (None, 37)
    arguments = (NOISE, DIMENSION, SCALE, ROUND)
    assert capped.threshold(*arguments, beta=BETA) == make().threshold(*arguments, beta=BETA)
    with pytest.raises(dataclasses.FrozenInstanceError):
        capped.max_model_order = 5  # type: ignore[misc]


def test_only_the_gap_needs_beta_and_it_is_the_resolution_of_g_over_two_root_beta() -> None:
    assert [name for name, case in CASES.items() if case[0]().needs_beta] == ["gap"]
    resolution = Budget.resolution(0.6 / (2.0 * math.sqrt(BETA)))
    expected = resolution.threshold(NOISE, DIMENSION, SCALE, ROUND)
    assert Budget.gap(0.6).threshold(NOISE, DIMENSION, SCALE, ROUND, beta=BETA) == pytest.approx(expected)


@pytest.mark.parametrize("dimension", [1, 2, 10])
def test_a_horizon_without_alpha_has_one_over_twice_the_dimension(dimension: int) -> None:
    given_alpha = Budget.for_horizon(1000, 1.0 / (2.0 * dimension))
    assert Budget.for_horizon(1000).threshold(NOISE, dimension) == given_alpha.threshold(NOISE, dimension)


NOT_INTEGERS = [2.0, *(v for v in NOT_NUMBERS if v is True or not isinstance(v, int))]
GIVEN = [v for v in NOT_NUMBERS if v is not None]

WRONG: dict[str, tuple[Callable[[Any], Budget], list[Any]]] = {
    "epsilon of constant": (Budget.constant, [-0.1, *NOT_NUMBERS]),
    "epsilon of absolute": (Budget.absolute, NOT_NUMBERS),
    "horizon": (Budget.for_horizon, [0, -1, *NOT_INTEGERS]),
    "alpha": (lambda alpha: Budget.for_horizon(10, alpha), [-0.1, *GIVEN]),
    "r": (Budget.resolution, [0.0, -0.1, *NOT_NUMBERS]),
    "g": (Budget.gap, [0.0, -0.1, *NOT_NUMBERS]),
    "max_model_order": (
        lambda cap: Budget.keep_all(max_model_order=cap),
        [0, -3, *(v for v in NOT_INTEGERS if v is not None)],
    ),
}


@pytest.mark.parametrize(
    ("what", "bad"), [pytest.param(w, v, id=f"{w} = {v!r:.12}") for w, case in WRONG.items() for v in case[1]]
)
def test_a_wrong_number_raises(what: str, bad: Any) -> None:
    with pytest.raises(InvalidInputError, match=what.split(maxsplit=1)[0] + EXPECTED_GOT):
        WRONG[what][0](bad)


@given(st.floats(0.0, 10.0), st.floats(-1.0, 10.0), st.floats(1e-6, 1.0))
def test_informative_iff_the_variance_exceeds_the_threshold(variance: float, threshold: float, noise: float) -> None:
    decision = decide(np.zeros(2), variance, noise, threshold, round=5, index=3)
    assert decision.informative is (variance > threshold)
    assert decision.information_gain == information_gain(variance, noise)
    assert (decision.variance, decision.round, decision.index) == (variance, 5, 3)


@pytest.mark.parametrize("epsilon", [0.0, 1e-4, 0.5, 400.0])
def test_the_epsilon_of_a_decision_is_the_effective_one(epsilon: float) -> None:
    threshold = Budget.constant(epsilon).threshold(NOISE, DIMENSION)
    effective = decide(np.zeros(2), 1.0, NOISE, threshold, round=1).epsilon
    assert effective == pytest.approx(epsilon if epsilon < 300 else math.inf, rel=1e-12)


def test_keep_all_samples_also_what_is_known() -> None:
    decision = decide(np.zeros(2), 0.0, NOISE, Budget.keep_all().threshold(NOISE, DIMENSION), round=1)
    assert decision.informative
    assert decision.epsilon == 0.0


def test_a_constant_of_zero_refuses_only_what_is_known() -> None:
    threshold = Budget.constant(0.0).threshold(NOISE, DIMENSION)
    assert [decide(np.zeros(2), v, NOISE, threshold, round=1).informative for v in (0.0, 1e-300)] == [False, True]


def test_a_decision_is_frozen() -> None:
    decision = decide(np.zeros(2), 1.0, NOISE, 0.1, round=1)
    with pytest.raises(dataclasses.FrozenInstanceError):
        decision.informative = False  # type: ignore[misc]
    with pytest.raises((AttributeError, TypeError)):
        decision.note = "more"  # type: ignore[attr-defined]
