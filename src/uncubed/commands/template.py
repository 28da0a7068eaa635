"""Command lines with {name} for the values of parameters."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from uncubed.errors import InvalidInputError

_BRACES = re.compile(r"\{\{|\}\}|\{(\w[\w .-]*)\}")  # what looks like no name, as {"a": 1}, is left alone


def names(text: str) -> list[str]:
    """The names in braces; {{ and }} are braces themselves."""
    return [found[1] for found in _BRACES.finditer(text) if found[1]]


def check(what: str, texts: Sequence[str], *, known: Iterable[str], needed: Iterable[str]) -> None:
    """Raise unless each name is known, and all are there that are needed."""
    known, used = list(known), [name for text in texts for name in names(text)]
    unknown = [name for name in used if name not in known]
    if unknown:
        raise InvalidInputError(
            f"{what}: expected {_braced(known)}, got {_braced(unknown[:1])}; a brace itself is written twice: {{{{"
        )
    missing = [name for name in needed if name not in used]
    if missing:
        raise InvalidInputError(f"{what}: expected all parameters in it, got no {_braced(missing)}")


def fill(text: str, values: Mapping[str, Any]) -> str:
    """The text with values for names."""
    return _BRACES.sub(lambda found: _text(values[found[1]]) if found[1] else found[0][0], text)


def _text(value: Any) -> str:
    """Text as it is, anything else as JSON: 0.001, 3, true."""
    return value if isinstance(value, str) else json.dumps(value)


def _braced(these: Sequence[str]) -> str:
    return ", ".join(f"{{{name}}}" for name in these)
