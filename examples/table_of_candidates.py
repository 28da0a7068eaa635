"""Choose from a table of 40,000 compounds, of which 100 were measured before, with 60 more measurements.

Prints how long an ask and a tell take together, and how the compound found ranks among all 40,000.
"""

import time
from typing import Any

import numpy as np

import uncubed as uc

ROWS, KNOWN, MORE = 40_000, 100, 60
SOLVENTS = ["water", "ethanol", "toluene"]


def compounds(rng: np.random.Generator) -> list[dict[str, Any]]:
    columns = {
        "mass": rng.gamma(6.0, 50.0, ROWS).round(1),
        "polarity": rng.beta(2.0, 3.0, ROWS).round(3),
        "rings": rng.integers(0, 6, ROWS),
        "solvent": rng.choice(SOLVENTS, ROWS),
    }
    return [dict(zip(columns, row, strict=True)) for row in zip(*(c.tolist() for c in columns.values()), strict=True)]


def binding(c: dict[str, Any]) -> float:
    """What a measurement would say but for its error: best at one mass for each number of rings."""
    mass = np.exp(-(((c["mass"] - 250.0 - 30.0 * c["rings"]) / 40.0) ** 2))
    polarity = 1.0 - 4.0 * (c["polarity"] - 0.15 * SOLVENTS.index(c["solvent"]) - 0.3) ** 2
    return float(10.0 * mass * polarity - 0.4 * (c["rings"] - 3) ** 2)


def main() -> None:
    rng = np.random.default_rng(0)
    table = compounds(rng)

    def measure(c: dict[str, Any]) -> float:
        return binding(c) + 0.1 * float(rng.standard_normal())

    opt = uc.Optimizer(uc.Candidates(table), direction="maximize", evaluations=KNOWN + MORE, seed=0)
    past = [table[i] for i in rng.choice(ROWS, KNOWN, replace=False)]
    opt.tell_many(past, [measure(c) for c in past])
    print(f"the best of {KNOWN} measured before: {opt.best.mean:.2f}, {opt.best.params}")
    start = time.perf_counter()
    while opt.done is None:
        suggestion = opt.ask()
        opt.tell(suggestion, measure(suggestion.params))
    each, best = (time.perf_counter() - start) / MORE, opt.best
    print(f"after {MORE} more: {best.mean:.2f}, {best.params}; {1000 * each:.0f} ms for each")
    print(f"rank among all {ROWS}: {1 + sum(binding(c) > binding(best.params) for c in table)}")


if __name__ == "__main__":
    main()
