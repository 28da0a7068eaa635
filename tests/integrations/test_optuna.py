"""The sampler by Optuna's own conformance kit, and by what that does not ask for."""

import copy
import math
import pickle
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any, overload

import optuna
import pytest
from hypothesis import given
from hypothesis import strategies as st
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.samplers import BaseSampler, RandomSampler
from optuna.search_space import intersection_search_space
from optuna.study import Study
from optuna.testing.pytest_samplers import (
    BasicSamplerTestCase,
    RelativeSamplerTestCase,
    SingleOnlySamplerTestCase,
)
from optuna.trial import FrozenTrial, TrialState, create_trial

import uncubed as uc
from uncubed.errors import InvalidInputError
from uncubed.integrations._trials import SUGGESTION, Common, Search
from uncubed.integrations.optuna import (
    DONE,
    MILESTONE,
    StopWhenDone,
    UncubedSampler,
    from_study,
    to_study,
)
from uncubed.space import Space

X: dict[str, BaseDistribution] = {"x": FloatDistribution(0.0, 10.0)}


class TestConformance(BasicSamplerTestCase, RelativeSamplerTestCase, SingleOnlySamplerTestCase):
    @pytest.fixture
    def sampler(self) -> Callable[[], BaseSampler]:
        return lambda: UncubedSampler(seed=0)


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    yield
    optuna.logging.set_verbosity(before)


def branin(trial: optuna.Trial) -> float:
    x, y = trial.suggest_float("x", -5, 10), trial.suggest_float("y", 0, 15)
    return float((y - 0.129 * x**2 + 1.592 * x - 6) ** 2 + 9.602 * math.cos(x) + 10)


def studied(objective: Callable[[optuna.Trial], float], n: int, seed: int = 0, **options: Any) -> Study:
    study = optuna.create_study(sampler=UncubedSampler(seed=seed), **options)
    study.optimize(objective, n_trials=n)
    return study


def params(study: Study) -> list[dict[str, Any]]:
    return [trial.params for trial in study.trials]


def searched(study: Study) -> Search:
    """What the study's sampler knows, of all that has happened."""
    assert isinstance(study.sampler, UncubedSampler)
    search = study.sampler._latest(study)
    assert search is not None
    return search


def finished(value: float | None = 1.0, state: TrialState = TrialState.COMPLETE, **options: Any) -> FrozenTrial:
    values = {"params": {"x": 5.0}, "distributions": X, **options}
    return create_trial(state=state, value=value, **values)


# How it searches


def test_to_minimise_is_to_maximise_the_negative() -> None:
    down = studied(branin, 14)
    up = studied(lambda trial: -branin(trial), 14, direction="maximize")
    assert params(down) == params(up)


def test_the_seed_decides_everything() -> None:
    assert params(studied(branin, 11, seed=3)) == params(studied(branin, 11, seed=3))
    assert params(studied(branin, 3, seed=3)) != params(studied(branin, 3, seed=4))


def test_it_finds_better_than_chance() -> None:
    random = optuna.create_study(sampler=RandomSampler(seed=0))
    random.optimize(branin, n_trials=40)
    best = studied(branin, 40).best_value
    assert best < random.best_value
    assert best < 0.45  # the least is 0.398


def test_a_pickled_sampler_goes_on_as_if_nothing_had_been() -> None:
    whole, parts = studied(branin, 14), studied(branin, 8)
    parts.sampler = pickle.loads(pickle.dumps(parts.sampler))
    parts.optimize(branin, n_trials=6)
    assert params(whole) == params(parts)


def test_one_sampler_may_serve_several_studies() -> None:
    sampler = UncubedSampler(seed=0)
    for name in ("x", "y"):
        study = optuna.create_study(sampler=sampler)
        study.optimize(lambda trial, name=name: trial.suggest_float(name, 0, 1), n_trials=5)  # type: ignore[misc]
        assert searched(study).optimizer.evaluations == 5


