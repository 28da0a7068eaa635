"""The search by itself, and on a cluster of one machine."""

import importlib
import logging
import math
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

ray = pytest.importorskip("ray", reason="Ray is not installed")

from ray import tune  # noqa: E402
from ray.tune.search import ConcurrencyLimiter, Repeater, Searcher  # noqa: E402
from ray.tune.search.sample import Domain  # noqa: E402

import uncubed as uc  # noqa: E402
from uncubed.errors import InvalidInputError, LostValueWarning, StateError  # noqa: E402
from uncubed.integrations import ray as adapter  # noqa: E402
from uncubed.integrations._tune_space import TuneSpace  # noqa: E402
from uncubed.integrations.ray import UncubedSearch  # noqa: E402

Config = dict[str, Any]

SPACE: Config = {
    "lr": tune.loguniform(1e-4, 1.0),
    "model": {"layers": tune.randint(1, 9), "act": tune.choice(["relu", "tanh"]), "bias": True},
}


def loss(config: Config) -> float:
    model = config["model"]
    return float((math.log10(config["lr"]) + 2) ** 2 + (model["layers"] - 5) ** 2 / 8 + (model["act"] == "relu"))


def searching(space: Config | None = None, **options: Any) -> UncubedSearch:
    return UncubedSearch(space or SPACE, "loss", "min", **{"seed": 0, **options})


def tried(search: Searcher, n: int, first: int = 0, f: Callable[[Config], float] = loss) -> list[Config]:
    configs = []
    for trial in map(str, range(first, first + n)):
        config = search.suggest(trial)
        assert config is not None
        search.on_trial_complete(trial, {"loss": f(config)})
        configs.append(config)
    return configs


def told(search: UncubedSearch) -> list[float]:
    optimizer = search._optimizer
    assert optimizer is not None
    return [float(value) for value in optimizer.log.values]


def reasons(search: UncubedSearch) -> list[str]:
    optimizer = search._optimizer
    assert optimizer is not None
    return [failure.reason for failure in optimizer.failures]


# Spaces

numbers = st.floats(-1e6, 1e6)
positive = st.floats(1e-6, 1e6)


@st.composite
def domains(draw: st.DrawFn) -> Any:
    low, width = draw(st.integers(1, 1000)), draw(st.integers(1, 1000))
    q = draw(st.sampled_from([0.1, 0.25, 3.0, 0.007]))
    step = draw(st.integers(2, 7))
    a, b = sorted(draw(st.tuples(numbers, numbers)))
    c, d = sorted(draw(st.tuples(positive, positive)))
    return draw(
        st.sampled_from(
            [
                tune.uniform(a, b),
                tune.loguniform(c, d),
                tune.quniform(low * q, (low + width) * q, q),
                tune.quniform(-low * q, width * q, q),
                tune.qloguniform(low * q, (low + width) * q, q),
                tune.randint(-low, width),
                tune.lograndint(low, low + width),
                tune.qrandint(-low * step, width * step, step),
                tune.qrandint(low, low + width, 1),
                tune.qlograndint(low * step, (low + width) * step, step),
                tune.choice([None, "a", 1, 1.0, True, (1, 2), {"a": [1]}][: draw(st.integers(1, 7))]),
            ]
        )
    )


@given(domains(), st.integers(0, 2**32 - 1))
def test_what_tune_samples_is_a_point_and_comes_back(domain: Domain, seed: int) -> None:
    space = TuneSpace({"a": domain})
    dimension = space.parameters["a"].dimension
    value = domain.sample(random_state=seed)
    point = space.encode({"a": value})
    decoded = space.decode({"a": dimension.decode(dimension.encode("a", point["a"]))})["a"]
    assert decoded == (pytest.approx(value, rel=1e-9, abs=1e-6) if isinstance(value, float) else value)
    assert type(decoded) is type(value)


