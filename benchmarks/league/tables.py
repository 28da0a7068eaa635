"""Scores, ranks, ratios and problems as Markdown."""

from collections.abc import Collection, Iterable, Mapping, Sequence

import numpy as np

from benchmarks.league.problems import GROUPS
from benchmarks.league.registry import SYSTEMS
from benchmarks.league.runner import Row
from benchmarks.league.scores import (
    OURS,
    Field,
    Interval,
    Meeting,
    Pair,
    leaders,
    mean_ranks,
    means,
    meet,
    on,
    pair,
    place,
    standings,
)

FEWEST = 3
"""Seeds from which on a problem is said to be lost: fewer have no spread to speak of."""

# Many systems


def score_table(rows: Sequence[Row], field: Field, n: int) -> str:
    """Geometric mean of the regret by the spread, and mean rank among all and among Gaussian processes."""
    meeting = meet(standings(field.rows(rows), n))
    if not meeting.problems:
        return nothing(field, n)
    regrets, ranks = means(meeting), mean_ranks(meeting)
    models = mean_ranks(meeting.among([s for s in meeting.systems if _is_model(s)]))
    bold = leaders(meeting)
    lines = [
        [
            label(system),
            *_cells(regrets[system], bold=system in bold),
            *_rank_cells(ranks[system]),
            *(_rank_cells(models[system]) if system in models else ("", "")),
            str(len(meeting.games(system))),
            str(meeting.cut(system)),
        ]
        for system in meeting.systems
    ]
    head = ["system", "regret", "95 %", "rank", "95 %", "rank among GPs", "95 %", "games", "cut"]
    return f"{said(meeting, field, n)}\n\n{markdown(head, lines)}"


def mean_regret_table(rows: Sequence[Row], field: Field) -> str:
    """Geometric mean of the mean regret of all evaluations so far, by the spread."""
    by_count = {n: meet(standings(field.rows(rows), n, "mean_regret")) for n in field.at}
    shown = {n: meeting for n, meeting in by_count.items() if meeting.problems}
    if not shown:
        return nothing(field, field.at[-1])
    regrets = {n: means(meeting) for n, meeting in shown.items()}
    bold = {n: leaders(meeting) for n, meeting in shown.items()}
    there = sorted({system for meeting in shown.values() for system in meeting.systems}, key=place)
    lines = [[label(s), *(_said(regrets[n].get(s), bold=s in bold[n]) for n in shown)] for s in there]
    last = max(shown)
    return f"{said(shown[last], field, last)}\n\n{markdown(['system', *map(str, shown)], lines)}"


def group_table(rows: Sequence[Row], field: Field, n: int) -> str:
    """Geometric mean of the regret and mean rank, group by group."""
    meeting = meet(standings(field.rows(rows), n))
    if not meeting.problems:
        return nothing(field, n)
    parts = {group: meeting.on(names) for group, names in groups(rows).items()}
    shown = {group: part for group, part in parts.items() if part.problems}
    regrets, ranks = ({g: of(part) for g, part in shown.items()} for of in (means, mean_ranks))
    bold = {group: leaders(part) for group, part in shown.items()}
    lines = [
        [
            label(s),
            *(f"{_bold(short(regrets[g][s].middle), s in bold[g])}, {ranks[g][s].middle:.1f}" for g in shown),
        ]
        for s in meeting.systems
    ]
    head = ["system: regret, rank", *(f"{group} ({len(part.problems)})" for group, part in shown.items())]
    return f"{said(meeting, field, n)}\n\n{markdown(head, lines)}"


def groups(rows: Iterable[Row]) -> dict[str, set[str]]:
    """Problems by group."""
    group_of = {row["problem"]: row["group"] for row in rows}
    return {group: {name for name, own in group_of.items() if own == group} for group in GROUPS}


def problem_table(rows: Sequence[Row], field: Field, n: int) -> str:
    """Geometric means over seeds, to see where one loses; the least in bold."""
    meeting = meet(standings(field.rows(rows), n))
    if not meeting.problems:
        return nothing(field, n)
    lines = []
    for problem, scores in zip(meeting.problems, meeting.scores(), strict=True):
        regrets = np.exp(np.nanmean(np.log(scores), axis=0))
        best = 1.05 * regrets.min()
        lines.append([_marked(problem, rows), *(_bold(short(regret), regret <= best) for regret in regrets)])
    return f"{said(meeting, field, n)}\n\n{markdown(['problem', *map(label, meeting.systems)], lines)}"


def _marked(problem: str, rows: Iterable[Row]) -> str:
    return f"{problem} ◊" if problem in held_out(rows) else problem


def held_out(rows: Iterable[Row]) -> set[str]:
    """Problems that nobody looked at."""
    return {row["problem"] for row in rows if row["held_out"]}


def nothing(field: Field, n: int) -> str:
    return f"{field.title}, after {n} evaluations: no games yet."


def said(meeting: Meeting, field: Field, n: int) -> str:
    """What a table is of."""
    games = [len(meeting.games(system)) for system in meeting.systems]
    played = f"{min(games)} games" if min(games) == max(games) else f"{min(games)} to {max(games)} games"
    few = ", ".join(f"{label(system)} {count}" for system, count in meeting.left_out.items())
    left_out = f" With too few games to be here: {few}." if few else ""
    what = f"{len(meeting.problems)} problems, {played} of each system"
    return f"**{field.title}, after {n} evaluations**: {what}.{left_out}"


