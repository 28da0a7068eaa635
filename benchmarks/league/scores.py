"""What the rows say, in numbers: who is compared on what, means, ranks and ratios with their intervals.

A run that was cut or failed keeps the regret it had reached (one without any has the problem's spread) and is counted
as cut. Not all have played all: a slow system plays fewer problems and seeds. So several systems are compared on
problems that all of them have played, each by the seeds it has (`meet`), and any two on games that both have (`pair`).
"""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from benchmarks.league.registry import SYSTEMS
from benchmarks.league.runner import AT, DONE, Row
from uncubed._typing import Array

OURS = "uncubed"
LEAST = 1e-6
"""Regrets below this, by the spread, count as this: nobody needs less, and logarithms of rounding would drown the
rest."""
TOLERANCES = (1e-1, 1e-2, 1e-3)
DRAWS = 2000
SHARE = 0.9
"""Of the problems of a field: a system whose games would leave fewer to compare all on is not in its tables."""


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


Standings = Mapping[str, Mapping[Game, Standing]]
"""By system and game."""


class Interval(NamedTuple):
    """A mean and where 95 % of its bootstrap draws are."""

    middle: float
    low: float
    high: float


def standing(row: Row, n: int, column: str = "regret") -> Standing | None:
    """None if it was not meant to come so far."""
    cut = row["status"] != DONE and (not row["at"] or row["at"][-1] < n)
    if n > row["evaluations"] or not (cut or n in row["at"]):
        return None
    reached = [value for at, value in zip(row["at"], row[column], strict=True) if at <= n]
    return Standing(max((reached[-1] if reached else row["spread"]) / row["spread"], LEAST), cut)


def standings(rows: Iterable[Row], n: int, column: str = "regret") -> Standings:
    """Of several rows of a game, one that came so far counts; then the one that had more time."""
    found: dict[str, dict[Game, Standing]] = {}
    for row in sorted(rows, key=lambda row: float(row["limit"])):
        one = standing(row, n, column)
        games, game = found.setdefault(row["system"], {}), Game(row["problem"], row["seed"])
        if one is not None and not (one.cut and game in games and not games[game].cut):
            games[game] = one
    return {name: found[name] for name in sorted(found, key=place) if found[name]}


def place(system: str) -> tuple[int, str]:
    """Where a system stands in tables."""
    return (list(SYSTEMS).index(system) if system in SYSTEMS else len(SYSTEMS)), system


# Many systems


class Field(NamedTuple):
    """Who should have played what.

    Attributes:
        title: in tables and figures.
        systems: by name.
        problems: by name.
        at: numbers of evaluations to look at, the last is where they end.
    """

    title: str
    systems: Sequence[str]
    problems: Sequence[str]
    at: Sequence[int]

    def rows(self, rows: Iterable[Row]) -> list[Row]:
        """Those that belong to it."""
        return [row for row in rows if row["system"] in self.systems and row["problem"] in self.problems]


class Meeting(NamedTuple):
    """Systems on the problems that all of them have played, each with the seeds it has.

    Attributes:
        systems: those compared.
        problems: on these.
        left_out: systems with too few problems, and how many games they have played.
        found: where all stand.
    """

    systems: list[str]
    problems: list[str]
    left_out: dict[str, int]
    found: Standings

    def on(self, problems: Collection[str]) -> "Meeting":
        """The same on some of the problems."""
        return self._replace(problems=[problem for problem in self.problems if problem in problems])

    def among(self, systems: list[str]) -> "Meeting":
        """The same with some of the systems."""
        return self._replace(systems=systems)

    def games(self, system: str) -> list[Game]:
        """What a system has played of these problems."""
        return sorted(game for game in self.found[system] if game.problem in self.problems)

    def scores(self) -> list[Array]:
        """For each problem, shape (seeds, systems); NaN where a system has not played that seed."""
        return [self._scores(problem) for problem in self.problems]

    def _scores(self, problem: str) -> Array:
        here = on(self.found, [problem])
        played = [{game.seed: one.score for game, one in here[system].items()} for system in self.systems]
        return np.array([[own.get(seed, math.nan) for own in played] for seed in sorted(set().union(*played))])

    def cut(self, system: str) -> int:
        """How many of its games were cut."""
        return sum(self.found[system][game].cut for game in self.games(system))


def meet(found: Standings) -> Meeting:
    """Systems join, ours first and then those with most games, while enough problems are left to compare all on."""
    played = {system: {game.problem for game in games} for system, games in found.items()}
    problems, joined = set[str]().union(*played.values()), set[str]()
    enough = SHARE * len(problems)
    for system in sorted(found, key=lambda name: (name != OURS, -len(found[name]), place(name))):
        if len(problems & played[system]) >= enough:
            problems, joined = problems & played[system], joined | {system}
    left_out = {name: len(found[name]) for name in found if name not in joined}
    return Meeting([name for name in found if name in joined], sorted(problems) if joined else [], left_out, found)


def bootstrap(problems: Sequence[Array], *, redraw: bool = True) -> Array:
    """Mean over seeds, then over problems, with its 95 % interval, shape (3, systems).

    Args:
        problems: a value for each seed and system, shape (seeds, systems), NaN for none; seeds of each are drawn anew.
        redraw: problems are too, as if these were some of many.
    """
    return np.vstack([_mean(problems), np.quantile(_drawn(problems, redraw=redraw), [0.025, 0.975], axis=0)])


def _mean(problems: Sequence[Array]) -> Array:
    mean: Array = np.mean([np.nanmean(one, axis=0) for one in problems], axis=0)
    return mean