@pytest.mark.parametrize(
    ("domain", "values"),
    [
        (tune.randint(1, 4), [1, 2, 3]),
        (tune.lograndint(1, 4), [1, 2, 3]),
        (tune.qrandint(1, 10, 3), [3, 6, 9]),
        (tune.qrandint(3, 9, 3), [3, 6, 9]),
        (tune.qrandint(1, 4, 1), [1, 2, 3]),
        (tune.qlograndint(2, 8, 2), [2, 4, 6, 8]),
        (tune.quniform(0.1 + 0.2, 0.7, 0.1), [0.3, 0.4, 0.5, 0.6, 0.7]),
        (tune.qloguniform(0.1, 0.3, 0.1), [0.1, 0.2, 0.3]),
        (tune.choice(["a", None]), ["a", None]),
    ],
)
def test_every_value_of_a_domain_and_no_other_is_searched(domain: Domain, values: list[Any]) -> None:
    space = TuneSpace({"a": domain})
    dimension = space.parameters["a"].dimension
    assert [space.decode({"a": dimension.decode(u)})["a"] for u in dimension.every()] == values


def test_only_what_is_searched_is_suggested_where_it_was() -> None:
    shared = object()
    space = TuneSpace(
        {
            "data": shared,
            "a": {"b": {"x": tune.uniform(0, 1), "y": 2}},
            "l": [1, {"z": tune.randint(0, 9), "w": 3}],
        }
    )
    config = space.decode({"a/b/x": 0.5, "l/1/z": 7})
    assert config == {"a": {"b": {"x": 0.5}}, "l": [1, {"z": 7, "w": 3}]}
    assert space.encode(config) == space.encode({"a/b/x": 0.5, "l/1/z": 7}) == {"a/b/x": 0.5, "l/1/z": 7}


def test_our_own_dimensions_may_be_in_a_space() -> None:
    config = searching({"a": uc.Float(0, 1, step=0.5), "b": tune.randint(1, 3)}).suggest("0")
    assert config["a"] in (0.0, 0.5, 1.0)
    assert config["b"] in (1, 2)