def test_another_study_of_the_same_name_is_another() -> None:
    sampler = UncubedSampler(seed=0)
    studied = [
        optuna.create_study(study_name="same", direction=way, sampler=sampler) for way in ("minimize", "maximize")
    ]
    studied[0].optimize(lambda trial: (trial.suggest_float("x", -2, 2) - 0.3) ** 2, n_trials=15)
    studied[1].optimize(lambda trial: -((trial.suggest_float("x", -2, 2) + 1.5) ** 2), n_trials=20)
    assert searched(studied[1]).optimizer.direction == "maximize"
    assert studied[1].best_params["x"] == pytest.approx(-1.5, abs=0.05)


def test_where_a_trial_failed_before_its_last_parameter_the_search_stays_away() -> None:
    def fragile(trial: optuna.Trial) -> float:
        x = trial.suggest_float("x", 0, 1)
        if x > 0.6 and trial.number > 0:
            raise MemoryError
        return x + trial.suggest_float("y", 0, 1)

    study = optuna.create_study(sampler=UncubedSampler(seed=1))
    study.optimize(fragile, n_trials=30, catch=(MemoryError,))
    assert study.best_value < 0.05
    assert len(from_study(study).failures) == len([t for t in study.trials if t.state == TrialState.FAIL]) > 0


def test_reseeding_changes_what_comes_first_and_keeps_what_is_known() -> None:
    one, other = UncubedSampler(seed=0), UncubedSampler(seed=0)
    other.reseed_rng()
    study = optuna.create_study()
    trial = study._storage.get_trial(study._storage.create_new_trial(study._study_id))
    drawn = [sampler.sample_independent(study, trial, "x", X["x"]) for sampler in (one, other)]
    assert drawn[0] != drawn[1]
    study = studied(branin, 5)
    before = searched(study).optimizer
    study.sampler.reseed_rng()
    assert searched(study).optimizer is before


# What it is told


@pytest.mark.parametrize(
    ("trial", "values", "failures"),
    [
        (finished(2.5), [2.5], 0),
        (finished(None, TrialState.PRUNED, intermediate_values={1: 7.0, 4: 3.0}), [3.0], 0),
        (finished(None, TrialState.PRUNED), [], 1),
        (finished(None, TrialState.PRUNED, intermediate_values={1: math.nan}), [], 1),
        (finished(None, TrialState.FAIL), [], 1),
        (finished(math.inf), [], 1),
        (finished(-1e200), [], 1),
        (finished(None, TrialState.FAIL, params={}, distributions={}), [], 0),
        (finished(None, TrialState.FAIL, params={"x": 11.0}, distributions={"x": FloatDistribution(0, 20)}), [], 0),
    ],
)
@pytest.mark.parametrize("at_first", [True, False])
def test_a_trial_is_told_by_its_state(trial: FrozenTrial, values: list[float], failures: int, at_first: bool) -> None:
    study = optuna.create_study(sampler=UncubedSampler(seed=0))
    study.add_trial(finished(1.0, params={"x": 1.0}))
    if not at_first:
        searched(study)
    study.add_trial(trial)
    optimizer = searched(study).optimizer
    assert optimizer.log.values.tolist() == [1.0, *values]
    assert len(optimizer.failures) == failures
    study.optimize(lambda trial: trial.suggest_float("x", 0, 10), n_trials=1)


def test_an_enqueued_value_out_of_range_is_not_learned_from() -> None:
    study = studied(lambda trial: trial.suggest_float("x", 0, 10), 2)
    study.enqueue_trial({"x": 20.0})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        study.optimize(lambda trial: trial.suggest_float("x", 0, 10), n_trials=3)
    assert study.trials[2].params == {"x": 20.0}
    assert searched(study).optimizer.evaluations == 4


