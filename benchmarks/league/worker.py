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
from collections.abc import Iterable, Iterator
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, TextIO

from benchmarks.league.protocol import Space, System


def answers(kind: type[System], lines: Iterable[str]) -> Iterator[dict[str, Any]]:
    """To each line; the first is `start`, with the space and the seed, and is answered with versions."""
    system: System | None = None
    for line in lines:
        verb, *about = json.loads(line)
        seconds, cpu = time.perf_counter(), time.process_time()
        if system is None:
            system = _started(kind, verb, *about)
            result: Any = {package: _version(package) for package in kind.packages}
        else:
            result = getattr(system, verb)(*about)
        yield {
            "result": result,
            "seconds": time.perf_counter() - seconds,
            "cpu": time.process_time() - cpu,
            "memory": peak_megabytes(),
        }


def _started(kind: type[System], verb: str, *about: Any) -> System:
    if verb != "start":
        raise ValueError(f"verb: expected start first, got {verb}")
    space, seed = about
    return kind(Space.from_json(space), seed)


def peak_megabytes() -> float:
    """Of this process; where there is no /proc, as the system accounts for it."""
    status = Path("/proc/self/status")
    if status.exists():  # the usual account has the memory of the parent in it, as it was when it forked
        (line,) = (line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) / 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)


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
    module, _, name = sys.argv[1].partition(":")
    for answer in answers(getattr(import_module(module), name), sys.stdin):
        output.write(json.dumps(answer) + "\n")
        output.flush()


if __name__ == "__main__":
    main()