@pytest.mark.parametrize(
    ("domain", "message"),
    [
        (tune.grid_search([1, 2]), r"a/b: expected a range or a choice, got grid_search; tune\.choice"),
        (tune.sample_from(lambda _: 1), r"a/b: expected a range or a choice, got sample_from; compute it in"),
        (tune.randn(0, 1), r"a/b: expected a range or a choice, got Normal, which has no ends"),
        (tune.qrandn(0, 1, 0.1), r"a/b: expected a range or a choice, got Normal, which has no ends"),
        (tune.choice([{"c": tune.uniform(0, 1)}, 2]), r"a/b: .*, got a choice with ranges inside; search them beside"),
        (tune.choice([1, 1]), r"a/b: choices: expected each only once, got 1 twice"),
        (tune.randint(3, 3), r"a/b: high: expected at least low = 3, got 2"),
    ],
)
def test_what_cannot_be_searched_is_refused_by_name(domain: Any, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        UncubedSearch().set_search_properties("loss", "min", {"a": {"b": domain}, "c": tune.uniform(0, 1)})


def test_names_that_collide_are_refused() -> None:
    with pytest.raises(InvalidInputError, match=r"space: expected different names, got a/b, a/b"):
        TuneSpace({"a": {"b": tune.uniform(0, 1)}, "a/b": tune.uniform(0, 1)})


# Searching


def test_it_is_the_optimizer() -> None:
    dimensions = {
        "lr": uc.Float(1e-4, 1.0, log=True),
        "model/layers": uc.Int(1, 8),
        "model/act": uc.Categorical(["relu", "tanh"]),
    }
    configs = tried(searching(), 12)
    optimizer = uc.Optimizer(dimensions, direction="minimize", seed=0)
    for config in configs:
        suggestion = optimizer.ask()
        assert config == TuneSpace(SPACE).decode(suggestion.params)
        optimizer.tell(suggestion, loss(config))


def test_the_mode_says_the_direction() -> None:
    mirrored = UncubedSearch(SPACE, "loss", "max", seed=0)
    assert tried(mirrored, 12, f=lambda config: -loss(config)) == tried(searching(), 12)


def test_tune_may_say_the_objective_and_the_space_later() -> None:
    search = UncubedSearch(seed=0)
    assert search.set_search_properties("loss", "min", SPACE)
    assert (search.metric, search.mode) == ("loss", "min")
    assert tried(search, 3) == tried(searching(), 3)
    assert search.set_search_properties("loss", "min", SPACE)  # again, as with a search that was restored
    assert not search.set_search_properties("loss", "min", {"lr": tune.uniform(0, 1)})
    with pytest.raises(InvalidInputError, match="metric: expected 'loss', as the search has it, got 'accuracy'"):
        search.set_search_properties("accuracy", "min", SPACE)


def test_a_trainable_may_return_a_number_only() -> None:
    search = UncubedSearch()
    search.set_search_properties(None, "min", SPACE)
    search.suggest("0")
    search.on_trial_complete("0", {"_metric": 0.5})
    assert told(search) == [0.5]


@pytest.mark.parametrize(
    ("search", "message"),
    [
        (UncubedSearch, "space: expected param_space in tune.Tuner, or space= here, got none"),
        (lambda: UncubedSearch(SPACE), "mode: expected 'min' or 'max' in tune.TuneConfig, or mode= here, got none"),
        (lambda: UncubedSearch({"a": 1}, "loss", "min"), "space: expected at least one parameter to search"),
        (lambda: UncubedSearch(SPACE, ["loss"], ["min"]), r"metric: expected the name of one, got \['loss'\]"),  # type: ignore[arg-type]
        (lambda: UncubedSearch(SPACE, "loss", "minimize"), "mode: expected 'min' or 'max', got 'minimize'"),
        (lambda: searching(tolerance=-1), "tolerance: expected a number above 0"),
        (lambda: searching(journal="a"), "journal: expected to be left to Tune, got 'a'"),
        (lambda: searching(points_to_evaluate=[{"lr": 0.1}]), r"model/layers: expected in each point, got {'lr': 0.1}"),
    ],
)
def test_what_is_missing_or_wrong_is_said(search: Callable[[], UncubedSearch], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        search().suggest("0")


def test_points_come_first() -> None:
    points = [
        {"lr": 0.1, "model": {"layers": 2, "act": "tanh", "bias": True}},
        {"lr": 0.01, "model/layers": 8, "model/act": "relu"},
    ]
    first, second, third = tried(searching(points_to_evaluate=points), 3)
    assert first == {"lr": 0.1, "model": {"layers": 2, "act": "tanh"}}
    assert second == {"lr": 0.01, "model": {"layers": 8, "act": "relu"}}
    assert third not in (first, second)


def test_constraints_are_of_configurations() -> None:
    search = searching(constraints=[lambda config: config["model"]["layers"] * config["lr"] < 0.5])
    assert all(config["model"]["layers"] * config["lr"] < 0.5 for config in tried(search, 10))


def test_values_from_elsewhere_are_learned() -> None:
    search, other = searching(), searching()
    configs = tried(other, 8)
    for config in configs:
        search.add_evaluated_point(config, loss(config))
    search.add_evaluated_point(configs[0], math.nan, error=True)
    assert told(search) == told(other)
    assert reasons(search) == ["the trial ended with an error"]


# How trials end


def test_a_trial_that_gives_no_value_is_a_failure() -> None:
    search = searching()
    tried(search, 2)
    for trial in "abcd":
        search.suggest(trial)
    search.on_trial_result("a", {"loss": 1.0})  # which is not its last
    search.on_trial_complete("a", error=True)
    search.on_trial_complete("b", {"loss": math.nan})
    search.on_trial_complete("c", {"accuracy": 0.5})
    search.on_trial_complete("d", {"loss": "low"})
    assert reasons(search) == [
        "the trial ended with an error",
        "value: nan",
        "loss: expected in the last result, got none",
        "value: expected a real number, got 'low' of type str",
    ]
    assert len(told(search)) == 2
    assert search._awaited == {}


def test_a_trial_that_was_stopped_before_it_said_anything_is_not_tried_again_and_again() -> None:
    search = searching()
    first = search.suggest("0")
    search.on_trial_complete("0")
    assert (told(search), reasons(search)) == ([], ["the trial ended without a result"])
    assert search.suggest("1") != first


def test_a_trial_of_tunes_own_outside_the_space_is_told_of() -> None:
    search = searching({"x": tune.uniform(-2, 2)})
    with pytest.warns(LostValueWarning, match="its value is lost: x: expected"):
        search.on_trial_complete("another", {"loss": 2.0, "config/x": 99.0})


@pytest.mark.parametrize("point", [{"x": 7.0}, 3])
def test_a_wrong_first_point_is_refused_each_time(point: Any) -> None:
    search = UncubedSearch(points_to_evaluate=[{"x": 0.5}, point])
    for _ in range(2):
        with pytest.raises(InvalidInputError, match="expected"):
            search.set_search_properties("loss", "min", {"x": tune.uniform(-2, 2)})


def test_it_finishes_when_the_optimizer_is_done() -> None:
    search = searching({"a": tune.choice(["x", "y"]), "b": tune.randint(0, 2)}, tolerance=0.1)
    for trial in map(str, range(100)):
        reason, config = search.done(), search.suggest(trial)
        assert (config == Searcher.FINISHED) == (reason is not None)
        if reason is not None:
            break
        search.on_trial_complete(trial, {"loss": float(config["b"])})
    assert reason is not None
    assert search.certificate().best.params["b"] == 0


def test_it_does_not_finish_while_values_are_awaited() -> None:
    search = searching({"a": tune.choice(["x", "y"])}, noise_variance=1e-6, evaluations=1)
    search.suggest("0")
    search.suggest("1")
    search.on_trial_complete("0", {"loss": 1.0})
    assert search.suggest("2") is None
    search.on_trial_complete("1", {"loss": 2.0})
    assert search.suggest("2") == Searcher.FINISHED


def test_a_trial_that_tune_began_anew_is_known_by_its_configuration() -> None:
    space = {**SPACE, "extra": tune.choice([{"n": 1}, {"n": 2}])}
    search = searching(space)
    configs = {trial: search.suggest(trial) for trial in "ab"}
    search.on_trial_complete("a", error=True)
    for trial, config in configs.items():  # Tune's results are flat
        flat = {
            "config/lr": config["lr"],
            **{f"config/model/{k}": v for k, v in config["model"].items()},
            "config/extra/n": config["extra"]["n"],
        }
        search.on_trial_complete(f"{trial} again", {"loss": loss(config), **flat})
    assert told(search) == [loss(config) for config in configs.values()]
    assert search._awaited == {}
    with pytest.warns(LostValueWarning, match="trial c: its value is lost: lr: expected in each point"):
        search.on_trial_complete("c", {"loss": 1.0, "config/other": 2})


# Wrappers of Tune, and states


def test_it_works_inside_tunes_wrappers() -> None:
    limited = ConcurrencyLimiter(searching(), max_concurrent=2)
    assert [limited.suggest(trial) is None for trial in "abc"] == [False, False, True]
    limited.on_trial_complete("a", {"loss": 1.0})
    assert limited.suggest("c") is not None
    repeated = Repeater(search := searching(), repeat=2)
    assert repeated.suggest("a") is not None
    repeated.suggest("b")
    for trial, value in {"a": 1.0, "b": 2.0}.items():
        repeated.on_trial_complete(trial, {"loss": value})
    assert told(search) == [1.5]


@pytest.mark.parametrize("at", [0, 3, 11])
def test_saved_restored_and_continued_is_uninterrupted(at: int, tmp_path: Path) -> None:
    whole, part = (searching(constraints=[lambda config: config["lr"] < 0.9]) for _ in range(2))
    assert tried(whole, at) == tried(part, at)
    awaited = whole.suggest("awaited")
    assert part.suggest("awaited") == awaited
    part.save(str(tmp_path / "state"))
    restored = UncubedSearch()
    restored.restore(str(tmp_path / "state"))
    for search in (whole, restored):
        search.on_trial_complete("awaited", {"loss": loss(awaited)})
    assert tried(whole, 6, first=at) == tried(restored, 6, first=at)
    assert whole.certificate().gap == restored.certificate().gap


def test_a_trial_of_an_earlier_run_is_not_waited_for(tmp_path: Path) -> None:
    search = searching({"a": tune.choice(["x", "y"])}, evaluations=1)
    for trial in "01":
        search.suggest(trial)
    search.save(str(tmp_path / "state"))
    search.restore(str(tmp_path / "state"))
    search.on_trial_complete("0", {"loss": 1.0})
    assert search.suggest("2") == Searcher.FINISHED  # for "1" may have been skipped


def test_a_state_of_another_version_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = str(tmp_path / "state")
    with monkeypatch.context() as patched:
        patched.setattr(adapter, "__version__", "0.0.1")
        searching().save(path)
    with pytest.raises(StateError, match=r"expected a search saved by uncubed \S+, got one of 0\.0\.1"):
        searching().restore(path)
    Path(path).write_bytes(ray.cloudpickle.dumps([1, 2]))
    with pytest.raises(StateError, match="got something else"):
        searching().restore(path)


def test_without_ray_the_pip_line_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "uncubed.integrations.ray")
    monkeypatch.setitem(sys.modules, "ray.tune.search", None)
    with pytest.raises(ImportError, match=r"needs Ray Tune: pip install uncubed\[ray\]"):
        importlib.import_module("uncubed.integrations.ray")


# On a cluster


@pytest.fixture(scope="module")
def _cluster() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patched.setenv("RAY_TRAIN_ENABLE_V2_MIGRATION_WARNINGS", "0")
        patched.setenv("TUNE_GLOBAL_CHECKPOINT_S", "0")
        patched.setenv("TUNE_DISABLE_AUTO_CALLBACK_LOGGERS", "1")
        ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR)
        try:
            yield
        finally:
            ray.shutdown()


