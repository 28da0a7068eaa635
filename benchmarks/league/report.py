"""The page about the league: its figures, and the parts of it that are made from rows.

A part stands between the lines `<!-- begin: NAME -->` and `<!-- end: NAME -->`; all else is written by hand.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.league import costs, tables
from benchmarks.league.bandits.tables import all_tables
from benchmarks.league.registry import SYSTEMS, systems
from benchmarks.league.runner import Row
from benchmarks.league.scores import OURS, Field, mean_ranks, means, meet, place, standings
from benchmarks.league.suites import LEAGUE, LONG, SLOW

ALL = Field("All systems", list(SYSTEMS), SLOW, at=(25, 50, 100))
LONGER = Field("All systems, longer", list(SYSTEMS), LONG, at=(25, 50, 100, 200))
FAST = Field("Fast systems", systems(["fast"]), LEAGUE, at=(25, 50, 100, 200))
LATER = (50, 100, 200)
"""Numbers of evaluations of tables where the beginning does not matter."""

PAGE, README, FIGURES = Path("docs/league.md"), Path("README.md"), Path("docs/league")


class Results(NamedTuple):
    """What a report is made from.

    Attributes:
        runs: rows of runs.
        loads: rows of overhead.
        rounds: rows of bandits.
    """

    runs: Sequence[Row]
    loads: Sequence[Row]
    rounds: Sequence[Row] = ()


# Parts


def scores(results: Results) -> str:
    """Simple regret, at all numbers of evaluations."""
    return _joined(tables.score_table(results.runs, field, n) for field, n in _counts((25, *LATER)))


def mean_regret(results: Results) -> str:
    return _joined(tables.mean_regret_table(results.runs, field) for field in (ALL, LONGER, FAST))


def group_scores(results: Results) -> str:
    return _joined(tables.group_table(results.runs, field, n) for field, n in _counts(LATER))


def held_out(results: Results) -> str:
    """Scores and pairs on problems that nobody looked at."""
    names = tables.held_out(results.runs)
    parts = [tables.score_table(results.runs, _narrowed(field, names), n) for field, n in _counts(LATER)]
    return _joined([*parts, _RATIOS, tables.pair_table(results.runs, LATER, names)])


_RATIOS = f"On games that both have played; below 1 {OURS} is better, bold where the interval leaves 1 out:"


def _narrowed(field: Field, held_out: set[str]) -> Field:
    own = [name for name in field.problems if name in held_out]
    return field._replace(title=f"{field.title}, held out", problems=own)


def pairs(results: Results) -> str:
    parts = [_RATIOS, tables.pair_table(results.runs, LATER, LEAGUE), "By group, with the number of problems:"]
    return _joined([*parts, *(tables.pair_group_table(results.runs, n, LEAGUE) for n in LATER)])


def problems(results: Results) -> str:
    return _joined(tables.problem_table(results.runs, field, field.at[-1]) for field in (ALL, LONGER, FAST))


def lost(results: Results) -> str:
    found = tables.verdicts(results.runs, LATER)
    counted = "Problems on which all of the ratio's interval over seeds is below 1, around it, or above:"
    named = "Those above, with the ratio and its interval; ◊ was held out:"
    return _joined([counted, tables.balance_table(found), named, tables.lost_table(results.runs, found)])


def overhead(results: Results) -> str:
    loaded = "Mean seconds of a suggestion by the number of values known, asking and telling:"
    in_runs = "In the runs, mean of all suggestions until then, and peak memory:"
    return _joined([loaded, costs.overhead_table(results.loads), in_runs, costs.time_table(results.runs)])


def bandits(results: Results) -> str:
    return all_tables(results.rounds) if results.rounds else "Nobody has played yet."


def versions(results: Results) -> str:
    commits = sorted({row["commit"] for row in results.runs if row["system"] == OURS})
    return _joined([costs.version_table(results.runs), f"{OURS} at {', '.join(commits)}.", _machines(results.runs)])


def _machines(rows: Sequence[Row]) -> str:
    """Which systems played where; a row of old does not say."""
    played = sorted({(row.get("machine", ""), place(row["system"])) for row in rows})
    on = {machine: ", ".join(tables.label(s) for where, (_, s) in played if where == machine) for machine, _ in played}
    return " ".join(f"On {machine or 'a machine that is not named'}: {systems}." for machine, systems in on.items())


def summary(results: Results) -> str:
    """One short table: quality after 100 evaluations, and what a suggestion costs."""
    meeting = meet(standings(ALL.rows(results.runs), 100))
    regrets, ranks = (of(meeting) if meeting.problems else {} for of in (means, mean_ranks))
    spent = costs.costs(results.loads)
    best_first = sorted(regrets, key=lambda s: (regrets[s].middle, place(s)))
    lines = [
        [
            f"**{tables.label(s)}**" if s == OURS else tables.label(s),
            *((tables.short(regrets[s].middle), f"{ranks[s].middle:.2f}") if s in regrets else ("", "")),
            *(costs.cost_cell(spent.get(s, []), told) for told in (200, 1000)),
        ]
        for s in [*best_first, *(s for s in spent if s not in regrets)]
    ]
    return tables.markdown(["system", "regret at 100", "rank at 100", "seconds at 200", "seconds at 1,000"], lines)


def _counts(among: Sequence[int]) -> list[tuple[Field, int]]:
    """All at least to 100; what is longer only where the others end."""
    chosen = [(ALL, n) for n in ALL.at if n in among] + [(LONGER, 200)]
    return chosen + [(FAST, n) for n in FAST.at if n in among]


def _joined(parts: Iterable[str]) -> str:
    return "\n\n".join(parts)


# Pages


class PageError(ValueError):
    """A page has not the marks of its parts."""


Part = Callable[[Results], str]
PARTS: Mapping[Path, Mapping[str, Part]] = {
    PAGE: {
        "scores": scores,
        "mean-regret": mean_regret,
        "groups": group_scores,
        "held-out": held_out,
        "pairs": pairs,
        "problems": problems,
        "lost": lost,
        "overhead": overhead,
        "bandits": bandits,
        "versions": versions,
    },
    README: {"league": summary},
}


def write(results: Results, root: Path) -> None:
    """Figures and parts; nothing is written unless all pages have all their marks.

    Raises:
        PageError: a page is not there, or has not the marks of a part.
    """
    pages = {path: _read(root, path) for path in PARTS}
    for path, text in pages.items():
        for name in PARTS[path]:
            _marks(text, name, path)  # all of them before anything is computed
    filled = {path: _filled(text, path, results) for path, text in pages.items()}
    draw(results, root / FIGURES)
    for path, text in filled.items():
        (root / path).write_text(text, encoding="utf-8")


def draw(results: Results, folder: Path) -> None:
    from benchmarks.league import figures  # matplotlib, which other verbs need not have

    figures.overhead(results.loads, folder / "overhead.svg")
    figures.profiles(results.runs, (ALL, FAST), folder / "profiles.svg")
    figures.regrets(results.runs, (ALL, LONGER), folder / "regret.svg")


def _read(root: Path, path: Path) -> str:
    if not (root / path).exists():
        raise PageError(f"{path}: expected a page with the parts {', '.join(PARTS[path])}, got no file")
    return (root / path).read_text(encoding="utf-8")


def _filled(text: str, path: Path, results: Results) -> str:
    for name, part in PARTS[path].items():
        text = replaced(text, name, part(results), path)
    return text


def replaced(text: str, name: str, body: str, path: Path) -> str:
    """The text with another body between the marks of a part.

    Raises:
        PageError: a mark is not there, or not once, or not in order.
    """
    begin, end = _marks(text, name, path)
    return f"{text[:begin]}\n\n{body}\n\n{text[end:]}"


def _marks(text: str, name: str, path: Path) -> tuple[int, int]:
    """Where a part begins and ends."""
    found = []
    for which in ("begin", "end"):
        mark = f"<!-- {which}: {name} -->"
        lines = list(re.finditer(rf"^{re.escape(mark)}$", text, re.MULTILINE))
        if len(lines) != 1:
            raise PageError(f"{path}: expected one line {mark}, got {len(lines)}")
        found.append(lines[0])
    begin, end = found[0].end(), found[1].start()
    if end < begin:
        raise PageError(f"{path}: expected the end of {name} after its beginning, got it before")
    return begin, end
