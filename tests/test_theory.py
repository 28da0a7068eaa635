"""Theory against what happened: functions drawn from the prior, what was promised of them, and what came true.

√β is so large that promises at 1 - δ are easy to keep. So δ is large; the unions behind the promises are taken with
exact tails, by which Lemma 1 fails in a tenth of the draws at most, not in half; and what a bound is made of is tested
where its distribution is known: an action selected from the past has a standard normal z-score whatever selected it,
and f* is one more draw from the belief.
"""

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest
from scipy.special import ndtr
from scipy.stats import binom, chi2, kstest

from uncubed import (
    Acquisition,
    Bandit,
    Box,
    Budget,
    Decision,
    ExactBelief,
    ExpectedImprovement,
    Finite,
    Kernel,
    Matern12,
    Matern32,
    Matern52,
    MostProbableImprovement,
    PureExploration,
    SquaredExponential,
    TheoreticalBeta,
    UpperConfidenceBound,
)
from uncubed._typing import Array
from uncubed.certificate import greedy_gains, model_order_bound

DRAWS = 200
DELTA = 0.5
BY_CHANCE = 1e-4  # of failing a statistical assertion for no fault, when a change of code changes the draws

ACQUISITIONS: dict[str, Acquisition] = {
    "UCB": UpperConfidenceBound(TheoreticalBeta(DELTA)),
    "EI": ExpectedImprovement(),
    "MPI": MostProbableImprovement(),
}


@dataclass(frozen=True, eq=False)
class World:
    """A prior on a finite set of actions."""

    kernel: Kernel
    noise_variance: float
    X: Array
    rounds: int = 30

    def draw(self, n: int, rng: np.random.Generator) -> Array:
        """Functions from the prior, exactly, shape (n, N)."""
        values, vectors = np.linalg.eigh(self.kernel(self.X, self.X))
        root: Array = vectors * np.sqrt(np.maximum(values, 0.0))
        return rng.standard_normal((n, len(self.X))) @ root.T

    def bandit(self, acquisition: Acquisition, budget: Budget, *, certify: bool = True) -> Bandit:
        belief = ExactBelief(self.kernel, self.noise_variance)
        return Bandit(Finite(self.X), belief, acquisition, budget, delta=DELTA, certify=certify, seed=0)


WORLDS = {
    "smooth": World(SquaredExponential(1.0), 0.01, np.linspace(0.0, 10.0, 60)[:, None]),
    # Nearly independent actions, where a union over them loses least, much noise, and a prior variance that is not 1.
    "rough": World(Matern12(0.2, 2.5), 0.5, np.random.default_rng(0).uniform(0.0, 4.0, (80, 2))),
}
CASES = list(itertools.product(WORLDS, ACQUISITIONS))


@dataclass
class Outcome:
    """What happened in one run. Ratios are the largest, over rounds, of the truth by its bound: above 1 it failed."""

    band: float = 0.0
    regret: float = 0.0
    theorem: float = 0.0
    gap: float = 0.0
    best_gap: float = 0.0
    z: tuple[float, ...] = ()  # scores of f at the action selected last, the recommended one and a fixed one
    rank: float = 0.0  # of f* among draws from the belief

    def compare(self, bandit: Bandit, f: Callable[[Array], float], optimum: float, regret: float) -> None:
        """Hold a certificate against the truth."""
        promised = bandit.certificate()
        assert promised.cumulative_regret is not None
        self.regret = max(self.regret, regret / promised.cumulative_regret)
        self.gap = max(self.gap, (optimum - f(promised.recommended)) / promised.gap)
        if promised.best is not None and promised.best_gap is not None:
            self.best_gap = max(self.best_gap, (optimum - f(promised.best)) / promised.best_gap)
        if isinstance(bandit.acquisition, UpperConfidenceBound):
            assert promised.theorem_regret is not None
            self.theorem = max(self.theorem, regret / promised.theorem_regret)

    def score(self, bandit: Bandit, f: Callable[[Array], float], x: Array) -> None:
        """(f - μ)/σ at x, which may have been chosen by looking at the past."""
        mean, variance = bandit.belief.predict(x[None, :])
        self.z += (float((f(x) - mean[0]) / math.sqrt(variance[0])),)


@cache
def outcomes(world_name: str, acquisition_name: str) -> list[Outcome]:
    """One run for each draw, on a finite set."""
    world = WORLDS[world_name]
    rng = np.random.default_rng([CASES.index((world_name, acquisition_name)), 1])
    return [play(world, ACQUISITIONS[acquisition_name], values, rng) for values in world.draw(DRAWS, rng)]