class Interruption(tune.Callback):
    """Ends the driver when some trials have ended, once; what Tune copies beside the run is all of one moment then."""

    def __init__(self, after: int, marker: Path) -> None:
        self.after, self.marker = after, marker

    def on_step_end(self, iteration: int, trials: list[Any], **info: Any) -> None:
        ended = sum(trial.is_finished() for trial in trials) >= self.after
        if ended and not self.marker.exists() and copied(trials[0]):
            self.marker.touch()
            raise KeyError("the driver")


def copied(trial: Any) -> bool:
    """Whether what was saved of the study is where it is kept; if it is not soon, the next step copies it again."""
    saved = [path for path in Path(trial.local_experiment_path).iterdir() if path.is_file()]
    for _ in range(50):
        if all(same_file(file, Path(trial.remote_experiment_path) / file.name) for file in saved):
            return True
        time.sleep(0.02)
    return False


def same_file(one: Path, other: Path) -> bool:
    return other.exists() and one.read_bytes() == other.read_bytes()


def fragile(marker: Path) -> Callable[[Config], Config]:
    """A trainable, of which some trials fail until there is a file; a closure, so that workers know it."""

    def trainable(config: Config) -> Config:
        if config["x"] > 1 and not marker.exists():
            raise RuntimeError("x is too large")
        return {"loss": (config["x"] - 0.3) ** 2 + config["model"]["k"]}

    return trainable


