"""The best of a function in one call."""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypedDict, TypeVar, Unpack, final

from uncubed.acquisition import Acquisition
from uncubed.budget import Budget
from uncubed.candidates import Candidates
from uncubed.dimensions import same
from uncubed.driver import Driver, Limits
from uncubed.driver import Future as AnyFuture
from uncubed.errors import EvaluationError, InvalidInputError, StateError
from uncubed.kernels import Kernel
from uncubed.optimizer import Optimizer
from uncubed.progress import shown
from uncubed.records import Failure, Promise, Suggestion, Trial
from uncubed.space import Params, Space

Objective = Callable[[Params], Any]
"""Takes the params; returns a number, or a number and the variance of its noise."""

T = TypeVar("T")


class Options(TypedDict, total=False):
    """Of the `Optimizer`, for a new study."""

    acquisition: Acquisition | None
    budget: Budget | None
    kernel: Kernel | None
    noise_variance: float | None
    constraints: Sequence[Callable[[Params], bool]]
    max_model_order: int
    delta: float
    seed: int | None
    tolerance: float | None


@final
@dataclass(frozen=True, eq=False)
class Result:
    """What a run found.

    Attributes:
        best: the point of the best posterior mean among those told, not of the luckiest value.
        evaluations: how many the study has had, failures included.
        failures: those that gave no value.
        reason: why it stopped.
        certificate: how far from the best the best point can still be.
        optimizer: with all that was told, to be asked and drawn.
    """

    best: Trial
    evaluations: int
    failures: tuple[Failure, ...]
    reason: str
    certificate: Promise
    optimizer: Optimizer = field(repr=False)

    @property
    def params(self) -> Params:
        """The best point, by name."""
        return self.best.params

    @property
    def value(self) -> float:
        """The mean of what was told at the best point."""
        return self.best.value


def maximize(
    f: Objective,
    space: Any,
    *,
    evaluations: int | None = None,
    seconds: float | None = None,
    executor: Executor | None = None,
    workers: int | None = None,
    timeout: float | None = None,
    journal: str | os.PathLike[str] | None = None,
    progress: bool = False,
    **options: Unpack[Options],
) -> Result:
    """Find the largest value of a function.

    >>> import uncubed as uc
    >>> result = uc.maximize(lambda p: -((p["x"] - 0.3) ** 2), {"x": uc.Float(-2.0, 2.0)}, evaluations=12, seed=0)
    >>> round(result.params["x"], 1), result.reason
    (0.3, '12 evaluations were made')

    It stops when the optimiser is done (nothing informative is left that could be the best, or the certified gap is
    within `tolerance`), or at the limits given here; without limits `done` alone decides, which on a continuous space
    can take thousands of evaluations. What runs when a limit is reached is waited for.

    An exception in `f`, NaN, an infinity, anything else that is not a number, or a time-out is a failure: recorded with
    its reason and avoided afterwards. If the first 10 evaluations all fail in the same way, NaN and infinities aside,
    it stops with an error: then `f` is wrong, not the points. Their failures are in the journal; begin a new one.

    Ctrl-C raises `KeyboardInterrupt` after the journal was closed, with all that was told in it.

    Args:
        f: the objective, called with the params as one dict; returns a number, or a number and the variance of its
            noise.
        space: parameters by name, or `Candidates`.
        evaluations: most in the study, failures and those of a resumed journal included.
        seconds: after which no evaluation is started.
        executor: of `concurrent.futures` or alike: threads, processes, Dask's `client.get_executor()`, MPI's; this
            thread unless given. As soon as one evaluation ends the next is started.
        workers: evaluations at once; as many as the executor has, where it says so, or else as this machine has cores.
        timeout: seconds after which an evaluation is given up, counted from when the executor was given it. What runs
            in a thread or process of a pool cannot be ended from outside: it holds its worker until it ends by itself,
            and the others go on.
        journal: file of the study. If it exists the study goes on, with the options it began with but for the limits
            and the tolerance, and evaluates what was pending first: so the same script run again continues.
        progress: show a line on the terminal (`pip install uncubed[progress]`), or print one now and then elsewhere.
        **options: of the `Optimizer`, for a new study: `tolerance`, `seed`, `noise_variance`, `constraints`, ...

    Raises:
        EvaluationError: no evaluation gave a value, or the pool of workers broke; what was told is kept.
        StateError: the journal is of another space or direction, or another process writes it.
    """
    limits = _limits(executor, workers, evaluations=evaluations, seconds=seconds, timeout=timeout)
    with open_study(space, "maximize", journal, **options) as optimizer:
        return conduct(optimizer, _submitter(f, executor), limits, progress=progress)


