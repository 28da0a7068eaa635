"""The bandit side of the league: the same arms and noise for all, regret that is right, tables that hide nothing."""

import dataclasses
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.league import runner
from benchmarks.league.bandits import __main__ as program
from benchmarks.league.bandits import arms as places
from benchmarks.league.bandits import rounds, tables
from benchmarks.league.bandits.arms import Arms, arms, drawn, tabled
from benchmarks.league.bandits.players import BKB, DENSE, PLAYERS, UNCUBED, Entry, Player, Random, chosen
from benchmarks.league.problems import Table
from benchmarks.league.protocol import GRID, LABEL, Dimension
from benchmarks.league.runner import CUT, DONE, FAILED, Plan, Row, Study

PLAN = Plan(evaluations=40, limit=60.0)


class Scripted(Player):
    """Plays given arms in turn, and remembers what it was told."""

    order = 3

    def __init__(self, *turn: int) -> None:
        self.turn, self.told = turn, list[tuple[int, float]]()

    def __call__(self, about: Arms, seed: int) -> Player:
        return self

    def select(self) -> int:
        return self.turn[len(self.told) % len(self.turn)]

    def learn(self, arm: int, value: float) -> None:
        self.told.append((arm, value))
        if arm < 0:
            raise ArithmeticError("not positive definite")


