"""How long does it take to go on with a study, with its checkpoint and without?

    python benchmarks/resume.py --told 1000 10000 100000

The journal is written without waiting for the disk, which changes neither the file nor the reading of it.
"""

import argparse
import math
import os
import tempfile
import time
from pathlib import Path

import numpy as np

import uncubed as uc

SPACE = {"x": uc.Float(0.0, 1.0), "y": uc.Float(0.0, 1.0)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--told", type=int, nargs="+", default=[1000, 10_000])
    parser.add_argument("--whole", type=int, default=10_000, help="most values learned again without a checkpoint")
    chosen = parser.parse_args()
    print("| told | journal, MB | checkpoint, MB | resume, s | without checkpoint, s |")
    print("|---|---|---|---|---|")
    for told in chosen.told:
        with tempfile.TemporaryDirectory() as directory:
            path = Path(directory) / "study.jsonl"
            write(path, told)
            checkpoint = path.with_name("study.jsonl.checkpoint")
            sizes = [f"{file.stat().st_size / 1e6:.2f}" if file.exists() else "-" for file in (path, checkpoint)]
            seconds = [f"{resume(path):.2f}"]
            checkpoint.unlink(missing_ok=True)
            seconds.append(f"{resume(path):.2f}" if told <= chosen.whole else "-")
            print(f"| {told:,} | {' | '.join(sizes)} | {' | '.join(seconds)} |", flush=True)


def write(path: Path, told: int) -> None:
    rng = np.random.default_rng(0)
    sync, os.fsync = os.fsync, lambda fd: None
    try:
        with uc.Optimizer(SPACE, seed=0, journal=path) as opt:
            for x, y in rng.random((told, 2)).tolist():
                opt.tell({"x": x, "y": y}, math.sin(6 * x) * math.cos(4 * y) + 0.1 * float(rng.normal()))
    finally:
        os.fsync = sync


def resume(path: Path) -> float:
    start = time.perf_counter()
    uc.Optimizer.resume(path).close()
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
