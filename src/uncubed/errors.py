"""Every error and warning the library raises, by kind."""

from typing import Any

import numpy as np


class UncubedError(Exception):
    """Base of all errors raised by uncubed."""


class InvalidInputError(UncubedError, ValueError):
    """A value, shape or dtype that cannot be used; the message says what was expected and what came."""


class UnknownDecisionError(UncubedError, LookupError):
    """A value for a decision that was never made, was answered before, or is no longer awaited."""


class NotPositiveDefiniteError(UncubedError, np.linalg.LinAlgError):
    """A matrix stayed indefinite after every jitter that was tried."""


class NotDifferentiableError(UncubedError):
    """The kernel's sample paths have no derivative, so the quantity asked for does not exist."""


class StateError(UncubedError, ValueError):
    """A saved state that cannot be written or read: wrong version, wrong kind, or another action set."""


class EvaluationError(UncubedError, RuntimeError):
    """Evaluations cannot go on; what was told is kept.

    Attributes:
        optimizer: the `Optimizer`, with all that was told.
    """

    def __init__(self, message: str, optimizer: Any) -> None:
        super().__init__(message)
        self.optimizer = optimizer


class NoValueError(UncubedError):
    """A program was run and gave no value; the message says why."""


class JitterWarning(UserWarning):
    """A diagonal was increased to keep a matrix positive definite."""


class LostValueWarning(UserWarning):
    """A decision's value did not come in time, and is no longer awaited."""


class FitWarning(UserWarning):
    """Hyper-parameters could not be fitted; the last ones are kept."""
