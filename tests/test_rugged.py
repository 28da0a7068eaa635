import numpy as np
import pytest

from tests.helpers import central_difference
from uncubed._typing import Array
from uncubed.beliefs import ProjectedBelief
from uncubed.kernels import Kernel, Matern52
from uncubed.rugged import WIDTH, Rugged

POINTS = np.random.default_rng(0).random((20, 2))


def belief(kernel: Kernel | None = None) -> ProjectedBelief:
    known = ProjectedBelief(kernel or Matern52([0.3, 0.6]), 0.04)
    for x, noise in zip(POINTS, np.random.default_rng(1).normal(size=20), strict=True):
        known.update(x, float(np.sin(5.0 * x[0]) + 0.2 * noise))
    return known


def nothing_told(_: Array) -> None:
    return None


def test_at_a_point_tried_it_is_the_belief_and_far_from_all_it_has_the_variance_of_a_value() -> None:
    known = belief()
    rugged, far = Rugged(known, POINTS, nothing_told), np.array([[3.0, -2.0], [-4.0, 5.0]])
    np.testing.assert_array_equal(rugged.predict(POINTS), known.predict(POINTS))
    np.testing.assert_array_equal(rugged.predict(far).mean, known.predict(far).mean)
    np.testing.assert_allclose(rugged.predict(far).variance, known.predict(far).variance + 0.04)
    assert (rugged.kernel, rugged.distinct) == (known.kernel, known.distinct)


def test_where_it_was_told_it_is_known() -> None:
    known, told = belief(), {x.tobytes(): float(k) for k, x in enumerate(POINTS[:5])}
    rugged = Rugged(known, POINTS, lambda x: told.get(x.tobytes()))
    mean, variance = rugged.predict(POINTS)
    np.testing.assert_array_equal(mean[:5], np.arange(5.0))
    assert not variance[:5].any()
    np.testing.assert_allclose((mean[5:], variance[5:]), known.predict(POINTS[5:]), rtol=1e-9)


def test_from_a_point_tried_outwards_it_is_ever_less_known() -> None:
    known = belief()
    rugged = Rugged(known, POINTS[:1], nothing_told)
    steps = np.linspace(0.0, 3.0 * WIDTH, 20)[:, None]
    ray = POINTS[0] + steps * np.array([0.3, 0.0])
    ripple = rugged.predict(ray).variance - known.predict(ray).variance
    assert ripple[0] == 0.0
    assert (np.diff(ripple) > 0.0).all()
    assert ripple[-1] == pytest.approx(0.04, rel=1e-3)


@pytest.mark.parametrize("kernel", [Matern52([0.3, 0.6]), Matern52(0.4)], ids=["ARD", "isotropic"])
def test_gradients_are_finite_differences(kernel: Kernel) -> None:
    rugged = Rugged(belief(kernel), POINTS, nothing_told)
    for x in POINTS[:5] + np.array([0.004, -0.003]):
        posterior = rugged.gradient(x[None, :])
        mean, variance = central_difference(lambda u: rugged.predict(u[None, :]), x, 1e-6)[:, :, 0].T
        np.testing.assert_allclose(posterior.mean_gradient[0], mean, atol=1e-6)
        np.testing.assert_allclose(posterior.variance_gradient[0], variance, rtol=1e-4, atol=1e-6)
        np.testing.assert_allclose(posterior[:2], rugged.predict(x[None, :]), rtol=1e-12)
