"""What several test files share: kernels, beliefs, wrong inputs, oracles and comparisons."""

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from uncubed._typing import Array
from uncubed.actions import Finite
from uncubed.beliefs import Belief, ExactBelief, Posterior, ProjectedBelief, SketchedBelief
from uncubed.kernels import Kernel, Matern12, Matern32, Matern52, SquaredExponential

KERNEL_CLASSES: list[type[Kernel]] = [SquaredExponential, Matern12, Matern32, Matern52]
KERNELS: list[Kernel] = [kind(scale, 1.7) for kind in KERNEL_CLASSES for scale in (0.8, [0.6, 1.3])]
"""Every kernel for inputs of dimension 2, isotropic and ARD."""

BELIEFS: dict[str, Callable[[Kernel, float], Belief]] = {
    "exact": ExactBelief,
    "projected": ProjectedBelief,
    "sketched": lambda kernel, noise: SketchedBelief(kernel, noise, oversampling=5.0, seed=0),
}
every_belief = pytest.mark.parametrize("kind", BELIEFS)

EXPECTED_GOT = r": expected .+ got "

NOT_NUMBERS: list[Any] = [np.nan, np.inf, -np.inf, 1e200, 10**400, "1", None, True, 1j, [1.0], np.array([1.0, 2.0])]

NOT_POINTS: list[Any] = [
    [np.nan, 0.0],
    [0.0, -np.inf],
    [1e200, 0.0],
    [0.0],
    [0.0, 0.0, 0.0],
    0.0,
    [[0.0, 0.0]],
    [],
    [[0.0], [0.0, 1.0]],
    ["a", "b"],
    "ab",
    None,
    [None, 0.0],
    [True, False],
    [1j, 0.0],
]
"""What is not one point of dimension 2."""


def central_difference(f: Callable[[Array], Any], x: Array, step: float = 1e-5) -> Array:
    """∂f/∂x_j, stacked on a new first axis."""
    return np.stack([(np.asarray(f(x + e)) - np.asarray(f(x - e))) / (2 * step) for e in step * np.eye(x.size)])


def as_sklearn(kernel: Kernel) -> Any:
    """The same kernel in scikit-learn."""
    oracle = pytest.importorskip("sklearn.gaussian_process.kernels")
    scale = kernel.length_scale[0] if kernel.isotropic else kernel.length_scale
    nu = {Matern12: 0.5, Matern32: 1.5, Matern52: 2.5}.get(type(kernel))
    shape = oracle.RBF(scale) if nu is None else oracle.Matern(scale, nu=nu)
    return oracle.ConstantKernel(kernel.variance) * shape


def assert_close(got: Posterior, expected: Posterior, tolerance: float) -> None:
    np.testing.assert_allclose(got.mean, expected.mean, rtol=0, atol=tolerance)
    np.testing.assert_allclose(got.variance, expected.variance, rtol=0, atol=tolerance)


def surface_posterior(belief: Belief) -> Posterior:
    assert belief.surface is not None
    return Posterior(belief.surface.mean, belief.surface.variance)


PROBES = np.random.default_rng(1).uniform(-2.5, 2.5, (9, 2))


def fingerprint(belief: Belief) -> tuple[str, bytes, bytes]:
    """All that a belief says and saves, to the last bit."""
    shown = b"" if belief.surface is None else b"".join(a.tobytes() for a in surface_posterior(belief))
    return json.dumps(belief.state()), b"".join(a.tobytes() for a in belief.predict(PROBES)), shown


def seen() -> tuple[Finite, ExactBelief, np.random.Generator]:
    """Actions, a belief that knows some of them, and a generator."""
    rng = np.random.default_rng(3)
    actions = Finite(rng.uniform(-2, 2, (40, 2)))
    belief = ExactBelief(Matern52(0.8), noise_variance=0.3)
    for i in (0, 1, 2, 2, 2, 9):
        belief.update(actions.X[i], float(rng.normal() - 1.0))
    return actions, belief, rng