def together(folder: Path, workers: int) -> Callable[[Config], Config]:
    """A trainable that goes on only once several workers have come so far."""

    def trainable(config: Config) -> Config:
        (folder / f"worker-{os.getpid()}").touch()
        while len(list(folder.glob("worker-*"))) < workers:
            time.sleep(0.02)
        return {"loss": (config["x"] - 0.3) ** 2 + config["model"]["k"]}

    return trainable


def tuner(trainable: Any, search: Searcher, folder: Path, callbacks: list[tune.Callback], **options: Any) -> tune.Tuner:
    return tune.Tuner(
        trainable,
        param_space={
            "x": tune.uniform(-2, 2),
            "model": {"k": tune.qrandint(2, 8, 2), "twice": tune.sample_from(lambda config: 2 * config["x"])},
        },
        tune_config=tune.TuneConfig(
            metric="loss", mode="min", search_alg=search, num_samples=8, reuse_actors=True, **options
        ),
        run_config=tune.RunConfig(storage_path=str(folder), name="study", verbose=0, callbacks=callbacks),
    )


@pytest.mark.cluster
@pytest.mark.usefixtures("_cluster")
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_without_a_number_of_samples_it_ends_when_it_is_done(tmp_path: Path) -> None:
    search = UncubedSearch(seed=0, tolerance=0.1)
    results = tune.Tuner(
        lambda config: {"loss": float(config["a"] != "b") + config["n"]},
        param_space={"a": tune.choice(["a", "b"]), "n": tune.randint(0, 4)},
        tune_config=tune.TuneConfig(metric="loss", mode="min", search_alg=search, num_samples=-1, reuse_actors=True),
        run_config=tune.RunConfig(storage_path=str(tmp_path), name="study", verbose=0),
    ).fit()
    assert search.done() is not None
    assert sorted(told(search)) == losses(results)
    assert search.certificate().best.params == {"a": "b", "n": 0}


