"""Tune a noisy simulator on two processes: the policy of a shop that reorders its stock.

Each evaluation answers a mean cost and the variance of that mean, so a long simulation counts for more than a short
one. As soon as a worker is free it gets the next policy; those that still run are known to the search.
"""

from concurrent.futures import ProcessPoolExecutor
from typing import Any

import numpy as np

import uncubed as uc

SPACE = {"reorder_at": uc.Int(0, 60), "order_up_to": uc.Int(20, 120)}


def daily_cost(reorder_at: int, order_up_to: int, days: int, rng: np.random.Generator) -> float:
    """Of keeping (1 a piece and day), of ordering (40 each time) and of sales that are lost (15 a piece)."""
    stock, arriving, cost = order_up_to, [0, 0], 0.0
    for demand in rng.poisson(10.0, days):
        stock += arriving.pop(0)
        sold = min(stock, int(demand))
        cost += 15.0 * (demand - sold)
        stock -= sold
        on_order = stock + sum(arriving)
        order = order_up_to - on_order if on_order <= reorder_at else 0
        arriving.append(max(order, 0))
        cost += 1.0 * stock + 40.0 * (order > 0)
    return cost / days


def simulate(params: dict[str, Any], runs: int | None = None) -> tuple[float, float]:
    """Mean cost of runs of 100 days, and the variance of that mean; how many runs depends on luck here."""
    rng = np.random.default_rng()
    costs = [daily_cost(**params, days=100, rng=rng) for _ in range(runs or rng.integers(5, 40))]
    return float(np.mean(costs)), float(np.var(costs, ddof=1) / len(costs))


def ordered(params: dict[str, Any]) -> bool:
    return bool(params["reorder_at"] < params["order_up_to"])


def main() -> None:
    with ProcessPoolExecutor(2) as pool:
        result = uc.minimize(
            simulate, SPACE, evaluations=80, executor=pool, timeout=60.0, constraints=[ordered], seed=0
        )
    best = result.best
    print(f"stopped after {result.evaluations} of 80 evaluations: {result.reason}")
    print(f"best: {best.params}, believed to cost {best.mean:.2f} ± {best.std:.2f} a day")
    mean, variance = simulate(best.params, runs=1_000)
    print(f"1,000 more runs there: {mean:.2f} ± {variance**0.5:.2f}")


if __name__ == "__main__":
    main()
