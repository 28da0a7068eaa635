import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import uncubed as uc
from tests.helpers import EXPECTED_GOT, assert_close
from uncubed._typing import Array

LINE = np.linspace(-3.0, 3.0, 41)[:, None]
VALUES = np.sin(2.0 * LINE[:, 0]) + 0.3 * LINE[:, 0]
BEST = float(VALUES.max())


def wave(action: Array) -> float:
    return float(np.sin(2.0 * action[0]) + 0.3 * action[0])


def bandit(
    acquisition: uc.Acquisition | None = None,
    budget: uc.Budget | None = None,
    *,
    actions: uc.Finite | uc.Box | None = None,
    act: bool = False,
    seed: int = 0,
) -> uc.Bandit:
    belief = (uc.ProjectedBelief if act else uc.ExactBelief)(uc.SquaredExponential(), 0.01)
    return uc.Bandit(actions or uc.Finite(LINE), belief, acquisition, budget, act=act, seed=seed)


class Calls:
    """A function that remembers where it was called, and may fail at one call."""

    def __init__(self, fails_at: int | None = None, how: BaseException | float = math.nan) -> None:
        self.actions: list[float] = []
        self.fails_at, self.how = fails_at, how

    def __call__(self, action: Array) -> float:
        self.actions.append(float(action[0]))
        if len(self.actions) == self.fails_at:
            if isinstance(self.how, BaseException):
                raise self.how
            return self.how
        return wave(action)


def assert_same_run(one: uc.Run, two: uc.Run) -> None:
    for name in ("rounds", "cumulative_regret", "model_order", "distinct", "evaluations"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))
    assert one.frozen_at == two.frozen_at


SETTINGS: dict[str, Callable[[], uc.Bandit]] = {
    "dense": bandit,
    "compressed": lambda: bandit(budget=uc.Budget.constant(0.3)),
    "acting": lambda: bandit(budget=uc.Budget.constant(0.3), act=True),
    "frozen": lambda: bandit(uc.ExpectedImprovement(), uc.Budget.constant(0.3)),
    "capped": lambda: bandit(budget=uc.Budget.keep_all(max_model_order=5)),
}
every_setting = pytest.mark.parametrize("make", SETTINGS.values(), ids=SETTINGS)


