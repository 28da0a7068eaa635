"""What a user may get wrong, each with a named error and nothing changed; and what is odd but right, and must work."""

import dataclasses
import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import uncubed as uc
from tests.helpers import BELIEFS, EXPECTED_GOT, NOT_NUMBERS, NOT_POINTS, every_belief
from uncubed._typing import Array

GRID = np.stack(np.meshgrid(np.linspace(-2, 2, 6), np.linspace(-2, 2, 6)), axis=-1).reshape(-1, 2)
ACTIONS: dict[str, Callable[[], uc.Finite | uc.Box]] = {
    "finite": lambda: uc.Finite(GRID),
    "box": lambda: uc.Box([-2.0, -2.0], [2.0, 2.0], pool=32, starts=2, steps=5),
}
ACQUISITIONS: list[uc.Acquisition] = [
    uc.UpperConfidenceBound(),
    uc.ExpectedImprovement(),
    uc.MostProbableImprovement(),
    uc.ProbabilityOfImprovement(),
    uc.PureExploration(),
    uc.PureExploitation(),
    uc.ThompsonSampling(),
]

every_set = pytest.mark.parametrize("actions", ACTIONS)
every_acquisition = pytest.mark.parametrize("acquisition", ACQUISITIONS, ids=lambda a: type(a).__name__)


@pytest.fixture(autouse=True)
def _small_joint_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("uncubed.actions.JOINT_DRAW", 64)


def hills(action: Array) -> float:
    return float(np.sin(2.0 * action).sum())


def busy(actions: str = "finite", kind: str = "exact", **options: Any) -> uc.Bandit:
    """A bandit after some rounds, with two values awaited: rounds 8 and 10."""
    belief = BELIEFS[kind](uc.SquaredExponential(), 0.01)
    bandit = uc.Bandit(ACTIONS[actions](), belief, seed=0, **options)
    for t in range(1, 11):
        decision = bandit.select()
        if t not in (8, 10):
            bandit.observe(decision, hills(decision.action))
    return bandit


def awaited(bandit: uc.Bandit, round: int = 8) -> uc.Decision:
    return bandit.pending[round]


def snapshot(bandit: uc.Bandit) -> tuple[object, ...]:
    """All that can be seen of a bandit, to the last bit."""
    posterior = bandit.belief.predict(GRID)
    surface = bandit.belief.surface
    shown = None if surface is None else (surface.mean.tobytes(), surface.variance.tobytes())
    counts = (bandit.round, bandit.evaluations, bandit.belief.model_order, bandit.belief.distinct)
    return posterior.mean.tobytes(), posterior.variance.tobytes(), shown, counts, tuple(bandit.pending)


def assert_rejected(
    error: type[Exception],
    call: Callable[[uc.Bandit], object],
    make: Callable[[], uc.Bandit],
    match: str = EXPECTED_GOT,
) -> None:
    """The call raises, changes nothing, and the next selection is that of a bandit that never heard of it."""
    bandit, untouched = make(), make()
    before = snapshot(bandit)
    with pytest.raises(error, match=match):
        call(bandit)
    assert snapshot(bandit) == before == snapshot(untouched)
    one, two = bandit.select(), untouched.select()
    np.testing.assert_array_equal(one.action, two.action)
    assert (one.variance, one.informative, one.round) == (two.variance, two.informative, two.round)
    for b in (bandit, untouched):
        b.observe(awaited(b), 0.5)
    assert snapshot(bandit) == snapshot(untouched)


# Values


@pytest.mark.parametrize("bad", NOT_NUMBERS, ids=lambda v: repr(v)[:12])
@pytest.mark.parametrize(("actions", "kind"), [*[("finite", kind) for kind in BELIEFS], ("box", "exact")])
def test_a_wrong_value_raises_and_is_still_awaited(bad: Any, actions: str, kind: str) -> None:
    make = partial(busy, actions, kind)
    assert_rejected(uc.InvalidInputError, lambda b: b.observe(awaited(b), bad), make, "^value" + EXPECTED_GOT)
    assert_rejected(uc.InvalidInputError, lambda b: b.add(GRID[9], bad), make, "^value" + EXPECTED_GOT)


