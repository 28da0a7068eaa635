"""Evaluate on a Dask cluster, here one of this machine, and kill a worker midway: nothing is lost.

What the killed worker evaluated is evaluated again by another; each value is told once.
"""

import math
import os
import signal
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

from distributed import Client, LocalCluster

import uncubed as uc

SPACE = {"x": uc.Float(-5.0, 10.0), "y": uc.Float(0.0, 15.0)}


def branin(folder: Path, params: dict[str, Any]) -> float:
    """A function with three minima of 0.398; the twentieth evaluation kills its worker, the first time."""
    with (folder / "begun").open("a") as file:
        file.write(f"{os.getpid()}\n")
    time.sleep(0.02)
    if len((folder / "begun").read_text().splitlines()) >= 20 and not (folder / "killed").exists():
        (folder / "killed").touch()
        os.kill(os.getpid(), signal.SIGKILL)
    x, y = params["x"], params["y"]
    hollow = (y - 0.12918 * x**2 + 1.59155 * x - 6.0) ** 2
    return float(hollow + 9.60211 * math.cos(x) + 10.0)


def main() -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        LocalCluster(n_workers=3, threads_per_worker=1, dashboard_address=":0", silence_logs=50) as cluster,
        Client(cluster) as client,
    ):
        executor = client.get_executor(pure=False)  # two evaluations of one point are two
        f = partial(branin, Path(folder))
        result = uc.minimize(f, SPACE, evaluations=60, executor=executor, workers=3, seed=0)
        begun = Path(folder, "begun").read_text().splitlines()
        killed = Path(folder, "killed").exists()
    print(f"a worker was killed: {killed}; processes that evaluated: {len(set(begun))}")
    print(f"begun: {len(begun)}, told: {len(result.optimizer.log.values)}, failed: {len(result.failures)}")
    print(f"best: {result.value:.4f} at x = {result.params['x']:.3f}, y = {result.params['y']:.3f}")


if __name__ == "__main__":
    main()
