"""The search by scikit-learn's own checks, by the other searches of scikit-learn, and by what those do not ask for."""

import math
import pickle
import sys
import warnings
from collections.abc import Mapping, Sequence
from importlib import import_module
from inspect import signature
from typing import Any

import joblib  # type: ignore[import-untyped]
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from sklearn.base import BaseEstimator, clone
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import FitFailedWarning, NotFittedError
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, GroupKFold, RandomizedSearchCV, ShuffleSplit
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

import uncubed as uc
from uncubed.errors import InvalidInputError
from uncubed.integrations._sklearn_fits import batch_size
from uncubed.integrations._sklearn_space import TAIL, Search, parameter
from uncubed.integrations.sklearn import UncubedSearchCV

X, Y = load_iris(return_X_y=True)
TEN = np.zeros((10, 1)), np.zeros(10)
C: dict[str, Any] = {"C": stats.loguniform(1e-2, 1e3)}


class Parabola(BaseEstimator):  # type: ignore[misc]
    """Has a score without data, and cannot be fitted in a part of its space."""

    def __init__(self, x: float = 0.0, y: float = 0.0, limit: float = math.inf) -> None:
        self.x, self.y, self.limit = x, y, limit

    def fit(self, X: Any, y: Any = None, weight: Any = None) -> "Parabola":
        if self.x > self.limit:
            raise ValueError("too far")
        self.weight_ = weight
        return self

    def predict(self, X: Any) -> Any:
        return np.full(len(X), self.x)

    def score(self, X: Any, y: Any = None) -> float:
        return -float((self.x - 0.3) ** 2 + (self.y + 0.1) ** 2)


PLANE = {"x": uc.Float(-1, 1), "y": uc.Float(-1, 1)}


def parabola(space: Any = None, limit: float = math.inf, **options: Any) -> UncubedSearchCV:
    options = {"n_iter": 12, "cv": 2, "random_state": 0, **options}
    return UncubedSearchCV(Parabola(limit=limit), space or PLANE, **options)


def candidates(search: UncubedSearchCV) -> list[dict[str, Any]]:
    tried: list[dict[str, Any]] = search.cv_results_["params"]
    return tried


# By scikit-learn's checks


def as_scikit_learn_checks_its_own(search: type) -> list[Any]:
    """The instances of `RandomizedSearchCV` that are checked there."""
    reduced = [("pca", PCA())]
    options = {"cv": 2, "error_score": "raise", "random_state": 0}
    return [
        search(Ridge(), {"alpha": [0.1, 1.0]}, **options),
        search(LogisticRegression(), {"C": [0.1, 1.0]}, **options),
        search(Pipeline([*reduced, ("ridge", Ridge())]), {"ridge__alpha": [0.1, 1.0]}, **options),
        search(Pipeline([*reduced, ("logistic", LogisticRegression())]), {"logistic__C": [0.1, 1.0]}, **options),
    ]


CHECKS = parametrize_with_checks(as_scikit_learn_checks_its_own(UncubedSearchCV))
PAIRS = [getattr(pair, "values", pair) for pair in CHECKS.args[1]]  # without the marks of versions before 1.6


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize(("estimator", "check"), PAIRS, ids=CHECKS.kwargs["ids"])
def test_scikit_learn_checks(estimator: Any, check: Any) -> None:
    if check.func.__name__ == "check_supervised_y_2d" and "alpha" in str(estimator.param_distributions):
        with pytest.raises(AssertionError):  # as it is known of `RandomizedSearchCV`
            check(estimator)
    else:
        check(estimator)


def test_arguments_are_those_of_the_randomised_search() -> None:
    ours, theirs = signature(UncubedSearchCV).parameters, signature(RandomizedSearchCV).parameters
    assert [*ours] == [*theirs, "tolerance"]
    for name, argument in theirs.items():
        assert (ours[name].kind, repr(ours[name].default)) == (argument.kind, repr(argument.default))


