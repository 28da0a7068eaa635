"""How small must c of `ProjectedBelief(novelty=c)` be? Calibration on functions drawn from the prior.

    python benchmarks/novelty.py [--draws N] [--json]

f is drawn from the belief's own prior, so z = (f - mean) / std at an action fixed in advance is standard normal when
the belief is as sure as it may be, and wider when it is overconfident. Four ways of acting:

* repeats: a few atoms, then 10,000 values at one action that is not an atom, at the distance from its nearest atom
  that is worst for this c, from far below the atom threshold to above it;
* clusters: 1,000 actions in tight clusters, at the worst of three widths;
* uniform: 1,000 actions anywhere;
* UCB: 1,000 rounds on 1,000 actions, β = 10.

In the first three the actions do not depend on the values, so the belief's mean is a fixed linear map of them, A y.
The map is read off the belief itself (`weights`) and gives the exact sd of z at every test action. "worst" is the
largest of them and P its two-sigma miss rate: exact, so not the luckiest of many noisy estimates. The draws are the
check: "P draws" is the miss rate over all test actions, with its standard error over draws, the independent unit. For
UCB there are only draws; there "near" is the action most often chosen, which is fair because given the values z is
standard normal whatever they are.

"near" are actions at and beside the observed ones, "spread" a grid over the domain. "gap" is the largest
|mean - dense mean| / dense std over draws and test actions, "ratio" the range of variance / dense variance, where dense
is `ExactBelief` given the same values. In the rows c = dense it is the belief under test: the control.

The c to choose is the largest for which P at the worst action of every scenario is within the binomial error of 1,000
draws (0.0455 + 0.0066), and no miss rate over draws is more than three standard errors too high. It is decided by the
atom beside the repeated action: until the repeated one becomes an atom too, the belief about the first grows too sure
by about c and wrong by about c, in units of its variance, so sd² ≈ 1 + 2c there at the worst distance.
"""

import argparse
import dataclasses
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from uncubed._typing import Array
from uncubed.beliefs import Belief, ExactBelief, ProjectedBelief
from uncubed.beliefs.surface import Surface
from uncubed.kernels import Kernel, Matern52, SquaredExponential

GRID = (1.0, 0.5, 0.3, 0.2, 0.1, 0.05, 0.02, 0.01)
DENSE = 0.0
NOMINAL = float(2 * norm.sf(2))
ACCEPTED = NOMINAL + float(np.sqrt(NOMINAL * (1 - NOMINAL) / 1000))
DISTANCES = np.geomspace(1e-3, 0.3, 5)
WIDTHS = (0.05, 0.1, 0.3)
REPEATS = 10_000
COMPARED = 20  # searches that are also compared with the dense belief
SEED = 2024

Indices = NDArray[np.intp]


@dataclass(frozen=True)
class Case:
    name: str
    kernel: Kernel
    noise_variance: float = 1e-3
    dimension: int = 1

    def projected(self, c: float) -> ProjectedBelief:
        return ProjectedBelief(self.kernel, self.noise_variance, novelty=c)

    def dense(self) -> ExactBelief:
        return ExactBelief(self.kernel, self.noise_variance)

    def grid(self, half: float, count: int) -> Array:
        """A grid on [-half, half]; in more dimensions as many points of the box, scattered, always the same."""
        if self.dimension == 1:
            return np.linspace(-half, half, count)[:, None]
        return np.random.default_rng(6).uniform(-half, half, (count, self.dimension))


SMOOTH, ROUGH = Case("SE", SquaredExponential(1.0)), Case("Matérn", Matern52(1.0))
NOISY, PLANE = Case("SE σ²=.1", SquaredExponential(1.0), 0.1), Case("SE 2-d", SquaredExponential(1.0), dimension=2)