@every_setting
@pytest.mark.parametrize("noise_std", [0.0, 0.1])
def test_a_run_is_the_loop_by_hand(make: Callable[[], uc.Bandit], noise_std: float) -> None:
    run = make().run(VALUES, 60, noise_std=noise_std, rng=np.random.default_rng(4))
    player, rng, regret, evaluations = make(), np.random.default_rng(4), 0.0, 0
    rows: list[tuple[float, ...]] = []
    for t in range(1, 61):
        decision = player.select()
        truth = float(VALUES[decision.index])
        if decision.round in player.pending:
            player.observe(decision, truth + (noise_std * rng.standard_normal() if noise_std else 0.0))
            evaluations += 1
        regret += BEST - truth
        rows.append((t, regret, player.belief.model_order, player.belief.distinct, evaluations))
    expected = np.array(rows).T
    np.testing.assert_array_equal(run.rounds, expected[0])
    assert run.cumulative_regret is not None
    np.testing.assert_allclose(run.cumulative_regret, expected[1], rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal([run.model_order, run.distinct, run.evaluations], expected[2:])
    np.testing.assert_allclose(run.mean_average_regret, expected[1] / expected[0], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("rounds", [1, 7, 60, 100])
@pytest.mark.parametrize("every", [1, 7, 10, 1000])
def test_a_sparse_record_is_every_nth_row_of_the_full_one_and_the_last(rounds: int, every: int) -> None:
    full = bandit().run(VALUES, rounds)
    sparse = bandit().run(VALUES, rounds, record_every=every)
    kept = sorted({*range(every, rounds + 1, every), rounds})
    assert sparse.rounds.tolist() == kept
    for name in ("cumulative_regret", "model_order", "distinct", "evaluations", "mean_average_regret"):
        np.testing.assert_array_equal(getattr(sparse, name), getattr(full, name)[np.array(kept) - 1])
    for name in ("seconds", "objective_seconds", "seconds_per_round"):
        assert getattr(sparse, name).shape == (len(kept),)
    assert len(kept) <= rounds // every + 1


def test_clock_time_never_runs_back_and_holds_the_time_in_f() -> None:
    run = bandit().run(wave, 40, record_every=3)
    assert (np.diff(run.seconds) >= 0.0).all()
    assert (np.diff(run.objective_seconds) >= 0.0).all()
    assert (run.objective_seconds <= run.seconds).all()
    weights = np.diff(run.rounds, prepend=0)
    assert float(run.seconds_per_round @ weights) == pytest.approx(run.seconds[-1])


@every_setting
def test_values_are_the_function_that_looks_them_up(make: Callable[[], uc.Bandit]) -> None:
    by_values = make().run(VALUES, 50, noise_std=0.1)
    by_function = make().run(wave, 50, noise_std=0.1, optimum=BEST)
    assert_same_run(by_values, by_function)


def test_a_function_of_arrays_is_a_function_of_numbers() -> None:
    # What np.sin of an action of shape (1,) gives.
    by_number = bandit().run(wave, 20, optimum=BEST)
    by_array = bandit().run(lambda x: np.sin(2.0 * x) + 0.3 * x, 20, optimum=BEST)  # type: ignore[arg-type,return-value]
    assert_same_run(by_array, by_number)


def test_in_two_parts_it_is_in_one() -> None:
    whole, parts = bandit(), bandit()
    one = whole.run(VALUES, 50, noise_std=0.1)
    first, second = parts.run(VALUES, 20, noise_std=0.1), parts.run(VALUES, 30, noise_std=0.1)
    assert first.cumulative_regret is not None
    assert second.cumulative_regret is not None
    assert one.cumulative_regret is not None
    joined = np.append(first.cumulative_regret, first.cumulative_regret[-1] + second.cumulative_regret)
    np.testing.assert_allclose(joined, one.cumulative_regret, rtol=1e-12)
    np.testing.assert_array_equal(np.append(first.model_order, second.model_order), one.model_order)
    assert second.rounds.tolist() == list(range(1, 31))
    assert parts.round == whole.round == 50


def test_an_optimum_that_is_given_shifts_the_regret() -> None:
    known, given = bandit().run(VALUES, 20), bandit().run(VALUES, 20, optimum=BEST + 1.0)
    assert known.cumulative_regret is not None
    assert given.cumulative_regret is not None
    np.testing.assert_allclose(given.cumulative_regret - known.cumulative_regret, given.rounds, rtol=1e-12)


# Freezing


@pytest.mark.parametrize(
    "acquisition",
    [
        uc.ExpectedImprovement(),
        uc.MostProbableImprovement(),
        uc.ProbabilityOfImprovement(),
        uc.PureExploration(),
        uc.UpperConfidenceBound(uc.ConstantBeta(2.0)),
    ],
    ids=repr,
)
@pytest.mark.parametrize("actions", [uc.Finite(LINE), uc.Box([-3.0], [3.0])], ids=repr)
def test_from_frozen_at_nothing_changes_any_more(acquisition: uc.Acquisition, actions: uc.Finite | uc.Box) -> None:
    player = bandit(acquisition, uc.Budget.constant(0.5), actions=actions)
    run = player.run(wave, 60)
    assert run.frozen_at is not None
    assert run.evaluations[run.frozen_at - 1] == run.frozen_at - 1
    assert (run.evaluations[run.frozen_at - 1 :] == run.frozen_at - 1).all()
    again = player.run(wave, 10)
    assert again.frozen_at == 1
    assert again.evaluations[-1] == 0


@pytest.mark.parametrize(
    ("d", "acquisition", "seed"), [(2, uc.PureExploration(), 1), (3, uc.MostProbableImprovement(), 5)], ids=str
)
def test_on_a_box_where_a_later_search_finds_more_it_was_not_frozen(
    d: int, acquisition: uc.Acquisition, seed: int
) -> None:
    player = uc.Bandit(
        uc.Box([-3.0] * d, [3.0] * d),
        uc.ExactBelief(uc.SquaredExponential(), 0.01),
        acquisition,
        uc.Budget.constant(0.5),
        certify=False,
        seed=seed,
    )
    run = player.run(lambda x: float(np.sin(2.0 * x).sum() + 0.3 * x.sum()), 110)
    assert run.frozen_at is not None
    assert (run.evaluations[run.frozen_at - 1 :] == run.evaluations[-1]).all()
    assert run.frozen_at == 1 or run.evaluations[run.frozen_at - 2] == run.evaluations[-1]


@pytest.mark.parametrize(
    ("acquisition", "budget", "act"),
    [
        (uc.ExpectedImprovement(), uc.Budget.keep_all(), False),
        (uc.ExpectedImprovement(), uc.Budget.constant(0.3), True),
        (uc.ExpectedImprovement(), uc.Budget.gap(1.0), False),
        (uc.UpperConfidenceBound(), uc.Budget.constant(0.3), False),
        (uc.ThompsonSampling(), uc.Budget.constant(0.3), False),
    ],
    ids=str,
)
def test_what_may_still_change_is_not_called_frozen(acquisition: uc.Acquisition, budget: uc.Budget, act: bool) -> None:
    assert bandit(acquisition, budget, act=act).run(VALUES, 80).frozen_at is None


def test_a_scaled_constant_beta_is_the_constant_beta() -> None:
    runs = [
        bandit(uc.UpperConfidenceBound(beta), uc.Budget.constant(0.5)).run(VALUES, 60)
        for beta in (uc.ConstantBeta(2.0), uc.ScaledBeta(0.5, uc.ConstantBeta(4.0)))
    ]
    assert runs[0].frozen_at is not None
    assert_same_run(*runs)


# When f is called


def test_without_an_optimum_f_is_called_for_sampled_rounds_only() -> None:
    f, player = Calls(), bandit(budget=uc.Budget.constant(0.5))
    run = player.run(f, 80)
    assert run.cumulative_regret is None
    assert len(f.actions) == run.evaluations[-1] == player.evaluations < 80
    with pytest.raises(uc.InvalidInputError, match="expected a run with a known optimum"):
        _ = run.mean_average_regret


def test_with_an_optimum_f_is_called_once_per_action_of_a_finite_set() -> None:
    f = Calls()
    run = bandit(budget=uc.Budget.constant(0.5)).run(f, 80, optimum=BEST)
    assert len(f.actions) == len(set(f.actions)) < 80
    assert_same_run(run, bandit(budget=uc.Budget.constant(0.5)).run(VALUES, 80))


def test_on_a_box_with_an_optimum_f_is_called_in_every_round() -> None:
    f = Calls()
    player = bandit(budget=uc.Budget.constant(0.5), actions=uc.Box([-3.0], [3.0]))
    run = player.run(f, 25, optimum=2.0)
    assert len(f.actions) == 25 > run.evaluations[-1]
    expected = np.cumsum([2.0 - wave(np.array([x])) for x in f.actions])
    assert run.cumulative_regret is not None
    np.testing.assert_allclose(run.cumulative_regret, expected, rtol=1e-12)


def test_what_f_does_to_its_argument_does_not_reach_the_bandit() -> None:
    def rude(action: Array) -> float:
        value = wave(action)
        action[:] = 99.0
        return value

    with pytest.raises(ValueError, match="read-only"):
        bandit().run(rude, 3)


# Measured by another function than the one observed


@every_setting
def test_truth_that_is_f_changes_nothing(make: Callable[[], uc.Bandit]) -> None:
    plain = make().run(wave, 50, noise_std=0.1, optimum=BEST)
    assert_same_run(make().run(wave, 50, noise_std=0.1, optimum=BEST, truth=wave), plain)
    assert_same_run(make().run(VALUES, 50, noise_std=0.1, truth=wave), plain)


def test_truth_that_is_f_changes_nothing_on_a_box() -> None:
    box = uc.Box([-3.0], [3.0])
    players = [bandit(budget=uc.Budget.constant(0.5), actions=box) for _ in range(2)]
    plain = players[0].run(wave, 25, optimum=2.0)
    assert plain.evaluations[-1] < 25
    assert_same_run(players[1].run(wave, 25, optimum=2.0, truth=wave), plain)


def test_with_truth_f_is_called_for_sampled_rounds_only_and_truth_in_all() -> None:
    f, truth, player = Calls(), Calls(), bandit(budget=uc.Budget.constant(0.5))
    run = player.run(f, 80, optimum=BEST, truth=truth)
    assert len(f.actions) == run.evaluations[-1] == player.evaluations < 80
    assert len(truth.actions) == 80


def test_with_truth_f_is_called_anew_for_every_value() -> None:
    f = Calls()
    bandit().run(f, 60, optimum=BEST, truth=wave)
    assert len(set(f.actions)) < len(f.actions) == 60


def test_truth_is_asked_after_f_of_the_same_action() -> None:
    calls: list[tuple[str, float]] = []

    def noted(name: str) -> Callable[[Array], float]:
        def f(action: Array) -> float:
            calls.append((name, float(action[0])))
            return wave(action)

        return f

    bandit(budget=uc.Budget.constant(0.5)).run(noted("f"), 60, optimum=BEST, truth=noted("truth"))
    names = [name for name, _ in calls]
    for place in (i for i, name in enumerate(names) if name == "f"):
        assert calls[place + 1] == ("truth", calls[place][1])
    assert "f" in names
    assert names.count("truth") == 60


def test_regret_is_measured_by_truth_whatever_f_gives() -> None:
    def another(action: Array) -> float:
        return float(np.cos(action[0]))

    truth = Calls()
    rng = np.random.default_rng(2)
    run = bandit(budget=uc.Budget.constant(0.5)).run(
        lambda x: another(x) + 0.1 * float(rng.standard_normal()), 60, optimum=5.0, truth=truth
    )
    assert run.cumulative_regret is not None
    expected = np.cumsum([5.0 - wave(np.array([x])) for x in truth.actions])
    np.testing.assert_allclose(run.cumulative_regret, expected, rtol=1e-12)


def test_truth_needs_an_optimum() -> None:
    player = bandit()
    with pytest.raises(uc.InvalidInputError, match="^optimum" + EXPECTED_GOT):
        player.run(wave, 5, truth=wave)
    assert player.round == 0


@pytest.mark.parametrize("how", [math.nan, math.inf], ids=repr)
def test_a_truth_that_is_no_number_is_named(how: float) -> None:
    player = bandit()
    with pytest.raises(uc.InvalidInputError, match="^truth" + EXPECTED_GOT):
        player.run(wave, 5, optimum=BEST, truth=Calls(3, how))
    assert not player.pending
    assert player.run(wave, 5, optimum=BEST).evaluations[-1] == 5


@every_setting
@pytest.mark.parametrize("every", [1, 7])
def test_a_watch_sees_the_bandit_after_each_recorded_round(make: Callable[[], uc.Bandit], every: int) -> None:
    player, seen = make(), np.empty((0, 6), np.int64)

    def watch(t: int) -> None:
        nonlocal seen
        belief = player.belief
        row = (t, player.round, belief.model_order, belief.distinct, player.evaluations, len(player.pending))
        seen = np.vstack([seen, row])

    run = player.run(VALUES, 40, record_every=every, watch=watch)
    counts = (run.rounds, run.rounds, run.model_order, run.distinct, run.evaluations, 0 * run.rounds)
    np.testing.assert_array_equal(seen.T, counts)


@every_setting
def test_a_watch_that_reads_a_certificate_changes_nothing(make: Callable[[], uc.Bandit]) -> None:
    player, read = make(), list[uc.Certificate]()
    watched = player.run(VALUES, 50, noise_std=0.1, watch=lambda _: read.append(player.certificate()))
    assert len(read) == 50
    assert_same_run(watched, make().run(VALUES, 50, noise_std=0.1))


class Clock:
    """In place of `time`: it goes on only when something is said to take time."""

    def __init__(self) -> None:
        self.now = 0.0

    def perf_counter(self) -> float:
        return self.now

    def takes(self, seconds: float, what: Callable[..., Any]) -> Callable[..., Any]:
        def slow(*arguments: Any) -> Any:
            self.now += seconds
            return what(*arguments)

        return slow


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr("uncubed.rounds.time", made)
    return made


@pytest.mark.parametrize("every", [1, 7])
@pytest.mark.parametrize("act", [False, True])
def test_truth_and_watch_are_off_the_clock(
    clock: Clock, monkeypatch: pytest.MonkeyPatch, every: int, act: bool
) -> None:
    player = bandit(budget=uc.Budget.constant(0.5), act=act)
    monkeypatch.setattr(player, "select", clock.takes(1.0, player.select))
    run = player.run(
        clock.takes(100.0, wave),
        60,
        optimum=BEST,
        record_every=every,
        truth=clock.takes(1e4, wave),
        watch=clock.takes(1e6, lambda _: None),
    )
    assert act or run.evaluations[-1] < 60
    np.testing.assert_array_equal(run.objective_seconds, 100.0 * run.evaluations)
    np.testing.assert_array_equal(run.seconds, run.rounds + 100.0 * run.evaluations)


def test_f_called_only_for_the_regret_of_a_refused_round_is_off_the_clock(clock: Clock) -> None:
    player = bandit(budget=uc.Budget.constant(0.5), actions=uc.Box([-3.0], [3.0]))
    run = player.run(clock.takes(1.0, wave), 25, optimum=2.0)
    assert clock.now == 25.0 > run.evaluations[-1]
    np.testing.assert_array_equal(run.seconds, run.evaluations)
    np.testing.assert_array_equal(run.objective_seconds, run.evaluations)


# When f fails


class CrashError(Exception):
    """As a user's own."""


@pytest.mark.parametrize(
    "how", [CrashError("f"), KeyboardInterrupt(), SystemExit(1), math.nan, math.inf, 1e200], ids=repr
)
@pytest.mark.parametrize("optimum", [None, BEST])
@pytest.mark.parametrize("act", [False, True])
@pytest.mark.parametrize("actions", [uc.Finite(LINE), uc.Box([-3.0], [3.0], pool=32, steps=5)], ids=repr)
def test_after_a_failure_of_f_the_bandit_knows_what_it_knew_and_goes_on(
    how: BaseException | float, optimum: float | None, act: bool, actions: uc.Finite | uc.Box
) -> None:
    player, steady = (bandit(actions=actions, act=act) for _ in range(2))
    expected = type(how) if isinstance(how, BaseException) else uc.InvalidInputError
    with pytest.raises(expected):
        player.run(Calls(4, how), 10, optimum=optimum)
    steady.run(wave, 3)
    assert not player.pending
    assert (player.round, player.evaluations) == (4, 3)
    assert player.belief.model_order == steady.belief.model_order
    assert_close(player.belief.predict(LINE), steady.belief.predict(LINE), 0.0)
    # Going on is as if the value of that round had been lost.
    steady.lose(steady.select())
    decisions = [p.select() for p in (player, steady)]
    np.testing.assert_array_equal(decisions[0].action, decisions[1].action)
    for p, d in zip((player, steady), decisions, strict=True):
        p.observe(d, wave(d.action))
    assert player.run(wave, 5, optimum=optimum).evaluations[-1] == 5


@pytest.mark.parametrize("how", [CrashError("f"), KeyboardInterrupt(), math.nan], ids=repr)
def test_a_failure_of_f_where_only_regret_is_asked_is_not_hidden(how: BaseException | float) -> None:
    player = bandit(uc.ExpectedImprovement(), uc.Budget.constant(99.0), actions=uc.Box([-3.0], [3.0]))
    expected = type(how) if isinstance(how, BaseException) else uc.InvalidInputError
    with pytest.raises(expected):
        player.run(Calls(1, how), 3, optimum=2.0)
    assert not player.pending
    assert player.evaluations == 0


def test_decisions_that_were_awaited_before_a_run_are_awaited_after_it() -> None:
    player = bandit()
    early = player.select()
    player.run(VALUES, 10)
    with pytest.raises(CrashError):
        player.run(Calls(2, CrashError()), 10)
    assert list(player.pending) == [1]
    player.observe(early, 0.0)
    assert player.evaluations == 12


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("rounds", {"rounds": 0}),
        ("rounds", {"rounds": 2.5}),
        ("noise_std", {"noise_std": -1.0}),
        ("noise_std", {"noise_std": math.nan}),
        ("optimum", {"optimum": math.inf}),
        ("optimum", {"optimum": "best"}),
        ("record_every", {"record_every": 0}),
        ("f", {"f": VALUES[:-1]}),
        ("f", {"f": VALUES[:, None]}),
        ("f", {"f": np.where(VALUES > 1.0, np.nan, VALUES)}),
        ("f", {"f": "wave"}),
        ("f", {"f": None}),
    ],
)
def test_wrong_arguments_are_named_before_anything_is_selected(name: str, arguments: dict[str, Any]) -> None:
    player = bandit()
    with pytest.raises(uc.InvalidInputError, match=f"^{name}" + EXPECTED_GOT):
        player.run(**{"f": VALUES, "rounds": 3, **arguments})
    assert player.round == 0


def test_values_are_refused_on_a_box() -> None:
    player = bandit(actions=uc.Box([-3.0], [3.0]))
    with pytest.raises(uc.InvalidInputError, match="^f" + EXPECTED_GOT):
        player.run(VALUES, 3)
    assert player.round == 0