# What is searched


@pytest.mark.parametrize(
    ("distribution", "expected"),
    [
        (stats.uniform(0, 4), uc.Float(4 * TAIL, 4 * (1 - TAIL))),
        (stats.uniform(loc=-3, scale=2), uc.Float(-3 + 2 * TAIL, -1 - 2 * TAIL)),
        (stats.uniform, uc.Float(TAIL, 1 - TAIL)),
        (stats.loguniform(1, 1e6), uc.Float(10 ** (6 * TAIL), 10 ** (6 * (1 - TAIL)), log=True)),
        (stats.reciprocal(0.1, 10, scale=10), uc.Float(10 ** (2 * TAIL), 10 ** (2 * (1 - TAIL)), log=True)),
        (stats.randint(3, 9), uc.Int(3, 8)),
        (stats.randint(3, 9, loc=10), uc.Int(13, 18)),
        (uc.Float(0, 1), uc.Float(0, 1)),
        (uc.Bool(), uc.Categorical([False, True])),
    ],
)
def test_what_has_a_dimension_of_ours_is_searched_by_it(distribution: Any, expected: Any) -> None:
    found = parameter("it", distribution)
    assert found.values is None
    assert found.distribution is None
    if isinstance(expected, uc.Float):
        assert isinstance(found.dimension, uc.Float)
        assert (found.dimension.low, found.dimension.high) == pytest.approx((expected.low, expected.high))
        assert found.dimension.log == expected.log
    else:
        assert found.dimension == expected


@pytest.mark.parametrize(
    "distribution",
    [
        stats.norm(),
        stats.expon(scale=3),
        stats.beta(0.5, 0.5),
        stats.lognorm(1.0),
        stats.truncnorm(-1, 2),
        stats.loguniform(1, 100, loc=5),
        stats.rv_histogram(np.histogram([1.0, 2.0, 2.5, 4.0], bins=3)),
    ],
)
@given(place=st.floats(0, 1))
def test_other_continuous_ones_are_searched_by_their_quantiles(distribution: Any, place: float) -> None:
    found = parameter("it", distribution)
    value = found.decode(found.dimension.decode(np.array([place])))
    assert distribution.cdf(value) == pytest.approx(TAIL + place * (1 - 2 * TAIL), abs=1e-9)


@pytest.mark.parametrize(
    "distribution",
    [stats.binom(10, 0.3), stats.poisson(4), stats.geom(0.01), stats.nbinom(3, 0.1), stats.bernoulli(0.5)],
)
def test_other_discrete_ones_are_searched_by_their_likely_values_in_order(distribution: Any) -> None:
    found = parameter("it", distribution)
    assert isinstance(found.dimension, uc.Int)
    values = [found.decode(code) for code in range(found.dimension.count)]
    assert values == sorted(set(values))
    assert all(isinstance(value, int) for value in values)
    rare = [value for value in range(values[0], values[-1]) if value not in values]
    assert max(distribution.pmf(rare), default=0.0) < TAIL
    assert distribution.cdf(values[0]) >= TAIL
    assert distribution.sf(values[-1]) <= TAIL + 1e-9


def test_values_that_are_not_whole_stay_so() -> None:
    found = parameter("it", stats.rv_discrete(values=([0.5, 1.0, 2.0], [0.2, 0.5, 0.3])))
    assert found.values == [0.5, 1.0, 2.0]


@given(st.lists(st.one_of(st.integers(-5, 5), st.floats(-2, 2), st.booleans(), st.none(), st.text()), min_size=1))
def test_every_element_of_a_list_has_a_code(values: list[Any]) -> None:
    found = parameter("it", values)
    decoded = [found.decode(found.dimension.decode(place)) for place in found.dimension.every()]
    assert [repr(value) for value in decoded] == [repr(value) for value in values]


