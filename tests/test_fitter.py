import math
from typing import Any

import numpy as np
import pytest

from uncubed import fitter as module
from uncubed._typing import Array
from uncubed.fit import STEPS, Fit, Likelihood, fit
from uncubed.fitter import EXACT, RUGGED, SELDOM, SOME, Fitter
from uncubed.kernels import Kernel, Matern32, Matern52
from uncubed.observations import Observations
from uncubed.rippled import Rippled

GROUPS = np.array([0, 1])
KERNEL = Matern52([0.3, 0.3])


def fitter(*, by_values: bool = True) -> Fitter:
    return Fitter(GROUPS, by_values=by_values, rng=np.random.default_rng(0))


def seen(n: int, noise: float = 0.1) -> Observations:
    rng = np.random.default_rng(1)
    X = rng.random((n, 2))
    y = np.sin(5.0 * X[:, 0]) + X[:, 1] ** 2 + noise * rng.standard_normal(n)
    y = (y - y.mean()) / y.std()
    return Observations(X, y, np.ones(n), np.array(0.0))


def found(data: Observations, of: Fitter | None = None, **options: Any) -> Fit:
    given = {"radius": 10.0, "nth": 0, "exact": False, **options}
    return (of or fitter()).fit(given.pop("kernel", KERNEL), given.pop("noise", 0.01), data, **given)


@pytest.fixture
def fits(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What each fit is asked for."""
    asked: list[dict[str, Any]] = []

    def looked(kernel: Kernel, noise: float, data: Observations, **options: Any) -> Fit:
        asked.append({"rows": len(data.X), "kernel": kernel, "noise": noise, **options})
        return fit(kernel, noise, data, **options)

    monkeypatch.setattr(module, "fit", looked)
    return asked


def test_where_rows_are_many_a_fit_goes_on_and_seldom_starts_afresh(
    fits: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MANY_ROWS", 10)
    one = fitter(by_values=False)
    for nth in range(2 * SELDOM):
        found(seen(9), one, nth=nth)
        found(seen(10), one, nth=nth)
    few, many = ([(f["starts"], f["patience"]) for f in fits if f["rows"] == n] for n in (9, 10))
    assert set(few) == {(2, STEPS)}
    assert many == [(1, STEPS) if nth % SELDOM == 0 else (0, SOME) for nth in range(2 * SELDOM)]
    assert [f["from_noise"] for f in fits] == [f["rows"] == 10 and k < 2 for k, f in enumerate(fits)]


def test_the_other_kernel_is_looked_at_where_a_fit_starts_afresh(
    fits: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MANY_ROWS", 10)
    for n, nth, kinds in ((9, 1, 2), (10, 1, 1), (10, SELDOM, 2)):
        fits.clear()
        found(seen(n), nth=nth)
        assert [type(f["kernel"]) for f in fits] == [Matern52, Matern32][:kinds]
    fits.clear()
    found(seen(9), fitter(by_values=False))
    assert [type(f["kernel"]) for f in fits] == [Matern52]


@pytest.mark.parametrize("noise", [0.0, 0.1, 1.0])
@pytest.mark.parametrize("kind", [Matern32, Matern52])
def test_of_two_kernels_the_one_that_explains_more_is_found(noise: float, kind: type[Kernel]) -> None:
    data = seen(40, noise)
    kernel = kind([0.3, 0.3])
    given = found(data, fitter(by_values=False), kernel=kernel)
    assert type(given.kernel) is kind
    assert found(data, kernel=kernel).log_posterior >= given.log_posterior


def test_of_an_exact_function_what_would_be_noise_is_ripples() -> None:
    noisy, exact = found(seen(40)), found(seen(40), exact=True)
    assert noisy.noise_variance > RUGGED >= exact.noise_variance
    assert not isinstance(noisy.kernel, Rippled)
    assert isinstance(exact.kernel, Rippled)
    assert type(exact.kernel.trend) is type(noisy.kernel)
    assert not isinstance(found(seen(40, 0.0), exact=True).kernel, Rippled)


def test_what_cannot_be_fitted_with_ripples_stays_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    def without_ripples(kernel: Kernel, noise: float, data: Observations, **options: Any) -> Fit:
        if isinstance(kernel, Rippled):
            return Fit(kernel, noise, -math.inf, converged=False)
        return fit(kernel, noise, data, **options)

    usual = found(seen(40))
    monkeypatch.setattr(module, "fit", without_ripples)
    kept = found(seen(40), exact=True)
    assert (kept.kernel, kept.noise_variance) == (usual.kernel, usual.noise_variance)


def test_ripples_are_gone_on_with_or_turn_out_to_be_noise(fits: list[dict[str, Any]]) -> None:
    ripples = Rippled(KERNEL, 0.2, 0.1)
    assert isinstance(found(seen(40), kernel=ripples, noise=1e-9, exact=True).kernel, Rippled)
    assert (fits[0]["kernel"], fits[0]["noise"], fits[0]["priors"]) == (ripples, 1e-9, EXACT)
    fits.clear()
    assert not isinstance(found(seen(40), kernel=ripples, noise=1e-9).kernel, Rippled)
    assert (fits[0]["kernel"], fits[0]["noise"], fits[0]["priors"]) == (KERNEL, 0.2, None)


def test_where_nothing_is_found_it_is_said_and_no_other_kernel_tried(
    fits: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: Any) -> tuple[float, Array]:
        raise np.linalg.LinAlgError

    monkeypatch.setattr(Likelihood, "__call__", fails)
    nothing = found(seen(20), exact=True)
    assert nothing.log_posterior == -math.inf
    assert (nothing.kernel, nothing.noise_variance) == (KERNEL, 0.01)
    assert len(fits) == 1