@pytest.mark.parametrize("bad", NOT_POINTS, ids=repr)
@every_set
def test_a_wrong_action_raises(bad: Any, actions: str) -> None:
    make = partial(busy, actions)
    assert_rejected(uc.InvalidInputError, lambda b: b.add(bad, 1.0), make, "^action" + EXPECTED_GOT)
    assert_rejected(uc.InvalidInputError, lambda b: b.gap(bad), make, "^action" + EXPECTED_GOT)


@every_set
def test_an_action_outside_the_set_raises(actions: str) -> None:
    make = partial(busy, actions)
    assert_rejected(uc.InvalidInputError, lambda b: b.add([0.0, 2.1], 1.0), make, "^action" + EXPECTED_GOT)
    assert_rejected(uc.InvalidInputError, lambda b: b.gap([0.0, 2.1]), make, "^action" + EXPECTED_GOT)


# Decisions


def refused(bandit: uc.Bandit) -> uc.Decision:
    return dataclasses.replace(awaited(bandit), informative=False, round=3)


def from_another(bandit: uc.Bandit) -> uc.Decision:
    """The same round of a bandit that selects otherwise."""
    other = uc.Bandit(uc.Finite(GRID), uc.ExactBelief(uc.SquaredExponential(), 0.01), uc.PureExploration(), seed=0)
    for _ in range(8):
        decision = other.select()
    assert decision.round in bandit.pending
    assert (decision.action != awaited(bandit).action).any()
    return decision


UNKNOWN: dict[str, tuple[Callable[[uc.Bandit], uc.Decision], str]] = {
    "never made": (lambda b: dataclasses.replace(awaited(b), round=11), "never selected here; the last one is 10"),
    "round 0": (lambda b: dataclasses.replace(awaited(b), round=0), "round 0 was"),
    "answered before": (lambda b: dataclasses.replace(awaited(b), round=2), "answered before"),
    "refused": (refused, "refused as uninformative"),
    "of another bandit": (from_another, "another bandit"),
}


@pytest.mark.parametrize("name", UNKNOWN)
@pytest.mark.parametrize("verb", ["observe", "lose"])
def test_a_decision_that_is_not_awaited_raises(name: str, verb: str) -> None:
    decision, message = UNKNOWN[name]
    calls: dict[str, Callable[[uc.Bandit], object]] = {
        "observe": lambda b: b.observe(decision(b), 1.0),
        "lose": lambda b: b.lose(decision(b)),
    }
    assert_rejected(uc.UnknownDecisionError, calls[verb], busy, message)


@pytest.mark.parametrize("first", ["observe", "lose"])
@every_belief
def test_a_second_answer_raises_and_the_first_stands(first: str, kind: str) -> None:
    bandit = busy(kind=kind)
    decision = awaited(bandit)
    if first == "observe":
        bandit.observe(decision, 1.0)
    else:
        bandit.lose(decision)
    before = snapshot(bandit)
    for again in (partial(bandit.observe, decision, 2.0), partial(bandit.lose, decision)):
        with pytest.raises(uc.UnknownDecisionError, match="answered before"):
            again()
        assert snapshot(bandit) == before


def test_a_refused_decision_of_the_bandits_own_raises() -> None:
    bandit = uc.Bandit(uc.Finite(GRID), uc.ExactBelief(uc.SquaredExponential()), budget=uc.Budget.constant(99.0))
    decision = bandit.select()
    with pytest.raises(uc.UnknownDecisionError, match="act=True"):
        bandit.observe(decision, 1.0)
    assert bandit.evaluations == bandit.belief.model_order == 0


