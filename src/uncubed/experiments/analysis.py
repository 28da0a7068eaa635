"""What the rows say: means with confidence intervals, ratios, growth exponents, and the printed bounds in numbers."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice
from typing import NamedTuple, final

import numpy as np
from scipy import stats

from uncubed import SquaredExponential
from uncubed._typing import Array
from uncubed.actions import finite_beta
from uncubed.certificate import greedy_gains
from uncubed.experiments.problems import grid
from uncubed.experiments.runner import Row

CONFIDENCE = 0.95
"""Of every interval and band, over seeds."""

RESAMPLES = 2_000
"""Of the seeds, for the interval of a ratio."""


class Interval(NamedTuple):
    """A mean over seeds and half the width of its confidence interval; NaN for one seed."""

    mean: float
    half: float


def interval(values: Sequence[float]) -> Interval:
    """Student's t interval of the mean."""
    mean, half = band(np.asarray(values, float)[:, None])
    return Interval(float(mean[0]), float(half[0]))


def band(values: Array) -> tuple[Array, Array]:
    """Mean and half-width of the confidence band over the first axis; NaN where there is one row only."""
    n = len(values)
    mean: Array = values.mean(axis=0)
    if n == 1:
        return mean, np.full_like(mean, np.nan)
    half: Array = stats.t.ppf(0.5 + CONFIDENCE / 2, n - 1) * values.std(axis=0, ddof=1) / math.sqrt(n)
    return mean, half


def column(rows: Sequence[Row], name: str) -> list[float]:
    """One number per row."""
    return [float(row[name]) for row in rows]


def curves(rows: Sequence[Row], name: str) -> Array:
    """One curve per row, shape (seeds, marks)."""
    return np.array([row["curve"][name] for row in rows], float)


def average_regrets(rows: Sequence[Row]) -> Array:
    """Mean average regret at each mark, shape (seeds, marks)."""
    return curves(rows, "cumulative_regret") / curves(rows, "round")


def cumulative_regret(row: Row) -> float:
    """Reg_T."""
    return float(row["mean_average_regret"] * row["horizon"])


def model_order(row: Row) -> float:
    """M_T."""
    return float(row["model_order"])


def total_seconds(row: Row) -> float:
    """Clock time with the initial points."""
    return float(row["clock_seconds"] + row["initial_seconds"])


def training_seconds(row: Row) -> float:
    """The part of it spent in the objective."""
    return float(row["objective_seconds"] + row["initial_seconds"])


class Ratio(NamedTuple):
    """A ratio of means over seeds, and its confidence interval."""

    mean: float
    low: float
    high: float


def ratio(rows: Sequence[Row], reference: Sequence[Row], of: Callable[[Row], float]) -> Ratio:
    """Mean of `of` over its mean in the reference, over the seeds in both; the interval is by resampling seeds."""
    known = {row["seed"]: of(row) for row in reference}
    pairs = np.array([(of(row), known[row["seed"]]) for row in rows if row["seed"] in known])
    draws = np.random.default_rng(0).integers(len(pairs), size=(RESAMPLES, len(pairs)))
    tops, bottoms = pairs[draws].mean(axis=1).T
    low, high = np.quantile(tops / bottoms, [0.5 - CONFIDENCE / 2, 0.5 + CONFIDENCE / 2])
    return Ratio(float(pairs[:, 0].mean() / pairs[:, 1].mean()), float(low), float(high))


def predicts(values: Sequence[float], one: float) -> bool:
    """Whether one more value as these, from a run of its own, could be this one: Student's prediction interval."""
    mean, half = interval(values)
    return abs(one - mean) <= half * math.sqrt(len(values) + 1)


def final_regret(row: Row) -> float:
    """Regret per round of the action a frozen run repeats; of a run that is not, between the last two marks."""
    curve = row["curve"]
    rounds, regret = [0, *curve["round"]], [0.0, *curve["cumulative_regret"]]
    # As many rounds as there are: the curve is rounded.
    frozen_at = row.get("frozen_at") or rounds[-1]
    start = next((k for k, t in enumerate(rounds[:-1]) if t >= frozen_at - 1), len(rounds) - 2)
    return float((regret[-1] - regret[start]) / (rounds[-1] - rounds[start]))


def exponent(rows: Sequence[Row], of: Callable[[Row], float], over: Callable[[Row], float]) -> Interval:
    """The slope of log `of` over log `over`, by least squares in each seed."""
    slopes = []
    for seed in sorted({row["seed"] for row in rows}):
        mine = [row for row in rows if row["seed"] == seed]
        if len(mine) > 1:
            slopes.append(float(np.polyfit(np.log([over(r) for r in mine]), np.log([of(r) for r in mine]), 1)[0]))
    return interval(slopes) if slopes else Interval(math.nan, math.nan)


@final
@dataclass(frozen=True)
class PrintedBounds:
    """What the paper's theorems amount to on a finite set, prior variance 1.

    Args:
        actions: |X|.
        noise_variance: σ².
        delta: failure probability.
    """

    actions: int
    noise_variance: float
    delta: float

    def beta(self, T: int) -> float:
        """β_T = 2 log(|X| T² π² / 6δ)."""
        return finite_beta(self.actions, T, self.delta)

    @property
    def c1(self) -> float:
        """C_1 = 8 / log(1 + σ⁻²)."""
        return 8.0 / math.log1p(1.0 / self.noise_variance)

    @property
    def z1(self) -> float:
        """Z_1 = Σ λ_t / (σ² (1 - 1/e)); the eigenvalues of a kernel matrix with unit diagonal sum to |X|."""
        return self.actions / (self.noise_variance * (1.0 - math.exp(-1.0)))

    def corollary(self, T: int) -> float:
        """Corollary 3.3: √(C_1 β_T) max(√Z_1, 1) T^¾."""
        return math.sqrt(self.c1 * self.beta(T)) * max(math.sqrt(self.z1), 1.0) * math.pow(T, 0.75)

    def expected_improvement(self, T: int, gain: float, z_score: float, alpha: float) -> float:
        """Theorem 3.4 as printed, divided by log(1 + σ⁻²) where its proof gives the root of it."""
        beta = self.beta(T)
        width = math.sqrt(3.0 * (beta + 1.0 + z_score**2)) + math.sqrt(beta)
        spread = math.sqrt(2.0 * T * gain) + T * math.sqrt(math.log1p(math.pow(T, -alpha)))
        return width / math.log1p(1.0 / self.noise_variance) * spread


@cache
def maximum_gains(problem: str, levels: tuple[int, ...], noise_variance: float, length_scale: float, m: int) -> Array:
    """γ̂_0 … γ̂_m, the gains of greedy steps: within 1 - 1/e of the largest that as many observations can have."""
    gains = greedy_gains(SquaredExponential(length_scale), noise_variance, grid(problem, levels).X)
    return np.cumsum([0.0, *islice(gains, m)])