def play(world: World, acquisition: Acquisition, values: Array, rng: np.random.Generator) -> Outcome:
    bandit = world.bandit(acquisition, Budget.for_horizon(world.rounds, 0.5))
    index = {x.tobytes(): i for i, x in enumerate(world.X)}

    def f(x: Array) -> float:
        return float(values[index[x.tobytes()]])

    outcome, regret = Outcome(), 0.0
    for t in range(1, world.rounds + 1):
        beta = bandit.actions.theoretical_beta(t, world.kernel, DELTA)
        mean, variance = bandit.belief.predict(world.X)
        outcome.band = max(outcome.band, float((np.abs(values - mean) / np.sqrt(beta * variance)).max()))
        decision = bandit.select()
        regret += values.max() - f(decision.action)
        if t == world.rounds:
            outcome.score(bandit, f, decision.action)
        if decision.informative:
            bandit.observe(decision, f(decision.action) + math.sqrt(world.noise_variance) * rng.standard_normal())
        outcome.compare(bandit, f, values.max(), regret)
    outcome.score(bandit, f, bandit.certificate().recommended)
    outcome.score(bandit, f, world.X[len(world.X) // 2])
    outcome.rank = float((bandit.belief.sample(world.X, 199, rng).max(axis=1) < values.max()).mean())
    return outcome


def misses(ratios: list[float]) -> int:
    return sum(ratio > 1.0 for ratio in ratios)


def assert_promised(ratios: list[float], failure: float = DELTA) -> None:
    """At most as many failures as a bound that fails with this probability can have."""
    assert len(ratios) >= DRAWS
    assert misses(ratios) <= binom.ppf(1.0 - BY_CHANCE, len(ratios), failure)
    assert misses(ratios) <= DELTA * len(ratios)


def assert_standard_normal(z: Array) -> None:
    assert kstest(z, "norm").pvalue > BY_CHANCE
    assert BY_CHANCE < chi2.cdf(np.square(z).sum(), z.size) < 1.0 - BY_CHANCE


def assert_uniform(ranks: Array) -> None:
    assert kstest(ranks, "uniform").pvalue > BY_CHANCE


def union_with_exact_tail(world: World) -> float:
    """Lemma 1's sum of failure probabilities with P(|Z| > √β) itself instead of its bound e^{-β/2}."""
    n, rounds = len(world.X), np.arange(1, world.rounds + 2)
    beta = 2.0 * np.log(n * rounds**2 * math.pi**2 / (6.0 * DELTA))
    return float((n * 2.0 * ndtr(-np.sqrt(beta))).sum())


# Lemma 1 and the certificates, on finite sets


@pytest.mark.parametrize(("world", "acquisition"), CASES)
def test_lemma_1s_band_covers_all_actions_in_all_rounds(world: str, acquisition: str) -> None:
    failure = union_with_exact_tail(WORLDS[world])
    assert failure < 0.3 * DELTA
    assert_promised([o.band for o in outcomes(world, acquisition)], failure)


@pytest.mark.parametrize(("world", "acquisition"), CASES)
def test_the_cumulative_certificate_stays_above_the_regret_in_every_round(world: str, acquisition: str) -> None:
    assert_promised([o.regret for o in outcomes(world, acquisition)], union_with_exact_tail(WORLDS[world]))


@pytest.mark.parametrize("world", WORLDS)
def test_theorem_3_2_stays_above_the_regret_of_ucb_in_every_round(world: str) -> None:
    ratios = [o.theorem for o in outcomes(world, "UCB")]
    assert min(ratios) > 0.0
    assert_promised(ratios, union_with_exact_tail(WORLDS[world]))


@pytest.mark.parametrize(("world", "acquisition"), CASES)
def test_the_gap_covers_how_far_the_recommended_and_the_best_action_are_from_the_optimum(
    world: str, acquisition: str
) -> None:
    happened, failure = outcomes(world, acquisition), union_with_exact_tail(WORLDS[world])
    assert_promised([o.gap for o in happened], failure)
    assert_promised([o.best_gap for o in happened], failure)


@pytest.mark.parametrize(("world", "acquisition"), CASES)
def test_f_at_fixed_selected_and_recommended_actions_is_as_the_belief_says(world: str, acquisition: str) -> None:
    for z in np.array([o.z for o in outcomes(world, acquisition)]).T:
        assert_standard_normal(z)


def test_a_two_sigma_band_at_fixed_selected_and_recommended_actions_covers_95_percent() -> None:
    for z in np.array([o.z for case in CASES for o in outcomes(*case)]).T:
        assert_standard_normal(z)
        outside = int((np.abs(z) > 2.0).sum())
        assert BY_CHANCE < binom.cdf(outside, z.size, 2.0 * ndtr(-2.0)) < 1.0 - BY_CHANCE


@pytest.mark.parametrize(("world", "acquisition"), CASES)
def test_the_optimum_is_one_more_draw_from_the_belief(world: str, acquisition: str) -> None:
    assert_uniform(np.array([o.rank for o in outcomes(world, acquisition)]))


# The certificates on a box

BOX = Box([-2.0], [2.0], pool=64, starts=3, steps=15)
BOX_ROUNDS = 15
TERMS = np.arange(40)
ROOT_FACTORIAL = np.array([math.sqrt(math.factorial(n)) for n in TERMS])


def features(x: Array) -> Array:
    """φ(x), shape (n, 40), with φ(x)·φ(x') = exp(-(x - x')²/2) to rounding for |x| ≤ 2: w·φ is a draw of f."""
    phi: Array = np.exp(-0.5 * x**2)[:, None] * x[:, None] ** TERMS / ROOT_FACTORIAL
    return phi


@pytest.mark.parametrize("acquisition", ACQUISITIONS)
def test_on_a_box_the_certificates_cover_and_the_belief_is_as_it_says(acquisition: str) -> None:
    rng = np.random.default_rng([list(ACQUISITIONS).index(acquisition), 2])
    happened, failure = [play_on_box(ACQUISITIONS[acquisition], rng) for _ in range(DRAWS)], union_on_box()
    assert failure < 0.02 * DELTA
    assert_promised([o.regret for o in happened], failure)
    assert_promised([o.theorem for o in happened], failure)
    assert_promised([o.gap for o in happened], failure)
    assert_promised([o.best_gap for o in happened], failure)
    for z in np.array([o.z for o in happened]).T:
        assert_standard_normal(z)
    assert_uniform(np.array([o.rank for o in happened]))


def play_on_box(acquisition: Acquisition, rng: np.random.Generator) -> Outcome:
    noise_variance, budget = 0.01, Budget.for_horizon(BOX_ROUNDS, 0.5)
    belief = ExactBelief(SquaredExponential(), noise_variance)
    bandit = Bandit(BOX, belief, acquisition, budget, delta=DELTA, seed=int(rng.integers(2**31)))
    w = rng.standard_normal(TERMS.size)
    optimum = float((GRID_FEATURES @ w).max())

    def f(x: Array) -> float:
        return float(features(x)[0] @ w)

    outcome, regret = Outcome(), 0.0
    for t in range(1, BOX_ROUNDS + 1):
        decision = bandit.select()
        regret += optimum - f(decision.action)
        if t == BOX_ROUNDS:
            outcome.score(bandit, f, decision.action)
        if decision.informative:
            bandit.observe(decision, f(decision.action) + math.sqrt(noise_variance) * rng.standard_normal())
        if t % 5 == 0:  # certificates are costly on a box
            outcome.compare(bandit, f, optimum, regret)
    outcome.score(bandit, f, bandit.certificate().recommended)
    outcome.score(bandit, f, np.array([0.7]))
    draws = bandit.belief.sample(GRID[::50, None], 199, rng)
    outcome.rank = float((draws.max(axis=1) < (GRID_FEATURES[::50] @ w).max()).mean())
    return outcome


GRID = np.linspace(-2.0, 2.0, 4001)  # f* on it is f* on the box to 1e-6
GRID_FEATURES = features(GRID)


def union_on_box() -> float:
    """Lemma 9's sum of failure probabilities, for the β that UCB uses, the Lipschitz constant L = 6 and exact tails.

    By Rice's formula |f'| > L somewhere has at most the probability that it is so at one end, and the expected number
    of crossings, √3/(2π) e^{-L²/2} per length-scale and sign. Within 1/(t²L) of one of 2t²L points f then moves by
    1/t² at most.
    """
    L, rounds = 6.0, np.arange(1, BOX_ROUNDS + 2)
    beta = np.array([BOX.theoretical_beta(int(t), SquaredExponential(), DELTA) for t in rounds])
    points = 2.0 * rounds**2 * L + 3.0  # and the selected, the recommended and the best action
    steep = 2.0 * (ndtr(-L) + 4.0 * math.sqrt(3.0) / (2.0 * math.pi) * math.exp(-(L**2) / 2.0))
    return float((points * 2.0 * ndtr(-np.sqrt(beta))).sum() + steep)


def test_draws_on_the_box_have_the_kernel_as_covariance() -> None:
    X = GRID[::50, None]
    np.testing.assert_allclose(GRID_FEATURES[::50] @ GRID_FEATURES[::50].T, SquaredExponential()(X, X), atol=1e-14)


# Theorem 3.2 needs the values


def test_theorem_3_2_is_above_the_regret_or_not_stated_when_values_never_come() -> None:
    # Selections expect the values they wait for, so the variance there falls while nothing is learned: the regret of
    # such a round is not bounded by it. No value comes, so one run serves all draws.
    n, delta = 8, 0.1
    world = World(SquaredExponential(0.01), 1e-4, np.arange(float(n))[:, None])
    belief = ExactBelief(world.kernel, world.noise_variance)
    acquisition = UpperConfidenceBound(TheoreticalBeta(delta))
    bandit = Bandit(
        Finite(world.X), belief, acquisition, Budget.constant(0.02), delta=delta, max_pending=1000, max_delay=10_000
    )
    chosen = np.bincount([bandit.select().index or 0 for _ in range(4000)], minlength=n)
    F = world.draw(DRAWS, np.random.default_rng(3))
    regret = (F.max(axis=1, keepdims=True) - F) @ chosen
    promised = bandit.certificate()
    assert promised.cumulative_regret is not None
    assert (regret <= promised.cumulative_regret).mean() >= 1.0 - delta
    assert promised.theorem_regret is None or (regret <= promised.theorem_regret).mean() >= 1.0 - delta


# The model order

MATERNS: list[Kernel] = [Matern12(0.7), Matern32(0.7, 2.0), Matern52(0.7)]


@pytest.mark.parametrize(("world", "acquisition"), CASES)
def test_the_model_order_stays_below_its_bound_in_every_draw(world: str, acquisition: str) -> None:
    place, rounds = WORLDS[world], 250
    budget = Budget.constant({"smooth": 1.0, "rough": 0.7}[world])
    rng = np.random.default_rng([CASES.index((world, acquisition)), 7])
    orders = []
    for values in place.draw(DRAWS, rng):
        bandit = place.bandit(ACQUISITIONS[acquisition], budget, certify=False)
        run = bandit.run(values, rounds, noise_std=math.sqrt(place.noise_variance), record_every=rounds, rng=rng)
        orders.append(int(run.model_order[-1]))
    bound = bandit.model_order_bound()
    assert bound is not None
    assert 1 < max(orders) <= bound < rounds


@pytest.mark.parametrize("kernel", [SquaredExponential(0.7), *MATERNS], ids=repr)
@pytest.mark.parametrize("epsilon", [0.05, 0.3, 2.0, 5.0])
@pytest.mark.parametrize("initial", [0, 30])
def test_exploring_until_nothing_is_informative_stays_below_the_bound(
    kernel: Kernel, epsilon: float, initial: int
) -> None:
    rng = np.random.default_rng(4)
    world = World(kernel, 0.02, rng.uniform(-1.0, 1.0, (25, 2)))
    bandit = world.bandit(PureExploration(), Budget.constant(epsilon))
    for x in rng.choice(world.X, initial):
        bandit.add(x, 0.0)
    while (decision := bandit.select()).informative:
        bandit.observe(decision, 0.0)
    bound = bandit.model_order_bound(steps=1000)
    assert bound is not None
    assert initial <= bandit.belief.model_order <= bound
    assert bandit.belief.model_order > initial or epsilon > 1.0 or initial > 0


@pytest.mark.parametrize("seed", range(4))
def test_the_model_order_stays_below_its_bound_when_values_come_late_or_never(seed: int) -> None:
    rng = np.random.default_rng([seed, 5])
    world = World(Matern32(0.7, 2.0), 0.3, rng.uniform(-1.0, 1.0, (20, 2)))
    bandit = world.bandit(PureExploration(), Budget.constant(0.1))
    waiting: list[Decision] = []
    for t in range(150):
        decision = bandit.select()
        waiting += [decision] if decision.informative else []
        while len(waiting) > rng.integers(12):
            late = waiting.pop(int(rng.integers(len(waiting))))
            if rng.random() < 0.3:
                bandit.lose(late)
            else:
                bandit.observe(late, 0.0)
        if t % 50 == 0:
            bandit.add(world.X[rng.integers(20)], 0.0)
    bound = bandit.model_order_bound(steps=1000)
    assert bound is not None
    assert bandit.belief.model_order <= bound


@pytest.mark.parametrize("kernel", [SquaredExponential(0.5), *MATERNS], ids=repr)
@pytest.mark.parametrize(("noise_variance", "epsilon"), [(0.05, 0.15), (0.05, 0.6), (1.0, 0.06)])
def test_the_longest_informative_sequence_of_all_is_within_the_bound(
    kernel: Kernel, noise_variance: float, epsilon: float
) -> None:
    X = np.random.default_rng(6).uniform(-1.0, 1.0, (3, 1))
    longest = longest_informative_sequence(kernel, noise_variance, X, epsilon)
    bound = model_order_bound(kernel, noise_variance, X, epsilon)
    assert bound is not None
    assert 0 < longest <= bound


def longest_informative_sequence(kernel: Kernel, noise_variance: float, X: Array, epsilon: float) -> int:
    """By trying every order in which actions of a gain above ε can follow each other."""
    prior = np.linalg.inv(kernel(X, X) + 1e-10 * np.eye(len(X)))

    @cache
    def following(counts: tuple[int, ...]) -> int:
        variance = np.diagonal(np.linalg.inv(prior + np.diag(counts) / noise_variance))
        informative = np.flatnonzero(0.5 * np.log1p(variance / noise_variance) > epsilon)
        return max((1 + following((*counts[:i], counts[i] + 1, *counts[i + 1 :])) for i in informative), default=0)

    return following((0,) * len(X))


@pytest.mark.parametrize("epsilon", [0.05, 0.2, 1.0])
@pytest.mark.parametrize("world", WORLDS)
def test_a_bound_from_few_steps_is_at_least_the_one_from_many(world: str, epsilon: float) -> None:
    place = WORLDS[world]
    arguments = (place.kernel, place.noise_variance, place.X[::4], epsilon)
    exact = model_order_bound(*arguments, steps=2000)
    few = [model_order_bound(*arguments, steps=steps) for steps in (10, 40, 100, 200, 400)]
    told = [bound for bound in few if bound is not None]
    assert exact is not None
    assert told
    assert min(told) >= exact
    assert told == sorted(told, reverse=True)


# The greedy information gain


@pytest.mark.parametrize("kernel", [SquaredExponential(0.5), SquaredExponential(2.0, 3.0), *MATERNS], ids=repr)
@pytest.mark.parametrize("noise_variance", [1e-3, 0.1, 2.0])
def test_the_greedy_gain_is_at_least_1_minus_1_by_e_of_the_best_and_at_most_the_best(
    kernel: Kernel, noise_variance: float
) -> None:
    for seed, n in itertools.product(range(5), range(2, 6)):
        X = np.random.default_rng([seed, n]).uniform(-1.0, 1.0, (n, 2))
        gains = list(itertools.islice(greedy_gains(kernel, noise_variance, X), 4))
        for m in range(1, 5):
            best = max(joint_gain(kernel, noise_variance, X[list(rows)]) for rows in multisets(n, m))
            assert (1.0 - 1.0 / math.e) * best <= sum(gains[:m]) <= best * (1.0 + 1e-9)


def multisets(n: int, m: int) -> list[tuple[int, ...]]:
    return list(itertools.combinations_with_replacement(range(n), m))


def joint_gain(kernel: Kernel, noise_variance: float, X: Array) -> float:
    return 0.5 * float(np.linalg.slogdet(np.eye(len(X)) + kernel(X, X) / noise_variance)[1])


@pytest.mark.parametrize("kernel", [SquaredExponential(0.7), *MATERNS], ids=repr)
@pytest.mark.parametrize("noise_variance", [1e-3, 0.5])
def test_greedy_gains_never_increase_and_add_up_to_the_joint_gain(kernel: Kernel, noise_variance: float) -> None:
    X = np.random.default_rng(8).uniform(-1.0, 1.0, (30, 2))
    gains = np.array(list(itertools.islice(greedy_gains(kernel, noise_variance, X), 300)))
    assert (np.diff(gains) <= 1e-9 * gains[0]).all()
    belief = ExactBelief(kernel, noise_variance)
    for _ in range(300):
        belief.update(X[belief.predict(X).variance.argmax()], 0.0)
    assert gains.sum() == pytest.approx(belief.information_gain, rel=1e-6)