@pytest.mark.parametrize("enqueued", [{"x": 3.0}, {"x": 3.0, "y": 2.0}])
def test_what_is_enqueued_is_held_while_the_rest_is_chosen(enqueued: dict[str, float]) -> None:
    study = studied(branin, 12)
    study.enqueue_trial(enqueued)
    trial = study.ask()
    trial.suggest_float("another", 0, 1)
    study.tell(trial, branin(trial))
    point = study.trials[-1].system_attrs[SUGGESTION]["point"]
    assert {**point, "another": trial.params["another"]} == trial.params
    assert enqueued.items() <= point.items()
    assert not searched(study).optimizer.pending


def test_what_a_trial_gives_is_the_answer_to_what_was_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    answers: list[bool] = []
    tell = uc.Optimizer.tell

    def heard(self: uc.Optimizer, what: Any, *args: Any, **options: Any) -> Any:
        answers.append(isinstance(what, uc.Suggestion))
        return tell(self, what, *args, **options)

    monkeypatch.setattr(uc.Optimizer, "tell", heard)
    study = studied(branin, 6)
    study.add_trial(finished(params={"x": 1.0, "y": 1.0}, distributions=study.trials[0].distributions))
    assert searched(study).optimizer.evaluations == 7
    assert answers == [True] * 5 + [False]  # neither the first, before which nothing was asked, nor what others bring
    assert not searched(study).optimizer.pending


def test_when_the_common_space_changes_a_new_search_knows_the_past() -> None:
    def objective(trial: optuna.Trial) -> float:
        x = trial.suggest_float("x", 0, 1)
        return x + (trial.suggest_float("y", 0, 1) if trial.number < 6 else trial.suggest_float("z", 0, 1))

    study = studied(objective, 6)
    assert list(searched(study).space) == ["x", "y"]
    study.optimize(objective, n_trials=4)
    search = searched(study)
    assert list(search.space) == ["x"]
    assert search.optimizer.log.values.tolist() == [trial.value for trial in study.trials]


def test_after_an_interruption_it_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    study = studied(branin, 5)
    with monkeypatch.context() as patch:
        patch.setattr("uncubed.model.Model.learn", interrupted)
        with pytest.raises(KeyboardInterrupt):
            study.optimize(branin, n_trials=1)
    study.optimize(branin, n_trials=1)
    optimizer = searched(study).optimizer
    assert len(optimizer.log.values) == 6


@given(
    st.lists(st.tuples(st.sampled_from(list(TrialState)), st.dictionaries(st.sampled_from("abc"), st.integers(1, 2)))),
    st.integers(0, 5),
)
def test_the_common_space_is_optuna_s(drawn: list[tuple[TrialState, dict[str, int]]], before: int) -> None:
    trials = [
        FrozenTrial(
            number=number,
            state=state,
            value=None,
            datetime_start=None,
            datetime_complete=None,
            params=dict.fromkeys(highs, 1),
            distributions={name: IntDistribution(0, high) for name, high in highs.items()},
            user_attrs={},
            system_attrs={},
            intermediate_values={},
            trial_id=number,
        )
        for number, (state, highs) in enumerate(drawn)
    ]
    earlier = [copy.copy(trial) for trial in trials[:before]]
    for trial in earlier[::2]:
        trial.state = TrialState.RUNNING
    common = Common()
    common.read(earlier)
    assert common.read(trials) == intersection_search_space(trials, include_pruned=True)
    assert list(common.read(trials)) == sorted(common.read(trials))


class Counted(Sequence[FrozenTrial]):
    def __init__(self, trials: list[FrozenTrial]) -> None:
        self.trials, self.looked = trials, 0

    def __len__(self) -> int:
        return len(self.trials)

    @overload
    def __getitem__(self, index: int) -> FrozenTrial: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[FrozenTrial]: ...

    def __getitem__(self, index: Any) -> Any:
        self.looked += 1
        return self.trials[index]