@pytest.fixture(autouse=True)
def few_arms(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(places, "POINTS", 32)
    arms.cache_clear()


@pytest.fixture
def about() -> Arms:
    return drawn("matern52-d2", "matern52", 2, 0)


@pytest.fixture
def table() -> Table:
    rng = np.random.default_rng(0)
    runs = {f"{i}{j}": 3.0 * i + rng.random(2 + j) for i in range(4) for j in range(3)}
    return Table("t", [Dimension(GRID, 4), Dimension(LABEL, 3)], runs)


def _played(about: Arms, player: Scripted, plan: Plan = PLAN) -> list[Row]:
    return list(rounds.rounds(about, player, 0, plan))


# Arms


@pytest.mark.parametrize("name", places.PRIORS)
def test_arms_are_the_same_each_time_and_others_by_seed(name: str) -> None:
    first, again, other = (arms.__wrapped__(name, seed) for seed in (0, 0, 1))
    assert (first.true == again.true).all()
    assert (first.first_values == again.first_values).all()
    assert not np.allclose(first.true, other.true)
    assert len(set(first.first.tolist())) == places.FIRST[places.PRIOR]


def test_noise_of_a_round_is_the_same_whatever_is_played(about: Arms) -> None:
    one, other = Scripted(3), Scripted(1, 5, 3)
    _played(about, one)
    _played(about, other)
    noises = [[value - about.true[arm] for arm, value in player.told] for player in (one, other)]
    assert noises[0] == pytest.approx(noises[1])
    assert np.std(noises[0]) == pytest.approx(places.PRIOR_NOISE**0.5, rel=0.4)


def test_table_is_in_units_of_its_first_design_and_maximised(table: Table) -> None:
    about = tabled(table, 0)
    least = np.array([table.true(point) for point in table.space.rows().tolist()])
    assert about.regrets() == pytest.approx((least - table.optimum) / table.spread)
    assert (about.first_values.mean(), about.first_values.std()) == pytest.approx((0.0, 1.0))
    values = [about.observed(7, rng) for rng in [about.noise(0)] for _ in range(200)]
    assert np.mean(values) == pytest.approx(about.true[7], abs=0.1)


def test_unknown_names_are_refused() -> None:
    for name in ("matern52", "se-d0", "cubic-d2", "table"):
        with pytest.raises(KeyError, match="expected one of"):
            arms(name, 0)
        with pytest.raises(KeyError, match="expected one of priors"):
            program.expand([name])
    with pytest.raises(KeyError, match="expected one of all"):
        chosen(["greed"])
    assert chosen(["all"]) == list(PLAYERS)
    assert program.expand(["se-d4", "priors"]) == ["se-d4", *(name for name in places.PRIORS if name != "se-d4")]


# Rounds


@given(turn=st.lists(st.integers(0, 31), min_size=1, max_size=5))
def test_regret_is_the_sum_of_gaps(turn: list[int]) -> None:
    about = drawn("se-d2", "se", 2, 0)
    (last,) = [row for row in _played(about, Scripted(*turn)) if row["at"] == 40]
    gaps = about.true.max() - about.true
    assert last["regret"] == pytest.approx(sum(gaps[turn[t % len(turn)]] for t in range(40)) / about.true.std())


def test_best_arm_has_no_regret_and_random_ones_the_mean_gap(about: Arms) -> None:
    best = _played(about, Scripted(int(about.true.argmax())))
    assert [row["regret"] for row in best] == [0.0] * 3
    *_, last = rounds.rounds(about, Random, 0, Plan(4000, 60.0))
    assert last["regret"] / 4000 == pytest.approx(about.regrets().mean(), rel=0.05)


@pytest.mark.parametrize("system", PLAYERS)
def test_every_system_plays_and_again_alike(system: str, about: Arms, table: Table) -> None:
    for where in (about, tabled(table, 0)):
        first, again = (rounds.play(Study(system, where.name, 0), PLAN, where) for _ in range(2))
        assert (first["status"], first["at"]) == (DONE, [10, 30, 40])
        assert first["regret"] == again["regret"] == sorted(first["regret"])
        assert first["seconds"] == sorted(first["seconds"])
        assert (first["order"][-1] > 0) is (system != "random")
        json.dumps(first)


@pytest.mark.parametrize("system", [name for name in PLAYERS if name != "random"])
def test_who_has_a_model_beats_who_has_none(system: str, about: Arms) -> None:
    study, plan = Study(system, about.name, 0), Plan(60, 60.0)
    regret, blind = (rounds.play(study._replace(system=name), plan, about)["regret"][-1] for name in (system, "random"))
    assert regret < 0.8 * blind


def test_dense_model_has_the_first_design_and_what_was_played(about: Arms) -> None:
    row = rounds.play(Study(DENSE, about.name, 0), Plan(1, 60.0), about)
    assert row["order"][0] in (places.FIRST[places.PRIOR], places.FIRST[places.PRIOR] + 1)


def test_who_is_too_slow_is_cut_and_keeps_what_there_is(about: Arms) -> None:
    row = rounds.play(Study(UNCUBED, about.name, 0), Plan(40, 0.0), about)
    assert (row["status"], row["at"], len(row["regret"])) == (CUT, [1], 1)


def test_who_fails_says_why(about: Arms, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PLAYERS, "fake", Entry(Scripted(*range(12), -1), "fake"))
    row = rounds.play(Study("fake", about.name, 0), PLAN, about)
    assert (row["status"], row["at"]) == (FAILED, [10])
    assert row["reason"] == "ArithmeticError: not positive definite"


def test_process_of_its_own_plays_the_same(about: Arms) -> None:
    study = Study(UNCUBED, about.name, 0)
    apart, here = rounds.play_apart(study, PLAN), rounds.play(study, PLAN, about)
    assert apart["regret"] == here["regret"]
    assert apart["memory"][-1] >= 0.0


def _die(arm: int, rng: np.random.Generator) -> float:
    os._exit(1)


def test_process_that_is_killed_is_a_failure(about: Arms, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rounds, "arms", lambda *_: dataclasses.replace(about, observed=_die))
    row = rounds.play_apart(Study(UNCUBED, about.name, 0), PLAN)
    assert (row["status"], row["reason"], row["at"]) == (FAILED, "its process was killed", [])


def test_what_is_there_is_not_run_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run: list[Study] = []

    def play(study: Study, plan: Plan) -> Row:
        run.append(study)
        status = DONE if study.seed == 0 else FAILED
        return _row(study.system, problem=study.problem, seed=study.seed, status=status) | plan._asdict()

    monkeypatch.setattr(program, "play_apart", play)
    words = ["--rows", str(tmp_path / "rows.jsonl"), "--systems", UNCUBED, "--problems", "se-d2", "--rounds", "300"]
    program.main(["run", *words, "--seeds", "1"])
    program.main(["run", *words, "--seeds", "2"])
    program.main(["run", *words, "--seeds", "2"])
    assert run == [Study(UNCUBED, "se-d2", seed) for seed in (0, 1)]
    program.main(["run", *words, "--seeds", "2", "--again"])
    assert run[2:] == [Study(UNCUBED, "se-d2", 1)]
    assert runner.read(tmp_path / "rows.jsonl")[0].keys() >= {"commit", "machine"}


# Tables


def _row(system: str, **options: Any) -> Row:
    at = options.pop("at", [100, 300])
    row: Row = {
        **{"system": system, "problem": "se-d2", "seed": 0, "status": DONE, "evaluations": 300, "limit": 60.0},
        **{
            "at": at,
            "regret": [10.0 * (k + 1) for k in range(len(at))],
            "order": [5 * (k + 1) for k in range(len(at))],
        },
        **{"seconds": [1.0] * len(at), "cpu": [0.01 * n for n in at], "memory": [9.0] * len(at)},
    }
    return row | options


def _cells(table: str, first: str, second: str = "") -> list[str]:
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()]
    (found,) = (line for line in lines if line[0] == first and second in ("", line[1]))
    return found[1:]


