"""A program that is run for the value of some parameters."""

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from time import monotonic
from typing import IO, Any, final

from uncubed.commands import template
from uncubed.errors import NoValueError
from uncubed.records import Suggestion
from uncubed.study import Source

GRACE = 5.0
"""Seconds between the request to end and the end by force."""

_TAIL = 2**20  # bytes at the end of the output in which the value is looked for


@final
class Program:
    """Runs a command line, without a shell; may be called by several threads at once.

    The parameters are also in the environment: UNCUBED_PARAMS, as JSON, and UNCUBED_ID.

    Args:
        words: the command line, with {name} for the values of parameters and {id} for the suggestion's.
        source: where the value is.
        logs: directory of the output, a file per suggestion.
        timeout: seconds after which it is ended, with all that it started.
    """

    def __init__(self, words: Sequence[str], *, source: Source, logs: Path, timeout: float | None) -> None:
        self._words, self._source, self._logs, self._timeout = list(words), source, logs, timeout
        self._running: set[subprocess.Popen[bytes]] = set()
        self._stopped = False
        self._lock = threading.Lock()
        logs.mkdir(parents=True, exist_ok=True)

    def command(self, params: Mapping[str, Any], id: int) -> list[str]:
        """The words that are run."""
        return [template.fill(word, {"id": id, **params}) for word in self._words]

    def evaluate(self, suggestion: Suggestion) -> float:
        """Run it; its value, which may be NaN.

        Raises:
            NoValueError: it gave none.
        """
        params, id = suggestion.params, suggestion.id
        words = self.command(params, id)
        file = Path(template.fill(self._source.name, {"id": id, **params})) if self._source.kind == "file" else None
        before = _written(file)
        log, errors = self._logs / f"{id:06d}.log", self._logs / f"{id:06d}.err"
        start = monotonic()
        for earlier in (log, errors):  # of a run that was interrupted
            earlier.unlink(missing_ok=True)
        with log.open("a+b") as out, errors.open("a+b") as err:
            out.write(f"$ {shlex.join(words)}\n".encode())
            out.flush()
            said = out.tell()
            environment = {**os.environ, "UNCUBED_PARAMS": json.dumps(params), "UNCUBED_ID": str(id)}
            ended = self._run(words, environment, out, err)
            output, last_error = _tail(out, said), _last_line(_tail(err, 0))
            _append(out, err, f"# {ended or 'exit code 0'}, {monotonic() - start:.1f} s\n")
        errors.unlink()
        if ended is not None:
            raise NoValueError(": ".join(filter(None, [ended, last_error])))
        return self._value(output, file, before)

    def stop(self) -> None:
        """End what runs, with all that it started, and start nothing more."""
        with self._lock:
            self._stopped = True
            running = list(self._running)
        for process in running:
            _signal(process)
        for process in running:
            _end(process)

    def _run(self, words: list[str], environment: dict[str, str], out: IO[bytes], err: IO[bytes]) -> str | None:
        """What went wrong, if anything."""
        with self._lock:
            if self._stopped:
                return "stopped"
            try:
                process = subprocess.Popen(
                    words, stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=environment, start_new_session=True
                )
            except (OSError, ValueError) as error:
                return str(error)
            self._running.add(process)
        try:
            code = process.wait(self._timeout)
        except subprocess.TimeoutExpired:
            _signal(process)
            _end(process)
            return f"time-out: no end within {self._timeout:g} seconds"
        finally:
            with self._lock:
                self._running.discard(process)
        return None if code == 0 else f"exit code {code}" if code > 0 else f"killed by {_signal_name(-code)}"

    def _value(self, output: str, file: Path | None, before: int | None) -> float:
        if file is not None:
            if _written(file) in (None, before):
                raise NoValueError(f"no value: expected {file} to be written, got nothing new")
            return _number(
                _last_line(file.read_text(encoding="utf-8", errors="replace")), f"on the last line of {file}"
            )
        if self._source.kind == "json":
            return _of_json(output, self._source.name)
        return _number(_last_line(output), "on the last line")


def _number(text: str, where: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise NoValueError(f"no value: expected a number {where}, got {text[:80]!r}") from None


def _of_json(output: str, key: str) -> float:
    """The value of a key of the last line that is a JSON object."""
    for line in reversed(output.splitlines()):
        with suppress(json.JSONDecodeError):
            found = json.loads(line)
            if isinstance(found, dict):
                value = found.get(key)
                if isinstance(value, bool) or not isinstance(value, int | float):
                    raise NoValueError(f"no value: expected a number as {key!r} of the last JSON line, got {value!r}")
                return float(value)
    raise NoValueError("no value: expected a line that is a JSON object, got none")


def _tail(file: IO[bytes], start: int) -> str:
    """The end of what was written after some place."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(start, size - _TAIL))
    return file.read().decode(errors="replace")


def _last_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1].strip() if lines else ""


def _append(out: IO[bytes], err: IO[bytes], last: str) -> None:
    """What it said on its standard error goes behind what it said."""
    if err.seek(0, os.SEEK_END):
        err.seek(0)
        out.write(b"# standard error:\n")
        shutil.copyfileobj(err, out)
    out.write(last.encode())


def _written(file: Path | None) -> int | None:
    """When a file was, in nanoseconds; None if it is not there."""
    try:
        return None if file is None else file.stat().st_mtime_ns
    except OSError:
        return None


def _end(process: "subprocess.Popen[bytes]") -> None:
    """Wait for what was asked to end, then force it and what it started."""
    with suppress(subprocess.TimeoutExpired):
        process.wait(GRACE)
    _signal(process, force=True)
    process.wait()


def _signal(process: "subprocess.Popen[bytes]", *, force: bool = False) -> None:
    """To a process and all that it started: it leads a group of its own, where there are such."""
    with suppress(ProcessLookupError, PermissionError):
        if sys.platform == "win32":
            process.kill()
        else:
            os.killpg(process.pid, signal.SIGKILL if force else signal.SIGTERM)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