def test_an_equal_decision_of_a_bandit_on_another_set_is_answered_at_its_action() -> None:
    # The same round and action, but another row there: what is learned must be about the action.
    here = uc.Bandit(uc.Finite([[0.0], [1.0]]), uc.ExactBelief(uc.SquaredExponential()))
    there = uc.Bandit(uc.Finite([[5.0], [0.0]]), uc.ExactBelief(uc.SquaredExponential()))
    there.add([5.0], 0.0)
    mine, theirs = here.select(), there.select()
    np.testing.assert_array_equal(mine.action, theirs.action)
    assert mine.index != theirs.index
    here.observe(theirs, 1.0)
    np.testing.assert_array_equal(here.belief.dictionary, [[0.0]])


@pytest.mark.parametrize("bad", [None, 8, 8.0, "8", [0.0, 0.0], np.zeros(2), (0.0, 0.0)], ids=repr)
def test_what_is_no_decision_raises(bad: Any) -> None:
    assert_rejected(uc.InvalidInputError, lambda b: b.observe(bad, 1.0), busy, "^decision" + EXPECTED_GOT)
    assert_rejected(uc.InvalidInputError, lambda b: b.lose(bad), busy, "^decision" + EXPECTED_GOT)


# Sets of actions


@pytest.mark.parametrize(
    "bad",
    [
        [],
        [[]],
        np.empty((0, 2)),
        np.empty((3, 0)),
        [1.0, 2.0],
        np.zeros((2, 2, 2)),
        3.0,
        None,
        "X",
        [["a"], ["b"]],
        [[1.0], [2.0, 3.0]],
        [[1.0, np.nan]],
        [[np.inf]],
        [[1e200]],
        [[1j]],
        [[True]],
        np.array([[1.0, 2.0]], dtype=object),
        np.array([["2020-01-01"]], dtype="datetime64[D]"),
        {"x": [1.0]},
        uc.Finite([[0.0]]),
    ],
    ids=lambda v: repr(v)[:30],
)
def test_what_is_no_finite_set_raises(bad: Any) -> None:
    with pytest.raises(uc.InvalidInputError, match="^X" + EXPECTED_GOT):
        uc.Finite(bad)


@pytest.mark.parametrize(
    ("lower", "upper", "name"),
    [
        ([0.0], [0.0], "upper"),
        ([1.0], [0.0], "upper"),
        ([0.0, 0.0], [1.0, -1.0], "upper"),
        ([0.0], [np.nan], "upper"),
        ([np.nan], [1.0], "lower"),
        ([-np.inf], [1.0], "lower"),
        ([0.0], [1e200], "upper"),
        ([0.0], [1.0, 2.0], "upper"),
        ([0.0, 0.0], [1.0], "upper"),
        (0.0, 1.0, "lower"),
        ([0.0], 1.0, "upper"),
        ([[0.0]], [[1.0]], "lower"),
        ([], [], "lower"),
        (None, [1.0], "lower"),
        ([0.0], "1", "upper"),
        (["0"], ["1"], "lower"),
        ([False], [True], "lower"),
    ],
    ids=str,
)
def test_what_is_no_box_raises(lower: Any, upper: Any, name: str) -> None:
    with pytest.raises(uc.InvalidInputError, match=f"^{name}" + EXPECTED_GOT):
        uc.Box(lower, upper)


@pytest.mark.parametrize(
    "options", [{"pool": 1}, {"pool": 2.0}, {"starts": 0}, {"steps": -1}, {"steps": True}, {"pool": None}], ids=str
)
def test_wrong_options_of_a_box_raise(options: Any) -> None:
    (name,) = options
    with pytest.raises(uc.InvalidInputError, match=f"^{name}" + EXPECTED_GOT):
        uc.Box([0.0], [1.0], **options)


# Numbers of the model


