"""uncubed inside Optuna: `optuna.create_study(sampler=UncubedSampler())`.

Optuna's conventions hold. The parameters that every finished trial had, with the same range, are chosen together by an
`Optimizer`; others, such as those of a branch and those of the first trial, by an independent sampler.

| trial | what the optimiser is told |
|---|---|
| complete | its value |
| pruned | its last intermediate value; a failure if it has none |
| failed | a failure |
| running | nothing, but its value is expected, so that other workers look elsewhere |

Written into the study: `uncubed:suggestion` in each trial's system attributes (the point and what was decided),
and in the study's `uncubed:milestone` (how far it is, now and then) and `uncubed:done`.
"""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, final
from weakref import WeakKeyDictionary

import numpy as np

from uncubed import _validation as check
from uncubed.dimensions import Float
from uncubed.errors import InvalidInputError
from uncubed.optimizer import Optimizer
from uncubed.records import Promise
from uncubed.space import Params, Space

try:
    from optuna.distributions import BaseDistribution
    from optuna.samplers import BaseSampler, RandomSampler
    from optuna.search_space import intersection_search_space
    from optuna.study import Study, StudyDirection, create_study
    from optuna.trial import FrozenTrial, TrialState, create_trial

    from uncubed.integrations._distributions import Distributions, decoded, dimension, foreign, native
    from uncubed.integrations._trials import SUGGESTION, Common, Search, point_of, value_of, written
except ImportError as error:
    raise ImportError("uncubed.integrations.optuna needs Optuna: pip install uncubed[optuna]") from error

MILESTONE, DONE = "uncubed:milestone", "uncubed:done"
"""System attributes of a study."""

_TRIES = 32  # to choose what no other worker chooses meanwhile: more than one where a trial takes no time


