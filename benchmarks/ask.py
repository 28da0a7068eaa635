"""Does a suggestion stay fast? Time of an ask and of a tell, model order and memory, by how much was told.

    python benchmarks/ask.py --told 10 1000 10000 100000 --dimensions 2 6 20 --json ask.json

Values of a smooth noisy function at random points are told one at a time, fits included. At each count some asks are
timed, each followed by the tell of its value. Each dimension is measured in a process of its own, on one BLAS thread.
"""

import argparse
import json
import multiprocessing
import os
import platform
import resource
import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import scipy

import uncubed as uc
from uncubed._typing import Array

NOISE_STD = 0.1
Row = dict[str, Any]
TARGETS = "median ask at 10⁵ ≤ 1.5 × at 10³, ≤ 30 ms at d = 6; no ask or tell above 1 s; below 300 MB"


def smooth(u: Array) -> float:
    """A hill with waves in all coordinates, the first ones stronger; its spread is about 1 for every dimension."""
    weight = 1.0 / np.sqrt(1.0 + np.arange(u.size))
    waves = weight * np.cos(5.0 * u + np.arange(u.size))
    return float((waves - 2.0 * weight * (u - 0.4) ** 2).sum() / np.sqrt((weight**2).sum()))


class Seconds(NamedTuple):
    """On the clock, and of this process: on a shared machine the clock also counts what others do."""

    wall: float
    cpu: float


class Study:
    """An optimiser, what it is told, and how long everything took."""

    def __init__(self, dimension: int, seed: int) -> None:
        self.names = [f"x{j}" for j in range(dimension)]
        self.optimizer = uc.Optimizer({name: uc.Float(0.0, 1.0) for name in self.names}, seed=seed)
        self.rng = np.random.default_rng(seed)
        self.told = 0
        self.asks: list[Seconds] = []
        self.tells: list[Seconds] = []

    def tell_one(self) -> None:
        """A value at a random point."""
        self._tell(dict(zip(self.names, self.rng.random(len(self.names)).tolist(), strict=True)))

    def ask_one(self) -> None:
        """A suggestion, and its value."""
        suggestion, seconds = timed(self.optimizer.ask)
        self.asks.append(seconds)
        self._tell(suggestion)

    def _tell(self, what: Any) -> None:
        params = what.params if isinstance(what, uc.Suggestion) else what
        value = smooth(np.array([params[name] for name in self.names])) + NOISE_STD * float(self.rng.normal())
        self.tells.append(timed(lambda: self.optimizer.tell(what, value))[1])
        self.told += 1

    def row(self) -> Row:
        """What was measured since the last."""
        row = {
            "median ask, ms": 1e3 * float(np.median([ask.wall for ask in self.asks])),
            "of CPU": 1e3 * float(np.median([ask.cpu for ask in self.asks])),
            "largest ask, ms": 1e3 * max(ask.wall for ask in self.asks),
            "mean tell, ms": 1e3 * float(np.mean([tell.wall for tell in self.tells])),
            "largest tell, ms": 1e3 * max(tell.wall for tell in self.tells),
            "of CPU ": 1e3 * max(tell.cpu for tell in self.tells),
            "model order": self.optimizer.model_order,
            "peak megabytes": peak_megabytes(),
        }
        self.asks, self.tells = [], []
        return row


def measure(dimension: int, counts: list[int], pairs: int, seed: int) -> list[Row]:
    """A row for each count of values told."""
    study, rows = Study(dimension, seed), []
    for count in sorted(counts):
        while study.told < count:
            study.tell_one()
        for _ in range(pairs):
            study.ask_one()
        rows.append({"d": dimension, "told": count, **study.row()})
    return rows


def timed(call: Callable[[], Any]) -> tuple[Any, Seconds]:
    wall, cpu = time.perf_counter(), time.process_time()
    result = call()
    return result, Seconds(time.perf_counter() - wall, time.process_time() - cpu)


def peak_megabytes() -> float:
    """The most this process ever held."""
    unit = 2**20 if sys.platform == "darwin" else 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


def apart(*args: Any) -> list[Row]:
    """Measure in a process of its own, so that memory is its own too."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(measure, args)


def table(rows: list[Row]) -> str:
    lines = [f"| {' | '.join(rows[0])} |", "|" + "---|" * len(rows[0])]
    for row in rows:
        shown = (f"{v:.1f}" if isinstance(v, float) else f"{v:,}" for v in row.values())
        lines.append(f"| {' | '.join(shown)} |")
    return "\n".join(lines)


def versions() -> Row:
    return {
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "uncubed": uc.__version__,
        "machine": platform.machine(),
        "cores": os.cpu_count(),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="Time of an ask and of a tell, by how much was told.")
    parser.add_argument("--told", type=int, nargs="+", default=[10, 1_000, 10_000, 100_000])
    parser.add_argument("--dimensions", type=int, nargs="+", default=[2, 6, 20])
    parser.add_argument("--pairs", type=int, default=30, help="asks timed at each count")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", nargs="?", const="-", help="write everything as JSON to a file, or to the output")
    options = parser.parse_args()
    rows = [row for d in options.dimensions for row in apart(d, options.told, options.pairs, options.seed)]
    report({"seed": options.seed, "pairs": options.pairs, "versions": versions(), "rows": rows}, options.json)


def report(result: Row, target: str | None) -> None:
    if target == "-":
        print(json.dumps(result, indent=1))
        return
    if target:
        with open(target, "w", encoding="utf-8") as file:
            json.dump(result, file, indent=1)
    print(", ".join(f"{k} {v}" for k, v in result["versions"].items()), f"seed {result['seed']}", sep=", ")
    print(f"to reach: {TARGETS}\n\n{table(result['rows'])}")


if __name__ == "__main__":
    main()