@pytest.mark.parametrize(
    ("values", "ordered"),
    [
        ([0.1, 1, 10], True),
        (np.logspace(2, -2, 5), True),
        (range(3), True),
        ([1, 3, 2], False),
        ([1, 1, 2], False),
        ([3, 5, None], False),
        ([False, True], False),
        ([1.0, math.nan], False),
        (["a", "b"], False),
    ],
)
def test_numbers_that_rise_or_fall_have_neighbours(values: Any, ordered: bool) -> None:
    assert isinstance(parameter("it", values).dimension, uc.Int if ordered else uc.Categorical)


@pytest.mark.parametrize(
    ("space", "message"),
    [
        ({}, "param_distributions: expected at least one dict with a parameter, got {}"),
        ([{"x": [1]}, {}], "param_distributions: expected a dict of at least one parameter, got {}"),
        ([{"x": [1]}, 3], "param_distributions: expected a dict of at least one parameter, got 3"),
        ([], r"param_distributions: expected at least one dict with a parameter, got \[\]"),
        ({"x": 1.0}, "x: expected a list of values, a distribution or a dimension, got 1.0"),
        ({"x": "abc"}, "x: expected a list of values, a distribution or a dimension, got 'abc'"),
        ({"x": uc.Float}, "x: expected a list of values, a distribution or a dimension, got <class"),
        ({"x": []}, "x: expected at least one value, got none"),
        ({"x": np.eye(2)}, r"x: expected values in one axis, got shape \(2, 2\)"),
        ({"x": stats.uniform(0, -1)}, "x: low: expected a finite number, got nan"),
        ({"x": stats.norm(0, -1)}, "x: low: expected a finite number, got nan"),
        ({"x": stats.poisson(-1)}, "x: expected a distribution with finite quantiles, got NaN"),
        ({"x": np.random.default_rng}, "x: expected a list"),
        ({1: [2]}, "space: expected names that are not empty, got 1"),
    ],
)
def test_what_cannot_be_searched_is_said(space: Any, message: str) -> None:
    with pytest.raises(InvalidInputError, match=f"^{message}"):
        UncubedSearchCV(Parabola(), space).fit(*TEN)


def test_a_distribution_without_quantiles_is_refused() -> None:
    class Drawn:
        def rvs(self) -> float:
            return 0.0

    with pytest.raises(InvalidInputError, match=r"^x: expected a distribution with a quantile function `ppf`, got <"):
        UncubedSearchCV(Parabola(), {"x": Drawn()}).fit(*TEN)


@pytest.mark.parametrize("options", [{"n_iter": 0}, {"tolerance": 0.0}, {"tolerance": "small"}, {"cv": "three"}])
def test_options_are_checked_as_scikit_learn_does(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=f"The '{next(iter(options))}' parameter of UncubedSearchCV must be"):
        parabola(**options).fit(*TEN)


# How it searches


def test_it_finds_more_than_a_randomised_search() -> None:
    space = {"x": stats.uniform(-1, 2), "y": stats.uniform(-1, 2)}
    ours = parabola(space, n_iter=20).fit(*TEN)
    random = [RandomizedSearchCV(Parabola(), space, n_iter=20, cv=2, random_state=i).fit(*TEN) for i in range(5)]
    assert ours.best_score_ > max(search.best_score_ for search in random)


def test_a_list_is_searched_as_by_a_grid_and_nothing_twice() -> None:
    space = {"C": [0.1, 1, 10], "kernel": ["rbf", "linear"]}
    ours = UncubedSearchCV(SVC(), space, n_iter=50, cv=3, random_state=0).fit(X, Y)
    grid = GridSearchCV(SVC(), space, cv=3).fit(X, Y)
    assert sorted(map(str, candidates(ours))) == sorted(map(str, candidates(grid)))
    scores = dict(zip(map(str, candidates(grid)), grid.cv_results_["mean_test_score"], strict=True))
    told = dict(zip(map(str, candidates(ours)), ours.cv_results_["mean_test_score"], strict=True))
    assert told == scores
    assert ours.cv_results_.keys() == grid.cv_results_.keys()
    assert ours.best_score_ == grid.best_score_


