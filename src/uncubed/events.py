"""What an optimiser writes into its journal, as JSON values, and back.

| line | fields |
|---|---|
| header | kind, version, id, and the options of the optimiser |
| ask | id, a point, decision, generator: its state after the suggestion, enqueued |
| tell | id or a point, value, noise, nats, model_order |
| tell_many | columns or rows, values, noises |
| fail, cancel, enqueue | id or a point; reason |
| milestone | evaluations, mean, lower, upper |

A point is `params` in a space of named parameters, and `row` in a table.
"""

import itertools
import json
import math
import platform
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import numpy as np
import scipy

from uncubed import _state, journal
from uncubed._typing import Array
from uncubed.book import Book
from uncubed.budget import Decision
from uncubed.candidates import Candidates
from uncubed.dimensions import Categorical, Dimension, Float, Int, plain
from uncubed.errors import InvalidInputError, StateError
from uncubed.model import Lesson, Model
from uncubed.records import Failure, Milestone, Suggestion
from uncubed.space import Params, Space

Json = dict[str, Any]

KIND, VERSION = "uncubed study", 1
CHECKPOINT, CHECKPOINT_VERSION = "uncubed checkpoint", 2

_OBJECTS = {"acquisition": "acquisition", "budget": "given_budget", "kernel": "kernel"}
_NUMBERS = {
    "direction": "direction",
    "noise_variance": "noise_variance",
    "max_model_order": "max_model_order",
    "delta": "delta",
    "seed": "seed",
    "tolerance": "tolerance",
    "evaluations": "most_evaluations",
}

_DIMENSIONS: dict[str, type[Dimension]] = {"float": Float, "int": Int, "categorical": Categorical}


# Spaces


def encode_space(space: Space | Candidates) -> Json:
    """A space whole, a table by its digest: it may be a million rows."""
    if isinstance(space, Candidates):
        return {"type": "candidates", "rows": len(space), "digest": space.digest}
    return {name: _encode_parameter(name, parameter) for name, parameter in space.parameters.items()}


