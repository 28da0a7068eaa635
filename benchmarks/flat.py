"""Does a round stay flat? Time per round by decile, model order, stored rows and memory.

    python benchmarks/flat.py --rounds 1000000 --json flat.json

Four parts, each measured in a process of its own, on one BLAS thread:

* rounds: UCB on the example function, 1,000 actions on [-8, 8], σ² = 10⁻³. Dense (merged, and as in the paper, one row
  per value), compressed (`for_horizon`), projected (`act=True`) and BKB. What becomes unbearable has fewer rounds.
* box: the same function on the continuous box, where no action repeats.
* refused: one refused round on 10⁵ actions in 2-d against one NumPy pass over the set, in the same run.
* million: memory beside X of a run on 10⁶ actions.
"""

import argparse
import json
import multiprocessing
import os
import platform
import resource
import sys
import time
from collections.abc import Callable
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import scipy

import uncubed as uc
from uncubed._typing import Array

NOISE_VARIANCE = 1e-3
Row = dict[str, Any]


def example(x: Array) -> Array:
    """The paper's example function."""
    result: Array = np.sin(x) + np.cos(x) + 0.1 * x
    return result


BEST = float(example(np.linspace(-8.0, 8.0, 100_001)).max())


def grid_bandit(method: str, horizon: int, seed: int) -> uc.Bandit:
    """A bandit on 1,000 actions with one initial point."""
    actions = uc.Finite(np.linspace(-8.0, 8.0, 1000)[:, None])
    return with_initial_point(make(method, actions, horizon, seed), actions.X[seed % 1000])


def box_bandit(method: str, horizon: int, seed: int) -> uc.Bandit:
    """The same on the box."""
    actions = uc.Box([-8.0], [8.0])
    return with_initial_point(make(method, actions, horizon, seed), actions.lower)


def make(method: str, actions: uc.Finite | uc.Box, horizon: int, seed: int) -> uc.Bandit:
    kernel = uc.SquaredExponential(1.0)
    belief: dict[str, Callable[[], uc.Belief]] = {
        "dense, unmerged": lambda: uc.ExactBelief(kernel, NOISE_VARIANCE, merge=False),
        "dense, merged": lambda: uc.ExactBelief(kernel, NOISE_VARIANCE),
        "compressed": lambda: uc.ExactBelief(kernel, NOISE_VARIANCE),
        "projected": lambda: uc.ProjectedBelief(kernel, NOISE_VARIANCE),
        "BKB": lambda: uc.SketchedBelief(kernel, NOISE_VARIANCE, seed=seed),
    }
    budget = uc.Budget.for_horizon(horizon) if method == "compressed" else uc.Budget.keep_all()
    return uc.Bandit(actions, belief[method](), budget=budget, act=method != "compressed", seed=seed)


def with_initial_point(bandit: uc.Bandit, x: Array) -> uc.Bandit:
    bandit.add(x, float(example(x)[0]))
    return bandit


