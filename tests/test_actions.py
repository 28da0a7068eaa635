from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import uncubed as uc
from tests.helpers import BELIEFS, central_difference, every_belief
from uncubed import actions as actions_module
from uncubed._typing import Array
from uncubed.actions import JOINT_DRAW
from uncubed.beliefs import surface as surface_module

POINTWISE: list[uc.Acquisition] = [
    uc.UpperConfidenceBound(uc.ConstantBeta(4.0)),
    uc.ExpectedImprovement(),
    uc.MostProbableImprovement(),
    uc.ProbabilityOfImprovement(),
    uc.PureExploration(),
    uc.PureExploitation(),
]

every_acquisition = pytest.mark.parametrize("acquisition", POINTWISE, ids=lambda a: type(a).__name__)


def trained(
    d: int, *, kind: str = "exact", n: int = 12, seed: int = 0, low: float = -2.0, high: float = 3.0
) -> uc.Belief:
    belief = BELIEFS[kind](uc.Matern52(0.25 * (high - low)), 0.01)
    rng = np.random.default_rng(seed)
    for x in rng.uniform(low, high, (12, d)):
        belief.update(x, float(np.sin(x).sum() + 0.1 * rng.normal()))
    return belief


def box(d: int, **options: int) -> uc.Box:
    return uc.Box([-2.0] * d, [3.0] * d, **options)


def scores(acquisition: uc.Acquisition, belief: uc.Belief, X: Array, parameter: float) -> Array:
    posterior = belief.predict(X)
    return acquisition.value(posterior.mean, np.sqrt(posterior.variance), parameter)


# Finite sets


@every_acquisition
@every_belief
@pytest.mark.parametrize("d", [1, 3])
def test_on_a_finite_set_the_maximum_is_argmax_over_predict(acquisition: uc.Acquisition, kind: str, d: int) -> None:
    rng = np.random.default_rng(7)
    actions, belief = uc.Finite(rng.uniform(-2, 3, (300, d))), trained(d, kind=kind)
    for _ in range(5):
        parameter = acquisition.parameter(3, actions, belief, rng)
        choice = actions.maximise(acquisition, parameter, belief, rng)
        expected = scores(acquisition, belief, actions.X, parameter)
        assert choice.row is not None
        assert expected[choice.row] == pytest.approx(expected.max(), rel=1e-9)
        assert choice.score == pytest.approx(expected[choice.row], rel=1e-9)
        np.testing.assert_array_equal(choice.action, actions.X[choice.row])
        posterior = belief.predict(choice.action[None, :])
        assert choice.mean == pytest.approx(posterior.mean[0], rel=1e-9)
        assert choice.variance == pytest.approx(posterior.variance[0], rel=1e-9)
        belief.update_at(choice.row, float(rng.normal()))


@every_acquisition
def test_ties_go_to_the_first(acquisition: uc.Acquisition) -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 3, (30, 2))
    actions = uc.Finite(np.vstack([X, X, X[::-1]]))
    fresh = uc.ExactBelief(uc.SquaredExponential())
    assert actions.maximise(acquisition, 0.0, fresh, rng).row == 0
    belief = trained(2)
    row = actions.maximise(acquisition, acquisition.parameter(1, actions, belief, rng), belief, rng).row
    assert row is not None
    assert row < 30


def test_the_set_is_tracked_once_and_not_again_every_round() -> None:
    actions, belief, rng = uc.Finite(np.arange(6.0)[:, None]), trained(1), np.random.default_rng(0)
    actions.prepare(belief)
    tracked = belief.surface
    assert tracked is not None
    assert tracked.X is actions.X
    for _ in range(3):
        actions.maximise(uc.PureExploration(), 0.0, belief, rng)
        actions.maximise_draw(belief, rng)
    assert belief.surface is tracked
    other = uc.Finite(np.arange(3.0)[:, None])
    assert other.maximise(uc.PureExploitation(), 0.0, belief, rng).row in range(3)
    assert belief.surface is not tracked


def test_a_finite_set_is_a_copy_that_cannot_be_changed() -> None:
    X = np.arange(6.0).reshape(3, 2)
    actions = uc.Finite(X)
    X[:] = 9.0
    np.testing.assert_array_equal(actions.X, np.arange(6.0).reshape(3, 2))
    with pytest.raises(ValueError, match="read-only"):
        actions.X[0, 0] = 1.0
    choice = actions.maximise(uc.PureExploration(), 0.0, trained(2), np.random.default_rng(0))
    with pytest.raises(ValueError, match="read-only"):
        choice.action[0] = 1.0


