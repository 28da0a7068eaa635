"""Certificates are what their definitions say, computed here by hand from `predict` and from decisions."""

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.special import ndtr

from uncubed import (
    Acquisition,
    Bandit,
    Belief,
    Box,
    Budget,
    ConstantBeta,
    Decision,
    ExactBelief,
    ExpectedImprovement,
    Finite,
    Kernel,
    Matern12,
    Matern32,
    Matern52,
    MostProbableImprovement,
    NotDifferentiableError,
    ProjectedBelief,
    ScaledBeta,
    SketchedBelief,
    SquaredExponential,
    TheoreticalBeta,
    ThompsonSampling,
    UpperConfidenceBound,
)
from uncubed._typing import Array
from uncubed.budget import decide
from uncubed.certificate import Ledger, certificate_beta, discretisation, model_order_bound

X = np.linspace(-3.0, 3.0, 40)[:, None]
NOISE = 0.05
UCB = UpperConfidenceBound(TheoreticalBeta(0.1))

ACQUISITIONS: list[Acquisition] = [
    UCB,
    UpperConfidenceBound(TheoreticalBeta(0.02)),
    UpperConfidenceBound(ScaledBeta(0.2)),
    UpperConfidenceBound(ConstantBeta(0.5)),
    ExpectedImprovement(),
    MostProbableImprovement(),
    ThompsonSampling(),
]
BUDGETS = [
    Budget.keep_all(),
    Budget.constant(0.2),
    Budget.for_horizon(30),
    Budget.absolute(0.1),
    Budget.absolute(-5.0),
    Budget.resolution(0.15),
    Budget.gap(2.0),
]


def f(x: Array) -> float:
    return float(np.sin(2.0 * x).sum())


def finite(
    acquisition: Acquisition = UCB, budget: Budget | None = None, belief: Belief | None = None, **options: Any
) -> Bandit:
    belief = belief or ExactBelief(SquaredExponential(0.5), NOISE)
    return Bandit(Finite(X), belief, acquisition, budget or Budget.constant(0.2), seed=1, **options)


def box(acquisition: Acquisition = UCB, belief: Belief | None = None, **options: Any) -> Bandit:
    belief = belief or ExactBelief(SquaredExponential(0.5), NOISE)
    return Bandit(Box([-1.0], [1.0]), belief, acquisition, Budget.constant(0.2), seed=1, **options)


def played(bandit: Bandit, rounds: int) -> list[Decision]:
    """The decisions of so many rounds, each answered at once."""
    decisions = []
    for _ in range(rounds):
        decisions.append(bandit.select())
        if bandit.pending:
            bandit.observe(decisions[-1], f(decisions[-1].action))
    return decisions


def lemma_1_beta(t: int, delta: float = 0.1) -> float:
    return 2.0 * math.log(len(X) * t**2 * math.pi**2 / (6.0 * delta))


def band(belief: Belief, beta: float, at: Array = X) -> tuple[Array, Array]:
    """Lower and upper confidence bounds."""
    mean, variance = belief.predict(at)
    width = np.sqrt(beta * variance)
    return mean - width, mean + width


# The gap


@pytest.mark.parametrize("acquisition", ACQUISITIONS, ids=repr)
def test_the_gap_is_the_largest_upper_bound_less_the_lower_one(acquisition: Acquisition) -> None:
    bandit = finite(acquisition)
    for t in range(1, 12):
        lower, upper = band(bandit.belief, lemma_1_beta(t))
        for x, low in zip(X, lower, strict=True):
            assert bandit.gap(x) == pytest.approx(upper.max() - low, rel=1e-9)
        played(bandit, 1)