def test_a_trial_that_has_finished_is_read_once() -> None:
    study = studied(branin, 10)
    study.ask()
    search = searched(study)
    trials = Counted(study.trials)
    search.read(trials)
    assert trials.looked == 1  # the one that runs
    study.add_trial(study.trials[0])
    trials = Counted(study.trials)
    search.read(trials)
    assert trials.looked == 2


# Several at once


def test_trials_at_once_are_what_the_optimiser_suggests_at_once() -> None:
    study = studied(branin, 15)
    expected = pickle.loads(pickle.dumps(searched(study).optimizer)).ask(4)
    for _ in range(4):
        branin(study.ask())
    assert params(study)[15:] == [suggestion.params for suggestion in expected]
    assert len(searched(study).optimizer.pending) == 4


def test_a_worker_expects_what_another_has_suggested() -> None:
    storage = optuna.storages.InMemoryStorage()
    one = optuna.create_study(study_name="s", storage=storage, sampler=UncubedSampler(seed=0))
    other = optuna.load_study(study_name="s", storage=storage, sampler=UncubedSampler(seed=1))
    one.optimize(branin, n_trials=5)
    trial = one.ask()
    x = trial.suggest_float("x", -5, 10)  # y is decided, and nobody has asked for it yet
    (expected,) = searched(other).optimizer.pending.values()
    assert expected.params == {"x": x, "y": trial.suggest_float("y", 0, 15)}
    one.tell(trial, 1.0)
    assert not searched(other).optimizer.pending
    assert searched(other).optimizer.evaluations == 6


def test_a_running_trial_of_another_sampler_is_expected_once() -> None:
    study = studied(branin, 5)
    other = optuna.load_study(study_name=study.study_name, storage=study._storage, sampler=RandomSampler(seed=0))
    branin(other.ask())
    search = searched(study)
    assert len(search.optimizer.pending) == 1
    assert not search.read(study.trials)


@pytest.mark.parametrize("far", [False, True])
def test_of_two_that_choose_nearly_the_same_at_once_one_chooses_again(
    monkeypatch: pytest.MonkeyPatch, *, far: bool
) -> None:
    storage = optuna.storages.InMemoryStorage()
    one = optuna.create_study(study_name="s", storage=storage, sampler=UncubedSampler(seed=0))
    one.optimize(branin, n_trials=5)
    other = optuna.load_study(study_name="s", storage=storage, sampler=pickle.loads(pickle.dumps(one.sampler)))
    asked = Search.ask
    late: list[optuna.Trial] = []
    chosen: list[dict[str, Any]] = []

    def interposed(search: Search, trial: FrozenTrial) -> Any:
        suggestion = asked(search, trial)
        if not late:  # it chooses with the same knowledge, and first
            if far:
                other.enqueue_trial({"x": float(round(5 - suggestion.params["x"])), "y": 15.0})
            late.append(other.ask())
            branin(late[0])
        if trial.number != late[0].number:
            chosen.append(suggestion.params)
        return suggestion

    monkeypatch.setattr(Search, "ask", interposed)
    trial = one.ask()
    branin(trial)
    assert trial.params == chosen[-1] != late[0].params
    assert len(chosen) == (1 if far else 2)
    expected = [suggestion.params for suggestion in searched(one).optimizer.pending.values()]
    assert sorted(map(str, expected)) == sorted(map(str, [trial.params, late[0].params]))


def test_what_two_have_enqueued_is_tried_twice_and_not_chosen_again_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    study = studied(branin, 8)
    late: list[optuna.Trial] = []
    asked, chosen = Search.ask, Counter[int]()

    def interposed(search: Search, trial: FrozenTrial) -> Any:
        chosen[trial.number] += 1
        suggestion = asked(search, trial)
        if not late:
            other = optuna.load_study(study_name=study.study_name, storage=study._storage, sampler=UncubedSampler())
            late.append(other.ask())
            late[0].suggest_float("another", 0, 1)  # or what is enqueued needs no sampler
        return suggestion

    study.enqueue_trial({"x": 3.0, "y": 2.0})
    study.enqueue_trial({"x": 3.0, "y": 2.0})
    monkeypatch.setattr(Search, "ask", interposed)
    study.ask().suggest_float("another", 0, 1)
    points = [trial.system_attrs[SUGGESTION]["point"] for trial in study.trials[-2:]]
    assert points == [{"x": 3.0, "y": 2.0}] * 2
    assert max(chosen.values()) == 2