def test_contains_is_membership() -> None:
    actions = uc.Finite([[0.0, 1.0], [2.0, 3.0]])
    assert len(actions) == 2
    assert [actions.contains(np.array(x)) for x in ([0.0, 1.0], [2.0, 1.0], [-0.0, 1.0])] == [True, False, True]
    edges = box(2)
    assert [edges.contains(np.array(x)) for x in ([-2.0, 3.0], [0.0, 0.0], [0.0, 3.1])] == [True, True, False]


def test_digests_differ_for_different_sets_and_agree_for_equal_ones() -> None:
    X = np.random.default_rng(0).normal(size=(20, 2))
    nudged = X.copy()
    nudged[7, 1] = np.nextafter(X[7, 1], np.inf)
    sets = [X, nudged, X[::-1], X[:-1], X + 1.0, -X]
    assert len({uc.Finite(S).digest for S in sets}) == len(sets)
    assert uc.Finite(X).digest == uc.Finite(np.asfortranarray(X)).digest == uc.Finite(X.tolist()).digest


def test_a_hundred_thousand_actions_are_searched_exactly(monkeypatch: pytest.MonkeyPatch) -> None:
    # with the cross-kernel stored, and with it recomputed in chunks
    actions = uc.Finite(np.random.default_rng(1).uniform(-2, 3, (100_000, 2)))
    rows: list[list[int]] = []
    for cache in (surface_module.CACHE_BYTES, 0):
        monkeypatch.setattr(surface_module, "CACHE_BYTES", cache)
        bandit = uc.Bandit(actions, trained(2), seed=0)
        rows.append([])
        for t in range(1, 6):
            parameter = bandit.acquisition.parameter(t, actions, bandit.belief, np.random.default_rng(0))
            decision = bandit.select()
            assert decision.index is not None
            rows[-1].append(decision.index)
            expected = scores(bandit.acquisition, bandit.belief, actions.X, parameter)
            assert expected[decision.index] == pytest.approx(expected.max(), rel=1e-10)
            bandit.observe(decision, float(np.sin(decision.action).sum()))
    assert rows[0] == rows[1]


# Boxes


def grid(d: int) -> Array:
    axis = np.linspace(-2.0, 3.0, 4001 if d == 1 else 121)
    return np.stack(np.meshgrid(*[axis] * d), axis=-1).reshape(-1, d)


@every_acquisition
@pytest.mark.parametrize("d", [1, 2])
@pytest.mark.parametrize("seed", range(4))
def test_on_a_box_the_maximum_is_at_least_that_of_a_dense_grid(acquisition: uc.Acquisition, d: int, seed: int) -> None:
    belief, rng, actions = trained(d, seed=seed), np.random.default_rng(seed), box(d)
    parameter = acquisition.parameter(5, actions, belief, rng)
    choice = actions.maximise(acquisition, parameter, belief, rng)
    assert actions.contains(choice.action)
    assert choice.score >= scores(acquisition, belief, grid(d), parameter).max() - 1e-6
    assert choice.score == pytest.approx(scores(acquisition, belief, choice.action[None, :], parameter)[0], abs=1e-10)
    posterior = belief.predict(choice.action[None, :])
    assert (choice.mean, choice.variance) == pytest.approx((posterior.mean[0], posterior.variance[0]), rel=1e-12)


@every_acquisition
@every_belief
@pytest.mark.parametrize("d", [1, 3])
def test_the_gradient_on_a_box_is_finite_differences(acquisition: uc.Acquisition, kind: str, d: int) -> None:
    # in the unit cube, where a box of unequal sides is climbed
    actions = uc.Box(-1.0 - np.arange(d), np.arange(d) + 1.0)
    belief = trained(d, kind=kind, low=-2.0, high=2.0)
    U = np.random.default_rng(2).uniform(0.05, 0.95, (8, d))
    values, gradients = actions._value_and_gradient(acquisition, 0.9, belief, U)
    for u, value, gradient in zip(U, values, gradients, strict=True):

        def at(point: Array) -> float:
            return float(actions._value_and_gradient(acquisition, 0.9, belief, point[None, :])[0][0])

        assert value == pytest.approx(at(u), rel=1e-12)
        np.testing.assert_allclose(gradient, central_difference(at, u), rtol=1e-5, atol=1e-6)


class Counted:
    """Counts the points at which a belief is asked, through its class."""

    def __init__(self, kind: type[uc.Belief], monkeypatch: pytest.MonkeyPatch) -> None:
        self.predicted, self.differentiated = 0, 0
        predict, gradient = kind.predict, kind.gradient

        def counting_predict(belief: uc.Belief, X: Array) -> uc.Posterior:
            self.predicted += len(X)
            return predict(belief, X)

        def counting_gradient(belief: uc.Belief, X: Array) -> uc.PosteriorGradient:
            self.differentiated += len(X)
            return gradient(belief, X)

        monkeypatch.setattr(kind, "predict", counting_predict)
        monkeypatch.setattr(kind, "gradient", counting_gradient)

    def taken(self) -> tuple[int, int]:
        taken = self.predicted, self.differentiated
        self.predicted = self.differentiated = 0
        return taken