@dataclass(frozen=True)
class Actions:
    """A sequence of actions that does not depend on the values, and where to test after it."""

    case: Case
    label: str
    points: Array  # every action and test action, (n, d)
    order: Indices  # rows of points, in the order they are taken, (T,)
    near: Indices
    spread: Indices

    @property
    def tests(self) -> Indices:
        return np.concatenate([self.near, self.spread])


@dataclass(frozen=True)
class Row:
    scenario: str
    case: str
    c: float
    atoms: float
    sd_near: float
    sd_spread: float
    sd_worst: float | None
    p_worst: float | None
    p_draws: float
    error: float
    gap: float
    ratio: tuple[float, float]

    @property
    def acceptable(self) -> bool:
        return (self.p_worst or 0.0) <= ACCEPTED and self.p_draws <= NOMINAL + 3 * self.error


# Actions fixed in advance


def repeats(case: Case, distance: float) -> Actions:
    direction = np.ones(case.dimension) / np.sqrt(case.dimension)
    atoms = np.array([0.0, -1.7, -0.8, 0.9, 2.0])[:, None] * np.array([1.0, -0.7])[: case.dimension]
    beside = atoms[0] + np.outer([distance, distance / 2, distance + 0.1], direction)
    points = np.vstack([atoms, beside, case.grid(4.0, 7)])
    order = np.concatenate([np.arange(5), np.full(REPEATS, 5)])
    return Actions(case, f"at {distance:.3f}", points, order, np.array([0, 5, 6, 7]), np.arange(8, len(points)))


def clusters(case: Case, width: float) -> Actions:
    rng = np.random.default_rng(4)
    centres = rng.uniform(-6, 6, (4, case.dimension))
    X = centres[rng.integers(4, size=1000)] + width * rng.standard_normal((1000, case.dimension))
    return once_each(case, f"width {width}", X, np.vstack([centres, centres[:2] + width]), case.grid(8.0, 9))


def uniform(case: Case, half: float) -> Actions:
    X = np.random.default_rng(5).uniform(-half, half, (1000, case.dimension))
    return once_each(case, f"±{half:g}", X, X[:5] + 0.01, case.grid(half, 9))


def once_each(case: Case, label: str, X: Array, beside: Array, spread: Array) -> Actions:
    """Every action of X once, tested also at the first of them, which are atoms: those suffer most."""
    n, m = len(X), len(X) + len(beside)
    points = np.vstack([X, beside, spread])
    near = np.concatenate([np.arange(8), np.arange(n, m)])
    return Actions(case, label, points, np.arange(n), near, np.arange(m, len(points)))


# The belief as a linear map of the values


def tracked(belief: Belief, points: Array) -> Surface:
    belief.track(points)
    assert belief.surface is not None
    return belief.surface


def weights(belief: Belief, actions: Actions) -> Array:
    """A with mean = A y at the test actions, shape (tests, T), from the answer of the mean to one surprise per round.

    m_t = m_{t-1} + g_t (y_t - m_{t-1}[i_t]): a forward pass gives the g_t, a backward pass how each reaches m_T.
    """
    surface = tracked(belief, actions.points)
    gains = np.empty((len(actions.order), len(actions.points)))
    for t, i in enumerate(actions.order):
        before = surface.mean.copy()
        belief.update_at(int(i), float(before[i]) + 1.0)
        gains[t] = surface.mean - before
    A = np.empty((len(actions.tests), len(actions.order)))
    passed_on = np.eye(len(actions.points))[actions.tests]
    for t in reversed(range(len(actions.order))):
        A[:, t] = passed_on @ gains[t]
        passed_on[:, actions.order[t]] -= A[:, t]
    return A


def error_variance(actions: Actions, A: Array) -> Array:
    """Exact variance of f - A y at the test actions."""
    by_point = np.zeros((len(A), len(actions.points)))
    np.add.at(by_point.T, actions.order, A.T)
    by_point[np.arange(len(A)), actions.tests] -= 1.0
    signal = np.sum((by_point @ actions.case.kernel(actions.points, actions.points)) * by_point, axis=1)
    return np.asarray(signal + actions.case.noise_variance * np.sum(A**2, axis=1))