def losses(results: tune.ResultGrid) -> list[float]:
    return sorted((results[i].metrics or {})["loss"] for i in range(len(results)))


@pytest.mark.cluster
@pytest.mark.usefixtures("_cluster")
@pytest.mark.filterwarnings("ignore::ResourceWarning")  # files that older versions of Ray leave open
def test_several_workers_evaluate_what_is_suggested(tmp_path: Path) -> None:
    search = UncubedSearch(seed=0)
    results = tuner(together(tmp_path, 2), search, tmp_path, [], max_concurrent_trials=2).fit()
    assert (len(results), results.num_errors) == (8, 0)
    assert sorted(told(search)) == losses(results)
    assert all(config["model"]["twice"] == 2 * config["x"] for config in (results[i].config or {} for i in range(8)))
    assert search.certificate().best.value in losses(results)


@pytest.mark.cluster
@pytest.mark.usefixtures("_cluster")
@pytest.mark.filterwarnings("ignore::ResourceWarning")  # files that older versions of Ray leave open
def test_a_study_that_was_interrupted_goes_on_and_its_errors_are_tried_again(tmp_path: Path) -> None:
    marker, study = tmp_path / "interrupted", str(tmp_path / "study")
    with pytest.raises(KeyError, match="the driver"):
        tuner(fragile(marker), UncubedSearch(seed=0), tmp_path, [Interruption(4, marker)]).fit()
    before, after = UncubedSearch(), UncubedSearch()
    before.restore_from_dir(study)
    results = tune.Tuner.restore(study, fragile(marker), restart_errored=True).fit()
    after.restore_from_dir(study)
    assert (len(results), results.num_errors) == (8, 0)
    assert told(after)[: len(told(before))] == told(before)
    assert sorted(told(after)) == losses(results)
    assert reasons(before)
    assert reasons(after)[: len(reasons(before))] == reasons(before)
