"""A file that is only appended to: one JSON object a line, one writer, nothing acknowledged that is not on disk."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, Self, final

from uncubed.errors import StateError

try:
    import fcntl
except ImportError:  # Windows: no lock between processes
    fcntl = None  # type: ignore[assignment]

Event = dict[str, Any]

_open: set[Path] = set()  # locks of fcntl are between processes: within this one, journals that are open are known here


@final
class Journal:
    """A journal open for writing.

    A last line without its end, torn by a crash, is removed when the file is opened: what it told was never
    acknowledged. A write that fails leaves the file as it was.

    Args:
        path: the file; made if it is not there.

    Raises:
        StateError: another process, or another object of this one, writes it.
    """

    def __init__(self, path: Path) -> None:
        self.path, self._owner = path.resolve(), os.getpid()
        self._lock = _locked(self.path)
        try:
            self._file = self.path.open("ab", buffering=0)
            self._end = _whole(self.path)
            self._file.truncate(self._end)
            _sync_directory(self.path)
        except BaseException:
            self._unlock()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def closed(self) -> bool:
        """Whether nothing more can be written."""
        return self._file.closed

    @property
    def is_new(self) -> bool:
        """Whether nothing was written yet."""
        return self._end == 0

    def append(self, event: Event, *, durable: bool = True) -> None:
        """Write one line, whole or not at all; it is on disk when this returns, unless that is not asked for.

        Raises:
            OSError: it could not be written, and the file is as it was.
        """
        if self.closed:
            raise StateError(f"{self.path}: expected an open journal, got a closed one")
        if os.getpid() != self._owner:
            raise StateError(f"{self.path}: expected the process that opened it, got a copy of it made by fork")
        text = json.dumps(event, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        line = text.encode(errors="backslashreplace") + b"\n"  # file names may have halves of characters
        try:
            self._write(line)
            if durable:
                os.fsync(self._file.fileno())
                self._check_there()
        except BaseException:
            self._file.truncate(self._end)
            raise
        self._end += len(line)

    def close(self) -> None:
        """Put everything on disk and let others write; more than once is fine."""
        if self.closed:
            return
        try:
            os.fsync(self._file.fileno())
            self._file.close()
        finally:
            self._unlock()

    def _check_there(self) -> None:
        if not os.fstat(self._file.fileno()).st_nlink:
            raise StateError(f"{self.path}: expected the file that was opened, got none: it was deleted")

    def _write(self, line: bytes) -> None:
        rest = memoryview(line)
        while rest:
            rest = rest[self._file.write(rest) :]

    def _unlock(self) -> None:
        self._lock.close()
        _open.discard(self.path)


def events(path: Path) -> Iterator[Event]:
    """The whole lines of a journal, also while another process writes it.

    Raises:
        StateError: a line is not a JSON object.
    """
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if not line.endswith(b"\n"):
                return
            yield _parsed(path, number, line)


def count(path: Path) -> int:
    """Whole lines of a journal."""
    with path.open("rb") as file:
        return sum(line.endswith(b"\n") for line in file)


def _parsed(path: Path, number: int, line: bytes) -> Event:
    try:
        event = json.loads(line)
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise StateError(f"{path}, line {number}: expected JSON, got {line[:60]!r}") from error
    if not isinstance(event, dict):
        raise StateError(f"{path}, line {number}: expected a JSON object, got {line[:60]!r}")
    return event


def _whole(path: Path) -> int:
    """Bytes up to the end of the last whole line."""
    with path.open("rb") as file:
        end = file.seek(0, os.SEEK_END)
        while end:
            start = max(0, end - 65536)
            file.seek(start)
            newline = file.read(end - start).rfind(b"\n")
            if newline >= 0:
                return start + newline + 1
            end = start
    return 0


def _locked(path: Path) -> IO[str]:
    busy = f"{path}: expected to be its only writer, but it is open for writing already"
    if not path.parent.is_dir():
        raise StateError(f"{path}: expected a directory that exists, got {path.parent}")
    if path in _open:
        raise StateError(f"{busy}, in this process; close() it first")
    # A file of its own: such a lock is released when its process closes the file in any place, reading included.
    file = path.with_name(f".{path.name}.lock").open("a", encoding="utf-8")
    try:
        if fcntl is not None:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError) as error:
        file.close()
        raise StateError(f"{busy}, by another process") from error
    _open.add(path)
    return file


def _sync_directory(path: Path) -> None:
    """A file is on disk only when its name is."""
    if os.name == "nt":
        return
    directory = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