def test_the_recommended_action_has_the_largest_lower_bound_and_the_smallest_gap() -> None:
    bandit = finite()
    for t in range(1, 12):
        promised, (lower, upper) = bandit.certificate(), band(bandit.belief, lemma_1_beta(t))
        assert (promised.round, promised.delta) == (t, 0.1)
        assert promised.beta == pytest.approx(lemma_1_beta(t), rel=1e-14)
        np.testing.assert_array_equal(promised.recommended, X[lower.argmax()])
        assert promised.gap == bandit.gap(promised.recommended) == pytest.approx(upper.max() - lower.max(), rel=1e-9)
        assert promised.gap <= min(bandit.gap(x) for x in X) + 1e-12
        played(bandit, 1)


def test_the_gap_of_best_is_that_of_the_atom_with_the_largest_mean_once_there_is_one() -> None:
    bandit = finite()
    assert (bandit.certificate().best, bandit.certificate().best_gap) == (None, None)
    played(bandit, 15)
    promised, atoms = bandit.certificate(), bandit.belief.dictionary
    assert promised.best is not None
    np.testing.assert_array_equal(promised.best, atoms[bandit.belief.predict(atoms).mean.argmax()])
    assert promised.best_gap == bandit.gap(promised.best)


def test_the_gap_shrinks_to_the_budgets_resolution_and_stays() -> None:
    bandit = finite(budget=Budget.gap(2.0))
    decisions = played(bandit, 400)
    assert not decisions[-1].informative
    width = math.sqrt(lemma_1_beta(401) * decisions[-1].variance)
    assert bandit.gap(decisions[-1].action) <= 2.0 * width * 1.01


def test_on_a_box_the_gap_has_the_largest_bounds_of_a_dense_grid_and_1_by_t_squared() -> None:
    bandit, grid = box(), np.linspace(-1.0, 1.0, 2001)[:, None]
    for t in range(1, 10):
        promised = bandit.certificate()
        beta = certificate_beta(bandit.actions, bandit.belief.kernel, t, 0.1)
        assert promised.beta == beta
        (lower, upper), low = band(bandit.belief, beta, grid), band(bandit.belief, beta, promised.recommended[None])[0]
        assert low[0] == pytest.approx(lower.max(), abs=1e-4)
        assert promised.gap == pytest.approx(upper.max() - low[0] + 1.0 / t**2, abs=1e-4)
        assert promised.gap == bandit.gap(promised.recommended)
        played(bandit, 1)


def test_only_a_box_adds_a_discretisation_term() -> None:
    assert discretisation(Box([0.0], [1.0]), 4) == 1.0 / 16.0
    assert discretisation(Finite(X), 4) == 0.0


# β


@pytest.mark.parametrize("kernel", [SquaredExponential(0.5), Matern32(0.5, 2.0), Matern52([0.5, 1.0])], ids=repr)
def test_on_a_box_the_certificates_beta_is_larger_than_the_acquisitions(kernel: Kernel) -> None:
    actions = Box([0.0, -1.0], [1.0, 2.0])
    for t in (1, 10, 1000):
        acquisitions = TheoreticalBeta(0.1)(t, actions, ExactBelief(kernel))
        assert certificate_beta(actions, kernel, t, 0.1) > acquisitions


def test_on_a_finite_set_the_certificates_beta_is_lemma_1s() -> None:
    for t in (1, 10, 1000):
        assert certificate_beta(Finite(X), Matern12(), t, 0.1) == pytest.approx(lemma_1_beta(t), rel=1e-14)


