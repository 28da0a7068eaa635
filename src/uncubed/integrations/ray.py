"""uncubed inside Ray Tune: `tune.TuneConfig(search_alg=UncubedSearch())`.

Spaces are Tune's own, but for `grid_search` and `randn`, which are refused.
"""

import pickle
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, final

from uncubed import __version__
from uncubed import _validation as check
from uncubed.dimensions import Float
from uncubed.errors import InvalidInputError, LostValueWarning, StateError
from uncubed.optimizer import Optimizer
from uncubed.records import Promise, Suggestion
from uncubed.space import Params

try:
    from ray import cloudpickle
    from ray.tune.result import DEFAULT_METRIC
    from ray.tune.search import Searcher
    from ray.tune.utils.util import unflatten_dict  # type: ignore[attr-defined]  # which Ray's searches import, too

    from uncubed.integrations._tune_space import Config, TuneSpace
except ImportError as error:
    raise ImportError("uncubed.integrations.ray needs Ray Tune: pip install uncubed[ray]") from error

_DIRECTIONS = {"min": "minimize", "max": "maximize"}


@final
class UncubedSearch(Searcher):
    """Chooses trials by a Gaussian process whose cost per trial does not grow.

    >>> from ray import tune
    >>> search = UncubedSearch({"x": tune.uniform(-2, 2)}, metric="loss", mode="min", seed=0)
    >>> for trial in map(str, range(12)):  # as `tuner.fit()` does
    ...     config = search.suggest(trial)
    ...     search.on_trial_complete(trial, {"loss": (config["x"] - 0.3) ** 2})
    >>> round(search.certificate().best.params["x"], 1)
    0.3

    It finishes when nothing informative is left that could be the best, or as `tolerance` says: `num_samples` is the
    most, and may be -1. A trial that ends with an error, NaN or no such metric is a failure; what is reported before a
    trial's last result is not looked at.

    Args:
        space: as `param_space`, which is used unless this is given.
        metric: to be optimised; that of the `TuneConfig` unless given.
        mode: "min" or "max"; that of the `TuneConfig` unless given.
        points_to_evaluate: configurations to try first.
        seed: of everything random.
        constraints: functions of what is searched of a configuration; it is tried only if all say True.
        options: of the `Optimizer`, such as `tolerance` and `noise_variance`; but no `journal`: Tune saves the search.
    """

    def __init__(
        self,
        space: Config | None = None,
        metric: str | None = None,
        mode: str | None = None,
        *,
        points_to_evaluate: Sequence[Config] = (),
        seed: int | None = None,
        constraints: Sequence[Callable[[Config], bool]] = (),
        **options: Any,
    ) -> None:
        for name in options.keys() & {"direction", "journal"}:
            raise InvalidInputError(f"{name}: expected to be left to Tune, got {options[name]!r}")
        _check_objective(metric, mode)
        super().__init__(metric=metric, mode=mode)
        if callable(constraints) or not all(map(callable, constraints)):
            raise InvalidInputError(f"constraints: expected a list of functions, got {constraints!r}")
        options = {**options, "seed": seed}
        Optimizer({"any": Float(0.0, 1.0)}, **options)  # what is wrong with an option is said here, not in a trial
        self._options, self._constraints, self._points = options, constraints, list(points_to_evaluate or ())
        self._space: TuneSpace | None = None if space is None else TuneSpace(space)
        self._optimizer: Optimizer | None = None
        self._awaited: dict[str, Suggestion] = {}
        self._doubtful: frozenset[str] = frozenset()  # trials of an earlier run, which may never go on
        self._begin()

    def set_search_properties(self, metric: str | None, mode: str | None, config: Config, **spec: Any) -> bool:
        _check_objective(metric, mode)
        self._metric = _agreed("metric", self._metric, metric) or DEFAULT_METRIC
        self._mode = _agreed("mode", self._mode, mode)
        given = TuneSpace(config)
        if self._space is None:
            self._space = given
        if self._optimizer is None:
            self._begin()
        return given.parameters == self._space.parameters

    def suggest(self, trial_id: str) -> Any:
        """A configuration; None while what is awaited may show that there is more to try."""
        space, optimizer = self._known()
        if optimizer.done is not None:
            return None if self._awaited.keys() - self._doubtful else Searcher.FINISHED
        self._awaited[trial_id] = suggestion = optimizer.ask()
        return space.decode(suggestion.params)

    def on_trial_complete(self, trial_id: str, result: Config | None = None, error: bool = False) -> None:
        _, optimizer = self._known()
        what = self._awaited.pop(trial_id, None) or self._from_another(trial_id, result)
        if what is None:
            return
        if error:
            optimizer.fail(what, "the trial ended with an error")
        elif result:
            self._learn(what, result)
        elif isinstance(what, Suggestion):  # stopped before it could say anything; tried again it may do the same
            optimizer.fail(what, "the trial ended without a result")

    def add_evaluated_point(
        self,
        parameters: Config,
        value: float,
        error: bool = False,
        pruned: bool = False,
        intermediate_values: list[float] | None = None,
    ) -> None:
        """Learn a value that came from elsewhere; the space, metric and mode must have been given."""
        space, optimizer = self._known()
        point = space.encode(parameters)
        if error:
            optimizer.fail(point, "the trial ended with an error")
        else:
            optimizer.tell(point, value)

    def done(self) -> str | None:
        """Why no more trials are needed; None while some are."""
        return self._known()[1].done

    def certificate(self) -> Promise:
        """How far from the best one can still be."""
        space, optimizer = self._known()
        return optimizer.certificate().elsewhere(space.decode)

    def save(self, checkpoint_path: str) -> None:
        """Write everything down, for the same version of uncubed."""
        Path(checkpoint_path).write_bytes(cloudpickle.dumps({"version": __version__, "search": vars(self)}))

    def restore(self, checkpoint_path: str) -> None:
        """Go on exactly where it was saved.

        Raises:
            StateError: it is not a search, or of another version.
        """
        found, state = None, {}
        with suppress(pickle.UnpicklingError, EOFError):
            state = cloudpickle.loads(Path(checkpoint_path).read_bytes())
            found = state.get("version") if isinstance(state, dict) else None
        if found != __version__:
            got = "something else" if found is None else f"one of {found}"
            raise StateError(f"{checkpoint_path}: expected a search saved by uncubed {__version__}, got {got}")
        vars(self).update(state["search"])
        self._doubtful = frozenset(self._awaited)

    def _begin(self) -> None:
        """Once all is known that it takes."""
        if self._space is None or self._mode is None:
            return
        space = self._space
        optimizer = Optimizer(
            {name: parameter.dimension for name, parameter in space.parameters.items()},
            direction=_DIRECTIONS[self._mode],
            constraints=[partial(_allows, constraint, space) for constraint in self._constraints],
            **self._options,
        )
        for point in self._points:
            optimizer.enqueue(space.encode(check.kind("points_to_evaluate", point, dict)))
        self._optimizer = optimizer

    def _known(self) -> tuple[TuneSpace, Optimizer]:
        if self._space is None:
            raise InvalidInputError("space: expected param_space in tune.Tuner, or space= here, got none")
        if self._optimizer is None:
            raise InvalidInputError("mode: expected 'min' or 'max' in tune.TuneConfig, or mode= here, got none")
        return self._space, self._optimizer

    def _learn(self, what: Suggestion | Params, result: Config) -> None:
        _, optimizer = self._known()
        metric = self._metric or DEFAULT_METRIC
        if metric not in result:
            optimizer.fail(what, f"{metric}: expected in the last result, got none")
            return
        try:
            optimizer.tell(what, result[metric])
        except InvalidInputError as error:
            optimizer.fail(what, str(error))

    def _from_another(self, trial_id: str, result: Config | None) -> Suggestion | Params | None:
        """What a trial tried that Tune has made itself: anew from one that was interrupted, or that failed."""
        if not result:
            return None
        space, optimizer = self._known()
        tried = {key: value for key, value in result.items() if key.startswith("config/")}
        try:
            point = space.encode(unflatten_dict(tried)["config"])
            optimizer.space.encode(point)
        except (InvalidInputError, LookupError, TypeError) as error:
            warnings.warn(f"trial {trial_id}: its value is lost: {error}", LostValueWarning, stacklevel=3)
            return None
        same = next((id for id, suggestion in self._awaited.items() if suggestion.params == point), None)
        return point if same is None else self._awaited.pop(same)


def _allows(constraint: Callable[[Config], bool], space: TuneSpace, point: Params) -> bool:
    return constraint(space.decode(point))


def _check_objective(metric: Any, mode: Any) -> None:
    if metric is not None and not isinstance(metric, str):
        raise InvalidInputError(f"metric: expected the name of one, got {metric!r}")
    if mode is not None and (not isinstance(mode, str) or mode not in _DIRECTIONS):
        raise InvalidInputError(f"mode: expected 'min' or 'max', got {mode!r}")


def _agreed(name: str, own: str | None, given: str | None) -> str | None:
    if own is not None and given not in (None, own):
        raise InvalidInputError(f"{name}: expected {own!r}, as the search has it, got {given!r}")
    return own or given
