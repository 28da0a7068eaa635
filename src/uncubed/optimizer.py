"""Ask and tell: the search for the best of a costly function."""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Self, final, overload

import numpy as np

from uncubed import _validation as check
from uncubed import events
from uncubed._html import html
from uncubed._typing import Array
from uncubed.account import Account
from uncubed.acquisition import Acquisition, ExpectedImprovement, Selection, ThompsonSampling
from uncubed.beliefs import Posterior
from uncubed.book import NO_LESSON, Book
from uncubed.budget import Budget, decide
from uncubed.candidates import Candidates
from uncubed.errors import InvalidInputError, StateError, UnknownDecisionError
from uncubed.journal import Journal
from uncubed.kernels import Kernel
from uncubed.model import Lesson, Model
from uncubed.outlook import Outlook
from uncubed.proposer import Proposer
from uncubed.records import Failure, Log, Milestone, Promise, Suggestion, Trial
from uncubed.scribe import Scribe
from uncubed.space import Params, Space

DEFAULT_EPSILON = 0.5 * math.log(1.1)
"""Least information worth an evaluation: the variance must exceed 0.1 of the noise's; see `benchmarks/quality.py`."""


@final
class Optimizer:
    """Finds the best of a costly function, one suggestion at a time.

    >>> import uncubed as uc
    >>> opt = uc.Optimizer({"x": uc.Float(-2.0, 2.0)}, direction="minimize", seed=0)
    >>> for _ in range(15):
    ...     s = opt.ask()
    ...     taught = opt.tell(s, (s.params["x"] - 0.3) ** 2)
    >>> round(opt.best.params["x"], 1)
    0.3

    Args:
        space: parameters by name, or a table of `Candidates`.
        direction: "maximize" or "minimize".
        acquisition: how suggestions are chosen; expected improvement unless given.
        budget: which of them are worth an evaluation: unless given, those that the noise does not drown, or with a
            tolerance those that it needs.
        kernel: where the fit starts, and its class; unless given, Matérn 5/2 or 3/2 as the values tell.
        noise_variance: of a value, where it is known and the same for all.
        constraints: functions of the params; a point is tried only if all say True.
        max_model_order: atoms of the model at most, which bounds the time of a suggestion.
        delta: failure probability of what is certified.
        seed: of everything random.
        tolerance: it is done when what is recommended is certified to be so near the best, in the objective's units.
        evaluations: it is done after so many, failures included.
        journal: a new file in which everything is written down, so that `resume` can go on from there.
    """

    def __init__(
        self,
        space: Mapping[str, Any] | Candidates,
        *,
        direction: str = "maximize",
        acquisition: Acquisition | None = None,
        budget: Budget | None = None,
        kernel: Kernel | None = None,
        noise_variance: float | None = None,
        constraints: Sequence[Callable[[Params], bool]] = (),
        max_model_order: int = 256,
        delta: float = 0.1,
        seed: int | None = None,
        tolerance: float | None = None,
        evaluations: int | None = None,
        journal: str | Path | None = None,
    ) -> None:
        self.space = space if isinstance(space, Candidates) else Space(space)
        self.direction = _direction(direction)
        self.acquisition: Acquisition = _acquisition(acquisition)
        self.given_budget: Budget | None = None if budget is None else check.kind("budget", budget, Budget)
        self.kernel = kernel
        self.noise_variance: float | None = check.optional("noise_variance", noise_variance, check.positive)
        self.constraints = _functions(constraints)
        cap = None if budget is None else budget.max_model_order
        self.max_model_order = check.count("max_model_order", cap or max_model_order)
        self.delta = check.probability("delta", delta)
        self.seed = np.random.SeedSequence().entropy if seed is None else check.count("seed", seed, least=0)
        self.most_evaluations: int | None = check.optional("evaluations", evaluations, check.count)
        rng = np.random.default_rng(self.seed)
        self._model = self._new_model(rng)
        self._book = Book(self._model, 1.0 if direction == "maximize" else -1.0)
        self._proposer = self._new_proposer(rng)
        self._outlook = Outlook(self.space, self._book, self._proposer, rng)
        self._account = Account(self.space, self._book, self._proposer)
        self.tolerance = tolerance
        self._noted = 0  # the model's fits, when the last milestone was noted
        self._scribe = Scribe() if journal is None else Scribe.begin(Path(journal), partial(events.header, self))

    def _new_model(self, rng: np.random.Generator) -> Model:
        return Model(
            self.space.groups,
            noise_variance=self.noise_variance,
            kernel=self.kernel,
            max_model_order=self.max_model_order,
            seed=int(rng.integers(2**32)),
        )

    def _new_proposer(self, rng: np.random.Generator) -> Proposer:
        return Proposer(
            self.space,
            self._model,
            acquisition=self.acquisition,
            budget=self.given_budget or _budget(None),
            constraints=self.constraints,
            delta=self.delta,
            rng=rng,
        )

    # Asking and telling

    @overload
    def ask(self, n: None = None, *, fixed: Mapping[str, Any] | None = None) -> Suggestion: ...

    @overload
    def ask(self, n: int, *, fixed: Mapping[str, Any] | None = None) -> list[Suggestion]: ...

    def ask(self, n: int | None = None, *, fixed: Mapping[str, Any] | None = None) -> Suggestion | list[Suggestion]:
        """What to try next; the model does not change.

        While earlier suggestions are pending, variances are as if their values had come, so that several may be out at
        once and do not clump.

        Args:
            n: how many at once, as a list; one by itself unless given.
            fixed: parameters to hold at these values.
        """
        self._book.check()
        fixed = check.kind("fixed", {} if fixed is None else fixed, Mapping)
        self._proposer.hold(fixed)
        return self._suggest(fixed) if n is None else [self._suggest(fixed) for _ in range(check.count("n", n))]

    def tell(self, what: Suggestion | Mapping[str, Any], value: float, noise_variance: float | None = None) -> Lesson:
        """Learn a value, of a suggestion or of any point of the space; what it taught.

        Args:
            what: where it was observed.
            value: in the objective's units; one that is not finite is a failure.
            noise_variance: of this value, where it is known.
        """
        id, action = self._resolve(what)
        if _is_not_finite(value):
            self._fail(id, action, f"value: {float(value)}")
            return NO_LESSON._replace(model_order=self.model_order)
        number = check.real("value", value)
        noise = check.optional("noise_variance", noise_variance, check.positive)
        lesson = self._model.lesson(action, self._book.sign * number, noise)
        taught = {"nats": lesson.nats, "model_order": lesson.model_order}
        self._scribe.write(
            lambda: {"event": "tell", **self._where(id, action), "value": number, "noise": noise, **taught}
        )
        self._book.tell(id, action, number, noise, lesson)
        self._after()
        return lesson

    def tell_many(
        self,
        rows: Sequence[Mapping[str, Any]],
        values: Sequence[float],
        noise_variances: Sequence[float] | None = None,
    ) -> None:
        """Learn past values at once: one fit, and linear time. Values that are not finite are failures."""
        self._book.check()
        X, numbers = self._account.encoded(rows), np.array([_number("value", value) for value in values])
        noises = np.full(len(X), math.nan)
        if noise_variances is not None:
            noises = np.array([check.positive("noise_variances", noise) for noise in noise_variances])
        for name, column in (("values", numbers), ("noise_variances", noises)):
            if len(column) != len(X):
                raise InvalidInputError(f"{name}: expected {len(X)}, one per row, got {len(column)}")
        good = np.isfinite(numbers)
        if good.any():
            told = X[good], numbers[good], noises[good]
            self._scribe.write(lambda: events.encode_tell_many(self.space, *told))
            self._book.tell_many(*told)
            self._after()
        for action, value in zip(X[~good], numbers[~good].tolist(), strict=True):
            self._fail(None, action, f"value: {value}")

    def fail(self, what: Suggestion | Mapping[str, Any], reason: str) -> None:
        """Say that an evaluation gave no value: a crash, NaN, a time-out.

        The model takes it for a value as bad as the worst told, so that the search stays away from there. There it is
        tried again only when all else was; who means to try again cancels, or enqueues it.
        """
        self._fail(*self._resolve(what), str(reason))

    def cancel(self, suggestion: Suggestion) -> None:
        """Say that a value will not come, for no fault of the point: nothing is learned."""
        id, _ = self._resolve(check.kind("suggestion", suggestion, Suggestion))
        self._scribe.write(lambda: {"event": "cancel", "id": id})
        self._book.await_no_more(suggestion.id)
        self._outlook.forget()

    def enqueue(self, params: Mapping[str, Any]) -> None:
        """Try this point next."""
        self._book.check()
        action = self.space.encode(params)
        self._scribe.write(lambda: {"event": "enqueue", **events.encode_point(self.space, action)})
        self._book.queue.append(action)

    def expect(self, params: Mapping[str, Any]) -> Suggestion:
        """Await the value of a point that somebody else tries: it is pending, and the search looks elsewhere."""
        self._book.check()
        return self._send(self._outlook.at(self.space.encode(params)), self._outlook.rng, enqueued=False)

    # When it ends

    @property
    def tolerance(self) -> float | None:
        """The certified gap at which it is done; unless a budget was given, what it needs counts as informative."""
        return self._tolerance

    @tolerance.setter
    def tolerance(self, tolerance: float | None) -> None:
        self._tolerance: float | None = check.optional("tolerance", tolerance, check.positive)
        self._proposer.budget = self.given_budget or _budget(self._tolerance)
        self._outlook.forget()

    @property
    def budget(self) -> Budget:
        """Which points are worth an evaluation."""
        return self._proposer.budget

    # What is known

    @property
    def pending(self) -> Mapping[int, Suggestion]:
        """Suggestions whose values are awaited, by id."""
        return dict(self._book.pending)

    @property
    def failures(self) -> list[Failure]:
        """Evaluations that gave no value."""
        return list(self._book.failures)

    @property
    def milestones(self) -> list[Milestone]:
        """How far it was, at numbers of evaluations that grow geometrically."""
        return list(self._book.milestones)

    @property
    def evaluations(self) -> int:
        """Values told, and failures."""
        return self._book.evaluations

    @property
    def model_order(self) -> int:
        """Atoms of the model."""
        return self._model.belief.distinct

    @property
    def log(self) -> Log:
        """What was told, in the order it came; `params` says where."""
        return self._account.log()

    def params(self, index: int) -> Params:
        """The point of an entry of the log."""
        return self._account.params(index)

    def predict(self, rows: Sequence[Mapping[str, Any]]) -> Posterior:
        """Mean and variance of the objective at these points, in its units.

        Where values are bent, the middle of what is believed, and the square of half the width of its central 68 %.
        """
        return self._account.predict(rows)

    def importance(self) -> dict[str, float]:
        """How much each parameter matters: inverse length-scales, as fractions of their sum."""
        return self._account.importance()

    @property
    def best(self) -> Trial:
        """The point told with the largest posterior mean, not the luckiest value; the latter where values are exact."""
        return self._account.best()

    @property
    def done(self) -> str | None:
        """Why nothing more is to be tried; None while something is.

        On continuous and on large discrete spaces this is up to the search, which may miss a narrow peak. While
        suggestions are pending it is about what more to ask, as if their values had come as expected. To look changes
        nothing but this: it looks harder than `ask` does, and what only so is found is suggested next.
        """
        if self.most_evaluations is not None and self.evaluations >= self.most_evaluations:
            return f"{self.evaluations} evaluations were made"
        if not self._book.told or self._book.tried < len(self._proposer.first) or self._book.queue:
            return None
        if self.tolerance is not None and (gap := self._gap_within(self.tolerance)) is not None:
            return f"the certified gap, {gap:.4g}, is within the tolerance, {self.tolerance:g}"
        return None if self._outlook.worthwhile() is not None else "nothing informative is left that could be the best"

    def certificate(self) -> Promise:
        """How far from the best one can still be; of a table every row is looked at."""
        return self._account.promise(self._outlook.spare(), whole=True)

    def __repr__(self) -> str:
        what = f"{self.direction} over {', '.join(self.space.names)}"
        return f"Optimizer({what}): {self.evaluations} evaluations, {self.model_order} atoms"

    def _repr_html_(self) -> str:
        return html(self)

    # On disk

    @classmethod
    def resume(
        cls,
        path: str | Path,
        *,
        space: Candidates | None = None,
        constraints: Sequence[Callable[[Params], bool]] = (),
        read_only: bool = False,
    ) -> Self:
        """Go on with the study of a journal, exactly as if it had not been interrupted.

        Args:
            path: the journal.
            space: the table, if the study chooses from one: a journal knows it by its digest only.
            constraints: the same functions as before, which a journal cannot hold.
            read_only: only look: what the result is told is not written, and another process may go on writing.

        Raises:
            StateError: it is not a study, of another version, or somebody is writing it.
        """
        path = Path(path)
        if not path.is_file():
            raise StateError(f"{path}: expected the journal of a study, got no file")
        header = events.read_header(path)  # before it is opened, which repairs its end: it may be another's file
        journal = None if read_only else Journal(path)
        try:
            opt = cls(**events.options(header, space, constraints))
            written = events.replay(path, header, opt._book, opt.space, opt._outlook.rng)
        except BaseException:
            if journal is not None:
                journal.close()
            raise
        opt._scribe, opt._noted = Scribe(journal, header["id"], written), opt._model.fits
        return opt

    def close(self) -> None:
        """Close the journal, so that another process may go on; nothing can be asked or told afterwards."""
        self._scribe.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _after(self) -> None:
        """After something was learned: note how far it is, and save the state, now and then."""
        self._outlook.forget()
        if self._noted != self._model.fits and len(self._model.history) >= len(self._proposer.first):
            self._noted = self._model.fits
            self._note_milestone()
        self._scribe.save(self._model)

    def _note_milestone(self) -> None:
        milestone = self._account.milestone(self._outlook.spare())
        self._scribe.write(lambda: {"event": "milestone", **milestone._asdict()}, durable=False)
        self._book.milestones.append(milestone)

    # Inside

    def _suggest(self, fixed: Mapping[str, Any]) -> Suggestion:
        enqueued = bool(self._book.queue) and not fixed
        return self._send(*self._outlook.next(fixed, enqueued=enqueued), enqueued=enqueued)

    def _send(self, found: Selection, rng: np.random.Generator, *, enqueued: bool) -> Suggestion:
        """Let a suggestion go out, with the generator as it is after it."""
        book = self._book
        noise, round = self._model.belief.noise_variance, book.asked + 1
        threshold = self._proposer.threshold(round)
        decision = decide(found.action, found.variance, noise, threshold, round=round, index=found.row)
        suggestion = Suggestion(self.space.decode(found.action), book.asked, decision)
        self._scribe.write(lambda: events.encode_ask(self.space, suggestion, rng, enqueued=enqueued), durable=False)
        book.ask(suggestion, enqueued=enqueued)
        self._outlook.go_on(rng)
        return suggestion

    def _fail(self, id: int | None, action: Array, reason: str) -> None:
        self._scribe.write(lambda: {"event": "fail", **self._where(id, action), "reason": reason})
        self._book.fail(id, action, Failure(self.space.decode(action), reason, self.evaluations + 1))
        self._after()

    def _resolve(self, what: Suggestion | Mapping[str, Any]) -> tuple[int | None, Array]:
        """The id of a suggestion, None of a point; and the action."""
        self._book.check()
        if not isinstance(what, Suggestion):
            return None, self.space.encode(what)
        awaited = self._book.pending.get(what.id)
        if awaited is None or (awaited.decision.action != what.decision.action).any():
            known = "was answered before" if awaited is None and what.id < self._book.asked else "is of another study"
            raise UnknownDecisionError(
                f"suggestion {what.id}: expected one whose value is awaited, got one that {known}"
            )
        return what.id, awaited.decision.action

    def _where(self, id: int | None, action: Array) -> dict[str, Any]:
        return {"id": id} if id is not None else events.encode_point(self.space, action)

    def _gap_within(self, tolerance: float) -> float | None:
        # What a search finds is at most what is there: where that is too much, no table need be looked at whole.
        if self._account.promise(self._outlook.spare(), whole=False).gap > tolerance:
            return None
        gap = self.certificate().gap
        return gap if gap <= tolerance else None