def test_repeats_are_told_but_not_fitted() -> None:
    search = Search({"x": list(range(30))}, seed=0)
    tried = []
    while search.over is None:
        suggestion = search.ask()
        if suggestion is not None:
            tried.append(search.decode(suggestion.params)["x"])
            search.tell(suggestion, -abs(tried[-1] - 12) + 0.1 * (-1) ** tried[-1])
    assert len(set(tried)) == len(tried)
    assert search.highest == 0.1


def test_it_ends_when_it_is_done() -> None:
    search = parabola(n_iter=100, tolerance=0.1).fit(*TEN)
    assert len(candidates(search)) < 50
    assert "within the tolerance" in search.optimizer_.done
    assert search.certificate().gap <= 0.1
    assert search.best_score_ > -0.1


def test_n_iter_is_the_most() -> None:
    with joblib.parallel_config("threading"):
        assert len(candidates(parabola(n_iter=7, n_jobs=4).fit(*TEN))) == 7


@pytest.mark.parametrize("space", [PLANE, {"x": [0.1, 0.2, 0.3], "y": stats.norm()}])
def test_the_same_seed_gives_the_same_search(space: Any) -> None:
    search = parabola(space).fit(*TEN)
    first = candidates(search)
    assert candidates(search.fit(*TEN)) == first
    assert candidates(clone(search).fit(*TEN)) == first
    assert candidates(pickle.loads(pickle.dumps(search)).fit(*TEN)) == first
    assert candidates(parabola(space, random_state=1).fit(*TEN)) != first


def test_a_generator_goes_on() -> None:
    search = parabola(random_state=np.random.RandomState(0))
    first = candidates(search.fit(*TEN))
    assert candidates(search.fit(*TEN)) != first


def test_a_fitted_search_is_pickled_whole() -> None:
    search = UncubedSearchCV(SVC(), {**C, "degree": stats.binom(4, 0.5)}, n_iter=9, cv=3, random_state=0).fit(X, Y)
    again = pickle.loads(pickle.dumps(search))
    assert (again.predict(X) == search.predict(X)).all()
    assert str(again.certificate()) == str(search.certificate())
    assert again.optimizer_.ask().params == search.optimizer_.ask().params


@given(jobs=st.integers(1, 200), folds=st.integers(1, 50))
def test_batches_keep_the_workers_busy(jobs: int, folds: int) -> None:
    def busy(n: int) -> float:
        return n * folds / (jobs * math.ceil(n * folds / jobs))

    n = batch_size(jobs, folds)
    assert busy(n) >= 0.75
    assert all(busy(fewer) < 0.75 for fewer in range(1, n))
    assert n <= jobs


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_joblib_backends(backend: str) -> None:
    options: dict[str, Any] = {"n_iter": 6, "cv": 3, "random_state": 0}
    with joblib.parallel_config("sequential"):
        alone = UncubedSearchCV(SVC(), C, **options).fit(X, Y)
    with joblib.parallel_config(backend, n_jobs=2):
        search = UncubedSearchCV(SVC(), C, **options).fit(X, Y)
        assert candidates(clone(search).fit(X, Y)) == candidates(search)
    assert candidates(search)[:1] == candidates(alone)[:1]
    assert len(candidates(search)) == 6


def test_folds_are_drawn_once() -> None:
    strategy = {"random_state": list(range(6))}  # which does not matter to it
    cv = ShuffleSplit(3, test_size=0.2)
    search = UncubedSearchCV(DummyClassifier(strategy="most_frequent"), strategy, cv=cv).fit(X, Y)
    for fold in range(3):
        assert len(set(search.cv_results_[f"split{fold}_test_score"])) == 1


