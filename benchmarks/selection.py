"""What does one selection on a box cost? By dimension and size of the model, on one core.

    python benchmarks/selection.py
    python benchmarks/selection.py --crowd 4

The second runs so many processes at once with BLAS's own choice of threads, d = 6 and M = 200, first with small models
kept to one thread (`uncubed.threads`, needs threadpoolctl), then without.
"""

import argparse
import multiprocessing
import os
import sys
import time

if "--crowd" not in sys.argv:
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

import uncubed as uc
from uncubed import threads

ACQUISITIONS: tuple[uc.Acquisition, ...] = (uc.UpperConfidenceBound(), uc.ExpectedImprovement())


def belief_of(rows: int, dimension: int, rng: np.random.Generator) -> uc.ExactBelief:
    """A belief that has seen `rows` noisy values of a smooth function."""
    belief = uc.ExactBelief(uc.Matern52(1.0), 1e-3)
    for x in rng.random((rows, dimension)):
        belief.update(x, float(np.sin(5.0 * x).sum() + 0.03 * rng.standard_normal()))
    return belief


def milliseconds(acquisition: uc.Acquisition, dimension: int, rows: int, repeats: int) -> float:
    """Median time of a selection, the last maximiser among its starts."""
    rng = np.random.default_rng(0)
    belief, box = belief_of(rows, dimension, rng), uc.Box(np.zeros(dimension), np.ones(dimension))
    last = acquisition.choose(1, box, belief, rng).action
    times = []
    for t in range(1, repeats + 1):
        start = time.perf_counter()
        last = acquisition.choose(t, box, belief, rng, last).action
        times.append(time.perf_counter() - start)
    return 1e3 * float(np.median(times))


def table(repeats: int) -> None:
    print("| acquisition | d | M = 50 | M = 200 | M = 500 |\n|---|---|---|---|---|")
    for acquisition in ACQUISITIONS:
        for dimension in (2, 6, 10):
            cells = [f"{milliseconds(acquisition, dimension, rows, repeats):.1f} ms" for rows in (50, 200, 500)]
            print(f"| {type(acquisition).__name__} | {dimension} | {' | '.join(cells)} |")


def in_a_crowd(limit: int, repeats: int) -> float:
    threads.SMALL_MODEL = limit
    return milliseconds(uc.UpperConfidenceBound(), 6, 200, repeats)


def crowd(processes: int, repeats: int) -> None:
    print("| processes at once | one thread for small models | as BLAS likes |\n|---|---|---|")
    with multiprocessing.get_context("spawn").Pool(processes) as pool:
        cells = []
        for limit in (threads.SMALL_MODEL, 0):
            each = pool.starmap(in_a_crowd, [(limit, repeats)] * processes, chunksize=1)
            cells.append(f"{np.median(each):.1f} ms")
    print(f"| {processes} | {' | '.join(cells)} |")


def main() -> None:
    parser = argparse.ArgumentParser(description="Milliseconds per selection on a box.")
    parser.add_argument("--repeats", type=int, default=50)
    parser.add_argument("--crowd", type=int, help="processes at once")
    options = parser.parse_args()
    if options.crowd:
        crowd(options.crowd, options.repeats)
    else:
        table(options.repeats)


if __name__ == "__main__":
    main()