def minimize(
    f: Objective,
    space: Any,
    *,
    evaluations: int | None = None,
    seconds: float | None = None,
    executor: Executor | None = None,
    workers: int | None = None,
    timeout: float | None = None,
    journal: str | os.PathLike[str] | None = None,
    progress: bool = False,
    **options: Unpack[Options],
) -> Result:
    """Find the least value of a function; all else as in `maximize`."""
    limits = _limits(executor, workers, evaluations=evaluations, seconds=seconds, timeout=timeout)
    with open_study(space, "minimize", journal, **options) as optimizer:
        return conduct(optimizer, _submitter(f, executor), limits, progress=progress)


def conduct(
    optimizer: Optimizer, submit: Callable[[Suggestion], AnyFuture], limits: Limits, *, progress: bool
) -> Result:
    """Evaluate suggestions until there is a reason to stop, and say what was found."""
    with shown(progress, limits.evaluations) as show:
        reason = Driver(optimizer, submit, limits, show).run()
    failures = tuple(optimizer.failures)
    if optimizer.evaluations == len(failures):
        last = f", the last one with {failures[-1].reason}" if failures else ""
        raise EvaluationError(f"expected at least one value, got {len(failures)} failures{last}; {reason}", optimizer)
    return Result(optimizer.best, optimizer.evaluations, failures, reason, optimizer.certificate(), optimizer)


def open_study(
    space: Any, direction: str, journal: str | os.PathLike[str] | None = None, **options: Unpack[Options]
) -> Optimizer:
    """A new study, or the one that a journal holds, with the options it began with but for the tolerance.

    Raises:
        StateError: the journal is of another space or direction.
    """
    unknown = set(options) - set(Options.__annotations__)
    if unknown:
        raise InvalidInputError(f"options: expected {', '.join(Options.__annotations__)}, got {', '.join(unknown)}")
    path = None if journal is None else Path(journal)
    if path is None or not path.exists() or not path.stat().st_size:
        return Optimizer(space, direction=direction, journal=path, **options)
    table = space if isinstance(space, Candidates) else None
    optimizer = Optimizer.resume(path, space=table, constraints=options.get("constraints", ()))
    try:
        _check_same(optimizer, space, direction, path)
        if "tolerance" in options:  # when to stop is said anew, as with the other limits
            optimizer.tolerance = options["tolerance"]
    except BaseException:
        optimizer.close()
        raise
    return optimizer


def _check_same(optimizer: Optimizer, space: Any, direction: str, journal: Path) -> None:
    if optimizer.direction != direction:
        raise StateError(f"{journal}: expected a study that is to {direction}, got one to {optimizer.direction}")
    if isinstance(optimizer.space, Candidates):  # compared when it was opened
        return
    wanted, found = Space(space).parameters, optimizer.space.parameters
    for name in {**wanted, **found}:
        if name not in wanted or name not in found or not same(wanted[name], found[name]):
            one, other = (space.get(name, "none") for space in (wanted, found))
            raise StateError(f"{journal}: expected a study of the same space, {name} = {one}, got {other}")


def _limits(executor: Any, workers: int | None, **limits: Any) -> Limits:
    if executor is None:
        for name, given in {"timeout": limits["timeout"], "workers": None if workers == 1 else workers}.items():
            if given is not None:
                raise InvalidInputError(f"{name}: expected an executor with it, such as ThreadPoolExecutor(), got none")
        return Limits(**limits)
    if not callable(getattr(executor, "submit", None)):
        raise InvalidInputError(f"executor: expected one of concurrent.futures or alike, got {type(executor).__name__}")
    return Limits(**limits, workers=_workers(executor) if workers is None else workers)


def _workers(executor: Any) -> int:
    for name in ("_max_workers", "num_workers"):  # of Python and loky, of mpi4py
        count = getattr(executor, name, None)
        if isinstance(count, int) and count > 0:
            return count
    return os.cpu_count() or 1


def _submitter(f: Objective, executor: Executor | None) -> Callable[[Suggestion], AnyFuture]:
    if not callable(f):
        raise InvalidInputError(f"f: expected a function of the params, got {type(f).__name__}")
    submit = here if executor is None else executor.submit
    return lambda suggestion: submit(f, dict(suggestion.params))


def here(f: Callable[..., T], /, *arguments: Any) -> Future[T]:
    """Call a function at once; a future that has ended."""
    future: Future[T] = Future()
    try:
        future.set_result(f(*arguments))
    except Exception as error:
        future.set_exception(error)
    return future
