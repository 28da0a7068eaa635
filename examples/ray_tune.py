"""Tune a model with Ray, two trials at a time, and see how far from the best they can still be.

The model is ridge regression on random Fourier features, small enough to read; its error is that of a validation set.
"""

import logging
import os
import tempfile
from typing import Any

import numpy as np

os.environ["RAY_USAGE_STATS_ENABLED"] = "0"

import ray
from ray import tune

from uncubed.integrations.ray import UncubedSearch

SPACE = {
    "scale": tune.loguniform(0.1, 100.0),
    "ridge": tune.loguniform(1e-8, 10.0),
    "features": {"count": tune.qrandint(20, 200, 20), "kind": tune.choice(["cosine", "sign"])},
}


def train(config: dict[str, Any]) -> dict[str, float]:
    rng = np.random.default_rng(0)
    x = rng.uniform(-1.0, 1.0, 600)
    y = np.sin(8.0 * x) + 0.3 * np.cos(25.0 * x) + 0.1 * rng.standard_normal(600)
    waves = rng.standard_normal(config["features"]["count"]) * config["scale"]
    Z = np.cos(np.outer(x, waves) + rng.uniform(0.0, 2.0 * np.pi, len(waves)))
    Z = np.sign(Z) if config["features"]["kind"] == "sign" else Z
    gram = Z[:400].T @ Z[:400] + config["ridge"] * np.eye(len(waves))
    w = np.linalg.solve(gram, Z[:400].T @ y[:400])
    return {"rmse": float(np.sqrt(np.mean((Z[400:] @ w - y[400:]) ** 2)))}


def main() -> None:
    search = UncubedSearch(seed=0)
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR)
    with tempfile.TemporaryDirectory() as folder:
        tuner = tune.Tuner(
            train,
            param_space=SPACE,
            tune_config=tune.TuneConfig(
                metric="rmse", mode="min", num_samples=40, search_alg=search, reuse_actors=True
            ),
            run_config=tune.RunConfig(storage_path=folder, verbose=0),
        )
        best = tuner.fit().get_best_result()
    ray.shutdown()
    print(f"best of Tune's trials: {best.config}, rmse {(best.metrics or {})['rmse']:.4f}; the noise has 0.1")
    print(search.certificate())


if __name__ == "__main__":
    main()
