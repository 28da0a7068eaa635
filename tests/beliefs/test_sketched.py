import json
from typing import Any

import numpy as np
import pytest

from tests.beliefs.conformance import BeliefConformance
from tests.helpers import EXPECTED_GOT, KERNELS, NOT_NUMBERS, PROBES, assert_close, fingerprint
from uncubed._typing import Array
from uncubed.beliefs import ExactBelief, Posterior, SketchedBelief
from uncubed.errors import InvalidInputError
from uncubed.kernels import Kernel, Matern32, Matern52, SquaredExponential

NOISE = 0.05
ACTIONS = np.random.default_rng(0).uniform(-2, 2, (20, 2))
PULLS = np.random.default_rng(1).integers(20, size=60)
VALUES = np.random.default_rng(2).normal(size=60)


class TestConformance(BeliefConformance):
    def make(self, kernel: Kernel, noise_variance: float) -> SketchedBelief:
        return SketchedBelief(kernel, noise_variance, oversampling=np.inf, seed=0)


def bkb(kernel: Kernel, S: Array, X: Array, y: Array, at: Array) -> Posterior:
    """The posterior of BKB from its equations, one row for every pull."""
    s, U = np.linalg.eigh(kernel(S, S))
    kept = s > s.max() * len(s) * np.finfo(float).eps

    def z(points: Array) -> Array:
        features: Array = (U[:, kept] / np.sqrt(s[kept])).T @ kernel(S, points)
        return features

    V = z(X) @ z(X).T + NOISE * np.eye(int(kept.sum()))
    mean = z(at).T @ np.linalg.solve(V, z(X) @ y)
    unseen = (kernel.diagonal(at) - np.square(z(at)).sum(axis=0)) / NOISE
    return Posterior(mean, NOISE * (unseen + np.sum(z(at) * np.linalg.solve(V, z(at)), axis=0)))


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_with_every_action_kept_it_is_the_dense_gaussian_process(kernel: Kernel) -> None:
    sketched, dense = SketchedBelief(kernel, NOISE, oversampling=np.inf), ExactBelief(kernel, NOISE)
    for x, value in zip(ACTIONS[PULLS], VALUES, strict=True):
        for belief in (sketched, dense):
            belief.update(x, float(value))
    assert sketched.distinct == dense.distinct
    assert sketched.observations == dense.model_order == 60
    assert_close(sketched.predict(PROBES), dense.predict(PROBES), 1e-9)
    assert sketched.information_gain == pytest.approx(dense.information_gain, rel=1e-9)


@pytest.mark.parametrize("kernel", [SquaredExponential(0.8, 1.5), Matern52([1.0, 2.0]), Matern32(0.7)], ids=repr)
@pytest.mark.parametrize("oversampling", [0.05, 0.5, 5.0])
def test_each_draw_has_the_posterior_of_its_equations_with_a_row_per_pull(kernel: Kernel, oversampling: float) -> None:
    belief = SketchedBelief(kernel, NOISE, oversampling=oversampling, seed=3)
    surface = belief.track(ACTIONS)
    sizes = set()
    for t, (index, value) in enumerate(zip(PULLS, VALUES, strict=True), start=1):
        belief.update_at(int(index), float(value))
        assert {x.tobytes() for x in belief.dictionary} <= {x.tobytes() for x in ACTIONS[PULLS[:t]]}
        expected = bkb(kernel, belief.dictionary, ACTIONS[PULLS[:t]], VALUES[:t], ACTIONS)
        assert_close(belief.predict(ACTIONS), expected, 1e-9)
        assert_close(Posterior(surface.mean, surface.variance), expected, 1e-9)
        sizes.add(belief.distinct)
    assert len(sizes) > 3
    pulled = bkb(kernel, belief.dictionary, ACTIONS[PULLS], VALUES, ACTIONS[PULLS])
    assert belief.effective_dimension == pytest.approx(pulled.variance.sum() / NOISE, rel=1e-9)


def test_an_action_stays_with_the_probability_that_one_of_its_pulls_does() -> None:
    before, oversampling, draws = SketchedBelief(Matern52(1.0), NOISE, oversampling=0.3, seed=0), 0.3, 2000
    for index, value in zip(PULLS[:25], VALUES, strict=False):
        before.update(ACTIONS[index], float(value))
    pulled, counts = np.unique(PULLS[:26], return_counts=True)
    stay = np.minimum(1.0, oversampling * before.predict(ACTIONS[pulled]).variance / NOISE)
    expected = 1.0 - (1.0 - stay) ** counts
    state = before.state()
    seen = np.zeros(pulled.size)
    for seed in range(draws):
        state["random"] = np.random.default_rng(seed).bit_generator.state
        belief = SketchedBelief.restore(before.kernel, state)
        belief.update(ACTIONS[PULLS[25]], 0.0)
        kept = {x.tobytes() for x in belief.dictionary}
        seen += [ACTIONS[row].tobytes() in kept for row in pulled]
    assert ((expected > 0.05) & (expected < 0.95)).sum() > 5
    assert (np.abs(seen / draws - expected) <= 4.5 * np.sqrt(expected * (1.0 - expected) / draws) + 1e-12).all()


def test_continued_from_its_state_is_uninterrupted_draws_included() -> None:
    belief = SketchedBelief(Matern52(1.0), NOISE, oversampling=0.5, seed=7)
    for index in PULLS[:30]:
        belief.update(ACTIONS[index], 1.0)
    restored = SketchedBelief.restore(belief.kernel, json.loads(json.dumps(belief.state())))
    copy = belief.copy()
    sizes = []
    for index in PULLS[30:]:
        for b in (belief, restored, copy):
            b.update(ACTIONS[index], 0.5)
        assert fingerprint(restored) == fingerprint(belief) == fingerprint(copy)
        sizes.append(belief.distinct)
    assert len(set(sizes)) > 2


@pytest.mark.parametrize(("seed", "same"), [(4, True), (5, False)])
def test_the_seed_and_nothing_else_decides_the_draws(seed: int, same: bool) -> None:
    beliefs = [SketchedBelief(Matern52(1.0), NOISE, oversampling=0.3, seed=s) for s in (4, seed)]
    drawn = []
    for index in PULLS:
        for belief in beliefs:
            belief.update(ACTIONS[index], 0.5)
        drawn.append(np.array_equal(beliefs[0].dictionary, beliefs[1].dictionary))
    assert all(drawn) == same


@pytest.mark.parametrize("bad", [0.0, -1.0, *(v for v in NOT_NUMBERS if v is not np.inf)], ids=lambda v: repr(v)[:12])
def test_a_wrong_oversampling_raises(bad: Any) -> None:
    with pytest.raises(InvalidInputError, match="oversampling" + EXPECTED_GOT):
        SketchedBelief(SquaredExponential(), oversampling=bad)
