"""How often is a certificate false, on functions that were not drawn from a Gaussian process?

    python benchmarks/coverage.py

Functions of one parameter in [0, 1], without noise. A certificate is false when the optimum is better than the
recommended point by more than the gap.
"""

import argparse
import math
from collections.abc import Callable

import numpy as np

import uncubed as uc

AT = (8, 12, 20, 35)
GRID = np.linspace(0.0, 1.0, 2001).tolist()
Function = Callable[[float], float]


def sines(rng: np.random.Generator) -> Function:
    a, b, c = rng.uniform(2, 8), rng.uniform(0, 6), rng.uniform(5, 20)
    return lambda x: math.sin(a * x + b) + 0.5 * math.sin(c * x)


def parabola(rng: np.random.Generator) -> Function:
    a = rng.uniform()
    return lambda x: -((x - a) ** 2)


def cusp(rng: np.random.Generator) -> Function:
    a = rng.uniform()
    return lambda x: -math.sqrt(abs(x - a))


def steps(rng: np.random.Generator) -> Function:
    a, b = rng.uniform(0.2, 0.5), rng.uniform(0.5, 0.9)
    return lambda x: float(x > a) - 0.5 * float(x > b)


def peak(rng: np.random.Generator) -> Function:
    a = rng.uniform()
    return lambda x: math.exp(-(((x - a) / 0.03) ** 2)) + 0.2 * x


KINDS = [sines, parabola, cusp, steps, peak]


def false_at(f: Function, seed: int) -> list[bool]:
    """Whether the certificate was false after each of the counts."""
    opt = uc.Optimizer({"x": uc.Float(0.0, 1.0)}, seed=seed)
    best, false = max(map(f, GRID)), []
    for n in range(1, AT[-1] + 1):
        suggestion = opt.ask()
        opt.tell(suggestion, f(suggestion.params["x"]))
        if n in AT:
            promise = opt.certificate()
            false.append(best - f(promise.recommended.params["x"]) > promise.gap + 1e-9)
    return false


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--functions", type=int, default=12, help="of each kind")
    n = parser.parse_args().functions
    print(f"| kind | false of {n} after {', '.join(map(str, AT))} values |\n|---|---|")
    for kind in KINDS:
        false = np.sum([false_at(kind(np.random.default_rng(100 + seed)), seed) for seed in range(n)], axis=0)
        print(f"| {kind.__name__} | {', '.join(map(str, false.tolist()))} |", flush=True)


if __name__ == "__main__":
    main()