def test_a_list_of_dicts_takes_turns() -> None:
    rbf = {"kernel": ["rbf"], "gamma": stats.loguniform(1e-4, 1), **C}
    search = UncubedSearchCV(SVC(), [rbf, {"kernel": ["linear"], "C": [0.1, 1]}], cv=3, random_state=0).fit(X, Y)
    kernels = search.cv_results_["param_kernel"].tolist()
    assert kernels[:4] == ["rbf", "linear", "rbf", "linear"]
    assert kernels[4:] == ["rbf"] * 6  # the other was tried whole
    assert (search.cv_results_["param_gamma"].mask == [kernel == "linear" for kernel in kernels]).all()
    assert "this is within one of 2 dicts of parameters" in search.certificate().caveats
    assert search.optimizer_.space.size == (2 if search.best_params_["kernel"] == "linear" else None)


def test_a_pipeline_and_its_steps() -> None:
    scalers = [StandardScaler(), MinMaxScaler(), "passthrough"]
    pipeline = Pipeline([("scaler", StandardScaler()), ("svc", SVC())])
    search = UncubedSearchCV(pipeline, {"scaler": scalers, "svc__C": C["C"]}, cv=3, random_state=0).fit(X, Y)
    assert search.best_estimator_.get_params()["svc__C"] == search.best_params_["svc__C"]
    assert search.certificate().recommended.params["scaler"] in scalers
    assert set(search.optimizer_.importance()) == {"scaler", "svc__C"}


def test_scores_of_memory_are_no_evidence_that_they_are_exact() -> None:
    search, rng = Search({"x": stats.uniform(0, 1), "y": stats.uniform(0, 1)}, seed=0), np.random.default_rng(0)
    for _ in range(40):
        suggestion = search.ask()
        assert suggestion is not None
        search.tell(suggestion, -((suggestion.params["x"] - 0.5) ** 2) + 0.1 * rng.standard_normal())
    assert len(search.optimizer.log.values) > 40  # some were suggested again
    assert search.optimizer._model.history.looks == 0
    assert not search.optimizer.pending


# What it is told


def told(search: UncubedSearchCV) -> list[float]:
    """The value of each point in the order they came; of one suggested again it is told the same, without a fit."""
    optimizer, values = search.optimizer_, dict[str, float]()
    for k, value in enumerate(optimizer.log.values.tolist()):
        assert values.setdefault(repr(optimizer.params(k)), value) == value
    return list(values.values())


def both(estimator: Any, X: Any, y: Any) -> dict[str, float]:
    return {"far": -abs(estimator.x - 0.8), "near": estimator.score(X, y)}


def last(results: Mapping[str, Sequence[Any]]) -> int:
    return len(results["params"]) - 1


@pytest.mark.parametrize(
    ("scoring", "refit", "metric"),
    [
        (None, True, "score"),
        ("neg_mean_squared_error", False, "score"),
        (["neg_mean_squared_error", "neg_mean_absolute_error"], "neg_mean_absolute_error", "neg_mean_absolute_error"),
        (["neg_mean_squared_error", "neg_mean_absolute_error"], False, "neg_mean_squared_error"),
        (("neg_mean_squared_error", "neg_mean_absolute_error"), last, "neg_mean_squared_error"),
        ({"one": "neg_mean_absolute_error"}, "one", "one"),
        (both, "near", "near"),
        (both, False, "far"),
        (both, last, "far"),
    ],
)
def test_the_metric_that_is_optimised(scoring: Any, refit: Any, metric: str) -> None:
    search = parabola(scoring=scoring, refit=refit).fit(*TEN)
    assert told(search) == search.cv_results_[f"mean_test_{metric}"].tolist()
    assert hasattr(search, "best_estimator_") == bool(refit)
    if refit is last:
        assert search.best_index_ == 11


def test_train_scores_are_there_on_demand() -> None:
    assert "mean_train_score" not in parabola().fit(*TEN).cv_results_
    results = parabola(return_train_score=True).fit(*TEN).cv_results_
    assert results["mean_train_score"].tolist() == results["mean_test_score"].tolist()


