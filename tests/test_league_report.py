"""What the league's rows say: fair tables also of those who played little, figures, and pages.

Rows are made up; systems a, b, c are nobody.
"""

import itertools
import random
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.league import costs, report, scores, tables
from benchmarks.league.registry import SYSTEMS
from benchmarks.league.runner import CUT, DONE, FAILED, Row
from benchmarks.league.scores import OURS, Field, Game, Interval, Standing
from benchmarks.league.suites import LEAGUE, LONG, SLOW

FIELD = Field("Some", [OURS, "a", "b", "c"], ["p", "q"], at=(25, 50))
SYSTEM = st.sampled_from(FIELD.systems)
REGRETS = st.lists(st.floats(1e-3, 10.0), min_size=2, max_size=2)


def row(system: str, problem: str = "p", seed: int = 0, **options: Any) -> Row:
    """A run whose regrets are those given, the last of them for all later numbers of evaluations."""
    at = options.pop("at", [25, 50])
    regret = options.pop("regret", [1.0])
    column = [regret[min(k, len(regret) - 1)] for k in range(len(at))]
    one: Row = {
        **{"system": system, "problem": problem, "seed": seed, "status": DONE, "group": "smooth", "spread": 2.0},
        **{"held_out": problem == "q", "evaluations": max([50, *at]), "limit": 60.0, "versions": {system: "1.0"}},
        **{"at": at, "regret": column, "mean_regret": column, "seconds": column, "cpu": column, "memory": column},
        **{"commit": "abc"},
    }
    return one | options


def load(system: str, told: int, status: str = DONE, seconds: tuple[float, ...] = (1.0,)) -> Row:
    return {"system": system, "told": told, "seed": 0, "status": status, "limit": 60.0, "seconds": list(seconds)}


@st.composite
def leagues(draw: st.DrawFn) -> list[Row]:
    """Some of the runs of some systems."""
    games = st.tuples(SYSTEM, st.sampled_from(FIELD.problems), st.integers(0, 3))
    played = draw(st.dictionaries(games, REGRETS, min_size=1))
    return [row(*game, regret=regret) for game, regret in played.items()]


# Standings


def test_regret_is_by_the_spread_and_not_below_the_least() -> None:
    one = row("a", regret=[1.0, 0.0])
    assert scores.standing(one, 25) == Standing(0.5, cut=False)
    assert scores.standing(one, 50) == Standing(scores.LEAST, cut=False)
    assert scores.standing(one, 100) is None


@pytest.mark.parametrize("status", [CUT, FAILED])
def test_cut_run_keeps_its_regret_and_is_counted(status: str) -> None:
    one = row("a", status=status, regret=[1.0, 0.5], evaluations=100)
    assert scores.standing(one, 50) == Standing(0.25, cut=False)
    assert scores.standing(one, 100) == Standing(0.25, cut=True)
    assert scores.standing(row("a", status=status, at=[], evaluations=100), 100) == Standing(1.0, cut=True)
    assert scores.standing(one, 200) is None  # nor would it have come so far if it had not been cut


def test_of_several_runs_of_a_game_one_that_came_so_far_counts() -> None:
    done, cut = row("a", regret=[0.2]), row("a", at=[25], status=CUT, regret=[0.6], limit=900.0)
    for rows in ([done, cut], [cut, done]):
        assert scores.standings(rows, 50) == {"a": {Game("p", 0): Standing(0.1, cut=False)}}


# Many systems


def test_systems_meet_on_problems_that_all_have_played_each_with_its_own_seeds() -> None:
    rows = [row("a", problem, seed) for problem in "pq" for seed in range(4)] + [row("b", seed=seed) for seed in (1, 4)]
    rows += [row(system, problem) for system in "ab" for problem in map(str, range(8))]
    meeting = scores.meet(scores.standings(rows, 50))
    assert (meeting.systems, meeting.problems) == (["a", "b"], [*map(str, range(8)), "p"])
    assert meeting.on("p").games("a") == [Game("p", seed) for seed in range(4)]
    assert meeting.on("p").games("b") == [Game("p", seed) for seed in (1, 4)]
    np.testing.assert_array_equal(np.isnan(meeting.on("p").scores()[0]).T, [[0, 0, 0, 0, 1], [1, 0, 1, 1, 0]])