@pytest.mark.parametrize("kernel", [SquaredExponential(0.5), Matern32(0.5, 2.0), Matern52([0.5, 1.0])], ids=repr)
@pytest.mark.parametrize("delta", [0.01, 0.5])
def test_on_a_box_the_failures_of_all_a_certificate_says_add_up_to_at_most_delta(kernel: Kernel, delta: float) -> None:
    # Lemma 9 by hand: f moves at most L per unit cube side with probability 1 - d a e^{-(L/b)²}; then within the cells
    # of a grid of ⌈d L t²/2⌉ points per side it moves at most 1/t². Besides the grid the band must hold at the
    # selected, the recommended and the best action of every round.
    actions, d = Box([0.0, -1.0], [1.0, 2.0]), 2
    log_a, b = kernel.derivative_tail(actions.widths)
    L = b * math.sqrt(math.log(6.0 * d / delta) + log_a)
    steep = math.exp(math.log(d) + log_a - (L / b) ** 2)
    failure = steep
    for t in range(1, 2000):
        tail = 2.0 * float(ndtr(-math.sqrt(certificate_beta(actions, kernel, t, delta))))
        failure += (math.ceil(d * L * t**2 / 2.0) ** d + 3.0) * tail
    assert steep == pytest.approx(delta / 6.0, rel=1e-6)
    assert failure <= delta


def test_a_kernel_without_derivatives_has_no_certificate_on_a_box() -> None:
    with pytest.raises(NotDifferentiableError):
        box(belief=ExactBelief(Matern12(0.5)))
    bandit = box(UpperConfidenceBound(ConstantBeta(4.0)), ExactBelief(Matern12(0.5)), certify=False)
    played(bandit, 2)
    with pytest.raises(NotDifferentiableError):
        bandit.certificate()
    with pytest.raises(NotDifferentiableError):
        bandit.gap([0.0])


# Cumulative regret


@pytest.mark.parametrize("acquisition", ACQUISITIONS, ids=repr)
@pytest.mark.parametrize("delta", [0.1, 0.4])
def test_the_cumulative_certificate_is_the_sum_of_gaps_before_each_round(
    acquisition: Acquisition, delta: float
) -> None:
    bandit, total = finite(acquisition, delta=delta), 0.0
    bandit.add(X[3], f(X[3]))
    for t in range(1, 30):
        assert bandit.certificate().cumulative_regret == pytest.approx(total, rel=1e-9)
        lower, upper = band(bandit.belief, lemma_1_beta(t, delta))
        (decision,) = played(bandit, 1)
        assert decision.index is not None
        total += upper.max() - lower[decision.index]


@pytest.mark.parametrize("acquisition", ACQUISITIONS, ids=repr)
def test_while_values_are_awaited_the_cumulative_certificate_uses_the_band_of_those_that_came(
    acquisition: Acquisition,
) -> None:
    bandit, total, waiting = finite(acquisition, Budget.keep_all()), 0.0, list[Decision]()
    for t in range(1, 25):
        lower, upper = band(bandit.belief, lemma_1_beta(t))
        waiting.append(decision := bandit.select())
        assert decision.index is not None
        total += upper.max() - lower[decision.index]
        if t % 3 == 0:
            late = waiting.pop(0)
            bandit.observe(late, f(late.action))
    assert len(bandit.pending) > 10
    assert bandit.certificate().cumulative_regret == pytest.approx(total, rel=1e-9)


def test_on_a_box_the_cumulative_certificate_is_the_sum_of_gaps_up_to_the_maximiser() -> None:
    bandit, grid, total = box(ExpectedImprovement()), np.linspace(-1.0, 1.0, 2001)[:, None], 0.0
    for t in range(1, 10):
        beta = certificate_beta(bandit.actions, bandit.belief.kernel, t, 0.1)
        upper, before = band(bandit.belief, beta, grid)[1], bandit.belief.copy()
        (decision,) = played(bandit, 1)
        total += upper.max() - band(before, beta, decision.action[None])[0][0] + 1.0 / t**2
    assert bandit.certificate().cumulative_regret == pytest.approx(total, abs=1e-3)


@pytest.mark.parametrize("make", [finite, box])
def test_without_certify_there_is_no_cumulative_certificate(make: Any) -> None:
    bandit = make(certify=False)
    played(bandit, 5)
    promised = bandit.certificate()
    assert promised.cumulative_regret is None
    assert "cumulative" not in str(promised)


# Theorem 3.2


