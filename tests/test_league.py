"""The league: a protocol over pipes, rows that say what happened, problems and adapters.

Systems here are fakes in this interpreter: no peer need be installed.
"""

import json
import math
import sys
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.league import environments, overhead, problems, runner, suites, worker
from benchmarks.league.pipe import CutError, FailedError, Pipe
from benchmarks.league.protocol import GRID, LABEL, Dimension, LeastTold, Point, Space, System
from benchmarks.league.registry import ENVIRONMENTS, SYSTEMS, systems
from benchmarks.league.runner import CUT, DONE, FAILED, Plan, Row, Study

PLAN = Plan(evaluations=12, limit=60.0)
BOX = Space((Dimension(), Dimension()))
PYTHON, RANDOM = Path(sys.executable), "benchmarks.league.systems.random:Random"


class Fake(LeastTold):
    """Tries the corner and then the middle, for ever."""

    packages = ("numpy", "no-such-package")

    def ask(self) -> Point:
        print("a system that talks")  # which must not disturb the pipe
        return [0.0 if self._least is None else 0.5] * len(self.space.dimensions)


class Dies(Fake):
    """Of the sixth value."""

    values = 0

    def learn(self, point: Point, value: float) -> None:
        self.values += 1
        if self.values == 6:
            raise ArithmeticError("not positive definite")


class Local:
    """A worker without a process, cut after so many calls; like a pipe's, its errors are `FailedError`."""

    def __init__(self, system: str, calls: int = 10**6) -> None:
        self._line, self._left = "", calls
        self._answers = worker.answers({"Fake": Fake, "Dies": Dies}[system], iter(lambda: self._line, None))

    def call(self, verb: str, *about: Any) -> dict[str, Any]:
        self._line, self._left = json.dumps([verb, *about]), self._left - 1
        if self._left < 0:
            raise CutError
        try:
            return next(self._answers)
        except ArithmeticError as error:
            raise FailedError(str(error)) from error


def start(system: str, _: float) -> AbstractContextManager[Local]:
    return nullcontext(Local(system))


# Protocol


@given(u=st.lists(st.floats(-0.5, 1.5), min_size=3, max_size=3))
def test_every_place_of_the_cube_is_a_point(u: list[float]) -> None:
    space = Space((Dimension(), Dimension(GRID, 4), Dimension(LABEL, 2)))
    number, place, label = space.at(u)
    assert 0.0 <= number <= 1.0
    assert place in range(4)
    assert label in range(2)
    assert space.listed(space.worded([number, place, label])) == [number, place, label]
    assert Space.from_json(json.loads(json.dumps(space.as_json()))) == space


def test_rows_are_the_product() -> None:
    rows = Space((Dimension(GRID, 3), Dimension(LABEL, 2))).rows().tolist()
    assert rows == [[i, j] for i in range(3) for j in range(2)]


def test_least_told_is_recommended() -> None:
    fake = Fake(BOX, 0)
    with pytest.raises(ValueError, match="expected a value told before"):
        fake.recommend()
    fake.load([[0.1, 0.1], [0.2, 0.2], [0.3, 0.3]], [2.0, 1.0, 3.0])
    assert fake.recommend() == [0.2, 0.2]


# Worker


def test_worker_answers_each_line_and_measures() -> None:
    lines = [["start", BOX.as_json(), 3], ["ask"], ["tell", [0.5, 0.5], 1.0], ["recommend"]]
    started, asked, _, recommended = worker.answers(Fake, map(json.dumps, lines))
    assert started["result"] == {"numpy": np.__version__, "no-such-package": "?"}
    assert (asked["result"], recommended["result"]) == ([0.0, 0.0], [0.5, 0.5])
    assert min(asked["seconds"], asked["cpu"]) >= 0.0
    assert asked["memory"] > 1.0


def test_worker_must_be_started_first() -> None:
    with pytest.raises(ValueError, match="expected start first, got ask"):
        list(worker.answers(Fake, ['["ask"]']))


# Pipe


def test_pipe_is_for_the_protocol_alone() -> None:
    with Pipe(PYTHON, "tests.test_league:Fake", 600.0) as pipe:
        assert pipe.call("start", BOX.as_json(), 0)["result"]["numpy"] == np.__version__
        assert pipe.call("ask")["result"] == [0.0, 0.0]  # and not what it prints


def test_pipe_says_what_the_worker_died_of() -> None:
    with Pipe(PYTHON, RANDOM, 600.0) as pipe:
        pipe.call("start", BOX.as_json(), 0)
        with pytest.raises(FailedError, match="has no attribute 'dance'"):
            pipe.call("dance")
        with pytest.raises(FailedError):
            pipe.call("ask")


