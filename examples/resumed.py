"""A study that is killed half-way and goes on: the journal makes 20 + 20 evaluations the same as 40, bit for bit.

A child process ends at its 20th evaluation without any clean-up, as in a power cut. The same call, made again, goes on.
"""

import os
import sys
import tempfile
from collections.abc import Iterator
from itertools import count
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

import uncubed as uc

SPACE = {"x": uc.Float(-5.0, 10.0), "y": uc.Float(0.0, 15.0)}
EVALUATIONS = 40


def branin(params: dict[str, Any]) -> float:
    x, y = params["x"], params["y"]
    return float((y - 0.129 * x**2 + 1.592 * x - 6) ** 2 + 9.602 * np.cos(x) + 10)


def study(journal: Path, calls: Iterator[int], killed_at: int | None = None) -> uc.Result:
    def objective(params: dict[str, Any]) -> float:
        if next(calls) == killed_at:
            os._exit(1)
        return branin(params)

    return uc.minimize(objective, SPACE, evaluations=EVALUATIONS, journal=journal, seed=7)


def main(directory: Path) -> None:
    whole = study(directory / "whole.jsonl", count(1))
    journal = directory / "killed.jsonl"
    child = get_context("spawn").Process(target=study, args=(journal, count(1), 20))
    child.start()
    child.join()
    events = journal.read_text().splitlines()
    print(f"the child ended with code {child.exitcode}; its journal has {len(events)} lines, the last of them")
    print(f"  {events[-1][:100]}...")
    calls = count(1)
    resumed = study(journal, calls)
    print(f"resumed: {next(calls) - 1} more evaluations, {resumed.evaluations} in all")
    equal = np.array_equal(whole.optimizer.log.values, resumed.optimizer.log.values)
    print(f"values equal to those of a study never killed, bit for bit: {equal}")
    print(f"best {resumed.params} {resumed.value:.4f} (the true minimum is 0.398)")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as temporary:
            main(Path(temporary))
