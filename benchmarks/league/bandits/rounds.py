"""Runs: a system on a set of arms with a seed, in a process of its own, a row each."""

import multiprocessing
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from importlib.metadata import version

from benchmarks.league.bandits.arms import Arms, arms
from benchmarks.league.bandits.players import PLAYERS, Player
from benchmarks.league.runner import CUT, DONE, FAILED, Plan, Row, Study
from benchmarks.league.worker import peak_megabytes

AT = (10, 30, 100, 200, 300, 500, 700, 1_000, 1_500, 2_000, 3_000, 5_000, 7_000, 10_000)
"""Rounds after which something is written down."""
COLUMNS = ("at", "regret", "order", "seconds", "cpu", "memory")


def play_apart(study: Study, plan: Plan) -> Row:
    """The row of one run, played in a fresh process, whose memory is the system's."""
    about = arms(study.problem, study.seed)
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        pool.submit(ready).result()  # what goes wrong here is not the system's fault
        try:
            return pool.submit(play, study, plan, about).result()
        except BrokenProcessPool:
            return _header(study, plan, about) | {"status": FAILED, "reason": "its process was killed"}


def ready() -> bool:
    """Whether a process has imported this module."""
    return True


def play(study: Study, plan: Plan, about: Arms) -> Row:
    """The row of one run, to its end or as far as it came in its time.

    `at` are numbers of rounds, and beside them the cumulative `regret` of true values, by the spread, the `order` of
    the model, `seconds` and `cpu` of all rounds until then (selecting and learning) and `memory`, the peak in megabytes
    above what the process had before the system was made.
    """
    row = _header(study, plan, about)
    try:
        for measured in rounds(about, PLAYERS[study.system].make, study.seed, plan):
            for name, value in measured.items():
                row[name].append(value)
    except Exception as error:  # whatever a system dies of is its own
        return row | {"status": FAILED, "reason": f"{type(error).__name__}: {error}"}
    reached = row["at"][-1] if row["at"] else 0
    return row | {"status": DONE if reached == plan.evaluations else CUT}


def _header(study: Study, plan: Plan, about: Arms) -> Row:
    what = {"group": about.group, "held_out": about.held_out, "arms": len(about.X), "spread": about.spread}
    versions = {"versions": {package: version(package) for package in ("uncubed", "numpy", "scipy")}}
    columns: dict[str, list[float]] = {name: [] for name in COLUMNS}
    return study._asdict() | plan._asdict() | what | {"status": DONE} | versions | columns


def rounds(about: Arms, make: Callable[[Arms, int], Player], seed: int, plan: Plan) -> Iterator[Row]:
    """What is measured at the marks, and at the end or when the time is up."""
    noise, gaps, before = about.noise(seed), about.regrets(), peak_megabytes()
    watch = _Watch()
    with watch:
        player = make(about, seed)
    made, regret = watch, 0.0
    watch = _Watch()
    for t in range(1, plan.evaluations + 1):
        with watch:
            arm = player.select()
        value = about.observed(arm, noise)
        with watch:
            player.learn(arm, value)
        regret += float(gaps[arm])
        is_last = t == plan.evaluations or made.cpu + watch.cpu > plan.limit
        if t in AT or is_last:
            numbers = (t, regret, player.order, watch.seconds, watch.cpu, peak_megabytes() - before)
            yield dict(zip(COLUMNS, numbers, strict=True))
        if is_last:
            return


class _Watch:
    """Seconds, and CPU seconds, spent inside."""

    def __init__(self) -> None:
        self.seconds, self.cpu = 0.0, 0.0

    def __enter__(self) -> None:
        self._start = time.perf_counter(), time.process_time()

    def __exit__(self, *_: object) -> None:
        self.seconds += time.perf_counter() - self._start[0]
        self.cpu += time.process_time() - self._start[1]