def _direction(direction: str) -> str:
    if direction not in ("maximize", "minimize"):
        raise InvalidInputError(f"direction: expected 'maximize' or 'minimize', got {direction!r}")
    return direction


def _acquisition(given: Acquisition | None) -> Acquisition:
    acquisition: Acquisition = check.kind("acquisition", given or ExpectedImprovement(), Acquisition)
    if isinstance(acquisition, ThompsonSampling):
        raise InvalidInputError("acquisition: expected one with a value at each point, got ThompsonSampling")
    return acquisition


def _budget(tolerance: float | None) -> Budget:
    return Budget.constant(DEFAULT_EPSILON) if tolerance is None else Budget.gap(tolerance)


def _functions(constraints: Sequence[Callable[[Params], bool]]) -> tuple[Callable[[Params], bool], ...]:
    if callable(constraints):
        raise InvalidInputError("constraints: expected a list of functions, got a function")
    for constraint in constraints:
        if not callable(constraint):
            raise InvalidInputError(f"constraints: expected functions, got {type(constraint).__name__}")
    return tuple(constraints)


def _is_not_finite(value: Any) -> bool:
    number = value.item() if isinstance(value, np.ndarray) and value.size == 1 else value
    return isinstance(number, float | np.floating) and not math.isfinite(number)


def _number(name: str, value: Any) -> float:
    """A real number, or one that is not finite."""
    return float(value) if _is_not_finite(value) else check.real(name, value)