# Two systems


def pair_table(rows: Sequence[Row], counts: Iterable[int], problems: Collection[str]) -> str:
    """Ours against each, on the games that both have played; bold where the interval is on one side of 1."""
    lines = []
    by_count = {n: _pairs(rows, n, problems) for n in counts}
    for system in sorted({system for pairs in by_count.values() for system in pairs}, key=place):
        for n, pairs in by_count.items():
            if (one := pairs.get(system)) is not None:
                lines.append([label(system), str(n), *_pair_cells(one)])
    head = ["system", "at", f"regret of {OURS} / regret of system", "95 %", "won", "problems", "games", "cut"]
    return markdown(head, lines)


def _pairs(rows: Iterable[Row], n: int, problems: Collection[str]) -> dict[str, Pair]:
    found = on(standings(rows, n), problems)
    met = {system: pair(found.get(OURS, {}), games) for system, games in found.items() if system != OURS}
    return {system: one for system, one in met.items() if one is not None}


def _pair_cells(one: Pair) -> list[str]:
    ratio, interval = _cells(one.ratio, bold=_is_clear(one.ratio))
    return [ratio, interval, f"{100.0 * one.won:.0f} %", str(one.problems), str(one.games), str(one.cut)]


def _is_clear(ratio: Interval) -> bool:
    """For us or against us."""
    return not ratio.low <= 1.0 <= ratio.high


def pair_group_table(rows: Sequence[Row], n: int, problems: Collection[str]) -> str:
    """Ratios group by group, and on how many problems."""
    by_group = {group: _pairs(rows, n, names & set(problems)) for group, names in groups(rows).items()}
    shown = {group: pairs for group, pairs in by_group.items() if pairs}
    there = sorted({system for pairs in shown.values() for system in pairs}, key=place)
    lines = [[label(system), *(_ratio_cell(pairs.get(system)) for pairs in shown.values())] for system in there]
    return markdown([f"{OURS} / system at {n}", *shown], lines)


def _ratio_cell(one: Pair | None) -> str:
    return f"{_said(one.ratio, bold=_is_clear(one.ratio))}, {one.problems}" if one is not None else ""


Verdicts = Mapping[int, Mapping[tuple[str, str], Pair]]
"""By number of evaluations, problem and system."""


def verdicts(rows: Sequence[Row], counts: Iterable[int]) -> Verdicts:
    """Problem by problem, where ours and another have met often enough; intervals are over seeds."""
    names = sorted({row["problem"] for row in rows})
    by_name = {name: [row for row in rows if row["problem"] == name] for name in names}
    return {
        n: {
            (name, system): one
            for name in names
            for system, one in _pairs(by_name[name], n, [name]).items()
            if one.games >= FEWEST
        }
        for n in counts
    }


def lost_table(rows: Sequence[Row], by_count: Verdicts) -> str:
    """Where a system's regret is below ours beyond noise: all of the ratio's interval is above 1."""
    lost: dict[tuple[str, str], dict[int, Interval]] = {}
    for n, pairs in by_count.items():
        for key, one in pairs.items():
            if one.ratio.low > 1.0:
                lost.setdefault(key, {})[n] = one.ratio
    group_of = {row["problem"]: row["group"] for row in rows}
    lines = [
        [_marked(problem, rows), group_of[problem], label(system), *(_said(ratios.get(n)) for n in by_count)]
        for (problem, system), ratios in sorted(lost.items(), key=lambda item: (item[0][0], place(item[0][1])))
    ]
    return markdown(["problem", "group", "system", *(f"{OURS} / system at {n}" for n in by_count)], lines)


def balance_table(by_count: Verdicts) -> str:
    """On how many problems ours is better beyond noise, neither, or worse."""
    there = sorted({system for pairs in by_count.values() for _, system in pairs}, key=place)
    lines = [
        [label(s), *(_balance([one for key, one in pairs.items() if key[1] == s]) for pairs in by_count.values())]
        for s in there
    ]
    return markdown(["system", *(f"better, neither, worse at {n}" for n in by_count)], lines)


def _balance(pairs: Sequence[Pair]) -> str:
    better, worse = sum(one.ratio.high < 1.0 for one in pairs), sum(one.ratio.low > 1.0 for one in pairs)
    return f"{better}, {len(pairs) - better - worse}, {worse}" if pairs else ""


# Cells


def label(system: str) -> str:
    return SYSTEMS[system].label if system in SYSTEMS else system


def _is_model(system: str) -> bool:
    return system not in SYSTEMS or SYSTEMS[system].model


def short(number: float) -> str:
    """Two digits that count."""
    return f"{number:#.2g}".rstrip(".") if number < 99.5 else f"{number:,.0f}"


def _bold(cell: str, bold: bool) -> str:
    return f"**{cell}**" if bold else cell


def _cells(interval: Interval, *, bold: bool = False) -> tuple[str, str]:
    middle, low, high = map(short, interval)
    return _bold(middle, bold), f"{low} to {high}"


def _rank_cells(interval: Interval) -> tuple[str, str]:
    return f"{interval.middle:.2f}", f"{interval.low:.2f} to {interval.high:.2f}"


def _said(interval: Interval | None, *, bold: bool = False) -> str:
    return "{} ({})".format(*_cells(interval, bold=bold)) if interval is not None else ""


def markdown(head: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    rule = ["---"] * len(head)
    return "\n".join(f"| {' | '.join(line)} |" for line in (head, rule, *lines))
