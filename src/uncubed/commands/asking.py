"""`uncubed ask` and `uncubed tell`, for scripts in any language: each opens the study, acts and closes it."""

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from uncubed.dimensions import plain
from uncubed.errors import InvalidInputError, StateError, UnknownDecisionError
from uncubed.optimizer import Optimizer
from uncubed.records import Suggestion
from uncubed.run import open_study
from uncubed.space import Params, Space
from uncubed.study import load

PATIENCE = 30.0
"""Seconds to wait for another process that writes the study."""


def ask(chosen: argparse.Namespace) -> int:
    """Print suggestions as JSON lines; the exit code."""
    with _opened(chosen.journal, chosen.study) as optimizer:
        fixed = dict(_fixed(optimizer, text) for text in chosen.fixed)
        for suggestion in optimizer.ask(chosen.n, fixed=fixed):
            params = {name: plain(value) for name, value in suggestion.params.items()}
            informative = suggestion.decision.informative
            print(json.dumps({"id": suggestion.id, "params": params, "informative": informative}))
    return 0


def tell(chosen: argparse.Namespace) -> int:
    """Say what an evaluation gave, and print what it taught as JSON; the exit code."""
    if (chosen.value is None) == (chosen.fail is None):
        raise InvalidInputError("tell: expected a value or --fail REASON, got " + ("both", "none")[chosen.fail is None])
    with _opened(chosen.journal, None) as optimizer:
        what = _what(optimizer, chosen.what)
        if chosen.fail is not None:
            optimizer.fail(what, chosen.fail)
            print(json.dumps({"failures": len(optimizer.failures)}))
        else:
            print(json.dumps(optimizer.tell(what, chosen.value)._asdict()))
    return 0


def _opened(journal: Path, study: Path | None) -> Optimizer:
    if study is None:
        return _patiently(lambda: Optimizer.resume(journal))
    read = load(study)
    return _patiently(lambda: open_study(read.space, read.direction, journal, **read.options))


def _patiently(opened: Callable[[], Optimizer]) -> Optimizer:
    """Scripts may tell at the same time: they take turns."""
    until = time.monotonic() + PATIENCE
    while True:
        try:
            return opened()
        except StateError as error:
            busy = isinstance(error.__cause__, BlockingIOError | PermissionError)
            if not busy or time.monotonic() >= until:
                raise
        time.sleep(0.02)


def _what(optimizer: Optimizer, text: str) -> Suggestion | Params:
    """A pending suggestion by its id, or a point by its params as JSON."""
    if text.isdecimal():
        pending = optimizer.pending
        if int(text) not in pending:
            awaited = ", ".join(map(str, pending)) or "none"
            raise UnknownDecisionError(f"id: expected one whose value is awaited ({awaited}), got {text}")
        return pending[int(text)]
    try:
        params = json.loads(text)
    except json.JSONDecodeError:
        params = None
    if not isinstance(params, dict):
        raise InvalidInputError(f"what: expected an id, or params as a JSON object, got {text!r}")
    return params


def _fixed(optimizer: Optimizer, text: str) -> tuple[str, Any]:
    """NAME=VALUE, with a value in JSON, or text that is one of the parameter's choices."""
    name, equals, value = text.partition("=")
    if not equals:
        raise InvalidInputError(f"fixed: expected NAME=VALUE, got {text!r}")
    space = optimizer.space
    if isinstance(space, Space) and name in space.dimensions:
        for candidate in _readings(value):
            try:
                space.dimensions[name].encode(name, candidate)
            except InvalidInputError:
                continue
            return name, candidate
    return name, value


def _readings(text: str) -> list[Any]:
    try:
        return [json.loads(text), text]
    except json.JSONDecodeError:
        return [text]
