"""What the rows say: scores, ranks, data profiles and overhead, as Markdown.

Systems are compared on what all of them have played: the problems and seeds for which each has a row that came as far,
or was cut or failed before. Such a run keeps the regret it had reached (a run without any has the problem's spread) and
is counted under *cut*.
"""

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from scipy.stats import rankdata

from benchmarks.league.problems import GROUPS
from benchmarks.league.registry import SYSTEMS
from benchmarks.league.runner import AT, DONE, Row
from uncubed._typing import Array

LEAST = 1e-6
"""Regrets below this, by the spread, count as this: nobody needs less, and logarithms of rounding would drown the
rest."""
TOLERANCES = (1e-1, 1e-2, 1e-3)
DRAWS = 2000


class Game(NamedTuple):
    """What is compared."""

    problem: str
    seed: int


class Standing(NamedTuple):
    """How far a system was, at a number of evaluations.

    Attributes:
        score: regret by the spread.
        cut: it had not come so far.
    """

    score: float
    cut: bool


def standing(row: Row, n: int, column: str = "regret") -> Standing | None:
    """None if it was not meant to come so far."""
    reached = [k for k, at in enumerate(row["at"]) if at <= n]
    cut = row["status"] != DONE and (not row["at"] or row["at"][-1] < n)
    if not cut and n not in row["at"]:
        return None
    value = row[column][reached[-1]] if reached else row["spread"]
    return Standing(max(value / row["spread"], LEAST), cut)


def standings(rows: Iterable[Row], n: int, column: str = "regret") -> dict[str, dict[Game, Standing]]:
    """By system; of several rows of a game the last counts."""
    found: dict[str, dict[Game, Standing]] = {}
    for row in rows:
        if (one := standing(row, n, column)) is not None:
            found.setdefault(row["system"], {})[Game(row["problem"], row["seed"])] = one
    return {name: found[name] for name in sorted(found, key=_place)}


def _place(system: str) -> int:
    return list(SYSTEMS).index(system) if system in SYSTEMS else len(SYSTEMS)


def common(found: dict[str, dict[Game, Standing]]) -> list[Game]:
    """Played by all."""
    games = [set(played) for played in found.values()]
    return sorted(set.intersection(*games)) if games else []


# Scores


def matrices(found: dict[str, dict[Game, Standing]], games: Sequence[Game]) -> list[Array]:
    """Scores for each problem, shape (seeds, systems)."""
    problems = dict.fromkeys(game.problem for game in games)
    return [
        np.array([[played[game].score for played in found.values()] for game in games if game.problem == problem])
        for problem in problems
    ]


def ranks(scores: Array) -> Array:
    """1 is the best; equals share the mean of theirs, shape (seeds, systems)."""
    ranked: Array = rankdata(scores, axis=1)
    return ranked


def bootstrap(problems: Sequence[Array]) -> Array:
    """Mean over seeds, then over problems, with its 95 % interval, shape (3, systems).

    Args:
        problems: a value for each seed and system, shape (seeds, systems); problems are drawn anew, and seeds of each.
    """
    rng = np.random.default_rng(0)
    means = [_drawn_means(one, rng) for one in problems]  # (draws, systems) each
    which = rng.integers(len(problems), size=(DRAWS, len(problems)))
    drawn = np.stack(means)[which, np.arange(DRAWS)[:, None]].mean(axis=1)
    middle = np.mean([one.mean(axis=0) for one in problems], axis=0)
    return np.vstack([middle, np.quantile(drawn, [0.025, 0.975], axis=0)])


def _drawn_means(values: Array, rng: np.random.Generator) -> Array:
    n = len(values)
    weights: Array = rng.multinomial(n, np.full(n, 1.0 / n), size=DRAWS) / n
    return weights @ values


def score_table(rows: Sequence[Row], n: int, column: str = "regret") -> str:
    """Geometric mean of the regret by the spread, over all and by group, and the mean rank."""
    found = standings(rows, n, column)
    games = common(found)
    if not games:
        return f"After {n} evaluations: nothing that all of {', '.join(found) or 'them'} have played."
    group_of = {row["problem"]: row["group"] for row in rows}
    groups = [group for group in GROUPS if any(group_of[game.problem] == group for game in games)]
    parts = [games, *([game for game in games if group_of[game.problem] == group] for group in groups)]
    scores = [matrices(found, part) for part in parts]
    means = [bootstrap([np.log(one) for one in part]) for part in scores]
    mean_ranks = [bootstrap([ranks(one) for one in part]) for part in scores]
    head = ["system", "regret", "95 %", "rank", "95 %", *(f"{group}: regret, rank" for group in groups), "cut"]
    lines = []
    for k, (system, played) in enumerate(found.items()):
        cells = [_label(system), *_interval(np.exp(means[0][:, k]), ".2e"), *_interval(mean_ranks[0][:, k], ".2f")]
        cells += [f"{math.exp(m[0, k]):.2e}, {r[0, k]:.2f}" for m, r in zip(means[1:], mean_ranks[1:], strict=True)]
        lines.append([*cells, str(sum(played[game].cut for game in games))])
    problems = len({game.problem for game in games})
    said = f"After {n} evaluations: {problems} problems, {len(games)} runs of each system, {column.replace('_', ' ')}."
    return f"{said}\n\n{markdown(head, lines)}"


