"""Every pool here starts processes, about a second each: few tests."""

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Generator
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.experiments.test_runner import TINY, task
from uncubed.errors import StateError
from uncubed.experiments import pool
from uncubed.experiments.config import Setting, settings
from uncubed.experiments.runner import Row, Task, key_of, run

TASKS = [task(method, seed=seed) for seed in range(2) for method in ("dense", "absolute", "schedule")]
SHORT = replace(TINY, methods=TINY.methods[:1])
"""Which warms up quickly."""


@pytest.fixture(autouse=True)
def two_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the pool sets is taken back."""
    for name in pool._THREADS:
        monkeypatch.setenv(name, "2")


def threads_of_worker(task: Task) -> Row:
    """In place of a run: the threads of every library there, and whether the parent alone hears Ctrl-C."""
    from threadpoolctl import threadpool_info

    ignores = signal.getsignal(signal.SIGINT) == signal.SIG_IGN
    return {"threads": [library["num_threads"] for library in threadpool_info()], "ignores": ignores}


def die(task: Task) -> Row:
    """In place of a run: what happens when memory runs out."""
    os._exit(9)


def test_a_worker_has_one_thread_and_leaves_interrupts_to_the_parent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "run", threads_of_worker)
    (row,) = pool.rows([task(setting=SHORT)], 1)
    assert row["threads"]
    assert set(row["threads"]) == {1}
    assert row["ignores"]


def slow_but_for_the_first(task: Task) -> Row:
    """In place of a run: it says that it was let finish."""
    if task.seed:
        time.sleep(120.0)
        Path(os.environ["UNCUBED_TEST_FINISHED"]).touch()
    return {}


@pytest.mark.parametrize("how", [KeyboardInterrupt, GeneratorExit])
def test_interrupted_its_processes_end_in_the_middle_of_their_runs(
    how: type[BaseException], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("UNCUBED_TEST_FINISHED", str(tmp_path / "finished"))
    monkeypatch.setattr(pool, "run", slow_but_for_the_first)
    rows = pool.rows([task(setting=SHORT, seed=seed) for seed in range(3)], 2)
    assert isinstance(rows, Generator)
    assert next(rows) == {}
    assert multiprocessing.active_children()
    with pytest.raises(how):
        rows.throw(how)
    assert multiprocessing.active_children() == []
    assert not (tmp_path / "finished").exists()


def test_a_run_that_fails_is_named() -> None:
    wrong = task("absolute", "mpi", 7, replace(SHORT, problem="branin"))
    with pytest.raises(StateError, match=r"example-T200, mpi, absolute, seed 7: .*branin"):
        list(pool.rows([task(setting=SHORT), wrong], 1))
    assert multiprocessing.active_children() == []


def test_a_process_that_dies_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "run", die)
    with pytest.raises(StateError, match=r"example-T200, ucb, dense, seed 0: .*terminated"):
        list(pool.rows([task(setting=SHORT)], 1))
    assert multiprocessing.active_children() == []


def process_of_worker(task: Task) -> Row:
    """In place of a run: who makes it."""
    return {"process": os.getpid()}


def die_with_a_worker_waiting() -> None:
    """In a process of its own."""
    pool.run = process_of_worker  # type: ignore[attr-defined]
    rows = pool.rows([task(setting=SHORT, seed=seed) for seed in range(9)], 1)
    print(next(rows)["process"], flush=True)
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL there")
def test_when_the_parent_is_killed_its_processes_end() -> None:
    code = "from tests.experiments import test_pool; test_pool.die_with_a_worker_waiting()"
    root = Path(__file__).parents[2]
    try:
        # The worker has the same stdout, which is at its end only when the worker is.
        done = subprocess.run([sys.executable, "-c", code], cwd=root, stdout=subprocess.PIPE, timeout=120, check=False)
    except subprocess.TimeoutExpired as error:
        if error.stdout:
            os.kill(int(error.stdout), signal.SIGKILL)
        pytest.fail("the worker goes on without its parent")
    assert done.returncode == -signal.SIGKILL
    assert int(done.stdout) > 0


class Inline:
    """In place of an executor: runs when asked for, and how many processes there would be."""

    started: list[int]

    def __init__(self, jobs: int, **_: Any) -> None:
        self.started.append(jobs)

    def __enter__(self) -> "Inline":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def submit(self, f: Any, *arguments: Any) -> Any:
        future: Future[Row] = Future()
        future.set_result(f(*arguments))
        return future


@pytest.mark.parametrize("jobs", [1, 2, 3, 64])
def test_every_task_gives_a_row_and_no_process_is_started_for_nothing(
    monkeypatch: pytest.MonkeyPatch, jobs: int
) -> None:
    monkeypatch.setattr(Inline, "started", [], raising=False)
    monkeypatch.setattr(pool, "ProcessPoolExecutor", Inline)
    assert sorted(key_of(row) for row in pool.rows(TASKS, jobs)) == sorted(each.key for each in TASKS)
    assert Inline.started == [min(jobs, len(TASKS))]


WARM = [settings("example")[0], settings("example")[0].on_box, *settings("logistic"), settings("tradeoff")[0]]


@pytest.mark.parametrize("setting", WARM, ids=lambda setting: setting.name)
def test_every_kind_of_task_can_warm_up(setting: Setting, monkeypatch: pytest.MonkeyPatch) -> None:
    runs: list[Task] = []

    def noted(what: Task) -> Row:
        runs.append(what)
        return run(what)

    monkeypatch.setattr(pool, "run", noted)
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    first = replace(setting, methods=setting.methods[:2])
    pool._prepare(Task(first, "ucb", first.methods[0], 0))
    assert {what.method for what in runs} == set(first.methods)
    assert {what.acquisition for what in runs} == {"ucb", "ei", "mpi"}