def failing(**options: Any) -> tuple[UncubedSearchCV, list[str]]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        search = parabola(**{"limit": 0.0, "return_train_score": True, **options}).fit(*TEN)
    return search, [f"{warning.category.__name__}: {warning.message}" for warning in caught]


@pytest.mark.parametrize("scoring", [None, both, {"near": "neg_mean_absolute_error", "far": "neg_mean_squared_error"}])
@pytest.mark.parametrize("jobs", [1, 2])
def test_what_fails_stays_in_the_table(scoring: Any, jobs: int) -> None:
    with joblib.parallel_config("threading"):
        search, caught = failing(scoring=scoring, refit="near" if scoring else True, n_jobs=jobs)
    results = search.cv_results_
    name = "near" if scoring else "score"
    failed = [params["x"] > 0 for params in candidates(search)]
    assert any(failed)
    assert len(failed) == 12
    for key in (f"mean_test_{name}", f"split1_test_{name}", f"mean_train_{name}"):
        assert np.isnan(results[key]).tolist() == failed
    assert [failure.params for failure in search.optimizer_.failures] == [
        params for params, fails in zip(candidates(search), failed, strict=True) if fails
    ]
    assert told(search) == results[f"mean_test_{name}"][~np.array(failed)].tolist()
    assert search.best_params_["x"] <= 0
    assert sum("One or more of the test scores are non-finite" in message for message in caught) == 1 + bool(scoring)
    assert any(message.startswith("FitFailedWarning: [{'x'") for message in caught)


def test_a_shorter_search_has_the_first_rows_also_if_the_last_of_them_failed() -> None:
    whole = failing()[0].cv_results_
    failed = np.isnan(whole["mean_test_score"])
    assert not failed[0]
    last = int(np.flatnonzero(failed)[0])
    search = failing(n_iter=last + 1)[0]
    shorter = search.cv_results_
    assert not hasattr(search, "_table")
    assert shorter["params"] == whole["params"][: last + 1]
    for key in ("param_x", "split0_test_score", "mean_train_score", "rank_test_score", "mean_fit_time"):
        assert len(shorter[key]) == last + 1
    assert np.isnan(shorter["mean_test_score"]).tolist() == failed[: last + 1].tolist()


def test_an_error_score_is_a_score() -> None:
    search, caught = failing(error_score=-9.0)
    assert -9.0 in told(search)
    assert search.cv_results_["mean_test_score"].tolist() == told(search)
    assert all(message.startswith("FitFailedWarning") for message in caught)


@pytest.mark.parametrize("score", [-math.inf, -1e300])
def test_an_error_score_that_cannot_be_told_is_a_failure(score: float) -> None:
    search, _ = failing(error_score=score, return_train_score=False)
    assert [failure.params["x"] > 0 for failure in search.optimizer_.failures] == [True] * len(set(search._failed))
    assert set(search.cv_results_["mean_test_score"][list(search._failed)]) == {score}


def test_a_failure_is_raised_if_so_wished() -> None:
    with pytest.raises(ValueError, match=r"^too far$"):
        parabola(limit=0.0, error_score="raise").fit(*TEN)


def test_nothing_that_can_be_fitted() -> None:
    with pytest.warns(FitFailedWarning), pytest.raises(ValueError, match="All the 2 fits failed"):
        parabola(limit=-2.0).fit(*TEN)


def test_another_error_ends_it_at_once() -> None:
    with pytest.raises(ValueError, match="Invalid parameter 'z'"):
        parabola({"z": [1, 2]}).fit(*TEN)


@pytest.mark.parametrize("worst", [math.inf, -math.inf, 1e200])
@pytest.mark.filterwarnings("ignore:One or more:UserWarning", "ignore:invalid value:RuntimeWarning")
@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning")
def test_a_score_that_cannot_be_used_is_a_failure(worst: float) -> None:
    search = parabola(scoring=lambda e, X, y=None: worst if e.x > 0 else e.score(X)).fit(*TEN)
    assert len(search.optimizer_.failures) == sum(params["x"] > 0 for params in candidates(search)) > 0