def test_a_running_trial_that_fails_half_way_is_no_longer_expected() -> None:
    study = studied(branin, 5)
    trial = study.ask()
    trial.suggest_float("x", -5, 10)
    study.tell(trial, state=TrialState.FAIL)
    optimizer = searched(study).optimizer
    assert not optimizer.pending
    assert [failure.params["x"] for failure in optimizer.failures] == [trial.params["x"]]


def test_threads_share_a_sampler_and_nothing_is_told_twice() -> None:
    study = optuna.create_study(sampler=UncubedSampler(seed=0))
    study.optimize(branin, n_trials=24, n_jobs=4)
    optimizer = searched(study).optimizer
    assert sorted(optimizer.log.values) == sorted(trial.values[0] for trial in study.trials)
    assert not optimizer.pending


def test_it_works_through_a_database() -> None:
    storage = optuna.storages.RDBStorage("sqlite:///:memory:")
    stored = studied(branin, 8, storage=storage)
    assert params(stored) == params(studied(branin, 8))
    storage.engine.dispose()


@pytest.mark.parametrize("pruner", [optuna.pruners.HyperbandPruner(1, 9, 3), optuna.pruners.MedianPruner(3)])
def test_pruners_see_no_difference(pruner: optuna.pruners.BasePruner) -> None:
    def objective(trial: optuna.Trial) -> float:
        value = branin(trial)
        for step in range(1, 10):
            trial.report(value + 1.0 / step, step)
            if trial.should_prune():
                raise optuna.TrialPruned
        return value

    study = studied(objective, 25, pruner=pruner)
    pruned = study.get_trials(states=[TrialState.PRUNED])
    assert pruned
    told = searched(study).optimizer.log.values.tolist()
    assert told == [t.value if t.value is not None else max(t.intermediate_values.items())[1] for t in study.trials]


# Any space


@pytest.mark.parametrize(
    "distribution",
    [
        CategoricalDistribution([None, True, 1, 1.5, "1", math.nan]),
        CategoricalDistribution([1, True, 1.0]),
        FloatDistribution(0.1, 0.7, step=0.1),
        FloatDistribution(-1e-3, 1e-3, step=1e-4),
        FloatDistribution(1e-300, 1e300, log=True),
        FloatDistribution(-1e300, 1e300),
        IntDistribution(-3 * 2**40, 3 * 2**40, step=3),
        IntDistribution(1, 2**40, log=True),
    ],
)
def test_every_value_suggested_is_of_the_distribution(distribution: BaseDistribution) -> None:
    study = optuna.create_study(sampler=UncubedSampler(seed=0))
    for number in range(12):
        trial = study.ask({"p": distribution})
        assert distribution._contains(distribution.to_internal_repr(trial.params["p"]))
        study.tell(trial, float(number % 3))
    assert searched(study).optimizer.evaluations == 12
    assert all(SUGGESTION in trial.system_attrs for trial in study.trials[1:])


@pytest.mark.parametrize(
    "distribution",
    [FloatDistribution(-1e308, 1e308), IntDistribution(0, 2**60), FloatDistribution(5e-324, 1.0, log=True)],
)
def test_a_range_too_large_to_be_searched_is_left_to_the_independent_sampler(distribution: BaseDistribution) -> None:
    study = optuna.create_study(sampler=UncubedSampler(seed=0))
    study.add_trial(finished(params={"x": 1.0, "p": 1}, distributions={**X, "p": distribution}))
    assert list(searched(study).space) == ["x"]