@pytest.mark.parametrize("budget", BUDGETS, ids=str)
@pytest.mark.parametrize("initial", [0, 3])
def test_theorem_3_2_is_as_printed_with_the_realised_gain(budget: Budget, initial: int) -> None:
    bandit = finite(budget=budget)
    for x in X[:initial]:
        bandit.add(x, f(x))
    decisions = played(bandit, 60)
    T, C_1 = len(decisions), 8.0 / math.log(1.0 + 1.0 / NOISE)
    I_T = sum(0.5 * math.log(1.0 + d.variance / NOISE) for d in decisions if d.informative)
    refused = sum(d.epsilon for d in decisions if not d.informative)
    expected = math.sqrt(C_1 * T * lemma_1_beta(T) * (I_T + refused))
    assert bandit.certificate().theorem_regret == pytest.approx(expected, rel=1e-9)
    if not initial:
        assert I_T == pytest.approx(bandit.belief.information_gain, rel=1e-6)


def test_with_a_constant_budget_the_refused_rounds_count_epsilon_each() -> None:
    bandit = finite(budget=Budget.constant(0.2))
    decisions = played(bandit, 60)
    refused = [d.epsilon for d in decisions if not d.informative]
    assert len(refused) > 10
    np.testing.assert_allclose(refused, 0.2, rtol=1e-12)


@pytest.mark.parametrize("budget", BUDGETS, ids=str)
def test_a_refused_round_has_at_most_the_gain_epsilon_and_a_kept_one_more(budget: Budget) -> None:
    for decision in played(finite(budget=budget), 60):
        if decision.informative:
            assert decision.information_gain >= decision.epsilon >= 0.0
        else:
            assert decision.information_gain <= decision.epsilon


@pytest.mark.parametrize("variance", [0.2, 1.0, 9.0])
@pytest.mark.parametrize("noise_variance", [1e-4, 0.05, 3.0])
def test_theorem_3_2_bounds_the_sum_of_2_root_beta_sigma_at_any_prior_variance(
    variance: float, noise_variance: float
) -> None:
    # The step of its proof that C_1 serves; the cumulative certificate of UCB is that sum at most.
    bandit = finite(belief=ExactBelief(Matern52(0.5, variance), noise_variance))
    decisions = played(bandit, 60)
    promised = bandit.certificate()
    total = sum(2.0 * math.sqrt(lemma_1_beta(d.round) * d.variance) for d in decisions)
    assert promised.theorem_regret is not None
    assert promised.theorem_regret >= total
    assert promised.cumulative_regret == pytest.approx(total, rel=1e-9)


def test_on_a_box_theorem_3_2_has_the_acquisitions_beta_and_pi_squared_by_6() -> None:
    bandit = box()
    decisions = played(bandit, 12)
    beta = TheoreticalBeta(0.1)(12, bandit.actions, bandit.belief)
    gains = sum(d.information_gain if d.informative else d.epsilon for d in decisions)
    expected = math.sqrt(8.0 / math.log(1.0 + 1.0 / NOISE) * 12 * beta * gains) + math.pi**2 / 6.0
    assert bandit.certificate().theorem_regret == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(
    "acquisition",
    [
        ExpectedImprovement(),
        MostProbableImprovement(),
        ThompsonSampling(),
        UpperConfidenceBound(ScaledBeta(0.2)),
        UpperConfidenceBound(ScaledBeta(1.0)),
        UpperConfidenceBound(ConstantBeta(30.0)),
        UpperConfidenceBound(TheoreticalBeta(0.2)),
    ],
    ids=repr,
)
def test_theorem_3_2_is_not_stated_for_another_acquisition_or_a_beta_that_promises_less(
    acquisition: Acquisition,
) -> None:
    bandit = finite(acquisition)
    played(bandit, 5)
    promised = bandit.certificate()
    assert promised.theorem_regret is None
    assert "Theorem" not in str(promised)


