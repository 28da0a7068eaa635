"""uncubed inside scikit-learn: `UncubedSearchCV` in the place of `RandomizedSearchCV`.

What is optimised is the mean test score that `refit` names, or the first of `scoring`. Candidates are fitted in batches
that keep the workers busy, all on the same folds, and none twice. One that fails is as bad as the worst.
"""

import warnings
from collections.abc import Callable, Mapping, Sequence
from itertools import cycle, islice
from numbers import Integral, Real
from typing import Any, ClassVar, final

from uncubed.errors import InvalidInputError
from uncubed.integrations._sklearn_space import Search
from uncubed.records import Promise, Suggestion

try:
    from joblib import effective_n_jobs  # type: ignore[import-untyped]
    from sklearn.model_selection._search import BaseSearchCV
    from sklearn.utils import check_random_state
    from sklearn.utils._param_validation import Interval
    from sklearn.utils.validation import check_is_fitted

    from uncubed.integrations._sklearn_fits import Fits, Results, with_failed
except ImportError as error:
    raise ImportError("uncubed.integrations.sklearn needs scikit-learn: pip install uncubed[sklearn]") from error


@final
class UncubedSearchCV(BaseSearchCV):  # type: ignore[misc]  # scikit-learn has no types
    """Chooses the parameters of an estimator by cross-validation and a Gaussian process.

    >>> from scipy.stats import loguniform
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.svm import SVC
    >>> search = UncubedSearchCV(SVC(), {"C": loguniform(1e-2, 1e3), "kernel": ["rbf", "linear"]}, random_state=0)
    >>> bool(search.fit(*load_iris(return_X_y=True)).best_score_ > 0.97)
    True

    Arguments and attributes are those of `RandomizedSearchCV`, except for these.

    Args:
        estimator: what is fitted.
        param_distributions: by name a list, a distribution of SciPy or a dimension such as `Float`; or a list of such
            dicts, which take turns, each with a model of its own.
        n_iter: candidates at most; it ends before when nothing is left that could be better.
        scoring: one or several metrics.
        n_jobs: workers; more of them make larger batches, and thereby another search.
        refit: also says which metric is optimised, if it is a name; else the first is.
        cv: how to split; it splits once, and all candidates have the same folds.
        verbose: how much is printed.
        pre_dispatch: fits that are dispatched at most.
        random_state: of the search.
        error_score: of fits that fail; if it is a number, the search takes it for a score.
        return_train_score: whether `cv_results_` has training scores.
        tolerance: it ends when the recommended parameters are certified to be so near the best, in units of the score.

    Attributes:
        optimizer_: the `Optimizer`, in whose params an element of a list is its index, and a value of a distribution
            other than uniform, log-uniform and `randint` its quantile; of several dicts that with the best score.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BaseSearchCV._parameter_constraints,
        "param_distributions": [dict, list],
        "n_iter": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
        "tolerance": [Interval(Real, 0, None, closed="neither"), None],
    }
    _required_parameters: ClassVar[list[str]] = ["estimator", "param_distributions"]  # read by checks before 1.6

    def __init__(
        self,
        estimator: Any,
        param_distributions: Mapping[str, Any] | Sequence[Mapping[str, Any]],
        *,
        n_iter: int = 10,
        scoring: Any = None,
        n_jobs: int | None = None,
        refit: bool | str | Callable[[Results], int] = True,
        cv: Any = None,
        verbose: int = 0,
        pre_dispatch: int | str = "2*n_jobs",
        random_state: Any = None,
        error_score: float | str = float("nan"),
        return_train_score: bool = False,
        tolerance: float | None = None,
    ) -> None:
        self.param_distributions = param_distributions
        self.n_iter = n_iter
        self.random_state = random_state
        self.tolerance = tolerance
        super().__init__(
            estimator=estimator,
            scoring=scoring,
            n_jobs=n_jobs,
            refit=refit,
            cv=cv,
            verbose=verbose,
            pre_dispatch=pre_dispatch,
            error_score=error_score,
            return_train_score=return_train_score,
        )

    def certificate(self) -> Promise:
        """How far from the best score one can still be, with the estimator's parameters."""
        check_is_fitted(self, "optimizer_")
        promise: Promise = self.optimizer_.certificate()
        several = [f"this is within one of {self._searches} dicts of parameters"] if self._searches > 1 else []
        return promise.elsewhere(self._best.decode, *several)

    def _run_search(self, evaluate_candidates: Callable[..., Results], *, callback_ctx: Any = None) -> None:
        searches = self._begin()
        fits = Fits(self, evaluate_candidates, callback_ctx)
        self._failed = fits.failed
        while fits.fitted < self.n_iter and (active := [search for search in searches if search.over is None]):
            size = min(fits.batch(effective_n_jobs(self.n_jobs)), self.n_iter - fits.fitted)
            batch = _ask(active, size, first=fits.fitted)
            scores = fits([search.decode(suggestion.params) for search, suggestion in batch]) if batch else []
            for (search, suggestion), score in zip(batch, scores, strict=True):
                search.tell(suggestion, score)
        fits.end()
        if self.verbose > 0 and fits.fitted < self.n_iter:
            print(f"Ended after {fits.fitted} of {self.n_iter} candidates: {searches[0].over}")
        self._best, self._searches = max(searches, key=lambda search: search.highest), len(searches)
        self.optimizer_ = self._best.optimizer

    def _begin(self) -> list[Search]:
        given: Any = self.param_distributions
        if not given:
            raise InvalidInputError(f"param_distributions: expected at least one dict with a parameter, got {given!r}")
        rng = check_random_state(self.random_state)
        return [
            Search(distributions, seed=int(rng.randint(2**31 - 1)), tolerance=self.tolerance)
            for distributions in (given if isinstance(given, list) else [given])
        ]

    def _format_results(
        self, candidate_params: Sequence[Any], n_splits: int, out: Sequence[Any], more_results: Any = None
    ) -> Results:
        self._table = candidate_params, n_splits, out, more_results
        rows, fits = with_failed(self._failed, candidate_params, out, n_splits, self.error_score)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "One or more of the (test|train) scores are non-finite", UserWarning)
            results: Results = super()._format_results(rows, n_splits, fits, more_results)
        return results


def _ask(searches: Sequence[Search], n: int, first: int) -> list[tuple[Search, Suggestion]]:
    """At most `n` suggestions, of each search in turn."""
    turns = islice(cycle(searches), first % len(searches), first % len(searches) + n)
    asked = [(search, search.ask()) for search in turns]
    return [(search, suggestion) for search, suggestion in asked if suggestion is not None]
