"""Beliefs are as sure as they may be: z = (f - mean) / std is standard normal for f drawn from their prior.

Actions fixed in advance may be tested however the observed ones were chosen from the past. The z of one draw depend on
each other, so draws are the unit: one z per draw, or a miss rate per draw.
"""

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import kstest, norm

from uncubed._typing import Array
from uncubed.beliefs import Belief, ExactBelief, ProjectedBelief
from uncubed.beliefs.surface import Surface
from uncubed.kernels import Kernel, Matern52, SquaredExponential

NOISE = 1e-3
NOMINAL = float(2 * norm.sf(2))
REPEATS = 10_000

kernels = pytest.mark.parametrize("kernel", [SquaredExponential(1.0), Matern52(1.0)], ids=["smooth", "rough"])


def tracked(belief: Belief, points: Array) -> Surface:
    belief.track(points)
    assert belief.surface is not None
    return belief.surface


def excess_misses(z: Array) -> float:
    """How far P(|z| > 2) is above that of a standard normal, in standard errors over the draws, the rows of z."""
    by_draw = np.mean(np.abs(z) > 2, axis=1)
    error = max(by_draw.std(ddof=1), np.finfo(float).tiny) / np.sqrt(len(z))
    return float((by_draw.mean() - NOMINAL) / error)


# Actions chosen by upper confidence bound, so that they depend on the values


def searched(belief: Belief, X: Array, f: Array, rng: np.random.Generator, threshold: float) -> Surface:
    """40 rounds, every other one at random; a value is observed only where the variance is above the threshold."""
    surface = tracked(belief, X)
    for t in range(40):
        i = int(rng.integers(len(X)) if t % 2 else np.argmax(surface.mean + 2.0 * surface.std))
        if surface.variance[i] > threshold:
            belief.update_at(i, f[i] + rng.normal(0.0, np.sqrt(NOISE)))
    return surface


@kernels
@pytest.mark.parametrize("threshold", [0.0, 0.05], ids=["dense", "compressed"])
def test_exact_z_is_standard_normal(kernel: Kernel, threshold: float) -> None:
    rng = np.random.default_rng(1)
    X = np.linspace(-5, 5, 101)[:, None]
    z, kept = [], []
    for draw, f in enumerate(ExactBelief(kernel).sample(X, 600, rng)):
        belief = ExactBelief(kernel, NOISE)
        surface = searched(belief, X, f, rng, threshold)
        at = 7 * draw % len(X)
        z.append((f[at] - surface.mean[at]) / surface.std[at])
        kept.append(belief.model_order)
    assert max(kept) == 40 if threshold == 0.0 else max(kept) < 30
    assert kstest(z, "norm").pvalue > 0.001


@kernels
def test_projected_misses_no_more_than_a_normal_after_a_search(kernel: Kernel) -> None:
    rng = np.random.default_rng(2)
    X = np.linspace(-5, 5, 101)[:, None]
    at = np.arange(5, 101, 15)
    z = []
    for f in ExactBelief(kernel).sample(X, 600, rng):
        surface = searched(ProjectedBelief(kernel, NOISE), X, f, rng, threshold=0.0)
        z.append((f[at] - surface.mean[at]) / surface.std[at])
    assert excess_misses(np.array(z)) < 3


# Actions fixed in advance: atoms and variances are then the same for every draw, so one belief serves all


def learn_all(belief: Belief, points: Array, order: NDArray[np.intp], F: Array, rng: np.random.Generator) -> Array:
    """Means at the points, shape (draws, n), for the functions of F, observed in this order.

    A mean moves by a gain times the surprise; the gain does not depend on values and is read off a surprise of 1.
    """
    surface = tracked(belief, points)
    means = np.zeros_like(F)
    for i in order:
        before = surface.mean.copy()
        belief.update_at(int(i), float(before[i]) + 1.0)
        surprise = F[:, i] + rng.normal(0.0, np.sqrt(NOISE), len(F)) - means[:, i]
        means += np.outer(surprise, surface.mean - before)
    return means


def z_after(belief: Belief, points: Array, order: NDArray[np.intp], *, tests: slice, draws: int) -> Array:
    rng = np.random.default_rng(3)
    F = ExactBelief(belief.kernel).sample(points, draws, rng)
    means = learn_all(belief, points, order, F, rng)
    z: Array = ((F - means) / np.sqrt(belief.predict(points).variance))[:, tests]
    return z


def z_after_repeats(belief: Belief, distance: float) -> Array:
    """10,000 values at an action this far from an atom, tested there, at that atom, beside them and further away."""
    x = [0.0, distance, distance / 2, distance + 0.1, -3.0, 0.5]
    atoms = [-1.7, -0.8, 0.9, 2.0]
    order = np.concatenate([[0], np.arange(6, 10), np.full(REPEATS, 1)])
    return z_after(belief, np.array([x + atoms]).T, order, tests=slice(0, 6), draws=1000)


@kernels
def test_learning_for_all_draws_is_learning_for_each(kernel: Kernel) -> None:
    rng = np.random.default_rng(4)
    points = rng.uniform(-2, 2, (12, 1))
    order = rng.integers(8, size=60)
    F = ExactBelief(kernel).sample(points, 3, rng)
    means = learn_all(ProjectedBelief(kernel, NOISE), points, order, F, np.random.default_rng(5))
    noise = np.random.default_rng(5).normal(0.0, np.sqrt(NOISE), (60, 3))
    for draw, f in enumerate(F):
        belief = ProjectedBelief(kernel, NOISE)
        for i, e in zip(order, noise[:, draw], strict=True):
            belief.update(points[i], f[i] + e)
        np.testing.assert_allclose(means[draw], belief.predict(points).mean, atol=1e-9)


@kernels
@pytest.mark.parametrize("distance", [0.001, 0.005, 0.02, 0.1])
def test_projected_misses_no_more_than_a_normal_after_repeats_beside_an_atom(kernel: Kernel, distance: float) -> None:
    assert excess_misses(z_after_repeats(ProjectedBelief(kernel, NOISE), distance)) < 3


@kernels
def test_projected_misses_more_than_a_normal_after_repeats_that_never_become_an_atom(kernel: Kernel) -> None:
    belief = ProjectedBelief(kernel, NOISE, novelty=1e9)
    assert excess_misses(z_after_repeats(belief, 0.02)) > 20
    assert belief.distinct == 1


@kernels
@pytest.mark.parametrize("width", [0.05, 0.1, 0.3])
def test_projected_misses_no_more_than_a_normal_after_clusters(kernel: Kernel, width: float) -> None:
    rng = np.random.default_rng(6)
    centres = np.array([[-4.0], [0.0], [3.0]])
    X = centres[rng.integers(3, size=500)] + width * rng.standard_normal((500, 1))
    points = np.vstack([X, centres, centres + width, np.linspace(-6, 6, 7)[:, None]])
    belief = ProjectedBelief(kernel, NOISE)
    z = z_after(belief, points, np.arange(500), tests=slice(None), draws=500)
    first, beside, far = z[:, :6], z[:, 500:506], z[:, 506:]
    assert max(excess_misses(first), excess_misses(beside), excess_misses(far)) < 3
    assert belief.distinct < 100
