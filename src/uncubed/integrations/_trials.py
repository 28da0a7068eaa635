"""What an optimiser learns from the trials of an Optuna study."""

import math
from collections.abc import Sequence
from typing import Any, final

from optuna.trial import FrozenTrial, TrialState

from uncubed import _validation as check
from uncubed.integrations._distributions import Distributions, coded, decoded, internal
from uncubed.optimizer import Optimizer
from uncubed.records import Suggestion
from uncubed.space import Params

SUGGESTION = "uncubed:suggestion"
"""System attribute of a trial: the point, in Optuna's numbers, and what was decided about it."""


@final
class Common:
    """The parameters that every complete or pruned trial had, with the same range.

    As Optuna's `IntersectionSearchSpace`, which reads all again that came after a trial that never ends.
    """

    def __init__(self) -> None:
        self._space: Distributions | None = None
        self._read = 0
        self._unfinished: list[int] = []
        self.names: set[str] = set()
        """Of all parameters that such a trial had and that can vary."""

    def read(self, trials: Sequence[FrozenTrial]) -> Distributions:
        """With what is new in the trials of the study; ordered by name."""
        numbers = [*self._unfinished, *range(self._read, len(trials))]
        self._read = max(self._read, len(trials))
        self._unfinished = [n for n in numbers if n >= len(trials) or not trials[n].state.is_finished()]
        for trial in (trials[n] for n in numbers if n < len(trials)):
            if trial.state in (TrialState.COMPLETE, TrialState.PRUNED):
                space = trial.distributions if self._space is None else self._space
                self._space = {name: d for name, d in space.items() if trial.distributions.get(name) == d}
                self.names.update(name for name, d in trial.distributions.items() if not d.single())
        return dict(sorted((self._space or {}).items()))


@final
class Search:
    """An optimiser over one search space of a study, and which trials it knows."""

    def __init__(self, space: Distributions, optimizer: Optimizer) -> None:
        self.space, self.optimizer = space, optimizer
        self._read = 0
        self._unfinished: dict[int, tuple[Params, Suggestion] | None] = {}  # trials, and what is awaited where
        self._milestones = 0

    def read(self, trials: Sequence[FrozenTrial], asking: int | None = None) -> bool:
        """Learn what is new in the trials of the study, that which is being chosen aside; whether anything is."""
        numbers = dict.fromkeys([*self._unfinished, *range(self._read, len(trials))])
        new = [trials[number] for number in numbers if number < len(trials)]  # a thread may have read fewer
        finished = [trial for trial in new if trial.state.is_finished()]
        self._learn(finished, many=self._read == 0)
        self._read = max(self._read, len(trials))
        running = [trial for trial in new if not trial.state.is_finished() and trial.number != asking]
        moved = [self._expect(trial) for trial in running]
        return bool(finished) or any(moved)

    def ask(self, trial: FrozenTrial) -> Suggestion:
        """What to try; parameters that were enqueued are as they were."""
        fixed = coded(self.space, internal(self.space, trial.system_attrs.get("fixed_params", {})))
        self._drop(trial.number)
        whole = len(fixed) == len(self.space)
        suggestion = self.optimizer.expect(fixed) if whole else self.optimizer.ask(fixed=fixed)
        self._unfinished[trial.number] = suggestion.params, suggestion
        return suggestion

    def is_shared(self, trial: FrozenTrial, suggestion: Suggestion) -> bool:
        """Whether trials that were read since it was asked for teach half of what one at the same place would."""
        self._drop(trial.number)
        again = self.optimizer.expect(suggestion.params)
        self._unfinished[trial.number] = suggestion.params, again
        before = suggestion.decision.information_gain
        repeated = 0.5 * math.log1p(-math.expm1(-2.0 * before))  # what is left to learn from a second value there
        return again.decision.information_gain < 0.5 * (before + repeated)

    def has_news(self) -> bool:
        """Whether there is a milestone more than the last time."""
        before, self._milestones = self._milestones, len(self.optimizer.milestones)
        return self._milestones > before

    def _learn(self, finished: Sequence[FrozenTrial], *, many: bool) -> None:
        points = [(trial.number, point_of(self.space, trial), value_of(trial)) for trial in finished]
        whole = [(number, point, value) for number, point, value in points if point is not None]
        asked = {number: self._answered(number, point) for number, point, _ in points}
        if many and whole:
            for suggestion in filter(None, asked.values()):
                self.optimizer.cancel(suggestion)
            self.optimizer.tell_many([point for _, point, _ in whole], [value for _, _, value in whole])
        for number, point, value in () if many else whole:
            self.optimizer.tell(asked[number] or point, value)

    def _answered(self, number: int, point: Params | None) -> Suggestion | None:
        """What was awaited of a trial that has finished, if it had the parameters that were suggested."""
        awaited = self._unfinished.get(number)
        if awaited is None or awaited[0] != point:
            self._drop(number)
            return None
        del self._unfinished[number]
        return awaited[1]

    def _expect(self, trial: FrozenTrial) -> bool:
        """Await the value of a trial, once its parameters are known; whether that is new."""
        awaited, point = self._unfinished.setdefault(trial.number, None), point_of(self.space, trial)
        if point is None or (awaited is not None and awaited[0] == point):
            return False
        self._drop(trial.number)
        self._unfinished[trial.number] = point, self.optimizer.expect(point)
        return True

    def _drop(self, number: int) -> None:
        awaited = self._unfinished.pop(number, None)
        if awaited is not None:
            self.optimizer.cancel(awaited[1])


def point_of(space: Distributions, trial: FrozenTrial) -> Params | None:
    """Where a trial is or will be, for the optimiser; None if that is not known, or not in the space."""
    whole = trial.state in (TrialState.COMPLETE, TrialState.PRUNED)  # one that failed may not have come to all
    suggested = {} if whole else trial.system_attrs.get(SUGGESTION, {}).get("point", {})
    point = coded(space, {**suggested, **internal(space, trial.params)})
    return point if len(point) == len(space) else None


def value_of(trial: FrozenTrial) -> float:
    """What a finished trial gave; NaN if nothing, or nothing that can be used."""
    value = trial.value if trial.state == TrialState.COMPLETE else None
    if trial.state == TrialState.PRUNED and trial.last_step is not None:
        value = trial.intermediate_values[trial.last_step]
    return value if value is not None and abs(value) <= check.LARGEST else math.nan


def written(suggestion: Suggestion, space: Distributions) -> dict[str, Any]:
    """A suggestion in Optuna's numbers, for other workers and for who wants to know why."""
    decision = suggestion.decision
    return {
        "point": internal(space, decoded(space, suggestion.params)),
        "informative": bool(decision.informative),
        "nats": float(decision.information_gain),
        "epsilon": float(decision.epsilon) if math.isfinite(decision.epsilon) else None,
    }
