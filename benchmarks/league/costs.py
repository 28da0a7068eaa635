"""What suggestions cost in seconds and memory, and what was installed."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from benchmarks.league.runner import CUT, DONE, Row
from benchmarks.league.scores import place
from benchmarks.league.tables import label, markdown, short


class Cost(NamedTuple):
    """Of a suggestion.

    Attributes:
        told: values known.
        seconds: mean of those measured, none if it was cut before; not a median: what a system does at every eighth
            suggestion only is its time too.
        status: of the measurement.
    """

    told: int
    seconds: float | None
    status: str


def costs(rows: Iterable[Row]) -> dict[str, list[Cost]]:
    """By system; where one measurement came to its end, others that did not are left out."""
    by_load: dict[tuple[str, int], list[Row]] = {}
    for row in rows:
        by_load.setdefault((row["system"], row["told"]), []).append(row)
    found: dict[str, list[Cost]] = {}
    for system, told in sorted(by_load, key=lambda load: (place(load[0]), load[1])):
        found.setdefault(system, []).append(_cost(told, by_load[system, told]))
    return found


def _cost(told: int, rows: Sequence[Row]) -> Cost:
    whole = [row for row in rows if row["status"] == DONE] or rows
    seconds = sorted(second for row in whole for second in row["seconds"])  # sorted: a sum in any order differs
    return Cost(told, float(np.mean(seconds)) if seconds else None, min(row["status"] for row in whole))


# Tables


def time_table(rows: Sequence[Row]) -> str:
    """Milliseconds and CPU milliseconds for a suggestion, mean of a run so far, and peak memory."""
    counts = [n for n in (25, 50, 100, 200) if any(n in row["at"] for row in rows)]
    lines = []
    for system in _systems(rows):
        own = [row for row in rows if row["system"] == system and row["at"]]
        cells = [
            _mean(1e3 * row[column][row["at"].index(n)] / n for row in own if n in row["at"])
            for n in counts
            for column in ("seconds", "cpu")
        ]
        lines.append([label(system), *cells, _mean(row["memory"][-1] for row in own)])
    head = [f"{n}{unit}" for n in counts for unit in (", ms", ", CPU ms")]
    return markdown(["system", *head, "MB"], lines)


def overhead_table(rows: Sequence[Row]) -> str:
    """Mean seconds of a suggestion against the number of values known."""
    counts = sorted({row["told"] for row in rows})
    lines = [[label(system), *(cost_cell(own, n) for n in counts)] for system, own in costs(rows).items()]
    return markdown(["system", *(f"{n:,}" for n in counts)], lines)


def cost_cell(found: Sequence[Cost], told: int) -> str:
    """Seconds, or how it ended; cut also where less was too much before."""
    for cost in found:
        if cost.told == told:
            end = [] if cost.status == DONE else [cost.status]
            return ", ".join([*([] if cost.seconds is None else [short(cost.seconds)]), *end])
    return CUT if any(cost.told < told and cost.status == CUT for cost in found) else ""


def _mean(numbers: Iterable[float]) -> str:
    there = list(numbers)
    return f"{np.mean(there):,.1f}" if there else ""


def version_table(rows: Sequence[Row]) -> str:
    """What was installed, and how many runs ended how."""
    lines = []
    for system in _systems(rows):
        own = [row for row in rows if row["system"] == system]
        versions = sorted({f"{name} {number}" for row in own for name, number in row["versions"].items()})
        seeds = len({row["seed"] for row in own})
        problems = len({row["problem"] for row in own})
        ends = [sum(row["status"] == status for row in own) for status in ("done", "cut", "failed")]
        lines.append([label(system), ", ".join(versions), *map(str, (problems, seeds, *ends))])
    return markdown(["system", "versions", "problems", "seeds", "done", "cut", "failed"], lines)


def _systems(rows: Iterable[Row]) -> list[str]:
    return sorted({row["system"] for row in rows}, key=place)
