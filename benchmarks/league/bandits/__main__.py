"""The bandit side of the league.

    python -m benchmarks.league.bandits run --problems priors --seeds 3
    python -m benchmarks.league.bandits run --problems tables --systems uncubed bkb --limit 300
    python -m benchmarks.league.bandits table

Systems by name, or `all`; problems by name, or `priors`, `tables`, `all`. Rows are appended as they come and not
computed again, so that a run may be interrupted; what was cut is tried again when there is more time for it. The tables
need the environment `league`.
"""

import argparse
import os
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from benchmarks.league import runner
from benchmarks.league.bandits import tables
from benchmarks.league.bandits.arms import NAMES, PRIORS
from benchmarks.league.bandits.players import chosen
from benchmarks.league.bandits.rounds import play_apart
from benchmarks.league.pipe import ONE_THREAD
from benchmarks.league.problems import TABLES
from benchmarks.league.runner import Plan, Row, Study

ROWS = Path("benchmarks/league/bandits.jsonl")
SUITES = {"priors": list(PRIORS), "tables": list(TABLES), "all": list(NAMES)}


def expand(names: list[str]) -> list[str]:
    """Suites by their problems, each once.

    Raises:
        KeyError: there is none of this name.
    """
    found = list(dict.fromkeys(one for name in names for one in SUITES.get(name, [name])))
    for name in found:
        if name not in NAMES:
            raise KeyError(f"problem: expected one of {', '.join([*SUITES, *NAMES])}, got {name!r}")
    return found


def run(options: argparse.Namespace) -> None:
    os.environ.update(ONE_THREAD)  # of the processes to come
    seeds = range(options.first_seed, options.first_seed + options.seeds)
    systems, names = chosen(options.systems), expand(options.problems)
    studies = [Study(system, name, seed) for name in names for seed in seeds for system in systems]
    plan = Plan(options.rounds, options.limit)
    there = [row for row in runner.read(options.rows) if not options.again or row["status"] == runner.DONE]
    jobs: list[Callable[[], Row]] = [partial(play_apart, study, plan) for study in runner.left(studies, plan, there)]
    runner.run(jobs, options.rows, options.jobs)


def table(options: argparse.Namespace) -> None:
    systems, names = set(chosen(options.systems)), set(expand(options.problems))
    rows = [row for row in runner.read(options.rows) if row["system"] in systems and row["problem"] in names]
    print(tables.all_tables(rows))


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.league.bandits", description="Many rounds.")
    verbs = parser.add_subparsers(required=True)
    for name, verb in (("run", run), ("table", table)):
        one = verbs.add_parser(name)
        one.set_defaults(verb=verb)
        one.add_argument("--systems", nargs="+", default=["all"], help="names, or all")
        one.add_argument("--problems", nargs="+", default=["all"], help="names, or priors, tables, all")
        one.add_argument("--rows", type=Path, default=ROWS, help="JSON lines, one per run; appended")
        if name == "run":
            one.add_argument("--first-seed", type=int, default=0)
            one.add_argument("--seeds", type=int, default=3, help="how many")
            one.add_argument("--rounds", type=int, default=10_000)
            one.add_argument("--limit", type=float, default=900.0, help="CPU seconds after which a run is cut")
            one.add_argument("--jobs", type=int, default=1, help="runs at once")
            one.add_argument("--again", action="store_true", help="also what was cut or failed before")
    options = parser.parse_args(arguments)
    options.verb(options)


if __name__ == "__main__":
    main()