SETTINGS: dict[str, tuple[Callable[[Any], object], list[Any]]] = {
    "noise_variance": (lambda v: uc.ExactBelief(uc.SquaredExponential(), v), [0.0, -1.0]),
    "length_scale": (uc.SquaredExponential, [0.0, -1.0, [1.0, 0.0], [1.0, math.nan], [], [[1.0]]]),
    "variance": (lambda v: uc.Matern52(1.0, v), [0.0, -1.0]),
    "novelty": (lambda v: uc.ProjectedBelief(uc.SquaredExponential(), novelty=v), [-1.0]),
    "oversampling": (lambda v: uc.SketchedBelief(uc.SquaredExponential(), oversampling=v), [0.0, -1.0]),
    "epsilon": (uc.Budget.constant, [-1e-9]),
    "alpha": (lambda v: uc.Budget.for_horizon(10, v), [-1.0]),
    "r": (uc.Budget.resolution, [0.0, -1.0]),
    "g": (uc.Budget.gap, [0.0, -1.0]),
    "delta": (uc.TheoreticalBeta, [0.0, 1.0, -0.1, 1.1]),
    "value": (uc.ConstantBeta, [-1.0]),
    "factor": (uc.ScaledBeta, [0.0, -1.0]),
    "norm": (uc.SketchedBeta, [0.0, -1.0]),
}
LEGAL: dict[str, list[Any]] = {
    "oversampling": [math.inf],
    "alpha": [None],
    "length_scale": [[1.0], np.array([1.0, 2.0])],
}


def is_legal(name: str, value: Any) -> bool:
    return any(
        value is legal or (type(value) is type(legal) and np.array_equal(value, legal)) for legal in LEGAL.get(name, [])
    )


@pytest.mark.parametrize(
    ("name", "bad"),
    [(name, bad) for name, (_, own) in SETTINGS.items() for bad in [*own, *NOT_NUMBERS] if not is_legal(name, bad)],
    ids=lambda v: repr(v)[:20],
)
def test_a_wrong_number_raises_where_it_is_given(name: str, bad: Any) -> None:
    with pytest.raises(uc.InvalidInputError, match=f"^{name}" + EXPECTED_GOT):
        SETTINGS[name][0](bad)


@pytest.mark.parametrize(
    "make",
    [
        uc.Budget.for_horizon,
        lambda v: uc.Budget.keep_all(max_model_order=v),
        lambda v: uc.Bandit(uc.Finite(GRID), uc.ExactBelief(uc.SquaredExponential()), max_pending=v),
    ],
    ids=["horizon", "max_model_order", "max_pending"],
)
@pytest.mark.parametrize("bad", [0, -1, 2.5, "3", True, math.nan], ids=repr)
def test_a_wrong_count_raises_where_it_is_given(make: Callable[[Any], object], bad: Any) -> None:
    with pytest.raises(uc.InvalidInputError, match=EXPECTED_GOT):
        make(bad)


@pytest.mark.parametrize("bad", [0.0, 1.0, -0.5, 2.0, *NOT_NUMBERS], ids=lambda v: repr(v)[:12])
def test_a_wrong_delta_of_a_bandit_raises(bad: Any) -> None:
    with pytest.raises(uc.InvalidInputError, match="^delta" + EXPECTED_GOT):
        uc.Bandit(uc.Finite(GRID), uc.ExactBelief(uc.SquaredExponential()), delta=bad)


# Kinds of objects


def given(**parts: Any) -> uc.Bandit:
    defaults: dict[str, Any] = {
        "actions": uc.Finite(GRID),
        "belief": uc.ExactBelief(uc.SquaredExponential()),
        "acquisition": uc.UpperConfidenceBound(),
        "budget": uc.Budget.keep_all(),
    }
    return uc.Bandit(**{**defaults, **parts})


WRONG_KINDS: dict[str, list[Any]] = {
    "actions": [GRID, GRID.tolist(), None, "box", uc.Finite, (0.0, 1.0)],
    "belief": [None, "gp", uc.SquaredExponential(), uc.ExactBelief, 1.0],
    "acquisition": ["ucb", uc.UpperConfidenceBound, uc.TheoreticalBeta(), 2.0, 0, "", [], False],
    "budget": ["keep_all", uc.Budget, 0.1, 0, 0.0, "", [], False],
}