def test_pipe_is_cut_when_the_time_is_up() -> None:
    with Pipe(PYTHON, RANDOM, 0.0) as pipe, pytest.raises(CutError):
        pipe.call("start", BOX.as_json(), 0)


def test_adapter_that_is_not_there_fails() -> None:
    with Pipe(PYTHON, RANDOM + "s", 600.0) as pipe, pytest.raises(FailedError, match="Randoms"):
        pipe.call("start", BOX.as_json(), 0)


# Runs


def test_run_is_one_row_with_what_was_recommended() -> None:
    row = runner.play(Study("Fake", "branin-2", 0), PLAN, start)
    about = problems.problem("branin-2")
    corner, middle = about.regret([0.0, 0.0]), about.regret([0.5, 0.5])
    assert (row["status"], row["at"]) == (DONE, [5, 10, 12])
    assert row["regret"] == [middle] * 3
    assert row["mean_regret"] == pytest.approx([(corner + (n - 1) * middle) / n for n in row["at"]])
    assert row["seconds"] == sorted(row["seconds"])
    assert row["versions"]["numpy"] == np.__version__
    json.dumps(row)


def test_run_that_fails_says_why_and_how_far_it_came() -> None:
    row = runner.play(Study("Dies", "branin-2", 0), PLAN, start)
    assert (row["status"], row["at"], row["reason"]) == (FAILED, [5], "not positive definite")


def test_run_that_is_too_slow_is_cut_and_keeps_what_it_had() -> None:
    whole = runner.play(Study("Fake", "branin-2", 0), PLAN, start)
    row = runner.play(Study("Fake", "branin-2", 0), PLAN, lambda system, _: nullcontext(Local(system, calls=15)))
    assert (row["status"], row["at"], row["regret"]) == (CUT, [5], whole["regret"][:1])
    assert "reason" not in row


def test_overhead_is_measured_after_loading() -> None:
    row = overhead.weigh(overhead.Load("Fake", 20, 0), 60.0, start)
    assert row["status"] == DONE
    assert len(row["seconds"]) == overhead.REPEATS
    assert row["load_seconds"] >= 0.0


def test_overhead_is_not_measured_beyond_what_was_too_much() -> None:
    loads = [overhead.Load(system, told, 0) for system in ("a", "b") for told in (10, 100, 1000)]
    rows = [_load_row("a", 10, DONE), _load_row("a", 100, CUT), _load_row("b", 10, FAILED)]
    assert overhead.left(loads, 60.0, rows) == [overhead.Load("b", 100, 0), overhead.Load("b", 1000, 0)]
    assert overhead.Load("a", 100, 0) in overhead.left(loads, 61.0, rows)


def _load_row(system: str, told: int, status: str) -> Row:
    return {"system": system, "told": told, "seed": 0, "status": status, "limit": 60.0}


# Going on


def test_what_is_there_is_not_run_again(tmp_path: Path) -> None:
    path, studies = tmp_path / "rows.jsonl", [Study("Fake", "branin-2", seed) for seed in range(2)]
    runner.run([lambda: _row("Fake", problem="branin-2", at=[5, 10, 12])], path, 1)
    assert runner.left(studies, PLAN, runner.read(path)) == studies[1:]
    assert runner.left(studies, PLAN._replace(evaluations=13), runner.read(path)) == studies


def test_cut_off_line_is_forgotten(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps(_row("a")) + '\n{"system": "b"')
    assert [row["system"] for row in runner.read(path)] == ["a"]
    runner.run([lambda: _row("c")], path, 1)
    assert [row["system"] for row in runner.read(path)] == ["a", "c"]


@pytest.mark.parametrize(
    ("status", "limit", "enough"), [(CUT, 60.0, True), (CUT, 59.0, False), (FAILED, 1.0, True), (DONE, 1.0, True)]
)
def test_cut_run_is_tried_again_with_more_time_only(status: str, limit: float, enough: bool) -> None:
    assert runner.is_enough(_row("a", status=status, at=[5]) | {"evaluations": 12, "limit": limit}, PLAN) is enough


def _row(system: str, **options: Any) -> Row:
    row: Row = {"system": system, "problem": "p", "seed": 0, "status": DONE, "limit": 60.0, "seconds": []}
    row |= {"at": [25, 50], **options}
    return {"evaluations": row["at"][-1]} | row


# Problems and systems


def test_suites_are_what_they_say() -> None:
    assert len(suites.LEAGUE) == len(set(suites.LEAGUE)) == 60
    assert (len(suites.SLOW), len(suites.LONG)) == (24, 6)
    assert set(suites.LONG) < set(suites.SLOW) < set(suites.LEAGUE)
    assert set(suites.SUITES["develop"]).isdisjoint(suites.SUITES["held-out"])
    assert suites.expand(["long", "levy-10", "long"]) == [*suites.LONG, "levy-10"]


