"""`uncubed reproduce`: make the runs that are missing, then the report of all that are there."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import final

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from uncubed.experiments import pool, report
from uncubed.experiments.config import EXPERIMENTS, Setting, settings
from uncubed.experiments.logistic import load
from uncubed.experiments.results import Results
from uncubed.experiments.runner import Task

SEEDS, QUICK_SEEDS = 20, 5
"""Unless the command or the setting says another number."""

INTERRUPTED = 130
"""The exit code after Ctrl-C."""


@final
@dataclass(frozen=True)
class Request:
    """What was asked for on the command line."""

    experiment: str
    quick: bool
    seeds: int | None
    jobs: int
    data: str
    mnist: Path
    box: bool
    out: Path


def main(request: Request) -> int:
    """Run what is missing, write the report, say where it is."""
    console = Console(markup=False)  # a path may have brackets
    wanted = tasks(request)
    if any(task.setting.data for task in wanted):
        load(request.data, request.mnist)  # an error here, not in the middle
    with Results(request.out) as results:
        missing = [task for task in wanted if task.key not in results.rows]
        finished = _run(missing, request.jobs, results, console)
        results.settle()
        page = report.write(request.out, list(results.rows.values()), quick=request.quick, command=command(request))
    console.print(f"{len(wanted) - len(missing)} runs were there, {finished} of {len(missing)} made now.")
    console.print(f"report: {page}", soft_wrap=True)
    return 0 if finished == len(missing) else INTERRUPTED


def chosen_settings(request: Request) -> Iterator[Setting]:
    """The settings asked for."""
    for name in EXPERIMENTS if request.experiment == "all" else (request.experiment,):
        for setting in settings(name, quick=request.quick):
            if setting.data in ("", request.data):
                yield setting.on_box if request.box and name != "tradeoff" else setting


def tasks(request: Request) -> list[Task]:
    """Every run asked for, seed by seed: what there is after an interrupt is balanced, and the time left is known."""
    chosen = [(setting, _seeds(setting, request)) for setting in chosen_settings(request)]
    return [
        Task(setting, acquisition, method, seed, request.mnist if setting.data == "mnist" else None)
        for seed in range(max(seeds for _, seeds in chosen))
        for setting, seeds in chosen
        if seed < seeds
        for acquisition in setting.acquisitions
        for method in setting.methods
    ]


def _seeds(setting: Setting, request: Request) -> int:
    default = QUICK_SEEDS if request.quick else SEEDS
    return request.seeds or min(default, setting.seeds or default)


def command(request: Request) -> str:
    """What was asked for, as it is typed."""
    options = {
        "--quick": request.quick,
        f"--seeds {request.seeds}": request.seeds is not None,
        f"--data {request.data}": request.data != "digits",
        "--box": request.box,
    }
    return " ".join(["uncubed reproduce", request.experiment, *(name for name, given in options.items() if given)])


def _run(missing: list[Task], jobs: int, results: Results, console: Console) -> int:
    """Make the runs; how many were finished before an interrupt."""
    finished = 0
    try:
        with _progress(console) as bar:
            for row in bar.track(pool.rows(missing, jobs), total=len(missing)) if missing else ():
                results.append(row)
                finished += 1
                if not console.is_terminal and finished * 10 // len(missing) > (finished - 1) * 10 // len(missing):
                    console.print(f"{finished} of {len(missing)} runs")
    except KeyboardInterrupt:
        console.print("Interrupted: the report has what there is; the same command goes on from here.")
    return finished


def _progress(console: Console) -> Progress:
    """A bar with the time left, from the average over everything so far, because runs differ."""
    return Progress(
        TextColumn("runs"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        console=console,
        speed_estimate_period=3600.0,
        disable=not console.is_terminal,
    )
