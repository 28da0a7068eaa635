"""One system in its own process and environment; it asks and is told over a pipe, and measures itself.

    python -m benchmarks.league.worker benchmarks.league.systems.random:Random

Each line of the input is a JSON list, a verb and what it is about; each line of the output is the answer, with the
seconds and the CPU seconds it took and the peak memory in megabytes. What a system prints goes elsewhere: the output is
the pipe's alone.
"""

import json
import os
import resource
import sys
import time
from collections.abc import Callable
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import Any, TextIO, final

from benchmarks.league.protocol import Space, System


@final
class Worker:
    """Answers for a system; its methods are the verbs."""

    def __init__(self, adapter: str) -> None:
        module, _, name = adapter.partition(":")
        self._kind: type[System] = getattr(import_module(module), name)
        self._system: System | None = None
        self.verbs: dict[str, Callable[..., Any]] = {
            "start": self.start,
            "ask": lambda: self.system.ask(),
            "tell": lambda point, value: self.system.tell(point, value),
            "load": lambda points, values: self.system.load(points, values),
            "recommend": lambda: self.system.recommend(),
        }

    @property
    def system(self) -> System:
        """Once it has started."""
        if self._system is None:
            raise ValueError("verb: expected start first, got another")
        return self._system

    def start(self, space: dict[str, Any], seed: int) -> dict[str, str]:
        """The versions that matter."""
        self._system = self._kind(Space.from_json(space), seed)
        return {package: _version(package) for package in self._kind.packages}

    def answer(self, line: str) -> dict[str, Any]:
        verb, *about = json.loads(line)
        seconds, cpu = time.perf_counter(), time.process_time()
        result = self.verbs[verb](*about)
        return {
            "result": result,
            "seconds": time.perf_counter() - seconds,
            "cpu": time.process_time() - cpu,
            "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / _PER_MEGABYTE,
        }


_PER_MEGABYTE = 2**20 if sys.platform == "darwin" else 2**10


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "?"


def private_output() -> TextIO:
    """The output for ourselves; what anybody else prints joins the errors."""
    ours = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    return ours


def main() -> None:
    output = private_output()
    worker = Worker(sys.argv[1])
    for line in sys.stdin:
        output.write(json.dumps(worker.answer(line)) + "\n")
        output.flush()


if __name__ == "__main__":
    main()
