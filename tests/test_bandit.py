import dataclasses
import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

import uncubed as uc
from tests.helpers import BELIEFS, assert_close, every_belief
from uncubed._typing import Array

LINE = np.linspace(-3.0, 3.0, 61)[:, None]


def on_a_line(
    acquisition: uc.Acquisition | None = None,
    budget: uc.Budget | None = None,
    *,
    kind: str = "exact",
    noise: float = 0.01,
    act: bool = False,
    max_pending: int = 64,
) -> uc.Bandit:
    belief = BELIEFS[kind](uc.SquaredExponential(), noise)
    return uc.Bandit(uc.Finite(LINE), belief, acquisition, budget, act=act, max_pending=max_pending, seed=0)


def wave(action: Array) -> float:
    return float(np.sin(2.0 * action[0]) + 0.3 * action[0])


def play(bandit: uc.Bandit, rounds: int, f: Callable[[Array], float] = wave) -> list[uc.Decision]:
    """Rounds by hand: what was selected."""
    decisions = []
    for _ in range(rounds):
        decision = bandit.select()
        if decision.round in bandit.pending:
            bandit.observe(decision, f(decision.action))
        decisions.append(decision)
    return decisions


def without_round(decision: uc.Decision) -> tuple[object, ...]:
    return (decision.action.tolist(), *dataclasses.astuple(dataclasses.replace(decision, round=0))[1:])


# The dense bandit, from the equations


class DenseOracle:
    """GP regression by one solve with K + σ²I over every value so far, repeats and all."""

    def __init__(self, kernel: uc.Kernel, noise: float, X: Array) -> None:
        self.kernel, self.noise, self.X = kernel, noise, X
        self.rows: list[int] = []
        self.y: list[float] = []

    def posterior(self) -> tuple[Array, Array]:
        if not self.y:
            return np.zeros(len(self.X)), np.sqrt(self.kernel.diagonal(self.X))
        D = self.X[self.rows]
        A = self.kernel(D, D) + self.noise * np.eye(len(D))
        k = self.kernel(D, self.X)
        solved = np.linalg.solve(A, np.column_stack([np.array(self.y), k]))
        variance = self.kernel.diagonal(self.X) - np.einsum("ij,ij->j", k, solved[:, 1:])
        return k.T @ solved[:, 0], np.sqrt(variance)

    def ucb(self, t: int, delta: float) -> Array:
        mean, std = self.posterior()
        beta = 2.0 * math.log(len(self.X) * t**2 * math.pi**2 / (6.0 * delta))
        return mean + math.sqrt(beta) * std

    def expected_improvement(self) -> Array:
        mean, std = self.posterior()
        best = max(self.y, default=0.0)
        z = (mean - best) / std
        return std * (z * norm.cdf(z) + norm.pdf(z))


PROBLEMS: dict[str, tuple[uc.Kernel, float, int]] = {
    "squared exponential, 1-d": (uc.SquaredExponential(0.8), 0.01, 1),
    "matern 5/2 ARD, 2-d": (uc.Matern52([0.5, 1.5], 2.0), 0.1, 2),
    "matern 1/2, 3-d, much noise": (uc.Matern12(1.5), 0.5, 3),
}


def oracle_and_bandit(name: str, acquisition: uc.Acquisition, merge: bool) -> tuple[DenseOracle, uc.Bandit, Array]:
    kernel, noise, d = PROBLEMS[name]
    rng = np.random.default_rng(sum(map(ord, name)))
    X = rng.uniform(-2.0, 2.0, (60, d))
    f = rng.multivariate_normal(np.zeros(60), kernel(X, X) + 1e-10 * np.eye(60))
    bandit = uc.Bandit(uc.Finite(X), uc.ExactBelief(kernel, noise, merge=merge), acquisition)
    return DenseOracle(kernel, noise, X), bandit, f