@dataclass(frozen=True)
class Outcome:
    """What a belief says at the test actions after the sequence."""

    actions: Actions
    atoms: int
    A: Array
    variance: Array
    sd: Array  # of z

    @classmethod
    def of(cls, belief: Belief, actions: Actions) -> "Outcome":
        A = weights(belief, actions)
        variance = belief.predict(actions.points[actions.tests]).variance
        return cls(actions, belief.distinct, A, variance, np.sqrt(error_variance(actions, A) / variance))


def fixed_rows(scenario: str, candidates: Sequence[Actions], draws: int) -> Iterator[Row]:
    """The dense belief on the first of the candidates, then for each c the worst of them."""
    dense = [Outcome.of(a.case.dense(), a) for a in candidates]
    yield fixed_row(scenario, DENSE, dense[0], dense[0], draws=draws)
    for c in GRID:
        outcomes = [Outcome.of(a.case.projected(c), a) for a in candidates]
        worst = int(np.argmax([outcome.sd.max() for outcome in outcomes]))
        yield fixed_row(scenario, c, outcomes[worst], dense[worst], draws=draws)


def fixed_row(scenario: str, c: float, outcome: Outcome, dense: Outcome, *, draws: int) -> Row:
    actions, sd, split = outcome.actions, outcome.sd, len(outcome.actions.near)
    f, y = draw(actions, draws)
    means, dense_means = y @ outcome.A.T, y @ dense.A.T
    rate, error = miss_rate((f - means) / np.sqrt(outcome.variance))
    return Row(
        scenario=scenario,
        case=f"{actions.case.name}, {actions.label}",
        c=c,
        atoms=outcome.atoms,
        sd_near=root_mean_square(sd[:split]),
        sd_spread=root_mean_square(sd[split:]),
        sd_worst=float(sd.max()),
        p_worst=float(2 * norm.sf(2 / sd.max())),
        p_draws=rate,
        error=error,
        gap=float(np.max(np.abs(means - dense_means) / np.sqrt(dense.variance))),
        ratio=extremes(outcome.variance / dense.variance),
    )


def draw(actions: Actions, draws: int) -> tuple[Array, Array]:
    """Functions of the prior at the test actions, shape (draws, tests), and the values observed, (draws, T)."""
    rng = np.random.default_rng(SEED)
    F = actions.case.dense().sample(actions.points, draws, rng)
    noise = rng.normal(0.0, np.sqrt(actions.case.noise_variance), (draws, len(actions.order)))
    return F[:, actions.tests], F[:, actions.order] + noise


def miss_rate(z: Array) -> tuple[float, float]:
    """P(|z| > 2) and its standard error, for z of shape (draws, tests), dependent within a draw."""
    by_draw = np.mean(np.abs(z) > 2, axis=1)
    return float(by_draw.mean()), float(by_draw.std(ddof=1) / np.sqrt(len(z)))


def root_mean_square(values: Array) -> float:
    return float(np.sqrt(np.mean(values**2)))


def extremes(values: Array) -> tuple[float, float]:
    return float(values.min()), float(values.max())


# Actions that depend on the values


@dataclass(frozen=True)
class Search:
    """What a belief says after a search, at the test actions and, last, at the action most often chosen."""

    z: Array
    atoms: int
    gap: float
    ratio: Array


def ucb_rows(case: Case, draws: int) -> Iterator[Row]:
    X = np.linspace(-8, 8, 1000)[:, None]
    F = case.dense().sample(X, draws, np.random.default_rng(SEED))
    for c in (DENSE, *GRID):
        searches = []
        for seed, f in enumerate(F):
            belief = case.projected(c) if c else case.dense()
            reference = case.dense() if seed < COMPARED else None
            searches.append(ucb_search(belief, reference, X, f, np.random.default_rng(seed)))
        yield ucb_row(case, c, searches)