def _interval(numbers: Array, form: str) -> tuple[str, str]:
    middle, low, high = (format(number, form) for number in numbers.tolist())
    return middle, f"{low} to {high}"


# Problem by problem


def problem_table(rows: Sequence[Row], n: int) -> str:
    """Geometric means over seeds, to see where one loses; the least in bold."""
    found = standings(rows, n)
    games = common(found)
    lines = []
    for problem in dict.fromkeys(game.problem for game in games):
        (scores,) = matrices(found, [game for game in games if game.problem == problem])
        means = np.exp(np.log(scores).mean(axis=0))
        best = means.min()
        lines.append([problem, *(f"**{mean:.1e}**" if mean <= 1.05 * best else f"{mean:.1e}" for mean in means)])
    return markdown(["problem", *map(_label, found)], lines)


# Data profiles


def profile_table(rows: Sequence[Row], n: int) -> str:
    """The share of games whose regret by the spread is within a tolerance after so many evaluations."""
    counts = [at for at in AT if at <= n]
    games = common(standings(rows, n))
    lines = []
    for tolerance in TOLERANCES:
        by_count = [standings(rows, at) for at in counts]
        for system in standings(rows, n):
            solved = [_share(found.get(system, {}), games, tolerance) for found in by_count]
            lines.append([_label(system), f"{tolerance:g}", *(f"{share:.2f}" for share in solved)])
    return markdown(["system", "within", *map(str, counts)], lines)


def _share(played: dict[Game, Standing], games: Sequence[Game], tolerance: float) -> float:
    solved = [played[game].score <= tolerance for game in games if game in played]
    return float(np.mean(solved)) if solved else math.nan


# Time


def time_table(rows: Sequence[Row]) -> str:
    """Milliseconds and CPU milliseconds for a suggestion, mean of a run so far, and peak memory."""
    counts = [n for n in (25, 50, 100, 200) if any(n in row["at"] for row in rows)]
    lines = []
    for system in sorted({row["system"] for row in rows}, key=_place):
        own = [row for row in rows if row["system"] == system and row["at"]]
        cells = [
            _mean(1e3 * row[column][row["at"].index(n)] / n for row in own if n in row["at"])
            for n in counts
            for column in ("seconds", "cpu")
        ]
        lines.append([_label(system), *cells, _mean(row["memory"][-1] for row in own)])
    head = [f"{n}{unit}" for n in counts for unit in (", ms", ", CPU ms")]
    return markdown(["system", *head, "MB"], lines)


def overhead_table(rows: Sequence[Row]) -> str:
    """Mean seconds of a suggestion against the number of values known.

    A mean and not a median: what a system does at every eighth suggestion only is its time too.
    """
    counts = sorted({row["told"] for row in rows})
    lines = []
    for system in sorted({row["system"] for row in rows}, key=_place):
        cells = [_overhead([row for row in rows if row["system"] == system and row["told"] == n]) for n in counts]
        lines.append([_label(system), *cells])
    return markdown(["system", *(f"{n:,}" for n in counts)], lines)


def _overhead(rows: Sequence[Row]) -> str:
    seconds = [second for row in rows for second in row["seconds"]]
    ends = [row["status"] for row in rows if row["status"] != DONE]
    return ", ".join([*([f"{np.mean(seconds):.2g}"] if seconds else []), *ends[-1:]])


def _mean(numbers: Iterable[float]) -> str:
    there = list(numbers)
    return f"{np.mean(there):,.1f}" if there else ""


def version_table(rows: Sequence[Row]) -> str:
    """What was installed, and how many runs ended how."""
    lines = []
    for system in sorted({row["system"] for row in rows}, key=_place):
        own = [row for row in rows if row["system"] == system]
        versions = dict.fromkeys(f"{name} {number}" for row in own for name, number in row["versions"].items())
        ends = [sum(row["status"] == status for row in own) for status in ("done", "cut", "failed")]
        lines.append([_label(system), ", ".join(versions), *map(str, ends)])
    return markdown(["system", "versions", "done", "cut", "failed"], lines)


def _label(system: str) -> str:
    return SYSTEMS[system].label if system in SYSTEMS else system


def markdown(head: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    rule = ["---"] * len(head)
    return "\n".join(f"| {' | '.join(line)} |" for line in (head, rule, *lines))