def test_groups_and_fit_params_arrive() -> None:
    groups = np.repeat([0, 1, 2], 4)[:10]
    search = parabola(cv=GroupKFold(3)).fit(*TEN, groups=groups, weight=np.arange(10))
    assert search.best_estimator_.weight_.tolist() == list(range(10))
    with pytest.raises(ValueError, match="'groups' parameter should not be None"):
        parabola(cv=GroupKFold(3)).fit(*TEN)


def test_metadata_are_routed() -> None:
    import sklearn

    with sklearn.config_context(enable_metadata_routing=True):
        search = UncubedSearchCV(Parabola().set_fit_request(weight=True), PLANE, cv=GroupKFold(3), random_state=0)
        search.fit(*TEN, groups=np.arange(10) % 3, weight=np.arange(10))
    assert search.best_estimator_.weight_.tolist() == list(range(10))


def test_it_may_be_inside_another_search() -> None:
    inner = UncubedSearchCV(SVC(), {"C": [0.1, 1]}, cv=2)
    with joblib.parallel_config("threading", n_jobs=2):
        outer = UncubedSearchCV(inner, {"estimator__kernel": ["rbf", "linear"]}, cv=2, random_state=0).fit(X, Y)
    assert len(candidates(outer)) == len(candidates(outer.best_estimator_)) == 2


def test_splits_may_be_an_iterator() -> None:
    folds = (indices for indices in ShuffleSplit(3, random_state=0).split(*TEN))
    assert parabola(cv=folds).fit(*TEN).n_splits_ == 3


def test_callbacks_are_called() -> None:
    support = pytest.importorskip("sklearn.callback", reason="scikit-learn has no callbacks")

    class Tasks:
        def __init__(self) -> None:
            self.begun: list[str] = []
            self.ended: list[str] = []

        def setup(self, estimator: Any, context: Any) -> None: ...

        def teardown(self, estimator: Any, context: Any) -> None: ...

        def on_fit_task_begin(self, estimator: Any, context: Any, **_: Any) -> None:
            self.begun.append(context.task_name)

        def on_fit_task_end(self, estimator: Any, context: Any, **_: Any) -> None:
            self.ended.append(context.task_name)

    tasks = Tasks()
    assert isinstance(tasks, support.FitCallback)
    parabola().set_callbacks(tasks).fit(*TEN)
    assert sorted(tasks.begun) == sorted(tasks.ended)
    assert tasks.begun.count("batch") == 12
    assert tasks.begun.count("candidate-split-evaluation") == 24


def test_progress_is_printed_on_demand(capsys: pytest.CaptureFixture[str]) -> None:
    parabola({"x": [0, 1]}).fit(*TEN)
    assert not capsys.readouterr().out
    parabola({"x": [0, 1]}, verbose=1).fit(*TEN)
    assert "Ended after 2 of 12 candidates: all was tried" in capsys.readouterr().out


def test_without_scikit_learn_it_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "uncubed.integrations.sklearn")
    monkeypatch.setitem(sys.modules, "sklearn.model_selection._search", None)
    with pytest.raises(ImportError, match=r"pip install uncubed\[sklearn\]"):
        import_module("uncubed.integrations.sklearn")


def test_a_certificate_needs_a_search() -> None:
    with pytest.raises(NotFittedError):
        parabola().certificate()


def test_a_certificate_speaks_of_the_estimators_parameters() -> None:
    space = {"x": stats.norm(0.2, 0.3), "y": [-0.5, -0.1, 0.4]}
    promise = parabola(space, n_iter=25).fit(*TEN).certificate()
    assert promise.best.params["y"] == -0.1
    assert promise.best.params["x"] == pytest.approx(0.3, abs=0.1)
