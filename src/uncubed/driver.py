"""Evaluations, one or several at a time, until there is a reason to stop."""

import math
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, CancelledError
from contextlib import suppress
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from time import monotonic
from typing import Any, NamedTuple, NoReturn, Protocol, final

from uncubed import _validation as check
from uncubed.errors import EvaluationError, InvalidInputError, UncubedError
from uncubed.optimizer import Optimizer
from uncubed.records import Suggestion

ALIKE = 10
"""Evaluations that may fail in the same way before any gives a value."""

LONGEST_REASON = 300
"""Characters that are kept of the reason of a failure."""

_POLL = 0.5  # seconds after which the clock is looked at again


class Future(Protocol):
    """What an executor answers, of `concurrent.futures` or alike."""

    def add_done_callback(self, fn: Callable[[Any], Any], /) -> Any:
        """Call a function when the evaluation has ended."""

    def result(self) -> Any:
        """What it returned."""

    def exception(self) -> BaseException | None:
        """What it raised."""

    def cancel(self) -> Any:
        """Do not start it, if it has not started."""


@final
@dataclass(frozen=True)
class Limits:
    """When to stop, and how much at once.

    Attributes:
        evaluations: most of them in a study, failures included.
        seconds: after which none is started.
        timeout: seconds after which an evaluation has failed.
        workers: evaluations at once.
    """

    evaluations: int | None = None
    seconds: float | None = None
    timeout: float | None = None
    workers: int = 1

    def __post_init__(self) -> None:
        for name, checked in {"evaluations": check.count, "seconds": check.positive, "timeout": check.positive}.items():
            if getattr(self, name) is not None:
                check.clean(self, name, checked)
        check.clean(self, "workers", check.count)


class Status(NamedTuple):
    """Where a run is.

    Attributes:
        optimizer: what is known.
        running: evaluations now.
        asking: seconds that the last suggestion took.
    """

    optimizer: Optimizer
    running: int
    asking: float


class _Job(NamedTuple):
    suggestion: Suggestion
    future: Future
    deadline: float