def step(oracle: DenseOracle, bandit: uc.Bandit, f: Array, acquisition: Array, noise: float) -> uc.Decision:
    """One round of both: the bandit's action must be the oracle's, or as good."""
    decision = bandit.select()
    assert decision.informative
    assert decision.index is not None
    assert acquisition[decision.index] >= acquisition.max() - 1e-9
    assert decision.variance == pytest.approx(oracle.posterior()[1][decision.index] ** 2, abs=1e-9)
    y = float(f[decision.index] + noise)
    bandit.observe(decision, y)
    oracle.rows.append(decision.index)
    oracle.y.append(y)
    return decision


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("merge", [True, False])
def test_keep_all_is_gp_ucb_from_the_equations(name: str, merge: bool) -> None:
    oracle, bandit, f = oracle_and_bandit(name, uc.UpperConfidenceBound(uc.TheoreticalBeta(0.2)), merge)
    noise = np.random.default_rng(1).normal(0.0, math.sqrt(oracle.noise), 150)
    for t in range(1, 151):
        step(oracle, bandit, f, oracle.ucb(t, 0.2), noise[t - 1])
    assert bandit.belief.model_order == bandit.evaluations == 150
    assert bandit.belief.distinct == (len(set(oracle.rows)) if merge else 150)
    assert len(set(oracle.rows)) < 150


@pytest.mark.parametrize("name", PROBLEMS)
def test_keep_all_is_gp_ei_from_the_equations(name: str) -> None:
    oracle, bandit, f = oracle_and_bandit(name, uc.ExpectedImprovement(), merge=True)
    noise = np.random.default_rng(2).normal(0.0, math.sqrt(oracle.noise), 120)
    for t in range(1, 121):
        improvement = oracle.expected_improvement()
        decision = step(oracle, bandit, f, improvement, noise[t - 1])
        # EI may be small everywhere: as good means in relation, too.
        assert improvement[decision.index] >= (1.0 - 1e-6) * improvement.max()
    assert bandit.belief.best_value == max(oracle.y)


@pytest.mark.parametrize(
    "budget", [uc.Budget.constant(0.0), uc.Budget.absolute(-100.0), uc.Budget.resolution(1e-9)], ids=str
)
def test_a_budget_that_refuses_nothing_is_keep_all(budget: uc.Budget) -> None:
    dense, other = on_a_line(), on_a_line(budget=budget)
    for a, b in zip(play(dense, 80), play(other, 80), strict=True):
        np.testing.assert_array_equal(a.action, b.action)
        assert b.informative
    assert_close(other.belief.predict(LINE), dense.belief.predict(LINE), 0.0)


# The test


@pytest.mark.parametrize("budget", [uc.Budget.constant(0.3), uc.Budget.for_horizon(100), uc.Budget.gap(0.5)], ids=str)
@pytest.mark.parametrize("kind", ["exact", "projected"])
def test_the_test_does_not_look_at_values(budget: uc.Budget, kind: str) -> None:
    # Pure exploration selects by variance alone, so with other values nothing at all may change.
    one = play(on_a_line(uc.PureExploration(), budget, kind=kind), 200, lambda x: 0.0)
    two = play(on_a_line(uc.PureExploration(), budget, kind=kind), 200, lambda x: 1e3 * float(np.cos(7.0 * x[0])))
    assert any(d.informative for d in one)
    assert not one[-1].informative
    assert [without_round(d) for d in one] == [without_round(d) for d in two]


