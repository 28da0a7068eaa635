"""Runs: a system on a problem with a seed, a JSON line each; what is there is not run again."""

import json
import platform
import re
import subprocess
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from benchmarks.league.environments import ROOT
from benchmarks.league.pipe import CutError, FailedError
from benchmarks.league.problems import Problem, problem

Row = dict[str, Any]


class Caller(Protocol):
    """What a run needs of a worker."""

    def call(self, verb: str, *about: Any) -> dict[str, Any]: ...


Start = Callable[[str, float], AbstractContextManager[Caller]]
"""A worker of a system, with a time limit."""

AT = (5, 10, 15, 20, 25, 30, 40, 50, 60, 80, 100, 125, 150, 175, 200)
"""Numbers of evaluations after which a recommendation is asked for."""
DONE, CUT, FAILED = "done", "cut", "failed"


class Study(NamedTuple):
    """One run."""

    system: str
    problem: str
    seed: int


class Plan(NamedTuple):
    """How long a run may be.

    Attributes:
        evaluations: after which it is done.
        limit: seconds after which it is cut, imports and all.
    """

    evaluations: int
    limit: float


def play(study: Study, plan: Plan, start: Start) -> Row:
    """The row of one run, to its end or as far as it came.

    `at` are the numbers of evaluations, and beside them `regret` of what was recommended then, `mean_regret` of all
    evaluations until then, `seconds` and `cpu` of all suggestions until then (asking and telling, not recommending)
    and `memory`, the peak in megabytes.
    """
    about = problem(study.problem)
    row = _header(study, plan, about)
    try:
        with start(study.system, plan.limit) as pipe:
            row["versions"] = pipe.call("start", about.space.as_json(), study.seed)["result"]
            for measured in _evaluations(about, study.seed, plan.evaluations, pipe):
                for name, value in measured.items():
                    row[name].append(value)
    except CutError:
        row["status"] = CUT
    except FailedError as error:
        row |= {"status": FAILED, "reason": str(error)}
    return row


COLUMNS = ("at", "regret", "mean_regret", "seconds", "cpu", "memory")


def _header(study: Study, plan: Plan, about: Problem) -> Row:
    what = {"group": about.group, "held_out": about.held_out, "spread": about.spread, "noise": about.noise}
    columns: dict[str, list[float]] = {name: [] for name in COLUMNS}
    return study._asdict() | plan._asdict() | what | {"status": DONE, "versions": {}} | columns


def _evaluations(about: Problem, seed: int, evaluations: int, pipe: Caller) -> Iterator[Row]:
    """What is measured, each time a recommendation is asked for."""
    rng, regret, seconds, cpu = about.rng(seed), 0.0, 0.0, 0.0
    for n in range(1, evaluations + 1):
        asked = pipe.call("ask")
        told = pipe.call("tell", asked["result"], about.observed(asked["result"], rng))
        regret += about.regret(asked["result"])
        seconds += asked["seconds"] + told["seconds"]
        cpu += asked["cpu"] + told["cpu"]
        if n in AT or n == evaluations:
            best = pipe.call("recommend")["result"]
            numbers = (n, about.regret(best), regret / n, seconds, cpu, told["memory"])
            yield dict(zip(COLUMNS, numbers, strict=True))


# Files


def read(path: Path) -> list[Row]:
    """All rows; a last line that was cut off is left out."""
    if not path.exists():
        return []
    whole, _, _ = path.read_text().rpartition("\n")
    return [json.loads(line) for line in whole.splitlines()]


def is_enough(row: Row, plan: Plan) -> bool:
    """Whether a row says what this plan would: it came as far, or was cut though it had as much time, or failed."""
    if row["status"] == DONE:
        return bool(row["evaluations"] >= plan.evaluations)
    if row["status"] == CUT:
        return bool(row["limit"] >= plan.limit or (row["at"] and row["at"][-1] >= plan.evaluations))
    return bool(row["evaluations"] >= plan.evaluations)


def left(studies: Sequence[Study], plan: Plan, rows: Iterable[Row]) -> list[Study]:
    """What has to be run yet."""
    there = {study_of(row) for row in rows if is_enough(row, plan)}
    return [study for study in studies if study not in there]


def study_of(row: Row) -> Study:
    return Study(row["system"], row["problem"], row["seed"])


def run(jobs: Sequence[Callable[[], Row]], path: Path, workers: int) -> None:
    """Do the jobs, so many at once, and append their rows as they come."""
    _repair(path)
    where = {"commit": _commit(), "machine": _processor()}
    with ThreadPoolExecutor(workers) as pool, path.open("a") as file:
        waiting = [pool.submit(job) for job in jobs]
        try:
            for done, future in enumerate(as_completed(waiting), 1):
                row = future.result() | where
                file.write(json.dumps(row) + "\n")
                file.flush()
                print(f"{done}/{len(waiting)} {_said(row)}", flush=True)
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def _said(row: Row) -> str:
    about = row.get("problem", row.get("told"))
    took = row["seconds"][-1] if row["seconds"] else 0.0
    return f"{row['system']} {about} {row['seed']}: {row['status']} {row.get('reason', '')} ({took:.2f} s)"


def _repair(path: Path) -> None:
    """Take away a last line that was cut off."""
    if path.exists() and not (text := path.read_text()).endswith("\n"):
        path.write_text(text[: text.rfind("\n") + 1])


def _commit() -> str:
    """That of the sources: rows that come in and pages that are written do not count as changes."""
    name = _git("describe", "--always").stdout.strip()
    if not name:
        return "?"
    return name + ("-dirty" if _git("diff", "--quiet", "HEAD", "--", "src", "benchmarks/*.py").returncode else "")


def _git(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)


def _processor() -> str:
    """Its name where the system tells it, or what kind it is."""
    about = Path("/proc/cpuinfo")
    named = re.search(r"model name\s*:\s*(.+)", about.read_text()) if about.exists() else None
    return named[1] if named else platform.machine()
