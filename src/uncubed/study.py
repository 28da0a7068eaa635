"""The TOML file of a study: what `uncubed run` and `uncubed ask` read.

```toml
direction = "minimize"
evaluations = 100               # and seconds, tolerance: when to stop
jobs = 4                        # programs at once; 1 unless given
timeout = 600                   # seconds for one program
seed = 0
value = "last line"             # or "json:loss", a key of the last JSON line; or "file:out-{id}.txt"
journal = "study.jsonl"         # beside this file, and named after it, unless given
logs = "study.logs"             # likewise

[space]
lr = { type = "float", low = 1e-5, high = 1, log = true }
layers = { type = "int", low = 1, high = 8 }
act = ["relu", "tanh"]
bias = { type = "bool" }
epochs = 10                     # a constant
```
"""

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

from uncubed import _validation as check
from uncubed.errors import InvalidInputError
from uncubed.events import decode_space
from uncubed.run import Options
from uncubed.space import check_names


@final
@dataclass(frozen=True)
class Source:
    """Where the value of an evaluation is: its last line, a key of its last JSON line, or a file.

    Attributes:
        kind: "last line", "json" or "file".
        name: the key, or the file's name, in which {id} and the parameters' names stand for their values.
    """

    kind: str
    name: str


@final
@dataclass(frozen=True)
class Study:
    """What is searched, and how.

    Attributes:
        space: parameters by name.
        direction: "maximize" or "minimize".
        journal: the study's file.
        logs: directory of what the programs say.
        evaluations: most of them.
        seconds: after which none is started.
        tolerance: certified gap at which it is done.
        jobs: programs at once.
        timeout: seconds for one program.
        seed: of everything random.
        value: where the value of a program is.
    """

    space: Mapping[str, Any]
    direction: str
    journal: Path
    logs: Path
    evaluations: int | None = None
    seconds: float | None = None
    tolerance: float | None = None
    jobs: int = 1
    timeout: float | None = None
    seed: int | None = None
    value: Source = Source("last line", "")

    @property
    def options(self) -> Options:
        """Of its optimiser."""
        return {"tolerance": self.tolerance, "seed": self.seed}


def load(path: Path) -> Study:
    """Read a study.

    Raises:
        InvalidInputError: it cannot be understood; the message has the file's name.
    """
    try:
        return _study(path, tomllib.loads(path.read_text(encoding="utf-8")))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidInputError(f"{path}: expected TOML, got an error: {error}") from error
    except InvalidInputError as error:
        raise InvalidInputError(f"{path}: {error}") from error


def source(name: str, text: Any) -> Source:
    """Of "last line", "json:KEY" or "file:PATH"."""
    if text == "last line":
        return Source(text, "")
    kind, _, rest = text.partition(":") if isinstance(text, str) else ("", "", "")
    if kind not in ("json", "file") or not rest:
        raise InvalidInputError(f"{name}: expected 'last line', 'json:KEY' or 'file:PATH', got {text!r}")
    return Source(kind, rest)


_CHECKS: dict[str, Callable[[str, Any], Any]] = {
    "evaluations": check.count,
    "seconds": check.positive,
    "tolerance": check.positive,
    "jobs": check.count,
    "timeout": check.positive,
    "seed": lambda name, value: check.count(name, value, least=0),
    "value": source,
}


def _study(path: Path, table: dict[str, Any]) -> Study:
    check_names(
        "study", table, known=["space", "direction", *_CHECKS, "journal", "logs"], needed=["space", "direction"]
    )
    if table["direction"] not in ("maximize", "minimize"):
        raise InvalidInputError(f"direction: expected 'maximize' or 'minimize', got {table['direction']!r}")
    return Study(
        space=_space(check.kind("space", table["space"], dict)),
        direction=table["direction"],
        journal=_beside(path, table, "journal", ".jsonl"),
        logs=_beside(path, table, "logs", ".logs"),
        **{name: checked(name, table[name]) for name, checked in _CHECKS.items() if name in table},
    )


def _space(table: dict[str, Any]) -> dict[str, Any]:
    space: dict[str, Any] = {}
    for name, parameter in table.items():
        try:
            space |= decode_space({name: parameter})
        except InvalidInputError as error:
            text = str(error).removeprefix(f"{name}: ")
            raise InvalidInputError(f"{name}: {text}") from error
    return space


def _beside(path: Path, table: dict[str, Any], name: str, suffix: str) -> Path:
    given: str = check.kind(name, table.get(name, path.with_suffix(suffix).name), str)
    return path.parent / given
