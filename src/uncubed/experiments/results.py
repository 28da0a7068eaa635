"""Rows on disk: appended as they come, put in order at the end, one writer at a time."""

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import IO, Self, final

from uncubed.errors import StateError
from uncubed.experiments.runner import Row, key_of

try:
    import fcntl
except ImportError:  # Windows: no lock
    fcntl = None  # type: ignore[assignment]

FILE = "results.jsonl"


@final
class Results:
    """The rows of a directory, open for writing.

    A line torn by a crash is dropped when the file is opened, and its run is made again.

    Args:
        directory: made if it is not there.

    Raises:
        StateError: another process writes there, or a line is not a row.
    """

    def __init__(self, directory: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self.path = directory / FILE
        self._lock = _locked(directory / ".lock")
        try:
            self.rows = {key_of(row): row for row in read(self.path)}
            self._write_all()
            self._file = self.path.open("a", encoding="utf-8")
        except BaseException:
            self._lock.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self._file.close()
        finally:
            self._lock.close()

    def append(self, row: Row) -> None:
        """Keep a row, on disk before this returns."""
        self._file.write(_line(row))
        self._file.flush()
        os.fsync(self._file.fileno())
        self.rows[key_of(row)] = row

    def settle(self) -> None:
        """Write all rows in an order that does not depend on when they came, regrets from the best value seen."""
        self._file.close()
        measure_from_best_seen(self.rows.values())
        self._write_all()
        self._file = self.path.open("a", encoding="utf-8")

    def _write_all(self) -> None:
        if not self.rows and not self.path.exists():
            return
        fresh = self.path.with_suffix(".new")
        with fresh.open("w", encoding="utf-8") as file:
            file.writelines(_line(self.rows[key]) for key in sorted(self.rows))
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(self.path)


def read(path: Path) -> list[Row]:
    """The whole rows of a file; none if there is no file. A torn last line is left out."""
    if not path.exists():
        return []
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines(keepends=True)
    rows = [_parse(path, number, line) for number, line in enumerate(lines, 1) if line.endswith("\n") and line.strip()]
    return list(rows)


def measure_from_best_seen(rows: Iterable[Row]) -> None:
    """Where the optimum is not known, measure regret from the best value seen in any run of the setting."""
    unknown = [row for row in rows if "best_seen" in row]
    best: dict[tuple[str, int], float] = {}
    for row in unknown:
        where = (row["setting"], row["epochs"])
        best[where] = max(best.get(where, 0.0), row["best_seen"])
    for row in unknown:
        _measure_from(row, best[row["setting"], row["epochs"]])


def _measure_from(row: Row, optimum: float) -> None:
    excess = row["optimum"] - optimum
    row["optimum"] = optimum
    row["mean_average_regret"] = _less(row["mean_average_regret"], excess)
    row["simple_regret"] = _less(row["simple_regret"], excess)
    curve = row["curve"]
    regrets = zip(curve["round"], curve["cumulative_regret"], strict=True)
    curve["cumulative_regret"] = [_less(regret, excess * t) for t, regret in regrets]


def _less(value: float, excess: float) -> float:
    """On a grid of 1e-6, where best values lie too: it does not matter how often rows were settled on the way."""
    return round(round(value, 6) - excess, 6)


def group(rows: Iterable[Row]) -> dict[tuple[str, str, str], list[Row]]:
    """Rows by setting, acquisition and method, in the order of their seeds."""
    groups: dict[tuple[str, str, str], list[Row]] = {}
    for row in sorted(rows, key=key_of):
        groups.setdefault((row["setting"], row["acquisition"], row["method"]), []).append(row)
    return groups


def _parse(path: Path, number: int, line: str) -> Row:
    try:
        row = json.loads(line)
        if [type(part) for part in key_of(row)] != [str, str, str, int, str]:
            raise TypeError("key")
    except (ValueError, KeyError, TypeError) as error:
        raise StateError(f"{path}, line {number}: expected a row of results, got {line[:60]!r}") from error
    return dict(row)


def _line(row: Row) -> str:
    return json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n"


def _locked(path: Path) -> IO[str]:
    file = path.open("w", encoding="utf-8")
    try:
        if fcntl is not None:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        file.close()
        raise StateError(f"{path.parent}: expected to be its only writer, but another process writes there") from error
    return file
