"""How good is what is recommended? Simple regret, with information thresholding and without.

    python -m benchmarks.quality --jobs 2 --rows quality.jsonl
    python -m benchmarks.quality --quick

Each study asks and tells, one suggestion at a time, and never stops early; its regret is that of `opt.best`, by its
true value. Rows are appended as they come and not computed again, so that a run may be interrupted. Both methods see
the same seeds: first design, noise and generator. *Dense* is the same expected improvement without either test of a
suggestion (informative, able to be the best), with all the atoms it likes; model and fits are the same.
"""

import argparse
import json
import math
import multiprocessing
import os
import time
import zlib
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import scipy

import uncubed as uc
from benchmarks.problems import NOISES, PROBLEMS, Problem
from uncubed._typing import Array

AT = (50, 100, 200)
VERSIONS = {"uncubed": uc.__version__, "numpy": np.__version__, "scipy": scipy.__version__}
LEAST_REGRET = 1e-6
"""Regrets below this, as a fraction of the function's spread, count as this: nobody needs less, and logarithms of
rounding would drown the rest."""


def thresholding(problem: Problem, seed: int) -> uc.Optimizer:
    """As it comes."""
    return uc.Optimizer(problem.space, direction="minimize", seed=seed)


def dense(problem: Problem, seed: int) -> uc.Optimizer:
    """Every action is informative, and with such a δ every action can be the best."""
    return uc.Optimizer(
        problem.space,
        direction="minimize",
        acquisition=uc.ExpectedImprovement(),
        budget=uc.Budget.keep_all(),
        max_model_order=10**6,
        delta=1e-300,
        seed=seed,
    )


METHODS: dict[str, Callable[[Problem, int], uc.Optimizer]] = {"thresholding": thresholding, "dense": dense}


class Study(NamedTuple):
    """One run."""

    problem: str
    noise: str
    method: str
    seed: int


def regrets(study: Study, evaluations: int) -> dict[str, Any]:
    """The row of one study: regret of the recommendation after each of the counts, and ms per evaluation."""
    problem = PROBLEMS[study.problem]
    noise = NOISES[study.noise] * problem.spread
    rng = np.random.default_rng([study.seed, zlib.crc32(study.problem.encode())])
    opt = METHODS[study.method](problem, study.seed)
    found: dict[str, float] = {}
    start = time.perf_counter()
    for n in range(1, evaluations + 1):
        suggestion = opt.ask()
        opt.tell(suggestion, problem(suggestion.params) + noise * float(rng.standard_normal()))
        if n in AT:
            found[str(n)] = problem(opt.best.params) - problem.optimum
    return study._asdict() | {"regret": found, "ms": 1e3 * (time.perf_counter() - start) / evaluations} | VERSIONS


def run(studies: Sequence[Study], evaluations: int, rows: Path, jobs: int) -> None:
    """Compute what is not there yet and append it."""
    there = {(_study(row), n) for row in read(rows) for n in row["regret"]}
    left = [(study, evaluations) for study in studies if any((study, str(n)) not in there for n in counts(evaluations))]
    with multiprocessing.get_context("spawn").Pool(jobs) as pool, rows.open("a") as file:
        for done, row in enumerate(pool.imap_unordered(_regrets, left), 1):
            file.write(json.dumps(row) + "\n")
            file.flush()
            print(f"\r{done}/{len(left)}", end="", flush=True)
    print()


def _regrets(job: tuple[Study, int]) -> dict[str, Any]:
    return regrets(*job)


def counts(evaluations: int) -> list[int]:
    return [n for n in AT if n <= evaluations]


def read(rows: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in rows.read_text().splitlines()] if rows.exists() else []


# Tables


def logs(rows: Iterable[dict[str, Any]], n: int) -> dict[Study, float]:
    """log regret after n evaluations."""
    return {
        _study(row): math.log(max(row["regret"][str(n)], LEAST_REGRET * PROBLEMS[row["problem"]].spread))
        for row in rows
        if str(n) in row["regret"]
    }


def _study(row: dict[str, Any]) -> Study:
    return Study(*(row[name] for name in Study._fields))


def ratio(differences: Sequence[Array]) -> Array:
    """Geometric mean of paired ratios over problems, and its 95 % interval: a bootstrap of the seeds of each.

    Args:
        differences: of the logarithms of the regrets, an entry per seed, for each problem.
    """
    rng = np.random.default_rng(0)
    draws = np.mean([rng.choice(d, (4000, len(d))).mean(axis=1) for d in differences], axis=0)
    middle = np.mean([d.mean() for d in differences])
    interval: Array = np.exp([middle, *np.quantile(draws, [0.025, 0.975])])
    return interval


def table(rows: list[dict[str, Any]], studies: Sequence[Study], methods: tuple[str, str]) -> str:
    """Geometric means of the regret by problem, their ratio, and the ratio over all."""
    ours, theirs = methods
    lines = [f"| problem | noise | evaluations | {ours} | {theirs} | ratio | 95 % |", "|---|---|---|---|---|---|---|"]
    groups = sorted({(s.problem, s.noise) for s in studies}, key=lambda g: (list(PROBLEMS).index(g[0]), g[1]))
    for n in AT:
        log, overall = logs(rows, n), []
        for problem, noise in groups:
            seeds = sorted({s.seed for s in studies})
            pairs = [[log.get(Study(problem, noise, method, seed), math.nan) for method in methods] for seed in seeds]
            both = np.array(pairs)[~np.isnan(pairs).any(axis=1)]
            if len(both):
                means = np.exp(both.mean(axis=0))
                overall.append(both[:, 0] - both[:, 1])
                lines.append(_line(problem, noise, n, [f"{mean:.3g}" for mean in means], ratio(overall[-1:])))
        if overall:
            lines.append(_line("**all**", "", n, ["", ""], ratio(overall)))
    return "\n".join(lines)


def _line(problem: str, noise: str, n: int, means: list[str], compared: Array) -> str:
    middle, low, high = compared.tolist()
    return f"| {problem} | {noise} | {n} | {' | '.join(means)} | {middle:.2f} | {low:.2f} to {high:.2f} |"


def main() -> None:
    parser = argparse.ArgumentParser(description="Simple regret with thresholding and without.")
    parser.add_argument("--rows", type=Path, default=Path("quality.jsonl"), help="JSON lines, one per study; appended")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument(
        "--first-seed", type=int, default=100, help="below 100 are those that the default was chosen by"
    )
    parser.add_argument("--problems", nargs="+", choices=PROBLEMS, default=list(PROBLEMS))
    parser.add_argument("--noises", nargs="+", choices=NOISES, default=list(NOISES))
    parser.add_argument("--methods", nargs=2, choices=METHODS, default=list(METHODS), help="the two to compare")
    parser.add_argument("--evaluations", type=int, choices=AT, default=AT[-1])
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--quick", action="store_true", help="three problems, three seeds, 50 evaluations")
    options = parser.parse_args()
    if options.quick:
        options.problems, options.seeds, options.evaluations = ["forrester-1", "branin-2", "hartmann-3"], 3, AT[0]
    studies = [
        Study(problem, noise, method, seed)
        for seed in range(options.first_seed, options.first_seed + options.seeds)
        for problem in options.problems
        for noise in options.noises
        for method in options.methods
    ]
    run(studies, options.evaluations, options.rows, options.jobs)
    print(table(read(options.rows), studies, tuple(options.methods)))


if __name__ == "__main__":
    main()