def decode_space(state: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters by name: tables with a type are dimensions, lists are choices, anything else is a constant.

    >>> decode_space({"lr": {"type": "float", "low": 1e-4, "high": 1, "log": True}, "act": ["relu", "tanh"], "seed": 3})
    {'lr': Float(low=0.0001, high=1.0, log=True), 'act': Categorical(choices=('relu', 'tanh')), 'seed': 3}
    """
    return {name: _decode_parameter(name, parameter) for name, parameter in state.items()}


def _encode_parameter(name: str, parameter: Any) -> Any:
    if isinstance(parameter, Categorical):
        return {"type": "categorical", "choices": [_encode_value(name, choice) for choice in parameter.choices]}
    for word, kind in _DIMENSIONS.items():
        if isinstance(parameter, kind):
            return {"type": word, **asdict(parameter)}  # type: ignore[call-overload]
    return _encode_value(name, parameter)


def _encode_value(name: str, value: Any) -> Any:
    value = plain(value)
    if value is None or isinstance(value, bool | int | str) or (isinstance(value, float) and math.isfinite(value)):
        return value
    raise StateError(f"{name}: expected text, numbers, truth values or None in a journal, got {value!r}")


def _decode_parameter(name: str, parameter: Any) -> Any:
    if isinstance(parameter, list):
        return Categorical(parameter)
    if not isinstance(parameter, Mapping):
        return parameter
    options = dict(parameter)
    word = options.pop("type", None)
    if word == "bool" and not options:
        return Categorical((False, True))
    if word not in _DIMENSIONS:
        raise InvalidInputError(f"{name}: expected a type of float, int, categorical or bool, got {word!r}")
    try:
        return _DIMENSIONS[word](**options)
    except TypeError as error:
        known = ", ".join(f.name for f in fields(_DIMENSIONS[word]))  # type: ignore[arg-type]
        raise InvalidInputError(f"{name}: expected a {word} by {known}, got {', '.join(options)}") from error


# Points


def encode_point(space: Space | Candidates, action: Array) -> Json:
    """Where an action is."""
    if isinstance(space, Candidates):
        return {"row": space.row(action)}
    params = space.decode(action)
    return {"params": {name: plain(params[name]) for name in space.dimensions}}


def decode_point(space: Space | Candidates, event: Json) -> Array:
    """The action of a line."""
    if isinstance(space, Candidates):
        action: Array = space.at(np.array([event["row"]]))[0]
        return action
    return space.encode(event["params"])


def encode_points(space: Space | Candidates, X: Array) -> Json:
    """Where many actions are, shape (n, width)."""
    points = [encode_point(space, action) for action in X]
    if isinstance(space, Candidates):
        return {"rows": [point["row"] for point in points]}
    return {"columns": {name: [point["params"][name] for point in points] for name in space.dimensions}}


def decode_points(space: Space | Candidates, event: Json) -> Array:
    """The actions of a line, shape (n, width)."""
    if isinstance(space, Candidates):
        return space.at(np.array(event["rows"]))
    names = list(event["columns"])
    rows = zip(*event["columns"].values(), strict=True)
    encoded = [space.encode(dict(zip(names, row, strict=True))) for row in rows]
    return np.array(encoded).reshape(len(encoded), space.width)


# Lines


def encode_ask(space: Space | Candidates, suggestion: Suggestion, rng: np.random.Generator, *, enqueued: bool) -> Json:
    """A suggestion, and the generator after it."""
    decision = {f.name: getattr(suggestion.decision, f.name) for f in fields(Decision) if f.name != "action"}
    point = encode_point(space, suggestion.decision.action)
    line = {"event": "ask", "id": suggestion.id, **point, "decision": decision}
    return {**line, "enqueued": enqueued, "generator": rng.bit_generator.state}


def encode_tell_many(space: Space | Candidates, X: Array, values: Array, noises: Array) -> Json:
    """Many values at once; noise that is not known is null."""
    known = [None if math.isnan(noise) else noise for noise in noises.tolist()]
    return {"event": "tell_many", **encode_points(space, X), "values": values.tolist(), "noises": known}


def _decode_suggestion(space: Space | Candidates, event: Json) -> Suggestion:
    action = decode_point(space, event).copy()
    action.flags.writeable = False
    return Suggestion(space.decode(action), event["id"], Decision(action=action, **event["decision"]))


# Headers


def header(opt: Any, identity: str) -> Json:
    """The first line: everything that the optimiser was given."""
    return {
        "kind": KIND,
        "version": VERSION,
        "id": identity,
        "versions": {"python": platform.python_version(), "numpy": np.__version__, "scipy": scipy.__version__},
        "space": encode_space(opt.space),
        "constraints": len(opt.constraints),
        **{name: _state.encode(getattr(opt, attribute)) for name, attribute in _OBJECTS.items()},
        **{name: getattr(opt, attribute) for name, attribute in _NUMBERS.items()},
    }


def check_new(path: Path) -> None:
    """Raise if a file has something else in it than a study, or the torn first line of one."""
    if not path.is_file():
        return
    start = json.dumps({"kind": KIND}, separators=(",", ":")).encode()[:-1]
    with path.open("rb") as file:
        head = file.read(len(start))
    if not start.startswith(head):
        raise StateError(f"{path}: expected a new file, got one with something else in it")


def read_header(path: Path) -> Json:
    """The first line.

    Raises:
        StateError: it is not that of a study, or of a version this library does not know.
    """
    first = next(journal.events(path), None)
    if first is None or first.get("kind") != KIND:
        raise StateError(f"{path}: expected the journal of a study, got something else")
    if first.get("version") != VERSION:
        raise StateError(f"{path}: expected version {VERSION}, got {first.get('version')!r}")
    return first


def options(header: Json, space: Candidates | None, constraints: Sequence[Callable[[Params], bool]]) -> dict[str, Any]:
    """What to make the optimiser of."""
    if len(constraints) != header["constraints"]:
        raise StateError(f"constraints: expected the {header['constraints']} of before, got {len(constraints)}")
    return {
        "space": _same_space(header["space"], space),
        "constraints": constraints,
        **{name: _state.decode(header[name]) for name in _OBJECTS},
        **{name: header[name] for name in _NUMBERS},
    }


def _same_space(state: Json, given: Candidates | None) -> dict[str, Any] | Candidates:
    is_table = state.get("type") == "candidates"
    if given is None and not is_table:
        return decode_space(state)
    if given is None or encode_space(given) != state:
        what = f"the table of {state['rows']} rows" if is_table else "none: the journal has the space"
        got = "another" if given is not None else "none"
        raise StateError(f"space: expected {what} that the study was begun with, got {got}")
    return given


# Reading it all


def replay(path: Path, header: Json, book: Book, space: Space | Candidates, rng: np.random.Generator) -> int:
    """Let a book take down all that happened, from the last saved state on as it was learned then; the lines read."""
    lines = journal.count(path) - 1
    checkpoint = _read_checkpoint(path, header["id"], lines)
    known = checkpoint["events"] if checkpoint else 0
    book.learns = not checkpoint
    for number, event in enumerate(_after_header(path), 1):
        try:
            _replay_one(event, book, space, rng)
        except (KeyError, TypeError, ValueError) as error:
            raise StateError(f"{path}, line {number + 1}: expected an event of this study, got {error}") from error
        if number == known and checkpoint:
            book.model.restore(checkpoint["model"])
            book.learns = True
    return lines


def _replay_one(event: Json, book: Book, space: Space | Candidates, rng: np.random.Generator) -> None:
    what = event["event"]
    if what == "milestone":
        book.milestones.append(Milestone(**{name: event[name] for name in Milestone._fields}))
    elif what == "ask":
        book.ask(_decode_suggestion(space, event), enqueued=event["enqueued"])
        rng.bit_generator.state = event["generator"]
    elif what == "enqueue":
        book.queue.append(decode_point(space, event))
    elif what == "cancel":
        book.await_no_more(event["id"])
    elif what == "tell_many":
        noises = np.array([math.nan if noise is None else noise for noise in event["noises"]], float)
        book.tell_many(decode_points(space, event), np.array(event["values"], float), noises)
    else:
        _replay_answer(event, book, space)


def _replay_answer(event: Json, book: Book, space: Space | Candidates) -> None:
    id = event.get("id")
    action = decode_point(space, event) if id is None else book.pending[id].decision.action
    if event["event"] == "fail":
        book.fail(id, action, Failure(space.decode(action), event["reason"], book.evaluations + 1))
        return
    lesson = Lesson(kept=False, nats=event["nats"], model_order=event["model_order"], clipped=False)
    book.tell(id, action, event["value"], event["noise"], lesson)


def _after_header(path: Path) -> Iterator[Json]:
    return itertools.islice(journal.events(path), 1, None)


# Checkpoints


def write_checkpoint(path: Path, identity: str, events: int, model: Model) -> None:
    """Save what the model knows after so many lines, beside the journal: without it all would be learned again."""
    _state.write(
        _checkpoint(path),
        {"kind": CHECKPOINT, "version": CHECKPOINT_VERSION, "id": identity, "events": events, "model": model.state()},
    )


def _read_checkpoint(path: Path, identity: str, lines: int) -> Json | None:
    """The last one saved of this study; None if there is none that can be used."""
    if not _checkpoint(path).exists():
        return None
    try:
        state = _state.read(_checkpoint(path), CHECKPOINT, CHECKPOINT_VERSION)
    except StateError:
        return None  # it only saves time
    return state if state["id"] == identity and state["events"] <= lines else None


def _checkpoint(path: Path) -> Path:
    file = path.resolve()
    return file.with_name(f"{file.name}.checkpoint")