def test_theorem_3_2_is_stated_for_a_beta_that_promises_more_and_not_before_the_first_round() -> None:
    bandit = finite(UpperConfidenceBound(TheoreticalBeta(0.01)))
    assert bandit.certificate().theorem_regret is None
    played(bandit, 5)
    assert bandit.certificate().theorem_regret is not None


def test_theorem_3_2_is_not_stated_once_a_round_was_selected_while_values_were_awaited() -> None:
    # Then x_t maximises μ + √β_t s with s < σ_{t-1}, and f* may be larger: see test_theory.
    bandit = finite(budget=Budget.keep_all())
    first = bandit.select()
    assert bandit.certificate().theorem_regret is not None
    second = bandit.select()
    for decision in (first, second):
        bandit.observe(decision, f(decision.action))
    assert bandit.certificate().theorem_regret is None


# The model order


def test_the_model_order_bound_is_the_initial_points_when_nothing_was_informative() -> None:
    bandit = finite(budget=Budget.constant(50.0))
    for x in X[:4]:
        bandit.add(x, 0.0)
    played(bandit, 5)
    assert bandit.model_order_bound() == bandit.belief.model_order == 4


@pytest.mark.parametrize("budget", [Budget.keep_all(), Budget.absolute(-5.0), Budget.constant(0.0)], ids=str)
def test_there_is_no_model_order_bound_when_everything_is_kept(budget: Budget) -> None:
    bandit = finite(budget=budget)
    played(bandit, 5)
    assert bandit.model_order_bound() is None


def test_there_is_no_model_order_bound_on_a_box_or_for_another_belief() -> None:
    for bandit in (box(), finite(belief=ProjectedBelief(SquaredExponential(0.5), NOISE))):
        played(bandit, 5)
        assert bandit.model_order_bound() is None


@pytest.mark.parametrize("epsilon", [0.0, -1.0])
def test_a_threshold_of_nothing_bounds_nothing(epsilon: float) -> None:
    assert model_order_bound(Matern12(0.5), NOISE, X, epsilon, steps=5) is None


def test_the_model_order_bound_falls_with_epsilon_and_counts_initial_points() -> None:
    bounds = [model_order_bound(Matern52(0.5), NOISE, X, epsilon) for epsilon in (0.05, 0.1, 0.5, 1.0, 3.0)]
    told = [bound for bound in bounds if bound is not None]
    assert len(told) == 5
    assert told == sorted(told, reverse=True)
    assert told[-1] == 0  # one value tells ½ log(1 + 1/0.05) = 1.52 nats, 2.41 by the ratio of greedy to best
    assert model_order_bound(Matern52(0.5), NOISE, X, 0.5, initial=7) == told[2] + 7


# As printed


def test_the_printed_form_names_every_number() -> None:
    bandit = finite()
    played(bandit, 20)
    promised = bandit.certificate()
    text = str(promised)
    assert "round 21" in text
    assert "probability 0.9" in text
    for number in (promised.gap, promised.best_gap, promised.cumulative_regret, promised.theorem_regret):
        assert f"<= {number:.4g}" in text
    for action in (promised.recommended, promised.best):
        assert action is not None
        assert f"at [{float(action[0]):.4f}".rstrip("0") in text
    assert promised.caveats == ()
    assert "(" not in text.replace("f(recommended)", "").replace("f(best)", "")


def test_the_printed_form_leaves_out_what_is_not_known() -> None:
    text = str(finite(certify=False).certificate())
    assert "f(recommended)" in text
    assert not any(word in text for word in ("f(best)", "cumulative", "Theorem", "None"))


def capped(belief: Belief) -> Bandit:
    return finite(budget=Budget.constant(0.2, max_model_order=3), belief=belief)


KERNEL = SquaredExponential(0.5)


