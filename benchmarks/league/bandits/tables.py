"""What the rows say: regret, regret and time relative to a reference, order and memory, as Markdown.

Two systems are compared on the seeds that both have played, at the last round that was written down for both in all of
those; a number that is not of the last round of all says of which it is. Of several rows of a run the last counts.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from benchmarks.league.bandits.arms import NAMES
from benchmarks.league.bandits.players import BKB, DENSE, PLAYERS
from benchmarks.league.runner import DONE, Row
from benchmarks.league.tables import markdown
from uncubed._typing import Array

SHOWN = (100, 300, 1_000, 3_000, 10_000)
DRAWS = 2000
LEAST = 1e-6
"""Regrets below this, by the spread, count as this."""

Games = dict[str, dict[str, dict[int, Row]]]
"""Rows by problem, system and seed."""


def games(rows: Iterable[Row]) -> Games:
    """In the order of their registers."""
    found: Games = {}
    for row in rows:
        found.setdefault(row["problem"], {}).setdefault(row["system"], {})[row["seed"]] = row
    return {
        problem: {system: found[problem][system] for system in PLAYERS if system in found[problem]}
        for problem in NAMES
        if problem in found
    }


def systems_of(found: Games) -> list[str]:
    return [system for system in PLAYERS if any(system in played for played in found.values())]


def at(row: Row, n: int, column: str) -> float:
    """What was written down after n rounds."""
    return float(row[column][row["at"].index(n)])


def milliseconds(row: Row, n: int) -> float:
    """CPU time of a round in the last block before n rounds: other work on the machine does not count."""
    k = row["at"].index(n)
    block = n - (row["at"][k - 1] if k else 0)
    return 1e3 * float(row["cpu"][k] - (row["cpu"][k - 1] if k else 0.0)) / block


def reached(rows: Iterable[Row]) -> int | None:
    """The last round that was written down for all of them."""
    marks = [set(row["at"]) for row in rows]
    return max(set.intersection(*marks), default=None) if marks else None


# Regret


def regret_table(rows: Sequence[Row]) -> str:
    """Cumulative regret by the spread, mean over seeds, after so many rounds; where not all came so far, what stopped
    the first."""
    found = games(rows)
    lines = []
    for problem, played in found.items():
        for system, by_seed in played.items():
            cells = [_regret(list(by_seed.values()), n) for n in SHOWN]
            lines.append([problem, PLAYERS[system].label, *cells, str(len(by_seed))])
    said = "Cumulative regret by the spread after so many rounds, mean over a system's own seeds."
    return f"{said}\n\n{markdown(['problem', 'system', *(f'{n:,}' for n in SHOWN), 'seeds'], lines)}"


def _regret(rows: Sequence[Row], n: int) -> str:
    there = [at(row, n, "regret") for row in rows if n in row["at"]]
    if len(there) == len(rows):
        return f"{np.mean(there):,.1f}"
    stopped = [(row["at"][-1] if row["at"] else 0, row["status"]) for row in rows if n not in row["at"]]
    last, status = min(stopped)
    return "" if status == DONE else f"{status} at {last:,}"


# Relative to a reference


class Ratio(NamedTuple):
    """A system's mean regret by that of the reference, with draws of it over seeds.

    Attributes:
        value: over the seeds as they are.
        draws: over seeds drawn anew, shape (draws,).
        seeds: how many.
        at: after how many rounds.
    """

    value: float
    draws: Array
    seeds: int
    at: int


def ratio(played: dict[str, dict[int, Row]], system: str, reference: str) -> Ratio | None:
    """None if they have never met, or one of them has nothing to show."""
    ours, theirs = played.get(system, {}), played.get(reference, {})
    seeds = sorted(ours.keys() & theirs.keys())
    n = reached([one[seed] for one in (ours, theirs) for seed in seeds])
    if n is None:
        return None
    pairs = np.array([[max(at(one[seed], n, "regret"), LEAST) for one in (ours, theirs)] for seed in seeds])
    which = np.random.default_rng(0).integers(len(seeds), size=(DRAWS, len(seeds)))
    sums = pairs[which].sum(axis=1)
    return Ratio(float(np.divide(*pairs.sum(axis=0))), sums[:, 0] / sums[:, 1], len(seeds), n)


def ratio_table(rows: Sequence[Row], reference: str) -> str:
    """Regret relative to a reference, problem by problem, and the geometric mean of those."""
    found = games(rows)
    systems = [system for system in systems_of(found) if system != reference]
    ratios = [[ratio(played, system, reference) for system in systems] for played in found.values()]
    lines = [
        [problem, *(_said([one], one.at) if one else "" for one in line)]
        for problem, line in zip(found, ratios, strict=True)
    ]
    columns = [[line[k] for line in ratios] for k in range(len(systems))]
    lines.append(["geometric mean", *(_said([one for one in column if one], SHOWN[-1]) for column in columns)])
    said = (
        f"Regret by that of {PLAYERS[reference].label}, seed by seed, with 95 % of what other seeds could have given."
    )
    return f"{said}\n\n{markdown(['problem', *(PLAYERS[system].label for system in systems)], lines)}"


def _said(ratios: Sequence[Ratio], n: int) -> str:
    """The geometric mean, with a 95 % interval where there are seeds to draw from."""
    if not ratios:
        return ""
    said = f"{np.exp(np.mean([np.log(one.value) for one in ratios])):.2f}"
    if max(one.seeds for one in ratios) > 1:
        draws = np.exp(np.mean([np.log(one.draws) for one in ratios], axis=0))
        low, high = np.quantile(draws, [0.025, 0.975])
        said += f" ({low:.2f} to {high:.2f})"
    return said if n == SHOWN[-1] else f"{said}, at {n:,}"


# Cost


def cost_table(rows: Sequence[Row]) -> str:
    """Order, CPU milliseconds of a round, BKB's by ours, and memory, where a system was last."""
    lines = []
    for problem, played in games(rows).items():
        for system, by_seed in played.items():
            own = list(by_seed.values())
            if (n := reached(own)) is None:
                lines.append([problem, PLAYERS[system].label, "0", *[""] * 4])
                continue
            orders, memory = (np.mean([at(row, n, column) for row in own]) for column in ("order", "memory"))
            time = np.mean([milliseconds(row, n) for row in own])
            cells = [f"{n:,}", f"{orders:,.0f}", f"{time:,.3g}", _faster(played, system), f"{memory:,.0f}"]
            lines.append([problem, PLAYERS[system].label, *cells])
    head = ["problem", "system", "rounds", "order", "ms per round", "faster than BKB", "MB"]
    said = "Rows of the model, CPU time of a round in the last block of rounds, and memory beyond the arms."
    return f"{said}\n\n{markdown(head, lines)}"


def _faster(played: dict[str, dict[int, Row]], system: str) -> str:
    """BKB's time of a round by this system's, after as many rounds, on the seeds of both."""
    ours, theirs = played[system], played.get(BKB, {})
    seeds = sorted(ours.keys() & theirs.keys())
    n = reached([one[seed] for one in (ours, theirs) for seed in seeds])
    if n is None or system == BKB:
        return ""
    times = [sum(milliseconds(one[seed], n) for seed in seeds) for one in (theirs, ours)]
    return f"{times[0] / times[1]:,.0f} ×, at {n:,}"


def all_tables(rows: Sequence[Row]) -> str:
    """Regret, by the dense GP's and by BKB's where they have played, and cost."""
    there = {row["system"] for row in rows}
    ratios = [ratio_table(rows, reference) for reference in (DENSE, BKB) if reference in there]
    return "\n\n".join([regret_table(rows), *ratios, cost_table(rows)])
