"""Objects on disk: the one table that joins names in JSON to classes, and a write that is whole or not at all."""

import json
import os
import uuid
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from uncubed import _validation as check
from uncubed import acquisition, budget, kernels, schedules
from uncubed._typing import Array
from uncubed.actions import Box, Finite
from uncubed.beliefs import ExactBelief, ProjectedBelief, SketchedBelief
from uncubed.budget import Decision
from uncubed.errors import StateError
from uncubed.rippled import Rippled

_CLASSES: dict[str, type] = {
    c.__name__: c
    for c in (
        kernels.SquaredExponential,
        kernels.Matern12,
        kernels.Matern32,
        kernels.Matern52,
        Rippled,
        ExactBelief,
        ProjectedBelief,
        SketchedBelief,
        acquisition.UpperConfidenceBound,
        acquisition.ExpectedImprovement,
        acquisition.MostProbableImprovement,
        acquisition.ProbabilityOfImprovement,
        acquisition.PureExploration,
        acquisition.PureExploitation,
        acquisition.ThompsonSampling,
        schedules.TheoreticalBeta,
        schedules.ScaledBeta,
        schedules.ConstantBeta,
        schedules.SketchedBeta,
        budget.KeepAll,
        budget.Constant,
        budget.ForHorizon,
        budget.Absolute,
        budget.Resolution,
        budget.Gap,
    )
}


Class = TypeVar("Class", bound=type)


def register(cls: Class) -> Class:
    """Let a class of one's own (a kernel, a frozen dataclass of an acquisition or budget) be saved; a decorator."""
    if cls.__module__ != _CLASSES.setdefault(cls.__name__, cls).__module__:
        raise StateError(f"{cls.__name__}: expected a name that is not taken, got that of {_CLASSES[cls.__name__]}")
    _CLASSES[cls.__name__] = cls
    return cls


def encode(value: Any) -> Any:
    """A kernel or a frozen dataclass as JSON values."""
    if isinstance(value, Rippled):
        body = {"trend": encode(value.trend), "share": value.share, "ratio": value.ratio}
    elif isinstance(value, kernels.Kernel):
        scale = value.length_scale.tolist()
        body = {"length_scale": scale[0] if value.isotropic else scale, "variance": value.variance}
    elif is_dataclass(value) and not isinstance(value, type):
        body = {f.name: encode(getattr(value, f.name)) for f in fields(value)}
    elif value is None or isinstance(value, bool | int | float | str):
        return value
    else:
        raise StateError(f"{type(value).__name__}: expected a kernel or a frozen dataclass, which can be saved")
    return {"type": name_of(value), **body}


def decode(state: Any) -> Any:
    """What `encode` was given."""
    if not isinstance(state, dict):
        return state
    arguments = {key: decode(value) for key, value in state.items() if key != "type"}
    return class_of(state["type"])(**arguments)


def name_of(value: object) -> str:
    """The name of a value's class in the table."""
    name = type(value).__name__
    if _CLASSES.get(name) is not type(value):
        raise StateError(f"{name}: expected one of {', '.join(_CLASSES)}; add a class of your own with register()")
    return name


def class_of(name: str) -> Any:
    """The class of this name."""
    if name not in _CLASSES:
        raise StateError(f"type: expected one of {', '.join(_CLASSES)}, got {name!r}")
    return _CLASSES[name]


def encode_actions(actions: Finite | Box) -> dict[str, Any]:
    """A box whole, a finite set by its shape and digest: its size must not count."""
    if isinstance(actions, Finite):
        return {"type": "Finite", "shape": list(actions.X.shape), "digest": actions.digest}
    bounds = {"lower": actions.lower.tolist(), "upper": actions.upper.tolist()}
    return {"type": "Box", **bounds, "pool": actions.pool, "starts": actions.starts, "steps": actions.steps}


def decode_actions(state: dict[str, Any], actions: Finite | Box | None) -> Finite | Box:
    """The action set that was saved: the box, or the finite set given, if it is the same."""
    if state["type"] == "Box" and actions is None:
        return Box(state["lower"], state["upper"], pool=state["pool"], starts=state["starts"], steps=state["steps"])
    if actions is None:
        raise StateError(f"actions: expected the Finite set of shape {tuple(state['shape'])} that was used, got None")
    if encode_actions(check.kind("actions", actions, Finite, Box)) != state:
        raise StateError(f"actions: expected the {state['type']} that was saved, got another: {actions!r}")
    return actions


def encode_decision(decision: Decision) -> dict[str, Any]:
    """As JSON values."""
    values = {f.name: getattr(decision, f.name) for f in fields(decision)}
    return {**values, "action": decision.action.tolist()}


def decode_decision(state: dict[str, Any]) -> Decision:
    """The decision that was saved."""
    return Decision(**{**state, "action": read_only(state["action"])})


def read_only(values: list[float]) -> Array:
    """An action as a bandit gives it."""
    array = np.array(values, float)
    array.flags.writeable = False
    return array


def write(path: Path, state: dict[str, Any]) -> None:
    """Write JSON so that the file is the old one or the new one, whatever happens in between."""
    text = json.dumps(state, allow_nan=False)
    partial = path.with_name(f".{path.name}.{uuid.uuid4().hex}.tmp")
    try:
        with partial.open("x", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


def _no_number(text: str) -> float:
    raise StateError(f"expected finite numbers in a saved state, got {text}")


def read(path: Path, kind: str, version: int) -> dict[str, Any]:
    """Read a state of this kind and version.

    Raises:
        StateError: it is not JSON, of another kind, or of a version this library does not know.
    """
    try:
        state = json.loads(path.read_text(encoding="utf-8"), parse_constant=_no_number)
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise StateError(f"{path}: expected JSON, got something else ({error})") from error
    found = state.get("kind") if isinstance(state, dict) else None
    if found != kind:
        raise StateError(f"{path}: expected a saved {kind}, got {found!r}")
    if state.get("version") != version:
        raise StateError(f"{path}: expected version {version}, got {state.get('version')!r}")
    return dict(state)