@pytest.mark.parametrize("kind", [uc.ExactBelief, uc.ProjectedBelief])
@pytest.mark.parametrize("pool", [32, 64])
def test_what_a_search_costs_is_fixed_by_the_box_and_not_by_the_round(
    kind: type[uc.Belief], pool: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    starts, steps, atoms = 3, 5, 64
    actions = box(1, pool=pool, starts=starts, steps=steps)
    belief = kind(uc.SquaredExponential(0.05))
    bandit = uc.Bandit(actions, belief, uc.UpperConfidenceBound(uc.ConstantBeta(4.0)), certify=False, seed=0)
    counted = Counted(kind, monkeypatch)
    for t in range(1, 151):
        decision = bandit.select()
        predicted, differentiated = counted.taken()
        assert predicted == pool + min(belief.distinct, atoms) + 1
        assert starts <= differentiated <= (starts + 1) * (steps + 1)
        bandit.observe(decision, float(np.sin(t)))
        counted.taken()
    assert belief.distinct > atoms


@every_acquisition
@settings(max_examples=25)
@given(start=st.lists(st.floats(-2.0, 3.0), min_size=2, max_size=2), steps=st.integers(0, 4), seed=st.integers(0, 99))
def test_the_last_maximiser_is_never_lost(
    acquisition: uc.Acquisition, start: list[float], steps: int, seed: int
) -> None:
    # with a pool so small that it finds nothing better by itself
    belief, actions, rng = trained(2), box(2, pool=2, starts=1, steps=steps), np.random.default_rng(seed)
    before = scores(acquisition, belief, np.array([start]), 0.5)[0]
    choice = actions.maximise(acquisition, 0.5, belief, rng, np.array(start))
    assert choice.score >= before - 1e-9 * max(1.0, abs(before))


def test_the_last_maximiser_is_climbed_from_even_where_others_look_better() -> None:
    # From the foot of the higher of two hills of variance, with a pool of two points that may lie anywhere.
    belief = uc.ExactBelief(uc.SquaredExponential(0.9), 1e-3)
    for x in (-2.0, 0.0, 3.0):
        belief.update([x], 0.0)
    actions, foot = box(1, pool=2, starts=1), np.array([0.2])
    summit = scores(uc.PureExploration(), belief, grid(1), 0.0).max()
    for seed in range(20):
        choice = actions.maximise(uc.PureExploration(), 0.0, belief, np.random.default_rng(seed), foot)
        assert choice.score == pytest.approx(summit, abs=1e-6)


@every_acquisition
def test_more_steps_never_find_less(acquisition: uc.Acquisition) -> None:
    belief = trained(2)
    parameter = acquisition.parameter(1, box(2), belief, np.random.default_rng(0))
    found = [
        box(2, pool=16, steps=steps).maximise(acquisition, parameter, belief, np.random.default_rng(3)).score
        for steps in (0, 1, 2, 5, 20, 80)
    ]
    assert all(b >= a for a, b in pairwise(found))
    assert found[-1] > found[0]


@every_acquisition
def test_a_stretched_and_moved_box_with_a_stretched_kernel_gives_the_stretched_and_moved_action(
    acquisition: uc.Acquisition,
) -> None:
    factor, shift = 20.0, 300.0
    X = np.random.default_rng(4).uniform(0, 1, (9, 2))
    choices = []
    for scale, offset in [(1.0, 0.0), (factor, shift)]:
        belief = uc.ExactBelief(uc.SquaredExponential(0.4 * scale), 0.01)
        for x in X:
            belief.update(scale * x + offset, float(np.sin(5 * x).sum()))
        actions = uc.Box([offset] * 2, [offset + scale] * 2)
        choices.append(actions.maximise(acquisition, 0.3, belief, np.random.default_rng(5)))
    assert choices[1].score == pytest.approx(choices[0].score, rel=1e-6)
    np.testing.assert_allclose(choices[1].action, factor * choices[0].action + shift, rtol=0, atol=1e-3 * factor)


def test_a_search_is_a_function_of_its_generator() -> None:
    belief, acquisition = trained(2), uc.UpperConfidenceBound()
    first, again, other = (
        box(2).maximise(acquisition, 2.0, belief, np.random.default_rng(s)).action for s in (0, 0, 1)
    )
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


def test_the_action_of_a_box_is_read_only_and_its_own() -> None:
    belief, rng = trained(1), np.random.default_rng(0)
    for choice in (box(1).maximise(uc.PureExploration(), 0.0, belief, rng), box(1).maximise_draw(belief, rng)):
        with pytest.raises(ValueError, match="read-only"):
            choice.action[0] = 1.0


@pytest.mark.parametrize("corner", [-2.0, 3.0])
def test_a_maximum_on_the_bound_is_found_on_the_bound(corner: float) -> None:
    belief = uc.ExactBelief(uc.SquaredExponential(10.0), 1e-3)
    for x in (-2.0, 0.0, 3.0):
        belief.update([x], x * np.sign(corner))
    choice = box(1).maximise(uc.PureExploitation(), 0.0, belief, np.random.default_rng(0))
    assert choice.action[0] == corner


# Thompson sampling


def frequencies(rows: list[int]) -> Array:
    return np.bincount(rows, minlength=3) / len(rows)


@every_belief
def test_thompson_selects_each_action_as_often_as_it_is_best_under_the_joint_posterior(kind: str) -> None:
    X = np.array([[0.0], [0.6], [2.0]])
    belief = BELIEFS[kind](uc.SquaredExponential(), 0.5)
    for x, value in [(0.0, 0.7), (0.6, 0.2), (2.0, -0.1), (2.0, 0.3)]:
        belief.update([x], value)
    n, rng, actions = 6000, np.random.default_rng(0), uc.Finite(X)
    drawn = []
    for _ in range(n):
        row = actions.maximise_draw(belief, rng).row
        assert row is not None
        drawn.append(row)
    f = np.random.default_rng(1).multivariate_normal(belief.predict(X).mean, belief.covariance(X), 200_000)
    p = frequencies(f.argmax(axis=1).tolist())
    assert (np.abs(frequencies(drawn) - p) < 5 * np.sqrt(p * (1 - p) / n)).all()
    # Independent draws with the same variances would do otherwise: the joint posterior was needed.
    alone = np.random.default_rng(1).normal(belief.predict(X).mean, np.sqrt(belief.predict(X).variance), (200_000, 3))
    assert np.abs(frequencies(alone.argmax(axis=1).tolist()) - p).max() > 5 * np.sqrt(0.25 / n)


def known() -> uc.ExactBelief:
    """All but certain that f is a hundred times the sine."""
    belief = uc.ExactBelief(uc.SquaredExponential(2.0), 1e-9)
    for x in np.linspace(-2, 3, 12):
        belief.update([x], 100.0 * np.sin(x))
    return belief


def test_beyond_the_joint_draw_a_set_is_drawn_from() -> None:
    actions, rng = uc.Finite(np.random.default_rng(0).uniform(-2, 3, (JOINT_DRAW + 300, 1))), np.random.default_rng(1)
    fresh = uc.ExactBelief(uc.SquaredExponential(0.05))
    assert len({actions.maximise_draw(fresh, rng).row for _ in range(8)}) > 4


def test_a_subset_drawn_from_a_large_set_holds_the_best_mean(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(actions_module, "JOINT_DRAW", 5)
    X, rng = np.linspace(-2, 3, 50)[:, None], np.random.default_rng(0)
    actions, belief = uc.Finite(X), known()
    best = int(belief.predict(X).mean.argmax())
    assert {actions.maximise_draw(belief, rng).row for _ in range(20)} == {best}


def test_a_subset_drawn_from_a_large_set_gives_rows_of_the_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(actions_module, "JOINT_DRAW", 5)
    X, belief, rng = np.linspace(-2, 3, 50)[:, None], trained(1), np.random.default_rng(0)
    actions = uc.Finite(X)
    rows = []
    for _ in range(200):
        choice = actions.maximise_draw(belief, rng)
        assert choice.row is not None
        np.testing.assert_array_equal(choice.action, X[choice.row])
        rows.append(choice.row)
    assert len(set(rows)) > 10


def test_thompson_on_a_box_stays_inside_and_follows_the_mean_when_all_is_known() -> None:
    belief, rng = known(), np.random.default_rng(0)
    for _ in range(3):
        choice = box(1).maximise_draw(belief, rng)
        assert box(1).contains(choice.action)
        assert choice.mean == pytest.approx(100.0, abs=0.01)
        assert choice.score == pytest.approx(choice.mean, abs=0.01)


@pytest.mark.parametrize("seed", range(12))
def test_a_flat_acquisition_has_a_maximum_in_the_box(seed: int) -> None:
    belief = uc.ExactBelief(uc.SquaredExponential(0.03), 1e-3)
    belief.update([0.0, 0.0], -1.0)
    box = uc.Box([0.0, 0.0], [1.0, 1.0])
    chosen = uc.PureExploitation().choose(1, box, belief, np.random.default_rng(seed), np.array([0.9, 0.0]))
    assert box.contains(chosen.action)
    assert chosen.mean == pytest.approx(0.0, abs=1e-6)