@settings(max_examples=30)
@given(epsilon=st.floats(1e-3, 2.0), noise=st.floats(1e-4, 1.0), seed=st.integers(0, 2**32 - 1))
def test_a_decision_is_the_papers_test(epsilon: float, noise: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    bandit = on_a_line(budget=uc.Budget.constant(epsilon), noise=noise)
    for t, decision in enumerate(play(bandit, 25, lambda x: float(rng.normal())), 1):
        assert decision.round == t
        assert decision.epsilon == pytest.approx(epsilon, rel=1e-9)
        assert decision.information_gain == pytest.approx(0.5 * math.log(1.0 + decision.variance / noise), rel=1e-9)
        if abs(decision.information_gain / epsilon - 1.0) > 1e-9:
            assert decision.informative == (decision.information_gain > epsilon)
        np.testing.assert_array_equal(decision.action, LINE[decision.index])


@pytest.mark.parametrize(
    "budget", [uc.Budget.keep_all(), uc.Budget.constant(0.05), uc.Budget.for_horizon(200)], ids=str
)
@pytest.mark.parametrize(
    "acquisition", [uc.UpperConfidenceBound(), uc.ExpectedImprovement(), uc.ThompsonSampling()], ids=repr
)
def test_lemma_3_the_gains_of_kept_actions_sum_to_the_information_gain(
    acquisition: uc.Acquisition, budget: uc.Budget
) -> None:
    bandit = on_a_line(acquisition, budget)
    kept = [d for d in play(bandit, 200) if d.informative]
    total = sum(d.information_gain for d in kept)
    assert len(kept) == bandit.belief.model_order == bandit.evaluations
    assert total == pytest.approx(bandit.belief.information_gain, rel=1e-8)
    D = np.array([d.action for d in kept])  # every repeat a row of its own
    K = bandit.belief.kernel(D, D)
    assert total == pytest.approx(0.5 * np.linalg.slogdet(np.eye(len(D)) + K / 0.01)[1], rel=1e-8)


def test_selecting_changes_no_belief() -> None:
    bandit = on_a_line()
    play(bandit, 10)
    before = bandit.belief.predict(LINE)
    for _ in range(5):
        bandit.select()
    assert_close(bandit.belief.predict(LINE), before, 0.0)
    assert bandit.round == 15
    assert bandit.evaluations == bandit.belief.model_order == 10


@pytest.mark.parametrize("acquisition", [uc.ExpectedImprovement(), uc.MostProbableImprovement()], ids=repr)
def test_a_refusal_under_ei_or_mpi_is_the_same_decision_for_ever(acquisition: uc.Acquisition) -> None:
    decisions = play(on_a_line(acquisition, uc.Budget.constant(0.5)), 80)
    refused = [d for d in decisions if not d.informative]
    first = refused[0]
    assert len(refused) == 80 - first.round + 1
    assert first.round > 1
    assert all(without_round(d) == without_round(first) for d in refused)


# Taking refused actions


def test_acting_on_refused_actions_teaches_an_exact_belief_nothing() -> None:
    idle = on_a_line(budget=uc.Budget.constant(0.5))
    acting = on_a_line(budget=uc.Budget.constant(0.5), act=True)
    for a, b in zip(play(idle, 60), play(acting, 60), strict=True):
        assert without_round(a) == without_round(b)
    assert acting.evaluations == 60 > idle.evaluations
    assert acting.belief.model_order == idle.belief.model_order
    assert_close(acting.belief.predict(LINE), idle.belief.predict(LINE), 0.0)
    decision = acting.select()
    assert not decision.informative
    before = acting.belief.predict(LINE)
    acting.observe(decision, 1e6)
    assert_close(acting.belief.predict(LINE), before, 0.0)


def test_acting_on_refused_actions_a_projected_belief_absorbs_every_value() -> None:
    bandit = on_a_line(budget=uc.Budget.constant(0.5), kind="projected", act=True)
    decisions = play(bandit, 60)
    belief = bandit.belief
    assert isinstance(belief, uc.ProjectedBelief)
    refused = next(d for d in reversed(decisions) if not d.informative)
    assert belief.absorbed == bandit.evaluations == 60
    alone = uc.ProjectedBelief(uc.SquaredExponential(), 0.01)
    for d in decisions:
        alone.update(d.action, wave(d.action))
    assert_close(belief.predict(LINE), alone.predict(LINE), 1e-10)
    variance = float(belief.predict(refused.action[None, :]).variance[0])
    assert variance < refused.variance


def test_a_refused_round_awaits_nothing_unless_acting() -> None:
    idle, acting = (on_a_line(budget=uc.Budget.constant(99.0), act=act) for act in (False, True))
    assert not idle.select().informative
    assert not acting.select().informative
    assert not idle.pending
    assert list(acting.pending) == [1]


# Values that come late, in another order, or never


@given(order=st.permutations(range(8)), seed=st.integers(0, 2**32 - 1))
@settings(max_examples=25)
def test_values_in_any_order_give_the_posterior_of_values_in_order(order: list[int], seed: int) -> None:
    values = np.random.default_rng(seed).normal(size=8)
    posteriors = []
    for answers in (list(range(8)), order):
        bandit = on_a_line()
        decisions = [bandit.select() for _ in range(8)]
        assert list(bandit.pending.values()) == decisions
        for i in answers:
            bandit.observe(decisions[i], float(values[i]))
        assert not bandit.pending
        posteriors.append(bandit.belief.predict(LINE))
    assert_close(posteriors[1], posteriors[0], 1e-9)


@every_belief
def test_late_and_lost_values_leave_what_the_values_that_came_say(kind: str) -> None:
    bandit = on_a_line(kind=kind)
    expected = BELIEFS[kind](uc.SquaredExponential(), 0.01)
    rng, waiting = np.random.default_rng(0), []
    for t in range(40):
        waiting.append(bandit.select())
        if t % 3 == 2:
            decision = waiting.pop(int(rng.integers(len(waiting))))
            bandit.lose(decision)
        if t % 2:
            decision = waiting.pop(int(rng.integers(len(waiting))))
            bandit.observe(decision, wave(decision.action))
            expected.update(decision.action, wave(decision.action))
    assert {d.round for d in waiting} == set(bandit.pending)
    assert bandit.evaluations == 20
    assert_close(bandit.belief.predict(LINE), expected.predict(LINE), 1e-9)


@every_belief
@pytest.mark.parametrize("acquisition", [uc.PureExploration(), uc.UpperConfidenceBound()], ids=repr)
def test_while_values_are_awaited_selections_do_not_clump(acquisition: uc.Acquisition, kind: str) -> None:
    bandit = on_a_line(acquisition, kind=kind)
    actions = [float(bandit.select().action[0]) for _ in range(4)]
    assert min(abs(a - b) for i, a in enumerate(actions) for b in actions[:i]) > 0.5


def test_without_the_expectation_they_would_clump() -> None:
    bandit = on_a_line(uc.PureExploration())
    first = bandit.select()
    bandit.lose(first)
    assert bandit.select().index == first.index


@pytest.mark.parametrize("kind", ["exact", "projected"])
@pytest.mark.parametrize("act", [False, True])
def test_while_a_value_is_awaited_variances_are_as_if_it_had_come(kind: str, act: bool) -> None:
    # Whatever the value: pure exploration does not look at it. A refused one, acted on, is ignored by an exact belief.
    budget = uc.Budget.constant(1.0)
    late, prompt = (on_a_line(uc.PureExploration(), budget, kind=kind, act=act) for _ in range(2))
    for _ in range(25):
        a, b = late.select(), prompt.select()
        if b.round in prompt.pending:
            prompt.observe(b, 3.0)
        np.testing.assert_array_equal(a.action, b.action)
        assert a.variance == pytest.approx(b.variance, abs=1e-10)
        assert a.informative == b.informative
    assert not a.informative


@every_belief
def test_while_a_value_is_awaited_the_incumbent_is_still_the_best_kept_value(kind: str) -> None:
    bandit = on_a_line(uc.ExpectedImprovement(), kind=kind)
    for x in (-1.0, 0.2):
        bandit.add(LINE[np.abs(LINE[:, 0] - x).argmin()], -5.0 + x)
    first = bandit.select()
    second = bandit.select()
    mean = bandit.belief.predict(LINE).mean
    std = np.sqrt(bandit.belief.condition([first.action]).predict(LINE).variance)
    assert mean[first.index] > -4.8  # the expected value is above every kept one, and is not one of them
    kept, expected = (uc.ExpectedImprovement().value(mean, std, xi) for xi in (-4.8, float(mean[first.index])))
    assert second.index is not None
    assert kept[second.index] == pytest.approx(kept.max(), rel=1e-9)
    assert kept.argmax() != expected.argmax()


def test_beyond_max_pending_the_oldest_is_given_up_with_a_warning() -> None:
    bandit = on_a_line(max_pending=3)
    decisions = [bandit.select() for _ in range(3)]
    for lost in range(2):
        with pytest.warns(uc.LostValueWarning, match=f"round {lost + 1} "):
            decisions.append(bandit.select())
        assert list(bandit.pending) == [d.round for d in decisions[lost + 1 :]]
        with pytest.raises(uc.UnknownDecisionError, match="lost"):
            bandit.observe(decisions[lost], 0.0)
    for decision in decisions[2:]:
        bandit.observe(decision, 0.0)
    assert bandit.evaluations == 3


def test_a_value_for_a_decision_is_a_value_at_its_action() -> None:
    bandit, belief = on_a_line(), uc.ExactBelief(uc.SquaredExponential(), 0.01)
    for decision in play(bandit, 30):
        belief.update(decision.action, wave(decision.action))
    assert_close(bandit.belief.predict(LINE), belief.predict(LINE), 1e-9)


def test_points_added_outside_the_rounds_are_known_and_are_no_evaluations() -> None:
    bandit = on_a_line(budget=uc.Budget.constant(0.5))
    bandit.select()
    bandit.add([3.0], 1.0)
    bandit.add(LINE[0], -1.0)
    assert (bandit.round, bandit.evaluations, bandit.belief.model_order) == (1, 0, 2)
    assert bandit.belief.predict([[3.0]]).mean[0] == pytest.approx(1.0 / 1.01, rel=1e-6)
    fresh = on_a_line(uc.PureExploration())
    fresh.add([-3.0], 0.0)
    assert fresh.select().index != 0


def test_points_added_untested_stand_aside_of_the_bound_on_the_model_order() -> None:
    bounds = []
    for added in (0, 2):
        bandit = on_a_line(budget=uc.Budget.constant(0.5))
        for x in LINE[:added]:
            bandit.add(x, 0.0)
        play(bandit, 30)
        bounds.append(bandit.model_order_bound())
    assert bounds[0] is not None
    assert bounds[1] == bounds[0] + 2


def test_points_added_while_values_are_awaited_are_known_at_the_next_selection() -> None:
    bandit = on_a_line(uc.PureExploration(), uc.Budget.constant(1.0))
    refused = bandit.select()
    while refused.informative:
        refused = bandit.select()
    bandit.add(refused.action, 0.0)
    expecting = bandit.belief.condition([d.action for d in bandit.pending.values()])
    variance = bandit.select().variance
    assert variance == pytest.approx(expecting.predict(LINE).variance.max(), rel=1e-9)
    assert variance < refused.variance


# A hard cap


@every_belief
@pytest.mark.parametrize("cap", [1, 2, 7])
@pytest.mark.parametrize("acquisition", [uc.UpperConfidenceBound(), uc.PureExploration()], ids=repr)
def test_the_model_never_exceeds_its_cap_and_the_certificate_then_says_heuristic(
    kind: str, cap: int, acquisition: uc.Acquisition
) -> None:
    bandit = on_a_line(acquisition, uc.Budget.keep_all(max_model_order=cap), kind=kind)
    assert not any("heuristic" in caveat for caveat in bandit.certificate().caveats)
    for _ in range(40):
        play(bandit, 1)
        assert bandit.belief.distinct <= cap
        assert bandit.belief.surface is not None
        shown = uc.Posterior(bandit.belief.surface.mean, bandit.belief.surface.variance)
        assert_close(shown, bandit.belief.predict(LINE), 1e-8)
    bandit.add(LINE[30], 0.0)
    assert bandit.belief.distinct <= cap
    assert bandit.belief.evictions > 0
    assert any("heuristic" in caveat for caveat in bandit.certificate().caveats)


@every_belief
def test_a_cap_that_is_never_reached_changes_nothing(kind: str) -> None:
    free = on_a_line(kind=kind)
    capped = on_a_line(budget=uc.Budget.keep_all(max_model_order=61), kind=kind)
    for a, b in zip(play(free, 50), play(capped, 50), strict=True):
        assert without_round(a) == without_round(b)
    assert capped.certificate().caveats == free.certificate().caveats


# Reading


@every_belief
def test_best_is_the_atom_with_the_largest_mean_and_not_the_luckiest_value(kind: str) -> None:
    bandit = on_a_line(kind=kind, noise=1.0)
    with pytest.raises(uc.InvalidInputError, match="expected at least one observed value"):
        _ = bandit.best
    for x, value in [(-3.0, 2.0), (0.0, 1.5), (0.0, 1.5), (0.0, 1.5), (0.0, 1.5), (3.0, -1.0)]:
        bandit.add([x], value)
    assert bandit.best.action.tolist() == [0.0]
    posterior = bandit.belief.predict([[0.0]])
    assert bandit.best.mean == pytest.approx(posterior.mean[0])
    assert bandit.best.std == pytest.approx(math.sqrt(posterior.variance[0]))
    bandit.best.action[0] = 9.0
    assert bandit.best.action.tolist() == [0.0]


@pytest.mark.parametrize("actions", [uc.Finite(LINE), uc.Box([-3.0], [3.0])], ids=repr)
@pytest.mark.parametrize("acquisition", [uc.UpperConfidenceBound(), uc.ThompsonSampling()], ids=repr)
def test_reading_does_not_change_what_is_selected_next(
    actions: uc.Finite | uc.Box, acquisition: uc.Acquisition
) -> None:
    silent, asked = (
        uc.Bandit(actions, uc.ExactBelief(uc.SquaredExponential(), 0.01), acquisition, seed=3) for _ in range(2)
    )
    for t in range(6):
        asked.certificate()
        asked.gap([0.5])
        repr(asked)
        a, b = silent.select(), asked.select()
        assert without_round(a) == without_round(b)
        asked.model_order_bound(steps=5)
        asked.certificate()
        if t % 2:
            silent.observe(a, wave(a.action))
            asked.observe(b, wave(b.action))
            assert asked.best.mean == silent.best.mean
    assert asked.certificate().cumulative_regret == silent.certificate().cumulative_regret


def test_the_certificate_recommends_where_the_gap_is_smallest() -> None:
    bandit = on_a_line()
    play(bandit, 30)
    certificate = bandit.certificate()
    gaps = [bandit.gap(x) for x in LINE]
    assert certificate.gap == pytest.approx(min(gaps), rel=1e-9)
    assert certificate.gap == pytest.approx(bandit.gap(certificate.recommended), rel=1e-12)
    assert certificate.best is not None
    assert certificate.best_gap == pytest.approx(bandit.gap(certificate.best), rel=1e-12)
    assert (certificate.round, certificate.delta) == (31, bandit.delta)
    assert f"{certificate.gap:.4g}" in str(certificate)


def test_before_any_round_a_certificate_is_the_prior() -> None:
    bandit = on_a_line()
    certificate = bandit.certificate()
    root = math.sqrt(2.0 * math.log(61 * math.pi**2 / (6.0 * 0.1)))
    assert certificate.gap == pytest.approx(2.0 * root, rel=1e-12)
    assert certificate.cumulative_regret == 0.0
    assert certificate.best is None
    assert certificate.best_gap is None
    assert certificate.theorem_regret is None


def test_the_certificate_of_regret_is_the_sum_of_the_gaps_of_what_was_selected() -> None:
    bandit, total = on_a_line(uc.ExpectedImprovement()), 0.0
    for _ in range(20):
        certificate, top = bandit.certificate(), bandit.belief.copy()
        decision = bandit.select()
        mean, variance = top.predict(LINE)
        root = math.sqrt(certificate.beta)
        total += float((mean + root * np.sqrt(variance)).max() - mean[decision.index])
        total += root * math.sqrt(variance[decision.index])
        bandit.observe(decision, wave(decision.action))
    assert bandit.certificate().cumulative_regret == pytest.approx(total, rel=1e-9)


def test_theorem_3_2_speaks_of_ucb_whose_values_came_in_time() -> None:
    prompt, late = on_a_line(), on_a_line()
    assert play(prompt, 6)[-1].round == 6
    assert prompt.certificate().theorem_regret is not None
    waiting = late.select()
    play(late, 1)
    late.observe(waiting, 0.0)
    play(late, 4)
    assert late.certificate().theorem_regret is None
    for acquisition in (uc.ExpectedImprovement(), uc.UpperConfidenceBound(uc.ScaledBeta())):
        other = on_a_line(acquisition)
        play(other, 3)
        assert other.certificate().theorem_regret is None


def test_without_certify_the_same_actions_are_selected_and_no_regret_is_certified() -> None:
    with_it, without = (
        uc.Bandit(uc.Finite(LINE), uc.ExactBelief(uc.SquaredExponential(), 0.01), certify=certify)
        for certify in (True, False)
    )
    for a, b in zip(play(with_it, 30), play(without, 30), strict=True):
        assert without_round(a) == without_round(b)
    assert without.certificate().cumulative_regret is None
    assert without.certificate().gap == with_it.certificate().gap


@every_belief
def test_only_an_exact_belief_has_no_caveat_on_a_finite_set(kind: str) -> None:
    bandit = on_a_line(kind=kind)
    play(bandit, 5)
    assert (bandit.certificate().caveats == ()) == (kind == "exact")


def test_a_box_certifies_up_to_the_maximiser() -> None:
    bandit = uc.Bandit(uc.Box([-3.0], [3.0]), uc.ExactBelief(uc.SquaredExponential(), 0.01), seed=0)
    play(bandit, 3)
    assert any("maximiser" in caveat for caveat in bandit.certificate().caveats)


@pytest.mark.parametrize("acquisition", [uc.ThompsonSampling(), uc.UpperConfidenceBound()], ids=repr)
def test_a_seed_settles_everything(acquisition: uc.Acquisition) -> None:
    runs = []
    for seed in (5, 5, 6):
        bandit = uc.Bandit(uc.Box([-3.0], [3.0]), uc.ExactBelief(uc.SquaredExponential(), 0.01), acquisition, seed=seed)
        runs.append([without_round(d) for d in play(bandit, 4)])
    assert runs[0] == runs[1] != runs[2]


# Interruptions, and values that never come


@every_belief
def test_values_that_never_came_are_forgotten_in_time(kind: str) -> None:
    belief = BELIEFS[kind](uc.SquaredExponential(), 0.01)
    bandit = uc.Bandit(uc.Finite(LINE), belief, act=True, max_delay=50, seed=0)
    for _ in range(10):
        bandit.select()  # an outage: no value comes
    play(bandit, 40)
    assert len(bandit.pending) == 10
    with pytest.warns(uc.LostValueWarning, match=r"in 50 rounds.*use add\(\)"):
        play(bandit, 12)
    assert not bandit.pending
    assert wave(bandit.best.action) == pytest.approx(max(wave(x) for x in LINE), abs=0.05)


@pytest.mark.parametrize("touch", ["select", "certificate", "save"])
def test_a_belief_interrupted_while_it_learns_is_not_used(touch: str, monkeypatch: pytest.MonkeyPatch) -> None:
    bandit = on_a_line()
    play(bandit, 3)
    decision = bandit.select()

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(uc.beliefs.surface.Surface, "assimilate", interrupted)
    with pytest.raises(KeyboardInterrupt):
        bandit.observe(decision, 0.0)
    with pytest.raises(uc.StateError, match=r"expected .* got one interrupted while it learned; load the last save"):
        getattr(bandit, touch)(*(["unused"] if touch == "save" else []))


def test_values_far_from_the_prior_are_said_to_be() -> None:
    near, far = on_a_line(), on_a_line()
    play(near, 30)
    play(far, 30, lambda x: wave(x) + 100.0)
    assert not near.certificate().caveats
    assert "do not look drawn from this prior" in str(far.certificate())


def test_the_default_acquisition_has_the_delta_of_the_certificates() -> None:
    bandit = uc.Bandit(uc.Finite(LINE), uc.ExactBelief(uc.SquaredExponential()), delta=0.01)
    play(bandit, 2)
    assert bandit.acquisition == uc.UpperConfidenceBound(uc.TheoreticalBeta(0.01))
    assert bandit.certificate().theorem_regret is not None