def test_regret_is_a_mean_over_seeds_and_cut_is_shown_as_cut() -> None:
    rows = [_row(BKB), _row(BKB, seed=1, status=CUT, at=[100, 171]), _row(DENSE, seed=1, regret=[1.0, 2.0])]
    rows.append(_row(DENSE, regret=[2.0, 4.0]))
    table = tables.regret_table(rows)
    assert _cells(table, "se-d2", "BKB")[1:] == ["10.0", "cut at 171", "cut at 171", "cut at 171", "cut at 171", "2"]
    assert _cells(table, "se-d2", "dense GP-UCB")[1:] == ["1.5", "3.0", "", "", "", "2"]


def test_last_row_of_a_run_counts() -> None:
    rows = [_row(BKB, status=CUT, at=[]), _row(BKB)]
    assert "cut" not in tables.regret_table(rows)
    assert "cut at 0" in tables.regret_table(rows[::-1])


def test_relative_regret_is_of_common_seeds_and_rounds() -> None:
    rows = [_row(UNCUBED, seed=seed, regret=[5.0, 1.0]) for seed in range(4)]
    rows += [_row(BKB, seed=seed, regret=[10.0, 9.0], at=[100, 171], status=CUT) for seed in (1, 2, 7)]
    assert _cells(tables.ratio_table(rows, BKB), "se-d2") == ["0.50 (0.50 to 0.50), at 100"]
    assert _cells(tables.ratio_table(rows, DENSE), "se-d2") == ["", ""]


def test_geometric_mean_is_over_problems() -> None:
    rows = [_row(BKB, problem=name) for name in ("se-d2", "se-d4")]
    rows += [_row(UNCUBED, problem=name, regret=[9.0, r]) for name, r in (("se-d2", 5.0), ("se-d4", 80.0))]
    table = tables.ratio_table(rows, BKB)
    assert _cells(table, "geometric mean") == ["1.00"]
    assert _cells(table, "se-d4") == ["4.00, at 300"]


@given(st.lists(st.tuples(st.floats(0.0, 1e3), st.floats(0.1, 1e3)), min_size=1, max_size=4))
def test_ratio_is_within_those_of_its_seeds(regrets: list[tuple[float, float]]) -> None:
    rows = [
        _row(s, seed=k, regret=[1.0, pair[j]]) for k, pair in enumerate(regrets) for j, s in enumerate((UNCUBED, BKB))
    ]
    found = tables.ratio(tables.games(rows)["se-d2"], UNCUBED, BKB)
    assert found is not None
    single = [max(ours, tables.LEAST) / theirs for ours, theirs in regrets]
    for value in (found.value, *found.draws.tolist()):
        assert min(single) * (1 - 1e-9) <= value <= max(single) * (1 + 1e-9)


def test_time_is_of_the_last_block_and_relative_to_bkb() -> None:
    rows = [_row(UNCUBED, cpu=[1.0, 1.2]), _row(BKB, cpu=[1.0, 9.0])]
    assert tables.milliseconds(rows[0], 300) == pytest.approx(1.0)
    table = tables.cost_table(rows)
    assert _cells(table, "se-d2", "uncubed")[1:] == ["300", "10", "1", "40 ×, at 300", "9"]
    assert _cells(table, "se-d2", "BKB")[1:] == ["300", "10", "40", "", "9"]
    assert _cells(tables.cost_table([_row(BKB, at=[])]), "se-d2", "BKB")[1:] == ["0", "", "", "", ""]


def test_tables_of_all_rows_are_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(_row(system)) + "\n" for system in PLAYERS))
    program.main(["table", "--rows", str(path)])
    printed = capsys.readouterr().out
    assert all(f"| {entry.label} |" in printed for entry in PLAYERS.values())
    program.main(["table", "--rows", str(path), "--problems", "tables"])
    assert "se-d2" not in capsys.readouterr().out
