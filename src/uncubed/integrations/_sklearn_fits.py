"""Cross-validation in batches, by what `BaseSearchCV` gives to a search."""

import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count
from typing import Any, final

import numpy as np
from sklearn.exceptions import FitFailedWarning

from uncubed import _validation as check

Results = dict[str, Any]
"""As `cv_results_`."""

_BUSY = 0.75  # of the workers' time, where folds do not fill it evenly


@final
class SameFolds:
    """The folds of a splitter as it gave them the first time, so that scores of different batches compare."""

    def __init__(self, splitter: Any) -> None:
        self._splitter = splitter
        self._folds: list[Any] | None = None

    def split(self, X: Any, y: Any = None, **params: Any) -> Iterator[Any]:
        """Pairs of indices, to train with and to test with."""
        if self._folds is None:
            self._folds = list(self._splitter.split(X, y, **params))
        return iter(self._folds)


@final
class Fits:
    """Fits candidates, batch by batch, on the same folds.

    Args:
        search: the `BaseSearchCV`.
        evaluate: what it gives to `_run_search`,
        callbacks: and the context of its callbacks, in versions that have them.
    """

    def __init__(self, search: Any, evaluate: Callable[..., Results], callbacks: Any) -> None:
        self._search, self._evaluate = search, evaluate
        self._cv = SameFolds(search.cv) if hasattr(search.cv, "split") else None  # all else is always the same
        self._callbacks = None
        if callbacks is not None:
            context = callbacks.subcontext(task_name="search", max_subtasks=None)
            self._callbacks = context.call_on_fit_task_begin(estimator=search)
        self.results: Results | None = None
        self.failed: dict[int, Mapping[str, Any]] = {}
        """Candidates of batches in which no fit worked, by their row: `BaseSearchCV` raises and forgets them."""
        self.fitted = 0
        self._error: ValueError | None = None
        self._table: tuple[Any, ...] = ()

    def __call__(self, candidates: Sequence[Mapping[str, Any]]) -> list[float]:
        """Their scores; NaN for those that cannot be used."""
        results = self._fit(candidates)
        self.fitted += len(candidates)
        if results is None:
            scores = [float(self._search.error_score)] * len(candidates)
        else:
            self.results, scores = results, _scores(self._search.refit, results)[-len(candidates) :]
        return [score if abs(score) <= check.LARGEST else math.nan for score in scores]

    def batch(self, jobs: int) -> int:
        """How many candidates to fit next; one, while it is not known how many folds there are."""
        return 1 if self.results is None else batch_size(jobs, _folds(self.results))

    def end(self) -> None:
        """Raise if nothing could be fitted, and warn of scores that are not finite: once, not with every batch."""
        if self.results is None and self._error is not None:
            raise self._error
        if self.results is not None and self.fitted - 1 in self.failed:  # after the last that was formatted
            self.results.update(self._search._format_results(*self._table))
            del self._search._table
        for name, means in (self.results or {}).items():
            if name.startswith(("mean_test_", "mean_train_")) and not np.isfinite(means).all():
                which = name.split("_")[1]
                warnings.warn(f"One or more of the {which} scores are non-finite: {means}", stacklevel=4)
        if self._callbacks is not None:
            self._callbacks.call_on_fit_task_end(estimator=self._search)

    def _fit(self, candidates: Sequence[Mapping[str, Any]]) -> Results | None:
        context = self._begin(len(candidates))
        results = None
        try:
            results = self._evaluate(candidates, self._cv, **({} if context is None else {"callback_ctx": context}))
            self._table = vars(self._search).pop("_table")  # not while it fits: it would go to the workers
        except ValueError as error:
            if "fits failed" not in str(error) or self._search.error_score == "raise":
                raise
            self._error = error
            self.failed.update(enumerate(candidates, self.fitted))
            warnings.warn(f"{list(candidates)}: {error}", FitFailedWarning, stacklevel=5)
        if context is not None:
            context.call_on_fit_task_end(estimator=self._search)
        return results

    def _begin(self, candidates: int) -> Any:
        """The context of a batch, if there are callbacks."""
        if self._callbacks is None:
            return None
        fits = candidates * self._search.n_splits_
        context = self._callbacks.subcontext(task_name="batch", max_subtasks=fits, sequential_subtasks=False)
        return context.call_on_fit_task_begin(estimator=self._search)


def batch_size(jobs: int, folds: int) -> int:
    """The fewest candidates whose fits leave the workers idle for no more than a quarter of the time."""
    return next(n for n in count(1) if n * folds >= _BUSY * jobs * math.ceil(n * folds / jobs))


def metric(refit: Any, results: Results) -> str:
    """What is optimised: what `refit` names, or the first of `scoring`."""
    names = [name.removeprefix("mean_test_") for name in results if name.startswith("mean_test_")]
    return refit if isinstance(refit, str) and refit in names else names[0]


def _scores(refit: Any, results: Results) -> list[float]:
    scores: list[float] = results[f"mean_test_{metric(refit, results)}"].tolist()
    return scores


def with_failed(
    failed: Mapping[int, Mapping[str, Any]], candidates: Sequence[Any], out: Sequence[Any], folds: int, score: Any
) -> tuple[list[Any], list[Any]]:
    """Candidates and what came of their fits, with those that `BaseSearchCV` forgot in their rows."""
    rows, fits = list(candidates), list(out)
    for row in sorted(failed):
        rows.insert(row, failed[row])
        fits[row * folds : row * folds] = [_failed_fit(out[0], score)] * folds
    return rows, fits


def _failed_fit(like: Mapping[str, Any], score: float) -> dict[str, Any]:
    def scores(of: Any) -> Any:
        return dict.fromkeys(of, score) if isinstance(of, dict) else score

    fit = {**like, "fit_time": math.nan, "score_time": math.nan}
    return {name: scores(value) if name.endswith("_scores") else value for name, value in fit.items()}


def _folds(results: Results) -> int:
    name = metric(None, results)
    return next(fold for fold in count() if f"split{fold}_test_{name}" not in results)