@final
class UncubedSampler(BaseSampler):
    """Chooses trials by a Gaussian process whose cost per trial does not grow.

    >>> import optuna
    >>> optuna.logging.set_verbosity(optuna.logging.WARNING)
    >>> study = optuna.create_study(sampler=UncubedSampler(seed=0))
    >>> study.optimize(lambda trial: (trial.suggest_float("x", -2, 2) - 0.3) ** 2, n_trials=15)
    >>> round(study.best_params["x"], 1)
    0.3

    One sampler may serve several threads, and several studies. Workers in processes of their own need samplers of
    different seeds, or of none.

    Args:
        seed: of everything random.
        independent_sampler: of parameters that are not in every trial; random unless given.
        options: of the `Optimizer`, such as `tolerance` and `noise_variance`; but no `constraints` and no `journal`.
    """

    def __init__(
        self, *, seed: int | None = None, independent_sampler: BaseSampler | None = None, **options: Any
    ) -> None:
        for name in options.keys() & {"space", "direction", "constraints", "journal"}:
            raise InvalidInputError(f"{name}: expected to be left to the study, got {options[name]!r}")
        Optimizer({"any": Float(0.0, 1.0)}, **options)  # what is wrong with an option is said here, not in a trial
        self._options, self._rng = options, np.random.default_rng(seed)
        self._independent = independent_sampler or RandomSampler(seed=seed)
        self._known: WeakKeyDictionary[Study, _Known] = WeakKeyDictionary()  # several may have one name, and one number
        self._saved: dict[tuple[str, int], _Known] = {}  # by a sampler that was pickled
        self._lock = threading.RLock()

    def __getstate__(self) -> dict[str, Any]:
        saved = {_key(study): known for study, known in self._known.items()}
        return {**vars(self), "_lock": None, "_known": None, "_saved": {**self._saved, **saved}}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update({**state, "_lock": threading.RLock(), "_known": WeakKeyDictionary()})

    def reseed_rng(self) -> None:
        # An optimiser that exists goes on: the threads that share it share its generator too.
        self._rng = np.random.default_rng()
        self._independent.reseed_rng()

    def infer_relative_search_space(self, study: Study, trial: FrozenTrial) -> Distributions:
        return self._space(study, study._get_trials(deepcopy=False, use_cache=True))

    def sample_relative(self, study: Study, trial: FrozenTrial, search_space: Distributions) -> dict[str, Any]:
        self._raise_error_if_multi_objective(study)
        if not search_space:
            return {}
        trials = study._get_trials(deepcopy=False, use_cache=True)
        with self._alone(study):
            search = self._search(study, search_space, trials, trial.number)
            before: Params = {}
            for _ in range(_TRIES):
                suggestion = search.ask(trial)
                study._storage.set_trial_system_attr(trial._trial_id, SUGGESTION, written(suggestion, search_space))
                news = search.read(study._get_trials(deepcopy=False), trial.number)
                if not news or suggestion.params == before or not search.is_shared(trial, suggestion):
                    break  # nobody else has chosen nearly the same at the same time, or there is nothing else
                before = suggestion.params
        return decoded(search_space, suggestion.params)

    def sample_independent(
        self, study: Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        self._raise_error_if_multi_objective(study)
        return self._independent.sample_independent(study, trial, param_name, param_distribution)

    def before_trial(self, study: Study, trial: FrozenTrial) -> None:
        self._independent.before_trial(study, trial)

    def after_trial(self, study: Study, trial: FrozenTrial, state: TrialState, values: Sequence[float] | None) -> None:
        self._independent.after_trial(study, trial, state, values)

    def done(self, study: Study) -> str | None:
        """Why no more trials are needed; None while some are.

        Where some parameters are not in every trial, nobody knows what is left of those: only `evaluations` ends it.
        """
        with self._alone(study):
            search = self._latest(study)
            if search is None:
                return None
            most = search.optimizer.most_evaluations
            if self._others(study, search) and (most is None or search.optimizer.evaluations < most):
                return None
            return search.optimizer.done

    def has_value(self, study: Study) -> bool:
        """Whether any trial gave one that can be learned from."""
        with self._alone(study):
            search = self._latest(study)
            return search is not None and len(search.optimizer.log.values) > 0

    def certificate(self, study: Study) -> Promise:
        """How far from the best one can still be, as far as parameters of every trial go."""
        with self._alone(study):
            search = self._latest(study)
            if search is None:
                raise InvalidInputError("certificate: expected a study with a finished trial, got one without")
            promise, others = search.optimizer.certificate(), ", ".join(self._others(study, search))
        caveats = [f"{others} are not in every trial, and what they do counts as noise"] if others else []
        return promise.elsewhere(partial(decoded, search.space), *caveats)

    def _others(self, study: Study, search: Search) -> list[str]:
        """Parameters that are not searched together with the rest."""
        return sorted(self._known_of(study).common.names - search.space.keys())

    def _latest(self, study: Study) -> Search | None:
        self._raise_error_if_multi_objective(study)
        trials = study._get_trials(deepcopy=False)
        space = self._space(study, trials)
        return self._search(study, space, trials) if space else None

    def _space(self, study: Study, trials: Sequence[FrozenTrial]) -> Distributions:
        with self._alone(study):
            common = self._known_of(study).common.read(trials)
        return {name: d for name, d in common.items() if name and not d.single() and dimension(d) is not None}

    def _known_of(self, study: Study) -> "_Known":
        if study not in self._known:
            self._known[study] = self._saved.pop(_key(study), _Known())
        return self._known[study]

    @contextmanager
    def _alone(self, study: Study) -> Iterator[None]:
        """No other thread meanwhile; what is interrupted is forgotten, and the next trial reads the study anew."""
        with self._lock:
            try:
                yield
            except BaseException:
                self._known.pop(study, None)
                raise

    def _search(
        self, study: Study, space: Distributions, trials: Sequence[FrozenTrial], asking: int | None = None
    ) -> Search:
        known = self._known_of(study)
        if known.search is None or known.search.space != space:
            dimensions = {name: dimension(distribution) for name, distribution in space.items()}
            seed = int(self._rng.integers(2**32))
            known.search = Search(space, Optimizer(dimensions, direction=_direction(study), seed=seed, **self._options))
        known.search.read(trials, asking)
        if known.search.has_news():
            milestone = known.search.optimizer.milestones[-1]._asdict()
            study._storage.set_study_system_attr(study._study_id, MILESTONE, milestone)
        return known.search


@final
class StopWhenDone:
    """Ends `study.optimize(..., callbacks=[StopWhenDone()])` when the study's `UncubedSampler` is done.

    That is when nothing informative is left that could be the best, or as its `tolerance` or `evaluations` say.
    """

    def __call__(self, study: Study, trial: FrozenTrial) -> None:
        sampler = check.kind("sampler", study.sampler, UncubedSampler)
        reason = sampler.done(study)
        if reason is not None:
            said: dict[str, Any] = {"reason": reason}
            if sampler.has_value(study):
                promise = sampler.certificate(study)
                said |= {"gap": promise.gap, "delta": promise.delta, "caveats": list(promise.caveats)}
            study._storage.set_study_system_attr(study._study_id, DONE, said)
            study.stop()


def from_study(study: Study, **options: Any) -> Optimizer:
    """An optimiser that knows what a study has tried, over the parameters that every finished trial had.

    Args:
        study: of one objective, from any sampler.
        options: of the `Optimizer`.
    """
    trials = study.get_trials(deepcopy=False)
    common = intersection_search_space(trials, include_pruned=True)
    optimizer = Optimizer({name: native(d) for name, d in common.items()}, direction=_direction(study), **options)
    points = [(point_of(common, trial), value_of(trial)) for trial in trials if trial.state.is_finished()]
    known = [(decoded(common, point), value) for point, value in points if point is not None]
    optimizer.tell_many([row for row, _ in known], [value for _, value in known])
    return optimizer


def to_study(optimizer: Optimizer, **options: Any) -> Study:
    """A study with what an optimiser was told, for Optuna's dashboard and plots.

    Args:
        optimizer: over named parameters.
        options: of `optuna.create_study`, such as `storage`.
    """
    space = check.kind("space", optimizer.space, Space)
    distributions = {name: foreign(parameter) for name, parameter in space.parameters.items()}
    trials = [
        create_trial(value=value, params=optimizer.params(i), distributions=distributions)
        for i, value in enumerate(optimizer.log.values.tolist())
    ]
    for failure in optimizer.failures:
        failed = create_trial(state=TrialState.FAIL, params=failure.params, distributions=distributions)
        trials.insert(failure.evaluation - 1, failed)
    study = create_study(direction=StudyDirection[optimizer.direction.upper()], **options)
    study.add_trials(trials)
    return study


@final
@dataclass
class _Known:
    """Of a study: what its trials have in common, and the search over it."""

    common: Common = field(default_factory=Common)
    search: Search | None = None


def _key(study: Study) -> tuple[str, int]:
    return study.study_name, study._study_id


def _direction(study: Study) -> str:
    return "maximize" if study.direction == StudyDirection.MAXIMIZE else "minimize"
