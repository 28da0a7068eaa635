"""The near end of a worker: calls over a pipe, until a time limit."""

import json
import os
import subprocess
import tempfile
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any, Self, final

from benchmarks.league.environments import ROOT

ONE_THREAD = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL", "NUMEXPR")}


class CutError(Exception):
    """The time was up."""


class FailedError(Exception):
    """The worker died; the message is the last it said."""


@final
class Pipe:
    """A worker process of a system; it is ended on the way out, whatever happens.

    Args:
        python: the interpreter of the system's environment.
        adapter: module and class.
        limit: seconds after which it is killed.
    """

    def __init__(self, python: Path, adapter: str, limit: float) -> None:
        self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115  as long as the process
        self._process = subprocess.Popen(
            [str(python), "-m", "benchmarks.league.worker", adapter],
            cwd=ROOT,
            env=os.environ | ONE_THREAD | {"PYTHONWARNINGS": "ignore"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
        )
        self._is_cut = threading.Event()
        self._timer = threading.Timer(limit, self._cut)
        self._timer.daemon = True
        self._timer.start()

    def call(self, verb: str, *about: Any) -> dict[str, Any]:
        """The worker's answer.

        Raises:
            CutError: the time was up before it came.
            FailedError: the worker died of something else.
            KeyboardInterrupt: somebody interrupted us both, which says nothing of the system.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps([verb, *about]) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if line:
            answer: dict[str, Any] = json.loads(line)
            return answer
        self._process.wait()
        if self._is_cut.is_set():
            raise CutError
        words = self._last_words()
        raise KeyboardInterrupt if words == "KeyboardInterrupt" else FailedError(words)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()
        self._process.kill()
        for stream in filter(None, (self._process.stdin, self._process.stdout)):
            with suppress(BrokenPipeError):  # what was not sent is not missed
                stream.close()
        self._process.wait()
        self._errors.close()

    def _cut(self) -> None:
        self._is_cut.set()
        self._process.kill()

    def _last_words(self) -> str:
        self._errors.seek(0)
        lines = self._errors.read().strip().splitlines()
        return lines[-1] if lines else f"exit status {self._process.returncode}"
