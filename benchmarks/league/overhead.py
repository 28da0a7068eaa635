"""How long a suggestion takes, against the number of values known."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from benchmarks.league.pipe import CutError, FailedError
from benchmarks.league.problems import problem
from benchmarks.league.runner import CUT, DONE, FAILED, Row, Start


class Load(NamedTuple):
    """One measurement of a system with so many values."""

    system: str
    told: int
    seed: int


PROBLEM = "hartmann-6+1%"
COUNTS = (10, 30, 100, 200, 300, 1_000, 3_000, 10_000, 30_000, 100_000)
REPEATS = 25
"""Suggestions measured: some systems work at every one, others, ours too, now and then."""


def weigh(load: Load, limit: float, start: Start) -> Row:
    """Seconds of a suggestion, asking and telling, once so many values of random points are known.

    `first` is the first suggestion after loading them, when a system may catch up, `seconds` are those that follow.
    """
    about, rng = problem(PROBLEM), np.random.default_rng(load.seed)
    row: Row = load._asdict() | {"limit": limit, "status": DONE, "versions": {}, "seconds": [], "cpu": []}
    points = [about.space.at(u) for u in rng.random((load.told, len(about.space.dimensions)))]
    values = [about.observed(point, rng) for point in points]
    try:
        with start(load.system, limit) as pipe:
            row["versions"] = pipe.call("start", about.space.as_json(), load.seed)["result"]
            row["load_seconds"] = pipe.call("load", points, values)["seconds"]
            for k in range(REPEATS + 1):
                asked = pipe.call("ask")
                told = pipe.call("tell", asked["result"], about.observed(asked["result"], rng))
                if k == 0:
                    row["first"] = asked["seconds"] + told["seconds"]
                else:
                    row["seconds"].append(asked["seconds"] + told["seconds"])
                    row["cpu"].append(asked["cpu"] + told["cpu"])
                row["memory"] = told["memory"]
    except CutError:
        row["status"] = CUT
    except FailedError as error:
        row |= {"status": FAILED, "reason": str(error)}
    return row


def left(loads: Sequence[Load], limit: float, rows: Iterable[Row]) -> list[Load]:
    """What has to be measured yet: not what is there, nor more than was too much before."""
    there = list(rows)
    known = {load_of(row) for row in there if row["status"] != CUT}
    cut = [load_of(row) for row in there if row["status"] == CUT and row["limit"] >= limit]
    return [load for load in loads if load not in known and not any(_is_more(load, one) for one in cut)]


def _is_more(load: Load, cut: Load) -> bool:
    return load.system == cut.system and load.told >= cut.told


def load_of(row: Row) -> Load:
    return Load(row["system"], row["told"], row["seed"])
