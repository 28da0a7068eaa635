import multiprocessing
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from tests.experiments.test_runner import EXAMPLE, TINY, without_clocks
from uncubed.errors import InvalidInputError, StateError
from uncubed.experiments import pool, report, reproduce
from uncubed.experiments.config import Setting
from uncubed.experiments.reproduce import Request, command, main, tasks
from uncubed.experiments.results import FILE, Results, read
from uncubed.experiments.runner import Row, Task, key_of, run

WHAT = Request(
    experiment="all", quick=False, seeds=None, jobs=1, data="digits", mnist=Path("no"), box=False, out=Path("no")
)


@pytest.fixture
def reports(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What the report was asked to write, in place of writing it."""
    asked: list[dict[str, Any]] = []

    def write(out: Path, rows: Sequence[Row], *, quick: bool, command: str) -> Path:
        asked.append({"out": out, "rows": list(rows), "quick": quick, "command": command})
        return out / "report.html"

    monkeypatch.setattr(report, "write", write)
    return asked


@pytest.fixture
def tiny_experiments(monkeypatch: pytest.MonkeyPatch) -> None:
    """One setting of two methods in place of every experiment."""

    def settings(experiment: str, *, quick: bool = False) -> tuple[Setting, ...]:
        short = replace(TINY, acquisitions=("ucb",), methods=EXAMPLE.methods[2:4])
        return (replace(short, experiment=experiment, name=f"tiny-{experiment}"),)

    monkeypatch.setattr(reproduce, "settings", settings)


class InlinePool:
    """In place of processes: runs are made here, one after the other, until Ctrl-C or a failure."""

    def __init__(self) -> None:
        self.made: list[Task] = []
        self.stops_after: int | None = None
        self.how: BaseException = KeyboardInterrupt()

    def rows(self, tasks: Sequence[Task], jobs: int) -> Iterator[Row]:
        for number, task in enumerate(tasks):
            if number == self.stops_after:
                raise self.how
            self.made.append(task)
            yield run(task)


@pytest.fixture
def inline(monkeypatch: pytest.MonkeyPatch) -> InlinePool:
    made = InlinePool()
    monkeypatch.setattr(pool, "rows", made.rows)
    return made


# What is asked for


@pytest.mark.parametrize("experiment", ["example", "rosenbrock", "logistic", "tradeoff", "all"])
@pytest.mark.parametrize("quick", [False, True])
def test_tasks_are_different_and_of_the_experiment(experiment: str, quick: bool) -> None:
    asked = tasks(replace(WHAT, experiment=experiment, quick=quick, seeds=2))
    assert asked
    assert len({task.key for task in asked}) == len(asked)
    named = {task.setting.experiment for task in asked}
    assert named == ({"example", "rosenbrock", "logistic", "tradeoff"} if experiment == "all" else {experiment})


@pytest.mark.parametrize("quick", [False, True])
def test_tasks_come_seed_by_seed(quick: bool) -> None:
    asked = tasks(replace(WHAT, quick=quick))
    seeds = [seed for seed, _ in groupby(asked, key=lambda task: task.seed)]
    assert seeds == list(range(5 if quick else 20))
    first = [replace(task, seed=1) for task in asked if task.seed == 0]
    assert first == [task for task in asked if task.seed == 1]


def seeds_of(request: Request, setting: str) -> set[int]:
    return {task.seed for task in tasks(request) if task.setting.name == setting}


def test_a_setting_s_own_number_of_seeds_holds_unless_another_is_asked_for() -> None:
    mnist = replace(WHAT, data="mnist")
    assert seeds_of(mnist, "logistic-mnist") == {0, 1, 2}
    assert seeds_of(mnist, "example-T200") == set(range(20))
    assert seeds_of(replace(mnist, quick=True), "logistic-mnist") == {0, 1, 2}
    assert seeds_of(replace(mnist, quick=True), "example-T200") == set(range(5))
    for seeds in (1, 4, 30):
        for quick in (False, True):
            asked = replace(mnist, seeds=seeds, quick=quick)
            assert seeds_of(asked, "logistic-mnist") == seeds_of(asked, "example-T200") == set(range(seeds))


def test_the_data_choose_among_the_logistic_settings_only() -> None:
    digits, mnist = (tasks(replace(WHAT, seeds=1, data=data)) for data in ("digits", "mnist"))
    assert {task.setting.data for task in digits} == {"", "digits"}
    assert {task.setting.data for task in mnist} == {"", "mnist"}
    assert [t.key for t in digits if not t.setting.data] == [t.key for t in mnist if not t.setting.data]
    assert {task.mnist for task in mnist if task.setting.data} == {WHAT.mnist}
    assert {task.mnist for task in [*digits, *mnist] if task.setting.data != "mnist"} == {None}


def test_the_box_is_for_all_but_the_trade_off() -> None:
    for task in tasks(replace(WHAT, seeds=1, box=True)):
        assert task.setting.box == (task.setting.experiment != "tradeoff")
        assert task.setting.name.endswith("-box") == task.setting.box


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({}, "uncubed reproduce all"),
        ({"quick": True, "jobs": 7}, "uncubed reproduce all --quick"),
        ({"experiment": "example", "seeds": 3, "box": True}, "uncubed reproduce example --seeds 3 --box"),
        ({"experiment": "logistic", "data": "mnist"}, "uncubed reproduce logistic --data mnist"),
    ],
)
def test_the_report_has_the_command_that_makes_the_same_rows(more: dict[str, Any], expected: str) -> None:
    assert command(replace(WHAT, **more)) == expected


# Made


@pytest.mark.usefixtures("tiny_experiments")
def test_what_is_there_is_not_made_again(tmp_path: Path, inline: InlinePool, reports: list[dict[str, Any]]) -> None:
    asked = replace(WHAT, seeds=2, out=tmp_path / "out")
    assert main(asked) == 0
    assert [task.key for task in inline.made] == [task.key for task in tasks(asked)]
    before = (tmp_path / "out" / FILE).read_bytes()
    inline.made.clear()
    assert main(asked) == 0
    assert inline.made == []
    assert (tmp_path / "out" / FILE).read_bytes() == before
    for asked_for in reports:
        asked_for["rows"].sort(key=key_of)
    assert reports[0] == reports[1]
    assert (reports[0]["quick"], reports[0]["command"]) == (False, "uncubed reproduce all --seeds 2")
    assert len(reports[0]["rows"]) == len(tasks(asked))


@pytest.mark.usefixtures("tiny_experiments")
def test_more_seeds_and_another_experiment_add_to_what_is_there(
    tmp_path: Path, inline: InlinePool, reports: list[dict[str, Any]]
) -> None:
    one = replace(WHAT, experiment="example", seeds=1, out=tmp_path)
    for asked in (one, replace(one, seeds=3), replace(one, experiment="rosenbrock")):
        assert main(asked) == 0
    made = [(task.setting.experiment, task.seed) for task in inline.made]
    assert made == [
        (name, seed) for name, seed in [*(("example", s) for s in range(3)), ("rosenbrock", 0)] for _ in "ab"
    ]
    assert [len(each["rows"]) for each in reports] == [2, 6, 8]


@pytest.mark.usefixtures("tiny_experiments")
@pytest.mark.parametrize("stops_after", [0, 1, 5])
def test_after_an_interrupt_there_is_what_was_finished_and_the_same_command_makes_the_rest(
    stops_after: int,
    tmp_path: Path,
    inline: InlinePool,
    reports: list[dict[str, Any]],
    capsys: pytest.CaptureFixture[str],
) -> None:
    asked, steady = (replace(WHAT, seeds=2, out=tmp_path / name) for name in "ab")
    inline.stops_after = stops_after
    assert main(asked) == 130
    assert "Interrupted" in capsys.readouterr().out
    assert len(read(tmp_path / "a" / FILE)) == len(reports[0]["rows"]) == stops_after
    first = [task.key for task in inline.made]
    inline.stops_after = None
    inline.made.clear()
    assert main(asked) == 0
    assert f"{stops_after} runs were there" in capsys.readouterr().out
    assert first + [task.key for task in inline.made] == [task.key for task in tasks(asked)]
    assert main(steady) == 0
    rows = [[without_clocks(row) for row in read(tmp_path / name / FILE)] for name in "ab"]
    assert rows[0] == rows[1]


@pytest.mark.usefixtures("tiny_experiments", "reports")
@pytest.mark.parametrize("how", [StateError("a run failed"), OSError(28, "No space left on device")], ids=repr)
def test_a_failure_is_not_hidden_and_keeps_what_was_finished(
    how: Exception, tmp_path: Path, inline: InlinePool
) -> None:
    inline.stops_after, inline.how = 3, how
    with pytest.raises(type(how), match=r"failed|space"):
        main(replace(WHAT, seeds=1, out=tmp_path))
    assert len(read(tmp_path / FILE)) == 3
    inline.stops_after = None
    assert main(replace(WHAT, seeds=1, out=tmp_path)) == 0
    assert len(inline.made) == len(tasks(replace(WHAT, seeds=1)))


@pytest.mark.usefixtures("tiny_experiments", "reports")
def test_while_another_writes_there_nothing_is_made(tmp_path: Path, inline: InlinePool) -> None:
    with Results(tmp_path), pytest.raises(StateError, match="only writer"):
        main(replace(WHAT, seeds=1, out=tmp_path))
    assert inline.made == []


@pytest.mark.usefixtures("reports")
def test_missing_images_are_an_error_before_anything_is_made(tmp_path: Path, inline: InlinePool) -> None:
    out, inline.stops_after = tmp_path / "out", 0
    with pytest.raises(InvalidInputError, match="make mnist"):
        main(replace(WHAT, experiment="all", data="mnist", mnist=tmp_path, out=out))
    assert inline.made == []
    assert not out.exists()


@pytest.mark.usefixtures("tiny_experiments", "reports", "inline")
def test_what_is_said_is_said_as_it_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "with [bold]brackets"
    assert main(replace(WHAT, experiment="example", seeds=1, out=out)) == 0
    assert f"report: {out / 'report.html'}" in capsys.readouterr().out.splitlines()


def lines(path: Path) -> list[Row]:
    return [without_clocks(row) for row in read(path)]


@pytest.mark.usefixtures("tiny_experiments", "reports")
def test_the_rows_are_the_same_whatever_the_number_of_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in pool._THREADS:
        monkeypatch.setenv(name, "1")  # what the pool sets is taken back
    for jobs in (1, 2):
        assert main(replace(WHAT, experiment="example", seeds=3, jobs=jobs, out=tmp_path / str(jobs))) == 0
    assert len(lines(tmp_path / "1" / FILE)) == 6
    assert lines(tmp_path / "1" / FILE) == lines(tmp_path / "2" / FILE)
    assert multiprocessing.active_children() == []
