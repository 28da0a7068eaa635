"""The league: many systems, the same problems, one table.

    python -m benchmarks.league install
    python -m benchmarks.league run --systems fast --problems league --seeds 10 --evaluations 200
    python -m benchmarks.league run --systems slow --problems slow --seeds 5 --evaluations 100
    python -m benchmarks.league overhead --systems all
    python -m benchmarks.league table
    python -m benchmarks.league report

Systems by name, or `all`, `fast`, `slow`; problems by name, or the suites `league`, `slow`, `long`, `develop`,
`held-out`. Rows are appended as they come and not computed again, so that a run may be interrupted. Each system runs in
its own process and virtual environment (`.venv-league`), with one thread. `table` prints what is there; `report` draws
the figures in `docs/league` and fills in the tables of `docs/league.md` and of the README.
"""

import argparse
from collections.abc import Callable
from functools import partial
from pathlib import Path

from benchmarks.league import costs, environments, overhead, report, runner, tables
from benchmarks.league.pipe import Pipe
from benchmarks.league.problems import problem
from benchmarks.league.registry import ENVIRONMENTS, SYSTEMS, systems
from benchmarks.league.runner import Plan, Row, Study
from benchmarks.league.scores import Field
from benchmarks.league.suites import expand

ROWS, OVERHEAD = Path("benchmarks/league/league.jsonl"), Path("benchmarks/league/overhead.jsonl")
BANDITS = Path("benchmarks/league/bandits.jsonl")
SHOWN = (25, 50, 100, 200)


def start(system: str, limit: float) -> Pipe:
    """A worker in the system's environment."""
    entry = SYSTEMS[system]
    return Pipe(environments.python(entry.environment), entry.adapter, limit)


def install(options: argparse.Namespace) -> None:
    for name in ENVIRONMENTS if options.systems == ["all"] else _environments(systems(options.systems)):
        environments.make(name)


def _environments(chosen: list[str]) -> list[str]:
    return list(dict.fromkeys(SYSTEMS[name].environment for name in chosen))


def run(options: argparse.Namespace) -> None:
    chosen, names = systems(options.systems), expand(options.problems)
    for name in names:
        problem(name)  # a wrong name is said now, not in an hour
    for environment in _environments(chosen):
        environments.make(environment)
    seeds = range(options.first_seed, options.first_seed + options.seeds)
    studies = [Study(system, name, seed) for seed in seeds for name in names for system in chosen]
    plan = Plan(options.evaluations, options.limit)
    there = [row for row in runner.read(options.rows) if not options.again or row["status"] == runner.DONE]
    jobs: list[Callable[[], Row]] = [
        partial(runner.play, study, plan, start) for study in runner.left(studies, plan, there)
    ]
    runner.run(jobs, options.rows, options.jobs)


def weigh(options: argparse.Namespace) -> None:
    chosen = systems(options.systems)
    for environment in _environments(chosen):
        environments.make(environment)
    for told in options.counts:  # in turn, so that what was too much is known before more is tried
        loads = [overhead.Load(system, told, options.first_seed) for system in chosen]
        left = overhead.left(loads, options.limit, runner.read(options.rows))
        jobs: list[Callable[[], Row]] = [partial(overhead.weigh, load, options.limit, start) for load in left]
        runner.run(jobs, options.rows, options.jobs)


def table(options: argparse.Namespace) -> None:
    rows = runner.read(options.rows)
    field = Field(f"On {', '.join(options.problems)}", systems(options.systems), expand(options.problems), SHOWN)
    own = field.rows(rows)
    shown = [n for n in SHOWN if any(n in row["at"] for row in own)]
    parts = [of(own, field, n) for of in (tables.score_table, tables.group_table) for n in shown]
    parts += [tables.pair_table(own, shown, field.problems)]
    if shown:
        parts += [tables.mean_regret_table(own, field), tables.problem_table(own, field, shown[-1])]
    parts += [costs.time_table(own), costs.version_table(own)]
    if weighed := runner.read(options.overhead):
        parts.append(costs.overhead_table(weighed))
    print("\n\n".join(parts))


def write(options: argparse.Namespace) -> None:
    try:
        rows = [runner.read(path) for path in (options.rows, options.overhead, options.bandits)]
        report.write(report.Results(*rows), environments.ROOT)
    except report.PageError as error:
        raise SystemExit(str(error)) from error


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.league", description="Many systems, the same problems.")
    verbs = parser.add_subparsers(required=True)
    for name, verb, default in (
        ("install", install, ROWS),
        ("run", run, ROWS),
        ("overhead", weigh, OVERHEAD),
        ("table", table, ROWS),
        ("report", write, ROWS),
    ):
        one = verbs.add_parser(name)
        one.set_defaults(verb=verb)
        if name != "report":
            one.add_argument("--systems", nargs="+", default=["all"], help="names, or all, fast, slow")
        if name != "install":
            one.add_argument("--rows", type=Path, default=default, help="JSON lines, one per run; appended")
        if name in ("run", "table"):
            one.add_argument("--problems", nargs="+", default=["league"], help="names, or suites")
        if name in ("run", "overhead"):
            one.add_argument("--first-seed", type=int, default=0)
            one.add_argument("--limit", type=float, default=900.0, help="seconds after which a run is cut")
            one.add_argument("--jobs", type=int, default=1, help="runs at once")
        if name == "run":
            one.add_argument("--seeds", type=int, default=5, help="how many")
            one.add_argument("--evaluations", type=int, default=100)
            one.add_argument("--again", action="store_true", help="also what was cut or failed before")
        if name == "overhead":
            one.add_argument("--counts", type=int, nargs="+", default=list(overhead.COUNTS), help="values known")
        if name in ("table", "report"):
            one.add_argument("--overhead", type=Path, default=OVERHEAD, help="rows of overhead")
        if name == "report":
            one.add_argument("--bandits", type=Path, default=BANDITS, help="rows of bandits")
    options = parser.parse_args()
    options.verb(options)


if __name__ == "__main__":
    main()