def test_the_independent_sampler_is_the_one_given() -> None:
    fixed = optuna.samplers.GridSampler({"x": [4.0]})
    study = optuna.create_study(sampler=UncubedSampler(independent_sampler=fixed))
    study.optimize(lambda trial: trial.suggest_float("x", 0, 10), n_trials=1)
    assert params(study) == [{"x": 4.0}]


# What it says


def test_the_study_has_the_decisions_and_the_milestones() -> None:
    study = studied(branin, 15)
    assert SUGGESTION not in study.trials[0].system_attrs
    for trial in study.trials[1:]:
        said = trial.system_attrs[SUGGESTION]
        assert said["point"] == trial.params
        assert said["informative"]
        assert said["nats"] > said["epsilon"]
    milestone = searched(study).optimizer.milestones[-1]
    assert study._storage.get_study_system_attrs(study._study_id)[MILESTONE] == milestone._asdict()


def test_it_stops_when_it_is_done() -> None:
    def objective(trial: optuna.Trial) -> float:
        return (trial.suggest_categorical("c", ["a", "b"]) == "a") + trial.suggest_int("n", 0, 3)

    study = optuna.create_study(sampler=UncubedSampler(seed=0, noise_variance=1e-6))
    study.optimize(objective, n_trials=200, callbacks=[StopWhenDone()])
    assert len(study.trials) < 200
    said = study._storage.get_study_system_attrs(study._study_id)[DONE]
    assert said["reason"] == searched(study).optimizer.done
    assert said["gap"] >= 0.0


def test_a_study_with_branches_is_not_done_before_its_evaluations_are_made() -> None:
    def branching(trial: optuna.Trial) -> float:
        if trial.suggest_categorical("kind", ["a", "b"]) == "a":
            return (trial.suggest_float("u", 0, 1) - 0.77) ** 2
        return 1.0 + trial.suggest_float("z", 0, 1)

    study = optuna.create_study(sampler=UncubedSampler(seed=0, evaluations=40))
    study.optimize(branching, n_trials=60, callbacks=[StopWhenDone()])
    assert len(study.trials) == 40
    assert "u, z are not in every trial" in study._storage.get_study_system_attrs(study._study_id)[DONE]["caveats"][-1]


def test_a_study_without_a_value_ends_too() -> None:
    def pruned(trial: optuna.Trial) -> float:
        trial.suggest_float("x", -2, 2)
        raise optuna.TrialPruned

    study = optuna.create_study(sampler=UncubedSampler(seed=0, evaluations=5))
    study.optimize(pruned, n_trials=15, callbacks=[StopWhenDone()])
    assert study._storage.get_study_system_attrs(study._study_id)[DONE] == {"reason": "5 evaluations were made"}


def test_it_is_not_done_before_anything_has_finished() -> None:
    study = optuna.create_study(sampler=UncubedSampler())
    assert isinstance(study.sampler, UncubedSampler)
    assert study.sampler.done(study) is None
    with pytest.raises(InvalidInputError, match="certificate: expected a study with a finished trial"):
        study.sampler.certificate(study)


def test_the_certificate_speaks_of_the_study_s_own_parameters() -> None:
    study = studied(lambda trial: len(trial.suggest_categorical("c", ["a", "bb"])) + trial.suggest_float("x", 0, 1), 8)
    assert isinstance(study.sampler, UncubedSampler)
    promise = study.sampler.certificate(study)
    assert promise.best.params["c"] == "a"
    assert promise.best.params in params(study)
    assert isinstance(promise, uc.Promise)


def test_only_our_sampler_can_say_when_it_is_done() -> None:
    study = optuna.create_study(sampler=RandomSampler())
    with pytest.raises(InvalidInputError, match="sampler: expected UncubedSampler, got RandomSampler"):
        study.optimize(branin, n_trials=1, callbacks=[StopWhenDone()])