def measure_rounds(method: str, rounds: int, seed: int, *, on_box: bool) -> Row:
    """Ten deciles of rounds: microseconds per round, and megabytes held after each."""
    bandit = (box_bandit if on_box else grid_bandit)(method, rounds, seed)
    f = example(bandit.actions.X[:, 0]) if isinstance(bandit.actions, uc.Finite) else lambda x: float(example(x)[0])
    micros, megabytes, evaluations, regret = [], [], 0, 0.0
    for _ in range(10):
        decile = bandit.run(
            f, max(rounds // 10, 1), noise_std=NOISE_VARIANCE**0.5, optimum=BEST, record_every=max(rounds // 10, 1)
        )
        micros.append(1e6 * float(decile.seconds_per_round[-1]))
        megabytes.append(held_megabytes())
        evaluations += int(decile.evaluations[-1])
        regret += float(decile.mean_average_regret[-1]) / 10.0
    return {
        "method": method,
        "rounds": 10 * max(rounds // 10, 1),
        "microseconds": micros,
        "mean": float(np.mean(micros)),
        "last over second": micros[-1] / micros[1],
        "model order": bandit.belief.model_order,
        "distinct": bandit.belief.distinct,
        "evaluations": evaluations,
        "mean average regret": regret,
        "megabytes": megabytes,
        "peak megabytes": peak_megabytes(),
    }


def measure_refused(n: int = 100_000, repeats: int = 300) -> Row:
    """A refused round beside one pass of NumPy over the same arrays; medians of alternating measurements."""
    side = round(n**0.5)
    axis = np.linspace(0.0, 4.0, side)
    actions = uc.Finite(np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2))
    bandit = uc.Bandit(
        actions, uc.ExactBelief(uc.SquaredExponential(1.0), NOISE_VARIANCE), budget=uc.Budget.constant(1.0)
    )
    f = np.sin(actions.X).sum(axis=1)
    bandit.run(f, 2_000, noise_std=NOISE_VARIANCE**0.5, record_every=2_000)
    surface = bandit.belief.track(actions.X)
    mean, variance = surface.mean, surface.variance
    ours, numpys = [], []
    for _ in range(repeats):
        start = time.perf_counter()
        decision = bandit.select()
        middle = time.perf_counter()
        np.argmax(mean + 3.0 * np.sqrt(variance))
        numpys.append(time.perf_counter() - middle)
        if decision.informative:
            bandit.observe(decision, float(f[decision.index or 0]))
        else:
            ours.append(middle - start)
    ratio = float(np.median(ours) / np.median(numpys))
    return {
        "actions": len(actions),
        "refused": len(ours),
        "model order": bandit.belief.model_order,
        "refused round, µs": 1e6 * float(np.median(ours)),
        "NumPy pass, µs": 1e6 * float(np.median(numpys)),
        "ratio": ratio,
    }


def measure_million(n: int = 1_000_000, rounds: int = 150) -> Row:
    """Peak memory beside X on a million actions, past the point where the cross-kernel no longer fits."""
    rng = np.random.default_rng(0)
    actions = uc.Finite(rng.uniform(0.0, 10.0, (n, 2)))
    before = held_megabytes()
    bandit = uc.Bandit(actions, uc.ExactBelief(uc.SquaredExponential(1.0), NOISE_VARIANCE))
    start = time.perf_counter()
    bandit.run(np.sin(actions.X).sum(axis=1), rounds, noise_std=NOISE_VARIANCE**0.5, record_every=rounds)
    return {
        "actions": n,
        "rounds": rounds,
        "distinct": bandit.belief.distinct,
        "seconds per kept round": (time.perf_counter() - start) / rounds,
        "peak megabytes beside X": peak_megabytes() - before,
    }


def held_megabytes() -> float:
    """Memory held by this process now."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20
    except OSError:
        return peak_megabytes()


def peak_megabytes() -> float:
    """The most it ever held."""
    unit = 2**20 if sys.platform == "darwin" else 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


def apart(function: Callable[..., Row], *args: Any, **keywords: Any) -> Row:
    """Call in a process of its own, so that memory is its own too."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(function, args, keywords)


BEARABLE = {"dense, unmerged": 1_000, "BKB": 20_000}
BOX_BEARABLE = {"dense, merged": 500, "BKB": 500, "compressed": 2_000, "projected": 2_000}


def rounds_table(rows: list[Row]) -> str:
    columns = (
        "method",
        "rounds",
        "µs per round, by decile",
        "mean",
        "last/second",
        "M",
        "rows",
        "evaluations",
        "regret",
        "MB after each decile",
        "peak MB",
    )
    lines = [f"| {' | '.join(columns)} |", "|" + "---|" * len(columns)]
    for r in rows:
        deciles = " ".join(f"{m:.0f}" if m >= 20 else f"{m:.1f}" for m in r["microseconds"])
        held = " ".join(f"{m:.0f}" for m in r["megabytes"])
        lines.append(
            f"| {r['method']} | {r['rounds']:,} | {deciles} | {r['mean']:.1f} | {r['last over second']:.2f} | "
            f"{r['model order']} | {r['distinct']} | {r['evaluations']:,} | {r['mean average regret']:.5f} | {held} | "
            f"{r['peak megabytes']:.0f} |"
        )
    return "\n".join(lines)


def plain_table(row: Row) -> str:
    shown = {k: f"{v:.3g}" if isinstance(v, float) else f"{v:,}" for k, v in row.items()}
    return "\n".join([f"| {' | '.join(shown)} |", "|" + "---|" * len(shown), f"| {' | '.join(shown.values())} |"])


def machine() -> Row:
    return {
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "uncubed": uc.__version__,
        "machine": platform.machine(),
        "cores": os.cpu_count(),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="Time per round by decile, model order, memory.")
    parser.add_argument("--rounds", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--parts", nargs="+", default=["rounds", "box", "refused", "million"])
    parser.add_argument("--json", nargs="?", const="-", help="write everything as JSON to a file, or to the output")
    options = parser.parse_args()
    result: Row = {"seed": options.seed, "versions": machine()}
    if "rounds" in options.parts:
        result["rounds"] = [
            apart(
                measure_rounds,
                method,
                min(options.rounds, BEARABLE.get(method, options.rounds)),
                options.seed,
                on_box=False,
            )
            for method in ("dense, unmerged", "dense, merged", "compressed", "projected", "BKB")
        ]
    if "box" in options.parts:
        result["box"] = [
            apart(measure_rounds, method, min(options.rounds, most), options.seed, on_box=True)
            for method, most in BOX_BEARABLE.items()
        ]
    if "refused" in options.parts:
        result["refused"] = apart(measure_refused)
    if "million" in options.parts:
        result["million"] = apart(measure_million)
    report(result, options.json)


def report(result: Row, target: str | None) -> None:
    if target == "-":
        print(json.dumps(result, indent=1))
        return
    if target:
        with open(target, "w", encoding="utf-8") as file:
            json.dump(result, file, indent=1)
    print(", ".join(f"{k} {v}" for k, v in result["versions"].items()), f"seed {result['seed']}", sep=", ")
    for part in ("rounds", "box"):
        if part in result:
            print(f"\n{part}\n{rounds_table(result[part])}")
    for part in ("refused", "million"):
        if part in result:
            print(f"\n{part}\n{plain_table(result[part])}")


if __name__ == "__main__":
    main()