def _drawn(problems: Sequence[Array], *, redraw: bool = True) -> Array:
    """Means of as many draws, shape (draws, systems)."""
    rng, count = np.random.default_rng(0), len(problems)
    means = np.stack([_drawn_means(one, rng) for one in problems])  # (problems, draws, systems)
    which = rng.integers(count, size=(DRAWS, count)) if redraw else np.tile(np.arange(count), (DRAWS, 1))
    drawn: Array = means[which, np.arange(DRAWS)[:, None]].mean(axis=1)
    return drawn


def _drawn_means(values: Array, rng: np.random.Generator) -> Array:
    """All systems by the same seeds; where none of those was played, by all that were.

    What was played once says nothing of how games differ: as those of the other systems do, in the mean.
    """
    n, there = len(values), np.isfinite(values)
    weights: Array = rng.multinomial(n, np.full(n, 1.0 / n), size=DRAWS).astype(float)
    total = weights @ there
    sums = weights @ np.where(there, values, 0.0)
    drawn = np.where(total > 0.0, sums / np.maximum(total, 1.0), np.nanmean(values, axis=0))
    once = there.sum(axis=0) == 1
    if once.any():
        drawn[:, once] += _deviation(values[:, ~once]) * rng.standard_normal((DRAWS, int(once.sum())))
    return drawn


def _deviation(values: Array) -> float:
    """Standard deviation of a game, by all systems; 0 where nobody has several."""
    return math.sqrt(np.nanvar(values, axis=0, ddof=1).mean()) if values.size else 0.0


def means(meeting: Meeting, *, redraw: bool = True) -> dict[str, Interval]:
    """Geometric means of the regret by the spread."""
    logs = bootstrap([np.log(one) for one in meeting.scores()], redraw=redraw)
    return _by_system(meeting, np.exp(logs))


def mean_ranks(meeting: Meeting) -> dict[str, Interval]:
    """1 is the best; equals share the mean of theirs."""
    if not meeting.systems:
        return {}
    return _by_system(meeting, bootstrap([_ranks(one) for one in meeting.scores()]))


def _ranks(scores: Array) -> Array:
    """Of each game: 1, and for every other system the share of its games that were better, equal ones by half."""
    ranks = np.where(np.isfinite(scores), 1.0, math.nan)
    for k, others in enumerate(scores.T):
        theirs = others[np.isfinite(others)]
        behind = 0.5 * (1.0 + np.sign(scores[..., None] - theirs)).mean(axis=-1)
        behind[:, k] = 0.0
        ranks += behind
    return ranks


def leaders(meeting: Meeting) -> set[str]:
    """The one of the least geometric mean, and all whose ratio to it could be 1 by its interval."""
    logs = [np.log(one) for one in meeting.scores()]
    best, drawn = int(np.argmin(_mean(logs))), _drawn(logs)
    low = np.quantile(drawn - drawn[:, [best]], 0.025, axis=0)
    return {system for system, bound in zip(meeting.systems, low, strict=True) if bound <= 0.0}


def _by_system(meeting: Meeting, numbers: Array) -> dict[str, Interval]:
    return {system: Interval(*column) for system, column in zip(meeting.systems, numbers.T.tolist(), strict=True)}


class Course(NamedTuple):
    """A field at several numbers of evaluations, always on the same games."""

    counts: list[int]
    meetings: list[Meeting]


def course(rows: Sequence[Row], field: Field) -> Course:
    """To the last number of evaluations of the field."""
    last = meet(standings(field.rows(rows), field.at[-1]))
    own = [row for row in field.rows(rows) if row["system"] in last.systems]
    by_count = {n: _same_games(standings(own, n), last) for n in AT if n <= field.at[-1] and last.problems}
    whole = {n: last._replace(found=found) for n, found in by_count.items() if found is not None}
    return Course(list(whole), list(whole.values()))


def _same_games(found: Standings, meeting: Meeting) -> Standings | None:
    """None if a system has not come so far in one of them."""
    games = {system: meeting.games(system) for system in meeting.systems}
    if not all(found.get(system, {}).keys() >= set(own) for system, own in games.items()):
        return None
    return {system: {game: found[system][game] for game in own} for system, own in games.items()}


def solved(meeting: Meeting, system: str, tolerance: float) -> float:
    """The share of games whose regret by the spread is within a tolerance, mean of the problems."""
    own = meeting.among([system]).scores()
    return float(np.mean([np.mean(one <= tolerance) for one in own]))


# Two systems


class Pair(NamedTuple):
    """Ours and another on the games that both have played.

    Attributes:
        ratio: geometric mean of our regret by the other's: below 1 we are better.
        won: share of games; an equal one is half won.
        problems: how many.
        games: how many.
        cut: games in which the other was cut.
    """

    ratio: Interval
    won: float
    problems: int
    games: int
    cut: int


def pair(ours: Mapping[Game, Standing], other: Mapping[Game, Standing]) -> Pair | None:
    """None if they have not met."""
    games = sorted(ours.keys() & other.keys())
    if not games:
        return None
    logs = {game: math.log(ours[game].score / other[game].score) for game in games}
    problems = sorted({game.problem for game in games})
    by_problem = [np.array([[logs[game]] for game in games if game.problem == problem]) for problem in problems]
    ratio = Interval(*np.exp(bootstrap(by_problem)[:, 0]).tolist())
    won = float(np.mean([0.5 - 0.5 * np.sign(logs[game]) for game in games]))
    return Pair(ratio, won, len(problems), len(games), sum(other[game].cut for game in games))


def on(found: Standings, problems: Collection[str]) -> Standings:
    """On some of the problems."""
    return {
        system: {game: one for game, one in games.items() if game.problem in problems}
        for system, games in found.items()
    }
