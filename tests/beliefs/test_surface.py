"""Incremental values on a finite set are those of predict, however many rounds it was and wherever they are stored."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.helpers import assert_close, surface_posterior
from uncubed._typing import Array
from uncubed.beliefs import Belief, ExactBelief, Posterior, ProjectedBelief, SketchedBelief, surface
from uncubed.beliefs.base import REFRESH_EVERY
from uncubed.kernels import Kernel, Matern32, SquaredExponential

NOISE = 1e-3
LINE = np.linspace(-8.0, 8.0, 1000)[:, None]
TRUTH = np.sin(LINE[:, 0]) + np.cos(2.3 * LINE[:, 0]) / 2
KERNEL = SquaredExponential(1.0)

ROUNDS, ABSORBED = 2_047, 100_351

MakeBelief = Callable[[Kernel, float], Belief]
compact = pytest.mark.parametrize("make", [ExactBelief, ProjectedBelief])


def observe(belief: Belief, indices: NDArray[np.integer[Any]], seed: int = 0) -> Array:
    values: Array = TRUTH[indices] + np.sqrt(NOISE) * np.random.default_rng(seed).normal(size=indices.size)
    for index, value in zip(indices.tolist(), values.tolist(), strict=True):
        belief.update_at(index, value)
    return values


def test_the_long_runs_end_one_round_before_a_refresh_where_rounding_is_at_its_worst() -> None:
    assert (ROUNDS + 1) % REFRESH_EVERY == (ABSORBED + 1) % REFRESH_EVERY == 0


@compact
def test_every_so_many_updates_it_is_refreshed_to_the_last_bit(make: MakeBelief) -> None:
    belief = make(KERNEL, NOISE)
    belief.track(LINE)
    indices = np.random.default_rng(5).choice(np.arange(50, 1000, 100), REFRESH_EVERY)
    observe(belief, indices[:-1])
    for last in (False, True):
        if last:
            observe(belief, indices[-1:])
        before = belief.copy()
        before.refresh()
        assert np.array_equal(surface_posterior(before), surface_posterior(belief)) is last


@compact
@pytest.mark.parametrize("kernel", [KERNEL, Matern32(2.0, 1.5)], ids=repr)
def test_after_2000_rounds_the_surface_is_predict(make: MakeBelief, kernel: Kernel) -> None:
    belief = make(kernel, NOISE)
    belief.track(LINE)
    # as a bandit does: everywhere first, then mostly near the best
    rng = np.random.default_rng(1)
    indices = np.where(rng.random(ROUNDS) < 0.2, rng.integers(1000, size=ROUNDS), rng.integers(900, 980, size=ROUNDS))
    observe(belief, indices)
    assert_close(surface_posterior(belief), belief.predict(LINE), 1e-8)


@compact
def test_after_100000_absorbed_values_the_surface_is_predict_and_a_fresh_posterior(make: MakeBelief) -> None:
    belief = make(KERNEL, NOISE)
    belief.track(LINE)
    places = np.linspace(50, 950, 13).astype(int)
    indices = np.random.default_rng(2).choice(places, ABSORBED)
    indices[: places.size] = places  # each of them an atom
    values = observe(belief, indices)
    assert belief.distinct == places.size
    assert_close(surface_posterior(belief), belief.predict(LINE), 1e-8)
    fresh = posterior_of_repeats(KERNEL, LINE[places], [values[indices == place] for place in places])
    assert_close(surface_posterior(belief), fresh, 1e-8)


def test_after_100000_values_everywhere_the_surface_of_a_projected_belief_is_predict() -> None:
    belief = ProjectedBelief(KERNEL, NOISE)
    belief.track(LINE)
    observe(belief, np.random.default_rng(3).integers(1000, size=ABSORBED))
    assert belief.distinct < 100
    assert_close(surface_posterior(belief), belief.predict(LINE), 1e-8)


def posterior_of_repeats(kernel: Kernel, D: Array, values: list[Array]) -> Posterior:
    """The Gaussian process given the mean of the values at each row of D, by a solve."""
    A = kernel(D, D) + np.diag([NOISE / v.size for v in values])
    K = kernel(D, LINE)
    mean = K.T @ np.linalg.solve(A, [v.mean() for v in values])
    return Posterior(mean, kernel.variance - np.einsum("ij,ij->j", K, np.linalg.solve(A, K)))


@pytest.mark.parametrize("make", [ExactBelief, ProjectedBelief, SketchedBelief])
@pytest.mark.parametrize("rows_stored", [0, 8], ids=["from the start", "after eight rows"])
def test_recomputed_cross_kernels_give_the_surface_of_stored_ones(
    make: MakeBelief, rows_stored: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    indices = np.random.default_rng(4).integers(1000, size=60)
    beliefs = []
    for limited in (False, True):
        if limited:
            monkeypatch.setattr(surface, "CACHE_BYTES", rows_stored * 8 * len(LINE))
            monkeypatch.setattr(surface, "_CHUNK", 1)  # the smallest chunks
        belief = make(Matern32(2.0, 1.5), NOISE) if make is not SketchedBelief else sketched()
        belief.track(LINE)
        observe(belief, indices)
        belief.evict()
        observe(belief, indices[:20] + 1 - 2 * (indices[:20] > 500))
        beliefs.append(belief)
    assert beliefs[0].distinct == beliefs[1].distinct > 16
    assert_close(surface_posterior(beliefs[1]), surface_posterior(beliefs[0]), 1e-11)
    assert_close(surface_posterior(beliefs[1]), beliefs[1].predict(LINE), 1e-11)


def sketched() -> SketchedBelief:
    return SketchedBelief(Matern32(2.0, 1.5), NOISE, oversampling=np.inf, seed=0)


@compact
def test_a_copy_that_recomputes_what_is_too_large_to_copy_goes_on_alike(
    make: MakeBelief, monkeypatch: pytest.MonkeyPatch
) -> None:
    belief = make(Matern32(2.0), NOISE)
    belief.track(LINE)
    observe(belief, np.arange(0, 1000, 50))
    monkeypatch.setattr(surface, "_CHUNK", 1000)
    copy = belief.copy()
    for b in (belief, copy):
        observe(b, np.arange(25, 1000, 50))
    assert_close(surface_posterior(copy), surface_posterior(belief), 1e-11)


def test_a_surface_of_one_action_and_of_duplicates_is_predict() -> None:
    for X in (LINE[:1], LINE[[3, 3, 3, 700]]):
        belief = ExactBelief(KERNEL, NOISE)
        belief.track(X)
        for index in (0, len(X) - 1, 0):
            belief.update_at(index, 1.0)
        assert_close(surface_posterior(belief), belief.predict(X), 1e-12)
        assert belief.distinct == len(np.unique(X))