@final
class Driver:
    """Keeps workers busy: as soon as one evaluation ends, the next is asked for.

    Args:
        optimizer: whose suggestions are evaluated; those that are awaited already come first.
        submit: starts the evaluation of a suggestion.
        limits: when to stop.
        show: told the state whenever it may have changed.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        submit: Callable[[Suggestion], Future],
        limits: Limits,
        show: Callable[[Status], None],
    ) -> None:
        self._opt, self._submit, self._limits, self._show = optimizer, submit, limits, show
        self._waiting = list(optimizer.pending.values())
        self._running: dict[int, _Job] = {}
        self._held: dict[int, float] = {}  # when evaluations that have not ended were given up: each holds a worker
        self._ended: SimpleQueue[int] = SimpleQueue()
        self._alike: list[str] | None = []  # reasons of the first failures; None once something else came
        self._cancelled = 0  # evaluations by others, since the last value
        self._breakage: BaseException | None = None
        self._lost: list[Suggestion] = []  # to a pool that broke
        self._asking = 0.0
        self._start = monotonic()

    def run(self) -> str:
        """Evaluate until there is a reason to stop, and nothing runs any more; the reason.

        Raises:
            EvaluationError: the pool of workers broke, or the first evaluations all failed in the same way.
        """
        try:
            while True:
                reason = self._fill() or self._stuck()
                if reason is not None and not self._running:
                    return reason
                self._wait()
        finally:
            for job in self._running.values():
                job.future.cancel()

    def _fill(self) -> str | None:
        """Start what there is room for; why no more is started."""
        while (reason := self._limit()) is None and self._room():
            start = monotonic()
            if not self._waiting and (reason := self._opt.done) is not None:  # which searches for what is asked next
                break
            suggestion = self._waiting.pop(0) if self._waiting else self._opt.ask()
            self._asking = monotonic() - start
            self._begin(suggestion)
        return reason

    def _limit(self) -> str | None:
        if self._breakage is not None:
            return self._broken(self._breakage) if not self._running else str(self._breakage)
        most, seconds = self._limits.evaluations, self._limits.seconds
        if most is not None and self._opt.evaluations + len(self._running) >= most:
            return f"{most} evaluations were made"
        if seconds is not None and monotonic() - self._start >= seconds:
            return f"{seconds:g} seconds have passed"
        return None

    def _room(self) -> bool:
        return self._limits.workers > len(self._running) + len(self._held)

    def _stuck(self) -> str | None:
        """Whether no evaluation that was given up has ended within another time-out."""
        if len(self._held) < self._limits.workers or self._limits.timeout is None:
            return None
        waited = monotonic() - max(self._held.values())
        return "every worker is held by an evaluation that timed out" if waited >= self._limits.timeout else None

    def _begin(self, suggestion: Suggestion) -> None:
        number = suggestion.id
        self._show(Status(self._opt, len(self._running) + 1, self._asking))
        deadline = monotonic() + (self._limits.timeout or math.inf)
        try:
            future = self._submit(suggestion)
        except BrokenExecutor as error:
            self._breakage = error
            self._opt.cancel(suggestion)
            return
        except Exception as error:  # it was shut down, or its cluster is gone; what is awaited can be tried later
            raise EvaluationError(
                f"executor: expected one that takes evaluations, got {_reason(error)}; what was told is kept", self._opt
            ) from error
        self._running[number] = _Job(suggestion, future, deadline)
        future.add_done_callback(lambda _: self._ended.put(number))

    def _wait(self) -> None:
        """Until an evaluation ends, or is overdue, or some time has passed."""
        nearest = min((job.deadline for job in self._running.values()), default=math.inf) - monotonic()
        with suppress(Empty):
            self._end(self._ended.get(timeout=max(0.0, min(_POLL, nearest))))
        if self._ended.empty():
            self._give_up()
        self._show(Status(self._opt, len(self._running), self._asking))

    def _give_up(self) -> None:
        now = monotonic()
        for number, job in list(self._running.items()):
            if job.deadline <= now:
                del self._running[number]
                if not job.future.cancel():
                    self._held[number] = now
                self._fail(job.suggestion, f"time-out: no value within {self._limits.timeout:g} seconds")

    def _end(self, number: int) -> None:
        self._held.pop(number, None)
        job = self._running.pop(number, None)
        if job is None:  # its value came too late
            return
        error = _raised(job.future)
        if isinstance(error, BrokenExecutor):
            self._breakage = error
            self._lost.append(job.suggestion)
        elif isinstance(error, CancelledError):
            self._lose(job.suggestion, error)
        elif error is None:
            self._learn(job.suggestion, job.future.result())
        elif isinstance(error, Exception):
            self._fail(job.suggestion, _reason(error), error)
        else:  # KeyboardInterrupt and SystemExit are not the objective's
            raise error

    def _learn(self, suggestion: Suggestion, answer: Any) -> None:
        try:
            self._opt.tell(suggestion, *_read(answer))
        except InvalidInputError as error:
            self._fail(suggestion, _reason(error))
        else:
            self._alike, self._cancelled = None, 0

    def _lose(self, suggestion: Suggestion, error: Exception) -> None:
        """Not the point's fault: it may be suggested again."""
        self._opt.cancel(suggestion)
        self._cancelled += 1
        if self._cancelled == ALIKE:
            raise EvaluationError(f"executor: expected evaluations to end, got {ALIKE} cancelled", self._opt) from error

    def _fail(self, suggestion: Suggestion, reason: str, error: Exception | None = None) -> None:
        self._opt.fail(suggestion, reason)
        if self._alike is None:
            return
        self._alike.append(reason.partition(", got ")[0])  # what came differs from point to point
        if len(set(self._alike)) > 1:
            self._alike = None
        elif len(self._alike) == ALIKE:
            raise EvaluationError(f"the first {ALIKE} evaluations all failed with {reason}", self._opt) from error

    def _broken(self, error: BaseException) -> NoReturn:
        """With one evaluation lost it is the one that did it; of several any may be."""
        for suggestion in self._lost:
            if len(self._lost) == 1:
                self._opt.fail(suggestion, "its worker died")
            else:
                self._opt.cancel(suggestion)
        lost = ", ".join(str(suggestion.params) for suggestion in self._lost) or "nothing yet"
        raise EvaluationError(
            f"executor: expected workers that live, got one that died; they evaluated {lost}; what was told is kept",
            self._opt,
        ) from error


def _raised(future: Future) -> BaseException | None:
    try:
        return future.exception()
    except CancelledError as error:
        return error


def _reason(error: Exception) -> str:
    """One line; our own errors say all in their message."""
    text = " ".join(str(error).split())
    kind = type(error).__name__
    whole = text if isinstance(error, UncubedError) else f"{kind}: {text}" if text else kind
    return whole if len(whole) <= LONGEST_REASON else whole[: LONGEST_REASON - 1] + "…"


def _read(answer: Any) -> tuple[Any, Any]:
    """The value and its noise variance, if it came with one, of what an objective returned."""
    if not isinstance(answer, tuple):
        return answer, None
    if len(answer) != 2:
        raise InvalidInputError(f"value: expected a number, or a value and its noise variance, got {answer!r}")
    return answer