@given(st.lists(st.tuples(st.floats(1e-3, 10.0), st.floats(1e-3, 10.0)), min_size=1, max_size=4))
def test_seeds_of_others_do_not_matter_to_a_mean(regrets: list[tuple[float, float]]) -> None:
    few = [row(system, seed=0, regret=[own]) for system, own in zip("ab", regrets[0], strict=True)]
    more = [row("b", seed=k, regret=[own]) for k, (_, own) in enumerate(regrets) if k > 0]
    found = [scores.means(scores.meet(scores.standings(rows, 50))) for rows in (few, few + more)]
    for means in found:
        assert means["a"].middle == pytest.approx(regrets[0][0] / 2.0)
    assert found[1]["b"].middle == pytest.approx(np.exp(np.mean(np.log([own / 2.0 for _, own in regrets]))))


def test_rank_counts_the_share_of_games_in_which_others_are_better() -> None:
    rows = [row("a", regret=[1.0]), *(row("b", seed=seed, regret=[r]) for seed, r in enumerate((0.5, 1.0, 2.0, 3.0)))]
    ranks = scores.mean_ranks(scores.meet(scores.standings(rows, 50)))
    assert (ranks["a"].middle, ranks["b"].middle) == (1.375, 1.625)


@given(leagues())
def test_ranks_of_systems_sum_up_to_what_they_are(rows: list[Row]) -> None:
    meeting = scores.meet(scores.standings(rows, 50))
    m = len(meeting.systems)
    assert sum(one.middle for one in scores.mean_ranks(meeting).values()) == pytest.approx(m * (m + 1) / 2)


def test_system_with_few_games_is_named_and_does_not_empty_the_table() -> None:
    rows = [row(system, p, seed) for system in (OURS, "a") for p in "pq" for seed in range(3)]
    said, _, head, _, *lines = tables.score_table([*rows, row("b")], FIELD, 50).splitlines()
    assert "2 problems, 6 games of each system" in said
    assert said.endswith("With too few games to be here: b 1.")
    assert [line.split(" | ")[0] for line in lines] == [f"| {OURS}", "| a"]
    assert {line.count(" | ") for line in lines} == {head.count(" | ")}


def test_better_system_has_the_better_score_and_rank() -> None:
    rows = [row(s, p, k, regret=[r]) for s, r in ((OURS, 0.2), ("b", 0.4)) for k in (0, 1) for p in "pq"]
    *_, first, second = tables.score_table(rows, FIELD, 50).splitlines()
    assert first == f"| {OURS} | **0.10** | 0.10 to 0.10 | 1.00 | 1.00 to 1.00 | 1.00 | 1.00 to 1.00 | 4 | 0 |"
    assert second == "| b | 0.20 | 0.20 to 0.20 | 2.00 | 2.00 to 2.00 | 2.00 | 2.00 to 2.00 | 4 | 0 |"
    assert "| p | **0.10** | 0.20 |" in tables.problem_table(rows, FIELD, 50)
    assert "| q ◊ | **0.10** | 0.20 |" in tables.problem_table(rows, FIELD, 50)
    assert "| b | 0.20, 2.0 |" in tables.group_table(rows, FIELD, 50)
    assert "| b | 0.20 (0.20 to 0.20) | 0.20 (0.20 to 0.20) |" in tables.mean_regret_table(rows, FIELD)


def test_only_models_are_ranked_among_models() -> None:
    found = [row(system, regret=[regret]) for system, regret in (("random", 0.1), (OURS, 0.2))]
    lines = tables.score_table(found, FIELD._replace(systems=list(SYSTEMS)), 50).splitlines()[-2:]
    assert "| 2.00 | 2.00 to 2.00 | 1.00 | 1.00 to 1.00 | 1 | 0 |" in lines[0]
    assert "| 1.00 | 1.00 to 1.00 |  |  | 1 | 0 |" in lines[1]
    assert "| random |" in tables.score_table(found[:1], FIELD._replace(systems=["random"]), 50)