def ucb_search(belief: Belief, reference: Belief | None, X: Array, f: Array, rng: np.random.Generator) -> Search:
    surface = tracked(belief, X)
    pulls = np.zeros(len(X))
    for noise in rng.normal(0.0, np.sqrt(belief.noise_variance), 1000):
        i = int(np.argmax(surface.mean + np.sqrt(10.0) * surface.std))
        pulls[i] += 1
        belief.update_at(i, f[i] + noise)
        if reference is not None:
            reference.update(X[i], f[i] + noise)
    at = np.append(np.linspace(30, 969, 9).astype(np.intp), np.argmax(pulls))
    mean, variance = (reference or belief).predict(X[at])
    gap = float(np.max(np.abs(surface.mean[at] - mean) / np.sqrt(variance)))
    z = (f[at] - surface.mean[at]) / surface.std[at]
    return Search(z, belief.distinct, gap, surface.variance[at] / variance)


def ucb_row(case: Case, c: float, searches: Sequence[Search]) -> Row:
    z = np.array([s.z for s in searches])
    rate, error = miss_rate(z)
    return Row(
        scenario="UCB",
        case=case.name,
        c=c,
        atoms=float(np.mean([s.atoms for s in searches])),
        sd_near=root_mean_square(z[:, -1]),
        sd_spread=root_mean_square(z[:, :-1]),
        sd_worst=None,
        p_worst=None,
        p_draws=rate,
        error=error,
        gap=max(s.gap for s in searches),
        ratio=extremes(np.concatenate([s.ratio for s in searches])),
    )


# The table


def rows(draws: int) -> Iterator[Row]:
    for case in (SMOOTH, ROUGH, NOISY, PLANE):
        yield from fixed_rows("repeats", [repeats(case, float(distance)) for distance in DISTANCES], draws)
    for case in (SMOOTH, ROUGH, PLANE):
        yield from fixed_rows("clusters", [clusters(case, width) for width in WIDTHS], draws)
    for case in (SMOOTH, ROUGH, NOISY):
        yield from fixed_rows("uniform", [uniform(case, 8.0)], draws)
    yield from fixed_rows("uniform", [uniform(PLANE, 2.0)], draws)
    for case in (SMOOTH, ROUGH):
        yield from ucb_rows(case, max(2, draws // 10))


HEADER = (
    f"{'scenario':9}{'case':22}{'c':>6}{'atoms':>7}{'sd near':>9}{'spread':>8}{'worst':>7}{'P':>8}"
    f"{'P draws':>9}{'±':>7}{'gap':>6}  ratio"
)


def line(row: Row) -> str:
    worst = "-" if row.sd_worst is None else f"{row.sd_worst:.3f}"
    p_worst = "-" if row.p_worst is None else f"{row.p_worst:.4f}"
    least, most = row.ratio
    return (
        f"{row.scenario:9}{row.case:22}{row.c or 'dense':>6}{row.atoms:7.4g}{row.sd_near:9.3f}{row.sd_spread:8.3f}"
        f"{worst:>7}{p_worst:>8}{row.p_draws:9.4f}{row.error:7.4f}{row.gap:6.2f}  {least:.3f}..{most:.3f}"
        f"{'' if row.acceptable else '  too sure'}"
    )


def recommended(table: Sequence[Row]) -> float | None:
    refused = {row.c for row in table if not row.acceptable}
    return max((c for c in GRID if c not in refused), default=None)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--draws", type=int, default=1000, help="functions per scenario; a tenth of them for UCB")
    parser.add_argument("--json", action="store_true", help="one JSON object per row instead of a table")
    options = parser.parse_args()
    if not options.json:
        print(HEADER)
    table = []
    for row in rows(options.draws):
        table.append(row)
        print(json.dumps(dataclasses.asdict(row)) if options.json else line(row), flush=True)
    if not options.json:
        print(f"largest c that is nowhere too sure: {recommended(table)}")


if __name__ == "__main__":
    main()