@pytest.mark.parametrize(
    ("name", "bad"), [(name, bad) for name, wrong in WRONG_KINDS.items() for bad in wrong], ids=lambda v: repr(v)[:20]
)
def test_an_object_of_another_kind_raises(name: str, bad: Any) -> None:
    with pytest.raises(uc.InvalidInputError, match=f"^{name}" + EXPECTED_GOT):
        given(**{name: bad})


@pytest.mark.parametrize("bad", [2.0, "theory", None, uc.TheoreticalBeta, 0], ids=repr)
def test_a_beta_that_is_no_schedule_raises(bad: Any) -> None:
    with pytest.raises(uc.InvalidInputError, match=EXPECTED_GOT):
        given(acquisition=uc.UpperConfidenceBound(bad))
    with pytest.raises(uc.InvalidInputError, match=EXPECTED_GOT):
        given(acquisition=uc.UpperConfidenceBound(uc.ScaledBeta(0.5, bad)))


def test_bkbs_beta_with_another_belief_raises_when_the_bandit_is_made() -> None:
    with pytest.raises(uc.InvalidInputError, match=r"^belief: expected a SketchedBelief"):
        given(acquisition=uc.UpperConfidenceBound(uc.SketchedBeta()))


@pytest.mark.parametrize("bad", ["abc", -1, 1.5, [None]], ids=repr)
def test_a_wrong_seed_raises(bad: Any) -> None:
    with pytest.raises(uc.InvalidInputError, match="^seed" + EXPECTED_GOT):
        given(seed=bad)


@every_belief
@every_set
def test_a_belief_about_another_dimension_raises_and_is_as_it_was(kind: str, actions: str) -> None:
    belief = BELIEFS[kind](uc.SquaredExponential(), 0.1)
    belief.update([0.0, 1.0, 2.0], 1.0)
    before = belief.predict(np.ones((1, 3)))
    with pytest.raises(uc.InvalidInputError, match=EXPECTED_GOT):
        uc.Bandit(ACTIONS[actions](), belief)
    assert belief.predict(np.ones((1, 3))) == before
    assert belief.dimension == 3


@every_set
def test_a_kernel_of_another_dimension_raises(actions: str) -> None:
    with pytest.raises(uc.InvalidInputError, match="^length_scale" + EXPECTED_GOT):
        uc.Bandit(ACTIONS[actions](), uc.ExactBelief(uc.SquaredExponential([1.0, 1.0, 1.0])))


# Odd, and right


def went_well(bandit: uc.Bandit, values: Callable[[Array], float], rounds: int = 12) -> None:
    """Rounds without a warning, after which everything that is said is finite."""
    for _ in range(rounds):
        decision = bandit.select()
        assert bandit.actions.contains(decision.action)
        assert math.isfinite(decision.variance)
        assert decision.variance >= 0.0
        if decision.round in bandit.pending:
            bandit.observe(decision, values(decision.action))
    dictionary = bandit.belief.dictionary
    posterior = bandit.belief.predict(dictionary)
    assert np.isfinite(posterior).all()
    assert math.isfinite(bandit.best.mean)
    certificate = bandit.certificate()
    assert math.isfinite(certificate.gap)
    assert certificate.cumulative_regret is not None
    assert math.isfinite(certificate.cumulative_regret)


@every_belief
@every_acquisition
@pytest.mark.parametrize(
    "X", [[[0.5]], [[0.5]] * 1000, [[0.5, -3.0]]], ids=["one", "a thousand duplicates", "one, 2-d"]
)
def test_one_action_is_a_set_of_actions(X: list[list[float]], acquisition: uc.Acquisition, kind: str) -> None:
    belief = BELIEFS[kind](uc.SquaredExponential(), 0.1)
    bandit = uc.Bandit(uc.Finite(X), belief, acquisition, seed=0)
    went_well(bandit, lambda x: 1.0)
    assert belief.distinct == 1
    assert bandit.best.mean == pytest.approx(12 / (12 + 0.1), rel=1e-9)
    assert bandit.certificate().recommended.tolist() == X[0]


