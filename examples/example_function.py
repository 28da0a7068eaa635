"""The paper's example function, f(x) = sin x + cos x + x/10 on [-8, 8], for 1,000 rounds of UCB.

Prints what is kept, what is evaluated and what it costs in regret: dense, compressed, projected and BKB.
"""

import numpy as np

import uncubed as uc

ROUNDS, SEEDS, NOISE_VARIANCE = 1_000, 3, 1e-3
ACTIONS = uc.Finite(np.linspace(-8.0, 8.0, 1_000)[:, None])
PAYOFF = np.sin(ACTIONS.X[:, 0]) + np.cos(ACTIONS.X[:, 0]) + 0.1 * ACTIONS.X[:, 0]


def bandits(seed: int) -> dict[str, uc.Bandit]:
    """The methods, each with a belief of its own."""
    kernel = uc.SquaredExponential(1.0)

    def exact(budget: uc.Budget) -> uc.Bandit:
        return uc.Bandit(ACTIONS, uc.ExactBelief(kernel, NOISE_VARIANCE), budget=budget, seed=seed)

    def absorbing(belief: uc.Belief) -> uc.Bandit:
        return uc.Bandit(ACTIONS, belief, act=True, seed=seed)

    return {
        "dense": exact(uc.Budget.keep_all()),
        "compressed, relative ε = 1e-4": exact(uc.Budget.constant(1e-4)),
        "compressed, absolute ε = 1e-4": exact(uc.Budget.absolute(1e-4)),
        "compressed, α = 1/(2p)": exact(uc.Budget.for_horizon(ROUNDS)),
        "projected": absorbing(uc.ProjectedBelief(kernel, NOISE_VARIANCE)),
        "BKB": absorbing(uc.SketchedBelief(kernel, NOISE_VARIANCE, seed=seed)),
    }


def results(seed: int) -> dict[str, tuple[float, ...]]:
    """Regret, model order, rows, evaluations and microseconds per round of each method, from equal initial points."""
    rows: dict[str, tuple[float, ...]] = {}
    for name, bandit in bandits(seed).items():
        rng = np.random.default_rng(seed)
        for index in rng.integers(len(ACTIONS), size=2):
            bandit.add(ACTIONS.X[index], float(PAYOFF[index] + NOISE_VARIANCE**0.5 * rng.standard_normal()))
        run = bandit.run(PAYOFF, ROUNDS, noise_std=NOISE_VARIANCE**0.5, record_every=ROUNDS, rng=rng)
        regret, micros = float(run.mean_average_regret[-1]), 1e6 * float(run.seconds_per_round[-1])
        rows[name] = (regret, int(run.model_order[-1]), int(run.distinct[-1]), int(run.evaluations[-1]), micros)
    return rows


def main() -> None:
    """Print the table."""
    by_seed = [results(seed) for seed in range(SEEDS)]
    print(
        f"example function, {len(ACTIONS)} actions, {ROUNDS} rounds of UCB, mean of {SEEDS} seeds (0 to {SEEDS - 1})\n"
    )
    print(f"{'':32}{'regret':>9}{'model':>8}{'rows':>7}{'evaluated':>11}{'µs/round':>10}")
    for name in by_seed[0]:
        regret, model, rows, evaluated, micros = np.mean([r[name] for r in by_seed], axis=0)
        print(f"{name:32}{regret:>9.4f}{model:>8.0f}{rows:>7.0f}{evaluated:>11.0f}{micros:>10.0f}")
    print("\nregret: mean average regret, refused rounds included; rows: what is stored, repeats merged")


if __name__ == "__main__":
    main()