@pytest.mark.parametrize(
    ("bandit", "words"),
    [
        (finite(), []),
        (box(), ["up to the maximiser"]),
        (finite(belief=ProjectedBelief(KERNEL, NOISE)), ["ProjectedBelief approximates"]),
        (finite(belief=SketchedBelief(KERNEL, NOISE, seed=0)), ["SketchedBelief approximates"]),
        (capped(ExactBelief(KERNEL, NOISE)), ["heuristic"]),
        (capped(ProjectedBelief(KERNEL, NOISE)), ["ProjectedBelief approximates", "heuristic"]),
        (box(belief=ProjectedBelief(KERNEL, NOISE)), ["up to the maximiser", "ProjectedBelief approximates"]),
    ],
    ids=["exact", "box", "projected", "sketched", "evicted", "projected-evicted", "projected-box"],
)
def test_every_caveat_is_told_and_printed_and_no_other(bandit: Bandit, words: list[str]) -> None:
    played(bandit, 12)
    promised = bandit.certificate()
    assert len(promised.caveats) == len(words)
    for word, caveat in zip(words, promised.caveats, strict=True):
        assert word in caveat
        assert f"({caveat})" in str(promised)


def test_a_capped_bandit_is_heuristic_only_after_its_first_eviction() -> None:
    bandit = capped(ExactBelief(KERNEL, NOISE))
    for _ in range(12):
        assert bool(bandit.certificate().caveats) == (bandit.belief.evictions > 0)
        played(bandit, 1)
    assert bandit.belief.evictions > 0


# Reading changes nothing, and what is saved is what was there


@pytest.mark.parametrize("make", [finite, box])
@pytest.mark.parametrize("acquisition", [UCB, ThompsonSampling(), MostProbableImprovement()], ids=repr)
def test_reading_certificates_does_not_change_what_is_selected(make: Any, acquisition: Acquisition) -> None:
    read, unread = make(acquisition), make(acquisition)
    for _ in range(8):
        first, again = read.certificate(), read.certificate()
        assert (str(first), first.gap) == (str(again), again.gap)
        read.gap([0.0] if make is box else X[0])
        (a,), (b,) = played(read, 1), played(unread, 1)
        np.testing.assert_array_equal(a.action, b.action)


LEDGERS = [
    Ledger(),
    Ledger(rounds=3, regret=1.5, kept_gain=0.25, refused_epsilon=0.1, least_epsilon=0.05),
    Ledger(rounds=2, regret=1.5, refused_epsilon=0.1, delayed=True),
]


@pytest.mark.parametrize("ledger", LEDGERS, ids=repr)
def test_a_ledger_goes_through_json_unchanged(ledger: Ledger) -> None:
    assert Ledger.restore(json.loads(json.dumps(ledger.state(), allow_nan=False))) == ledger


def test_a_restored_ledger_goes_on_like_its_original() -> None:
    for ledger in LEDGERS:
        original, restored = replace(ledger), Ledger.restore(ledger.state())
        for each in (original, restored):
            each.record(decide(X[0], variance=0.5, noise_variance=0.1, threshold=0.01, round=1), 2.0)
            each.record(decide(X[0], variance=0.005, noise_variance=0.1, threshold=0.01, round=2), 1.0, delayed=True)
        assert restored == original != ledger


@pytest.mark.parametrize("budget", [*BUDGETS, Budget.constant(1000.0), Budget.absolute(1000.0)], ids=str)
def test_a_loaded_bandit_certifies_what_was_saved_under_every_budget(budget: Budget, tmp_path: Path) -> None:
    bandit = finite(budget=budget)
    played(bandit, 25)
    bandit.save(tmp_path / "bandit.json")
    loaded = Bandit.load(tmp_path / "bandit.json", Finite(X))
    assert str(loaded.certificate()) == str(bandit.certificate())
    assert loaded.certificate().cumulative_regret == bandit.certificate().cumulative_regret
    assert loaded.certificate().theorem_regret == bandit.certificate().theorem_regret
    assert loaded.model_order_bound(steps=50) == bandit.model_order_bound(steps=50)