ODD: dict[str, Callable[[Array], float]] = {
    "a constant": lambda x: 3.0,
    "zero always": lambda x: 0.0,
    "large": lambda x: 1e90 * hills(x),
    "large and negative": lambda x: -1e90,
    "largest": lambda x: 1e100 if x[0] > 0 else -1e100,
    "tiny": lambda x: 1e-300 * hills(x),
}


@pytest.mark.parametrize("values", ODD)
@every_set
@every_belief
@every_acquisition
def test_odd_values_do_no_harm(values: str, actions: str, kind: str, acquisition: uc.Acquisition) -> None:
    bandit = uc.Bandit(ACTIONS[actions](), BELIEFS[kind](uc.SquaredExponential(), 0.01), acquisition, seed=0)
    went_well(bandit, ODD[values])


@pytest.mark.parametrize("scale", [1e-90, 1e-8, 1e8, 1e90])
@pytest.mark.parametrize("smooth", [uc.SquaredExponential, uc.Matern32])
@every_set
@every_belief
@every_acquisition
def test_huge_and_tiny_length_scales_do_no_harm(
    scale: float, smooth: type[uc.Kernel], actions: str, kind: str, acquisition: uc.Acquisition
) -> None:
    bandit = uc.Bandit(ACTIONS[actions](), BELIEFS[kind](smooth(scale), 0.01), acquisition, seed=0)
    went_well(bandit, hills, rounds=6)
    if scale > 1.0:  # one value tells all: the mean of six values, shrunk
        mean, variance = bandit.belief.predict(GRID)
        np.testing.assert_allclose(mean, mean[0], rtol=0, atol=1e-6)
        np.testing.assert_allclose(variance, 1.0 / (1.0 + 6 / 0.01), rtol=1e-6)
    elif actions == "finite" and kind == "exact":  # a value tells of its own action only
        assert bandit.belief.predict([[0.1, 0.1]]).variance[0] == 1.0


@pytest.mark.parametrize("noise", [1e-12, 1e-6, 1e6, 1e12])
@every_set
@every_acquisition
def test_much_and_little_noise_do_no_harm(noise: float, actions: str, acquisition: uc.Acquisition) -> None:
    bandit = uc.Bandit(ACTIONS[actions](), uc.ExactBelief(uc.Matern52(), noise), acquisition, seed=0)
    went_well(bandit, hills, rounds=6)


@pytest.mark.parametrize("variance", [1e-90, 1e90])
@every_set
def test_a_large_or_small_prior_variance_does_no_harm(variance: float, actions: str) -> None:
    belief = uc.ExactBelief(uc.SquaredExponential(1.0, variance), 0.01 * variance)
    went_well(uc.Bandit(ACTIONS[actions](), belief, seed=0), lambda x: math.sqrt(variance) * hills(x))


def test_values_in_other_units_select_the_same_actions() -> None:
    # The mean is linear in the values.
    rows = []
    for unit in (1.0, 2.0**300, 2.0**-300):  # so that scaling rounds nothing
        bandit = uc.Bandit(uc.Finite(GRID), uc.ExactBelief(uc.Matern52(0.8), 0.01), uc.PureExploitation(), seed=0)
        chosen = []
        for _ in range(12):
            decision = bandit.select()
            chosen.append(decision.index)
            bandit.observe(decision, unit * (hills(decision.action) - 2.5))
        rows.append(chosen)
    assert len(set(rows[0])) > 2
    assert rows[0] == rows[1] == rows[2]


@pytest.mark.parametrize("value", [1, np.float32(1.0), np.int64(1), np.array(1.0), np.array([1.0])], ids=repr)
def test_any_real_number_is_a_value(value: Any) -> None:
    bandits = [busy(), busy()]
    for bandit, v in zip(bandits, (value, 1.0), strict=True):
        bandit.observe(awaited(bandit), v)
    assert snapshot(bandits[0]) == snapshot(bandits[1])