@pytest.mark.parametrize("options", [{"tolerance": -1.0}, {"journal": "s.jsonl"}, {"direction": "maximize"}])
def test_a_wrong_option_is_refused_at_once(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError, match=next(iter(options))):
        UncubedSampler(**options)


# Moving in and out


def told() -> uc.Optimizer:
    space = {
        "rate": uc.Float(1e-4, 1.0, log=True),
        "layers": uc.Int(2, 8, step=3),
        "kind": uc.Categorical(["a", None, 2]),
        "seed": 7,
    }
    optimizer = uc.Optimizer(space, direction="minimize", seed=0)
    for number in range(8):
        optimizer.tell(optimizer.ask(), math.nan if number in (0, 5) else 0.5 * number)
    return optimizer


def test_a_study_from_an_optimiser_has_all_that_was_told_in_order() -> None:
    optimizer = told()
    study = to_study(optimizer, study_name="moved")
    assert study.study_name == "moved"
    assert study.direction == optuna.study.StudyDirection.MINIMIZE
    assert [trial.value for trial in study.trials] == [None, 0.5, 1.0, 1.5, 2.0, None, 3.0, 3.5]
    assert study.best_params == optimizer.params(0)
    assert [trial.params for trial in study.get_trials(states=[TrialState.FAIL])] == [
        failure.params for failure in optimizer.failures
    ]


def test_there_and_back_nothing_is_lost() -> None:
    optimizer = told()
    back = from_study(to_study(optimizer), seed=0)
    assert back.direction == "minimize"
    assert back.log.values.tolist() == optimizer.log.values.tolist()
    assert [back.params(i) for i in range(6)] == [optimizer.params(i) for i in range(6)]
    assert len(back.failures) == 2
    assert isinstance(back.space, Space)
    assert isinstance(optimizer.space, Space)
    assert back.space.parameters == optimizer.space.parameters


def test_of_a_study_with_branches_the_common_parameters_are_taken() -> None:
    def objective(trial: optuna.Trial) -> float:
        return trial.suggest_int("x", 0, 9) + trial.suggest_float(f"y{trial.number}", 0, 1)

    optimizer = from_study(studied(objective, 4))
    assert optimizer.space.names == ["x"]
    assert optimizer.evaluations == 4


def test_steps_of_real_numbers_go_there_and_back() -> None:
    study = studied(lambda trial: trial.suggest_float("x", 0.1, 0.7, step=0.1), 5)
    optimizer = from_study(study)
    assert isinstance(optimizer.space, Space)
    assert optimizer.space.parameters == {"x": uc.Float(0.1, 0.7, step=0.1)}
    back = to_study(optimizer)
    assert back.trials[0].distributions == study.trials[0].distributions
    moved = [trial.params["x"] for trial in back.trials]
    assert moved == pytest.approx([trial.params["x"] for trial in study.trials], abs=1e-15)
    assert set(moved) <= {0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7}
    assert from_study(back).evaluations == 5


def test_a_range_that_ends_between_two_steps_ends_at_the_last() -> None:
    optimizer = uc.Optimizer({"x": uc.Float(0.1, 0.75, step=0.1)}, seed=0)
    optimizer.tell({"x": 0.7}, 1.0)
    (trial,) = to_study(optimizer).trials
    assert trial.distributions == {"x": FloatDistribution(0.1, 0.7, step=0.1)}


def test_a_table_is_no_study() -> None:
    with pytest.raises(InvalidInputError, match="space: expected Space, got Candidates"):
        to_study(uc.Optimizer(uc.Candidates([{"a": 1}, {"a": 2}])))


def test_without_optuna_the_pip_line_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "uncubed.integrations.optuna")
    monkeypatch.setitem(sys.modules, "optuna.distributions", None)
    with pytest.raises(ImportError, match=r"pip install uncubed\[optuna\]"):
        import uncubed.integrations.optuna  # noqa: F401
