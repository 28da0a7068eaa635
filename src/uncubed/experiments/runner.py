"""One run: a setting, an acquisition, a method and a seed give one row."""

import math
import platform
import time
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, final

import numpy as np

import uncubed as uc
from uncubed._typing import Array
from uncubed.experiments import problems
from uncubed.experiments.config import Method, Setting

Row = dict[str, Any]
"""One line of results.jsonl."""

MARKS = 25
"""Points of a run's curve; the trade-off needs its end only."""

ACQUISITIONS = {"ucb": "UCB", "ei": "EI", "mpi": "MPI"}
"""As the paper writes them."""


@final
@dataclass(frozen=True)
class Task:
    """What one run needs."""

    setting: Setting
    acquisition: str
    method: Method
    seed: int
    mnist: Path | None = None

    @property
    def key(self) -> tuple[str, str, str, int, str]:
        """What makes a row this run's."""
        return (
            self.setting.name,
            self.acquisition,
            self.method.name,
            self.seed,
            self.setting.digest(self.method),
        )


def key_of(row: Row) -> tuple[str, str, str, int, str]:
    """The key of the task that gave a row."""
    return row["setting"], row["acquisition"], row["method"], row["seed"], row["configuration"]


def run(task: Task) -> Row:
    """Play the rounds and write down what happened."""
    setting, seed = task.setting, task.seed
    objective = problems.objective(setting, seed, task.mnist)
    bandit = _bandit(task, objective.actions)
    initial_seconds = _add_initial(bandit, objective, problems.initial_points(setting, seed))
    watch = _Watch(bandit)
    marks = 1 if setting.experiment == "tradeoff" else MARKS
    result = objective.play(bandit, setting.horizon, max(1, setting.horizon // marks), watch)
    regret = result.mean_average_regret
    row = {
        **_names(task),
        "initial": setting.initial,
        "actions": "box" if setting.box else len(getattr(objective.actions, "X", ())),
        "optimum": objective.optimum,
        "mean_average_regret": float(regret[-1]),
        "simple_regret": objective.optimum - objective.truth(bandit.best.action),
        "model_order": int(result.model_order[-1]),
        "distinct": int(result.distinct[-1]),
        "evaluations": int(result.evaluations[-1]),
        "frozen_at": result.frozen_at,
        "clock_seconds": float(result.seconds[-1]),
        "objective_seconds": float(result.objective_seconds[-1]),
        "initial_seconds": initial_seconds,
        "z_score": watch.z_score,
        "caveats": list(bandit.certificate().caveats),
        "versions": versions(),
        "curve": _rounded(_curve(result, watch), 4),
    }
    if isinstance(objective, problems.Training):
        row |= {"epochs": setting.epochs, "best_seen": objective.best_seen}
    rounded: Row = _rounded(row)
    return rounded


def acquisition(name: str, delta: float) -> uc.Acquisition:
    """By its short name."""
    table: dict[str, uc.Acquisition] = {
        "ucb": uc.UpperConfidenceBound(uc.TheoreticalBeta(delta)),
        "ei": uc.ExpectedImprovement(),
        "mpi": uc.MostProbableImprovement(),
    }
    return table[name]


def belief(setting: Setting, method: Method, seed: int) -> uc.Belief:
    """A method's belief at the start."""
    kernel, noise = uc.SquaredExponential(setting.length_scale), setting.noise_variance
    if method.belief == "projected":
        return uc.ProjectedBelief(kernel, noise, novelty=method.novelty or 0.0)
    if method.belief == "sketched":
        return uc.SketchedBelief(
            kernel, noise, oversampling=method.oversampling or 1.0, seed=problems.derived(seed, problems.SKETCH)
        )
    return uc.ExactBelief(kernel, noise, merge=method.belief == "exact")


def budget(setting: Setting, method: Method) -> uc.Budget:
    """What a method keeps."""
    if method.budget == "for_horizon":
        alpha = (method.alpha_p or 0.0) / len(setting.levels)
        return uc.Budget.for_horizon(setting.horizon, alpha)
    if method.budget == "keep_all":
        return uc.Budget.keep_all()
    of = uc.Budget.constant if method.budget == "constant" else uc.Budget.absolute
    return of(method.epsilon or 0.0)


@cache
def versions() -> dict[str, str]:
    """Of what the numbers depend on."""
    packages = {name: version(name) for name in ("uncubed", "numpy", "scipy")}
    return {"python": platform.python_version(), **packages, "machine": platform.machine()}


def _bandit(task: Task, actions: uc.Finite | uc.Box) -> uc.Bandit:
    setting, method = task.setting, task.method
    return uc.Bandit(
        actions,
        belief(setting, method, task.seed),
        acquisition(task.acquisition, setting.delta),
        budget(setting, method),
        act=method.belief in ("projected", "sketched"),
        delta=setting.delta,
        seed=problems.derived(task.seed, problems.BANDIT),
    )


def _add_initial(bandit: uc.Bandit, objective: problems.Objective, points: Array) -> float:
    start = time.perf_counter()
    for point in points:
        bandit.add(point, objective.value(point))
    return time.perf_counter() - start


def _names(task: Task) -> Row:
    setting, method = task.setting, task.method
    return {
        "experiment": setting.experiment,
        "setting": setting.name,
        "acquisition": task.acquisition,
        "method": method.name,
        "belief": method.belief,
        "budget": str(budget(setting, method)),
        "seed": task.seed,
        "horizon": setting.horizon,
        "configuration": setting.digest(method),
    }


class _Watch:
    """What is read off a bandit at each mark, off the clock."""

    def __init__(self, bandit: uc.Bandit) -> None:
        self.bandit = bandit
        self.bounds: list[tuple[float | None, float | None]] = []
        self.z_score: float | None = None

    def __call__(self, t: int) -> None:
        certificate = self.bandit.certificate()
        self.bounds.append((certificate.cumulative_regret, certificate.theorem_regret))
        if isinstance(self.bandit.acquisition, uc.ExpectedImprovement):
            self._largest_z_score(t)

    def _largest_z_score(self, t: int) -> None:
        """Theorem 3.4's R, the supremum of |μ - y_max| / σ, over the marks seen so far."""
        bandit, surface = self.bandit, self.bandit.belief.surface
        if surface is None:
            return
        incumbent = bandit.acquisition.parameter(t, bandit.actions, bandit.belief, np.random.default_rng(0))
        spread = np.sqrt(np.maximum(surface.variance, np.finfo(float).tiny))
        self.z_score = max(self.z_score or 0.0, float(np.max(np.abs(surface.mean - incumbent) / spread)))


def _curve(result: uc.Run, watch: _Watch) -> dict[str, list[Any]]:
    bounds, theorems = zip(*watch.bounds, strict=True)
    return {
        "round": result.rounds.tolist(),
        "cumulative_regret": [] if result.cumulative_regret is None else result.cumulative_regret.tolist(),
        "model_order": result.model_order.tolist(),
        "seconds": result.seconds.tolist(),
        "regret_bound": list(bounds),
        "theorem_bound": [] if theorems[-1] is None else list(theorems),
    }


def _rounded(value: Any, digits: int = 6) -> Any:
    """Floats to as many digits as a reader or a figure can use."""
    if isinstance(value, float):
        return float(f"{value:.{digits}g}") if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _rounded(entry, digits) for key, entry in value.items()}
    return [_rounded(entry, digits) for entry in value] if isinstance(value, list) else value