def test_a_third_of_the_functions_and_late_instances_are_held_out() -> None:
    functions = [f"bbob-f{number}-d2-i1" for number in problems.BBOB]
    functions += [*problems.STANDARD_NAMES, *problems.TABLES]
    assert sum(map(problems.is_held_out, functions)) == math.ceil(len(functions) / 3)
    assert problems.is_held_out("bbob-f1-d2-i4+10%")
    assert not problems.is_held_out("bbob-f1-d2-i3+10%")


@pytest.mark.parametrize("name", problems.STANDARD_NAMES)
def test_noise_is_a_fraction_of_the_spread(name: str) -> None:
    exact, noisy = problems.problem(name), problems.problem(name + "+10%")
    point = exact.space.at([0.3] * len(exact.space.dimensions))
    rng = noisy.rng(0)
    errors = np.array([noisy.observed(point, rng) for _ in range(500)]) - exact.true(point)
    assert exact.observed(point, rng) == exact.true(point)
    assert errors.std() == pytest.approx(0.1 * exact.spread, rel=0.15)
    assert (noisy.group, noisy.space.noisy, exact.space.noisy) == (problems.NOISY, True, False)


def test_table_gives_one_of_its_runs_and_is_judged_by_their_mean() -> None:
    runs = {"00": np.array([1.0, 3.0]), "01": np.array([0.0, 6.0]), "10": np.array([2.5]), "11": np.array([4.0, 4.0])}
    table = problems.Table("t", [Dimension(GRID, 2), Dimension(LABEL, 2)], runs)
    rng = table.rng(0)
    assert {table.observed([0, 0], rng) for _ in range(40)} == {1.0, 3.0}
    assert (table.optimum, table.regret([0, 0]), table.regret([0, 1])) == (2.0, 0.0, 1.0)


@pytest.mark.parametrize("name", ["branin", "branin-2+", "branin-2+5%", "hpobench-vehicle+1%", "bbob-f1-d2"])
def test_unknown_problem_is_refused(name: str) -> None:
    with pytest.raises(KeyError, match="expected one of"):
        problems.problem(name)


def test_bbob_has_its_optimum_where_it_says() -> None:
    ioh = pytest.importorskip("ioh")
    for name in suites.LEAGUE:
        if name.startswith("bbob") and "+" not in name and "-d2-" in name:
            number, instance = (int(part[1:]) for part in name.split("-")[1::2])
            best = ioh.get_problem(number, instance, 2, ioh.ProblemClass.BBOB).optimum.x
            about = problems.problem(name)
            assert about.regret(about.space.at((np.array(best) + 5.0) / 10.0)) <= 1e-6 * about.spread


def test_every_system_has_an_environment_and_an_adapter() -> None:
    folder = environments.ROOT / "benchmarks" / "league" / "systems"
    for entry in SYSTEMS.values():
        module, _, name = entry.adapter.rpartition(".")[2].partition(":")
        assert entry.environment in ENVIRONMENTS
        assert f"class {name}(" in (folder / f"{module}.py").read_text()
    assert sorted(systems(["slow", "fast"])) == sorted(SYSTEMS)
    with pytest.raises(KeyError, match="expected one of"):
        systems(["sloth"])


OURS = ["benchmarks.league.systems.uncubed:Uncubed", "benchmarks.league.systems.uncubed:Dense"]
OURS += ["benchmarks.league.systems.bkb:Bkb", "benchmarks.league.systems.sobol:Sobol"]
OURS += ["benchmarks.league.systems.random:Random"]


@pytest.mark.parametrize("adapter", OURS)
@pytest.mark.parametrize(
    "space", [BOX, Space((Dimension(GRID, 4), Dimension(LABEL, 3)), noisy=True)], ids=["box", "table"]
)
def test_our_own_adapters_keep_to_the_protocol(adapter: str, space: Space) -> None:
    module, _, name = adapter.partition(":")
    kind: type[System] = getattr(__import__(module, fromlist=[name]), name)
    first, second = (_played(kind(space, 1), space) for _ in range(2))
    assert first == second
    assert all(space.listed(space.named(point)) == point for point in first)


def _played(system: System, space: Space) -> list[Point]:
    system.load([space.at([0.9, 0.9])], [5.0])
    points: list[Point] = []
    for _ in range(9):
        points.append(system.ask())
        system.tell(points[-1], float(sum(points[-1])))
    return [*points, system.recommend()]