def test_cut_games_are_counted_in_scores_and_pairs() -> None:
    rows = [row(system, seed=seed, regret=[0.2]) for system in (OURS, "a") for seed in range(3)]
    rows[-1] |= {"status": CUT, "at": [25]} | {name: [0.2] for name in ("regret", "seconds")}
    assert tables.score_table(rows, FIELD, 50).splitlines()[-1].endswith("| 1 |")
    assert tables.pair_table(rows, [50], FIELD.problems).splitlines()[-1].endswith("| 1 | 3 | 1 |")


def test_nobody_has_no_table() -> None:
    for table in (tables.score_table, tables.group_table, tables.problem_table):
        assert table([], FIELD, 50) == "Some, after 50 evaluations: no games yet."
    assert tables.mean_regret_table([], FIELD) == "Some, after 50 evaluations: no games yet."


@given(leagues(), st.randoms(use_true_random=False))
def test_order_of_rows_does_not_matter(rows: list[Row], order: random.Random) -> None:
    mixed = rows.copy()
    order.shuffle(mixed)
    assert tables.score_table(rows, FIELD, 50) == tables.score_table(mixed, FIELD, 50)
    assert tables.pair_table(rows, [25, 50], "pq") == tables.pair_table(mixed, [25, 50], "pq")


@given(st.integers(1, 4), st.integers(1, 4), st.booleans(), st.integers(0, 2**32 - 1))
def test_mean_is_within_its_interval_of_means(count: int, seeds: int, redraw: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = [rng.random((seeds, 2)) for _ in range(count)]
    middle, low, high = scores.bootstrap(values, redraw=redraw)
    assert (low <= high).all()
    assert middle == pytest.approx(np.mean([one.mean(axis=0) for one in values], axis=0))
    everything = np.concatenate(values)
    assert (everything.min(axis=0) - 1e-12 <= low).all()
    assert (high <= everything.max(axis=0) + 1e-12).all()


def test_interval_over_seeds_alone_knows_nothing_of_other_problems() -> None:
    values = [np.full((3, 1), height) for height in (0.0, 1.0, 5.0)]
    assert scores.bootstrap(values, redraw=False).ravel() == pytest.approx([2.0] * 3)
    assert scores.bootstrap(values)[1, 0] < 1.0


def test_what_was_played_once_may_differ_as_the_games_of_others_do() -> None:
    several = np.random.default_rng(0).normal(0.0, 3.0, 40)
    once = np.array([1.0] + [np.nan] * 39)
    middle, low, high = scores.bootstrap([np.stack([several, once], axis=1)])
    assert middle[1] == 1.0
    assert (low[1], high[1]) == pytest.approx(1.0 + 1.96 * several.std(ddof=1) * np.array([-1.0, 1.0]), rel=0.1)


def test_where_all_have_played_once_nobody_knows_how_games_differ() -> None:
    assert scores.bootstrap([np.array([[1.0, 2.0]])]).tolist() == [[1.0, 2.0]] * 3


def test_one_lucky_game_leaves_others_within_noise() -> None:
    rows = [row("a", seed=k, regret=[r]) for k, r in enumerate((0.1, 0.4, 0.9, 0.2))]
    assert scores.leaders(scores.meet(scores.standings([*rows, row("b", regret=[0.08])], 50))) == {"a", "b"}
    assert scores.leaders(scores.meet(scores.standings([*rows, row("b", regret=[1e-4])], 50))) == {"b"}


def test_ties_share_a_rank() -> None:
    rows = [row("a"), row("b"), row("c", regret=[3.0])]
    ranks = scores.mean_ranks(scores.meet(scores.standings(rows, 50)))
    assert [ranks[system].middle for system in "abc"] == [1.5, 1.5, 3.0]


def test_leaders_are_those_not_clearly_behind() -> None:
    regrets = {"a": (0.1, 0.2, 0.4), "b": (0.2, 0.1, 0.41), "c": (1.0, 2.0, 4.0)}
    rows = [row(system, seed=k, regret=[r]) for system, own in regrets.items() for k, r in enumerate(own)]
    assert scores.leaders(scores.meet(scores.standings(rows, 50))) == {"a", "b"}


def test_profile_is_the_share_within_the_tolerance() -> None:
    rows = [row("a", seed=0, regret=[1.0, 0.02]), row("a", seed=1)]
    one = scores.course(rows, FIELD)
    shares = [[scores.solved(meeting, "a", tolerance) for tolerance in scores.TOLERANCES] for meeting in one.meetings]
    assert one.counts == [25, 50]
    assert shares == [[0.0, 0.0, 0.0], [0.5, 0.5, 0.0]]


# Two systems


@given(leagues())
def test_system_is_as_good_as_itself(rows: list[Row]) -> None:
    for games in scores.standings(rows, 50).values():
        one = scores.pair(games, games)
        assert one is not None
        assert (one.ratio, one.won, one.games) == (Interval(1.0, 1.0, 1.0), 0.5, len(games))


@given(leagues(), st.floats(0.01, 100.0))
def test_units_of_a_problem_do_not_matter_to_ratios(rows: list[Row], scale: float) -> None:
    scaled = [one | {"regret": [scale * r for r in one["regret"]]} if one["problem"] == "p" else one for one in rows]
    for found, again in zip(*(_pairs(own) for own in (rows, scaled)), strict=True):
        assert found.ratio == pytest.approx(again.ratio)
        assert found[1:] == again[1:]


@given(leagues())
def test_ratio_turned_round_is_its_inverse(rows: list[Row]) -> None:
    found = scores.standings(rows, 50)
    one, other = (scores.pair(found.get(x, {}), found.get(y, {})) for x, y in ((OURS, "a"), ("a", OURS)))
    if one is None or other is None:
        assert one is other
    else:
        middle, low, high = other.ratio
        assert one.ratio == pytest.approx((1 / middle, 1 / high, 1 / low), rel=1e-6)
        assert one.won == pytest.approx(1.0 - other.won)


def _pairs(rows: list[Row]) -> list[scores.Pair]:
    found = scores.standings(rows, 50)
    pairs = [scores.pair(found.get(OURS, {}), games) for games in found.values()]
    return [one for one in pairs if one is not None]


def test_pair_is_on_games_that_both_have_played() -> None:
    rows = [row(OURS, p, seed, regret=[0.2]) for p in "pq" for seed in range(5)]
    rows += [row("a", "q", seed, regret=[regret]) for seed, regret in enumerate((0.1, 0.1, 0.4))]
    line = tables.pair_table(rows, [25, 50, 100], "pq").splitlines()[-1]
    assert line == "| a | 50 | 1.3 | 0.50 to 2.0 | 33 % | 1 | 3 | 0 |"
    assert len(tables.pair_table(rows, [50], "p").splitlines()) == 2
    assert "| a | 1.3 (0.50 to 2.0), 1 |" in tables.pair_group_table(rows, 50, "pq")


def test_what_is_lost_beyond_noise_is_named() -> None:
    rows = [row(OURS, p, seed, regret=[0.8]) for p in "pq" for seed in range(4)]
    rows += [row("a", "p", seed, regret=[regret]) for seed, regret in enumerate((0.1, 0.2, 0.4, 0.2))]
    rows += [row("a", "q", seed, regret=[regret]) for seed, regret in enumerate((0.1, 9.0, 0.4, 0.2))]
    rows += [row("b", "p", seed, regret=[0.1]) for seed in range(tables.FEWEST - 1)]
    found = tables.verdicts(rows, [25, 50])
    lines = tables.lost_table(rows, found).splitlines()[2:]
    assert [line.split(" | ")[:3] for line in lines] == [["| p", "smooth", "a"]]
    assert lines[0].count("4.0 (") == 2
    assert tables.balance_table(found).splitlines()[2:] == ["| a | 0, 1, 1 | 0, 1, 1 |"]


# Time


def test_overhead_shows_what_was_cut_and_what_was_not_tried_for_it() -> None:
    rows = [load("a", 10, seconds=(0.1, 0.1, 0.7)), load("a", 100, CUT, (2.0,)), load("b", 1000)]
    assert costs.overhead_table(rows).splitlines()[2:] == ["| a | 0.30 | 2.0, cut | cut |", "| b |  |  | 1.0 |"]


def test_measurement_that_came_to_its_end_counts() -> None:
    rows = [load("a", 10, CUT, (9.0,)), load("a", 10, DONE, (1.0, 2.0))]
    assert costs.costs(rows) == costs.costs(rows[::-1]) == {"a": [costs.Cost(10, 1.5, DONE)]}


def test_machines_are_told_with_who_played_there() -> None:
    rows = [row(OURS, machine="a fast one"), row("random", machine="a fast one"), row("hebo")]
    told = report.versions(report.Results(rows, []))
    assert "On a fast one: uncubed, random." in told
    assert "On a machine that is not named: HEBO." in told


def test_versions_and_ends_are_told() -> None:
    rows = [row("a"), row("a", "q", 1, status=CUT), row("a", "q", 1, status=FAILED)]
    assert costs.version_table(rows).splitlines()[-1] == "| a | a 1.0 | 2 | 2 | 1 | 1 | 1 |"
    assert costs.time_table(rows).splitlines()[-1] == "| a | 40.0 | 40.0 | 20.0 | 20.0 | 1.0 |"


# Figures


def played() -> report.Results:
    """A small league: slow systems on a part, one with a single game, one cut."""
    at = [5, 10, 25, 50, 100, 200]
    games = [(system, p, k) for system in (OURS, "dense", "random") for p in (*LONG, LEAGUE[0]) for k in range(2)]
    games += [("botorch", p, k) for p in LONG for k in range(2)] + [("ax", LONG[0], 0)]
    falling = {game: [(1 + sum(map(ord, "".join(map(str, game)))) % 7) / n for n in at] for game in games}
    runs = [row(*game, at=at, regret=regret, group="smooth") for game, regret in falling.items()]
    runs[-2] |= {"status": CUT} | {
        name: runs[-2][name][:3] for name in ("at", "regret", "mean_regret", "seconds", "cpu")
    }
    loads = [load(system, told, seconds=(1e-4 * told,)) for system in (OURS, "botorch") for told in (10, 200, 1000)]
    loads += [load("botorch", 3000, CUT, ()), load("ax", 10, CUT, (30.0,)), load("hebo", 10, FAILED, ())]
    return report.Results(runs, loads)


def test_lines_end_where_systems_were_cut() -> None:
    pytest.importorskip("matplotlib")
    from matplotlib.figure import Figure

    from benchmarks.league import figures

    axes = Figure().subplots()
    ends = [figures._draw_costs(axes, *found) for found in costs.costs(played().loads).items()]
    notes = {end.system: (end.x, end.note) for end in ends if end is not None}
    assert notes == {OURS: (1000, ""), "botorch": (1000, "cut at 3,000"), "ax": (10, "cut")}


def test_names_of_lines_that_end_close_to_each_other_are_in_their_order() -> None:
    pytest.importorskip("matplotlib")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    from benchmarks.league import figures

    figure = Figure()
    FigureCanvasAgg(figure)
    axes, heights = figure.subplots(), [0.5, 0.52, 0.1, 0.53, 0.51, 0.11, 0.9]
    ends = [figures.End(system, 1.0, y) for system, y in zip(SYSTEMS, heights, strict=False)]
    figures._label_ends(axes, ends)
    names = [SYSTEMS[end.system].label for end in sorted(ends, key=lambda end: end.y)]
    places = [text.get_window_extent() for text in sorted(axes.texts, key=lambda text: names.index(text.get_text()))]
    assert len(places) == len(ends)
    assert all(low.y1 <= high.y0 for low, high in itertools.pairwise(places))


def test_figures_of_nothing_are_empty(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    report.draw(report.Results([], []), tmp_path)
    assert len(list(tmp_path.iterdir())) == 3


def test_every_system_has_a_look() -> None:
    pytest.importorskip("matplotlib")
    from benchmarks.league.figures import STYLES

    assert list(STYLES) == list(SYSTEMS)
    assert len({style[:2] for style in STYLES.values()}) == len(SYSTEMS)


# Pages


def pages(root: Path) -> None:
    for path, parts in report.PARTS.items():
        (root / path).parent.mkdir(exist_ok=True)
        (root / path).write_text("\n".join(f"By hand.\n<!-- begin: {n} -->\n<!-- end: {n} -->" for n in parts) + "\n")


def written(root: Path) -> dict[Path, str]:
    report.write(played(), root)
    return {path.relative_to(root): path.read_text() for path in root.rglob("*") if path.is_file()}


def test_report_fills_in_its_parts_and_is_the_same_again(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    pages(tmp_path)
    first = written(tmp_path)
    assert written(tmp_path) == first
    assert sorted(path.name for path in first if path.suffix == ".svg") == [
        "overhead.svg",
        "profiles.svg",
        "regret.svg",
    ]
    assert not any("<dc:date>" in text for text in first.values())
    page = first[report.PAGE]
    assert page.count("By hand.") == len(report.PARTS[report.PAGE])
    assert "Nobody has played yet." in page  # the bandits
    for name in set(report.PARTS[report.PAGE]) - {"bandits"}:
        assert re.search(rf"<!-- begin: {name} -->\n\n.*\| --- \|.*\n\n<!-- end: {name} -->", page, re.DOTALL)
    assert "With too few games to be here: Ax 1." in page
    assert f"| **{OURS}** | " in first[report.README]
    assert "| Ax |  |  | cut | cut |" in first[report.README]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<!-- end: x -->\n", "docs/page.md: expected one line <!-- begin: x -->, got 0"),
        ("<!-- begin: x -->\n", "docs/page.md: expected one line <!-- end: x -->, got 0"),
        (2 * "<!-- begin: x -->\n<!-- end: x -->\n", "docs/page.md: expected one line <!-- begin: x -->, got 2"),
        ("<!-- end: x -->\n<!-- begin: x -->\n", "docs/page.md: expected the end of x after its beginning"),
        ("say `<!-- begin: x -->`\n<!-- end: x -->\n", "expected one line <!-- begin: x -->, got 0"),
    ],
)
def test_missing_mark_is_an_error(text: str, message: str) -> None:
    with pytest.raises(report.PageError, match=re.escape(message)):
        report.replaced(text, "x", "body", Path("docs/page.md"))


@pytest.mark.parametrize("spoilt", [True, False], ids=["mark", "page"])
def test_nothing_is_written_unless_all_marks_are_there(tmp_path: Path, spoilt: bool) -> None:
    pages(tmp_path)
    before = (tmp_path / report.PAGE).read_text()
    if spoilt:
        (tmp_path / report.README).write_text("no mark\n")
    else:
        (tmp_path / report.README).unlink()
    with pytest.raises(report.PageError, match=re.escape("README.md: expected")):
        report.write(played(), tmp_path)
    assert (tmp_path / report.PAGE).read_text() == before
    assert not (tmp_path / report.FIGURES).exists()


@given(st.text(), st.text(alphabet="ab|\n", max_size=20), st.text(alphabet="ab|\n", max_size=20))
def test_replaced_part_is_the_last_body(around: str, body: str, other: str) -> None:
    text = f"{around}\n<!-- begin: x -->\nold\n<!-- end: x -->\n{around}"
    if "<!--" not in around:
        once = report.replaced(text, "x", body, Path("p"))
        assert report.replaced(report.replaced(text, "x", other, Path("p")), "x", body, Path("p")) == once
        assert once == f"{around}\n<!-- begin: x -->\n\n{body}\n\n<!-- end: x -->\n{around}"


def test_fields_are_what_is_planned() -> None:
    assert (set(report.ALL.problems), set(report.LONGER.problems)) == (set(SLOW), set(LONG))
    assert not any(SYSTEMS[name].slow for name in report.FAST.systems)
