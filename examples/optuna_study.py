"""An Optuna study with another sampler: one line changes, and one lets it end when nothing is left to find.

The study, its storage and its plots stay Optuna's. Here a forecast by exponential smoothing is tuned.
"""

import math

import numpy as np
import optuna

from uncubed.integrations.optuna import StopWhenDone, UncubedSampler

optuna.logging.set_verbosity(optuna.logging.WARNING)

DAYS = np.arange(400)
SERIES = 0.02 * DAYS + 2.0 * np.sin(DAYS / 20.0) + np.random.default_rng(0).normal(0.0, 1.0, len(DAYS))


def objective(trial: optuna.Trial) -> float:
    """Root mean square error of the forecasts from each day to the next."""
    weight = trial.suggest_float("weight", 0.01, 1.0, log=True)
    trend_weight = trial.suggest_float("trend_weight", 0.0, 0.5, step=0.01)
    level, trend, squares = float(SERIES[0]), 0.0, 0.0
    for value in SERIES[1:].tolist():
        error = value - (level + trend)
        level, trend = level + trend + weight * error, trend + trend_weight * weight * error
        squares += error**2
    return math.sqrt(squares / (len(SERIES) - 1))


def main() -> None:
    sampler = UncubedSampler(seed=0, tolerance=0.05)  # instead of TPESampler(seed=0)
    study = optuna.create_study(sampler=sampler)
    study.optimize(objective, n_trials=200, callbacks=[StopWhenDone()])
    print(f"stopped after {len(study.trials)} of 200 trials")
    print(f"best: {study.best_value:.3f} with {study.best_params}")
    promise = sampler.certificate(study)
    print(f"nowhere better by more than {promise.gap:.3f}, as far as the fitted model goes")


if __name__ == "__main__":
    main()
