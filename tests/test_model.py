import json
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers import assert_close
from uncubed import fitter
from uncubed import model as module
from uncubed._typing import Array
from uncubed.beliefs import Posterior, ProjectedBelief
from uncubed.bend import Bend
from uncubed.errors import FitWarning, NotPositiveDefiniteError
from uncubed.fit import Fit, Likelihood, fit
from uncubed.fitter import RUGGED
from uncubed.history import ENOUGH
from uncubed.information import information_gain
from uncubed.kernels import Kernel, Matern32, Matern52, SquaredExponential
from uncubed.model import REFRESHED, Lesson, Model
from uncubed.rippled import Rippled
from uncubed.scaling import scaling_of

GROUPS = np.array([0, 1])
POINTS = np.random.default_rng(0).random((60, 2))
PROBES = np.random.default_rng(1).random((9, 2))
NOISE = 0.1 * np.random.default_rng(2).normal(size=60)


def smooth(X: Array) -> Array:
    values: Array = np.sin(5.0 * X[:, 0]) + X[:, 1] ** 2
    return values


VALUES: dict[str, Array] = {"noiseless": smooth(POINTS), "noisy": smooth(POINTS) + NOISE}


def told(values: Array, X: Array = POINTS, **options: Any) -> Model:
    model = Model(GROUPS, **options)
    for action, value in zip(X, values.tolist(), strict=False):
        model.tell(action, value)
    return model


def predicted(model: Model, X: Array = PROBES) -> Posterior:
    """In the objective's units."""
    mean, variance = model.belief.predict(X)
    return Posterior(model.scaling.unscaled(mean), model.scaling.unit**2 * variance)


def filled(model: Model) -> ProjectedBelief:
    """A belief with the model's numbers that has taken in the history from its start."""
    belief = ProjectedBelief(model.belief.kernel, model.belief.noise_variance)
    scaled = model.scaling.scaled(model.history.values).tolist()
    for action, value in zip(model.history.actions, scaled, strict=True):
        belief.update(action, value)
    return belief


def assert_filled(model: Model) -> None:
    """But for the rounding of values that were taken in together."""
    state, expected = model.belief.state(), filled(model).state()
    for name in ("dictionary", "absorbed", "noise_variance", "best"):
        assert state[name] == expected[name]
    for name in ("lower", "precision", "vector"):
        whole, rebuilt = (np.hstack([np.ravel(row) for row in s[name]]) for s in (state, expected))
        np.testing.assert_allclose(whole, rebuilt, rtol=1e-9, atol=1e-9 * np.abs(rebuilt).max())


# Units


@pytest.mark.parametrize("name", VALUES)
@pytest.mark.parametrize("scale", [2.0**30, 2.0**-30])
def test_in_units_of_a_power_of_two_everything_is_the_same_to_the_last_bit(name: str, scale: float) -> None:
    one, other = told(VALUES[name][:14]), told(scale * VALUES[name][:14])
    assert other.belief.state() == one.belief.state()
    assert other.kernel == one.kernel
    assert (other.scaling.centre, other.scaling.spread) == (scale * one.scaling.centre, scale * one.scaling.spread)
    np.testing.assert_array_equal(predicted(other).mean, scale * predicted(one).mean)


@pytest.mark.parametrize("name", VALUES)
@pytest.mark.parametrize(("shift", "scale"), [(5.0, 3.0), (1e9, 1e9), (1e-9, 1e-9), (-1e3, 1.0)])
def test_other_units_change_nothing_but_the_units(name: str, shift: float, scale: float) -> None:
    one, other = told(VALUES[name][:14]), told(shift + scale * VALUES[name][:14])
    assert_close(other.belief.predict(PROBES), one.belief.predict(PROBES), 1e-8)
    np.testing.assert_allclose(other.kernel.theta, one.kernel.theta, rtol=0, atol=1e-6)
    assert other.noise_variance == pytest.approx(one.noise_variance, rel=1e-6)
    mean, variance = predicted(one)
    np.testing.assert_allclose(predicted(other).mean, shift + scale * mean, rtol=0, atol=1e-8 * scale)
    np.testing.assert_allclose(predicted(other).variance, scale**2 * variance, rtol=0, atol=1e-8 * scale**2)


def test_predictions_are_in_the_units_of_the_values() -> None:
    model = told(VALUES["noiseless"])
    np.testing.assert_allclose(predicted(model).mean, smooth(PROBES), rtol=0, atol=0.05)


# Values that are not to be believed


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_how_far_out_an_outlier_lies_does_not_matter(sign: float) -> None:
    models = []
    for far in (1e6, 1e12):
        values = VALUES["noisy"][:30].copy()
        values[25] = sign * far
        models.append(told(values))
    assert models[0].belief.state() == models[1].belief.state()
    assert models[0].kernel == models[1].kernel
    assert [model.clipped for model in models] == [1, 1]
    assert np.abs(predicted(models[0]).mean - smooth(PROBES)).max() < 10.0


def test_what_is_clipped_is_said_and_counted() -> None:
    model = told(VALUES["noisy"][:30])
    assert model.clipped == 0
    assert not model.tell(POINTS[30], 1.0).clipped
    assert model.tell(POINTS[31], -1e5).clipped
    assert model.tell(POINTS[32], 1e5).clipped
    assert model.clipped == 2


@pytest.mark.parametrize(
    "constant",
    [
        0.0,
        0.5,
        -1e9,
        0.1,
    ],
)
def test_of_a_constant_objective_only_the_constant_is_learned(constant: float) -> None:
    model, fresh = told(np.full(12, constant)), Model(GROUPS)
    assert model.kernel == fresh.kernel
    assert model.noise_variance == fresh.noise_variance
    np.testing.assert_allclose(predicted(model, POINTS[:12]).mean, constant, rtol=1e-12)
    assert (model.scaling.spread, model.clipped) == (1.0, 0)


@pytest.mark.parametrize("least", [5e-324, 1e-170])
def test_values_that_hardly_differ_are_as_a_constant(least: float) -> None:
    model = told(least * np.arange(6.0))
    np.testing.assert_allclose(predicted(model).mean, 0.0, rtol=0, atol=1e-100)
    assert model.clipped == 0


def test_the_noise_of_one_action_told_again_and_again_is_not_taken_for_a_function() -> None:
    values = np.random.default_rng(3).normal(size=40)
    model = told(values, np.tile(POINTS[:1], (40, 1)))
    assert model.history.distinct == model.belief.distinct == 1
    assert predicted(model, POINTS[:1]).mean[0] == pytest.approx(values.mean(), abs=0.1)


# When hyper-parameters are fitted, and what a belief then knows


@pytest.mark.parametrize("name", VALUES)
def test_told_the_same_two_models_are_the_same_to_the_last_bit(name: str) -> None:
    silent, read = Model(GROUPS, seed=3), Model(GROUPS, seed=3)
    for action, value in zip(POINTS[:40], VALUES[name].tolist(), strict=False):
        silent.tell(action, value)
        read.belief.predict(PROBES)
        read.tell(action, value)
        assert read.clipped <= len(read.history) / 4
    assert silent.belief.state() == read.belief.state()
    assert silent.kernel == read.kernel


def counting_fits(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many values were known at each fit."""
    counts: list[int] = []

    def counted(*args: Any, **options: Any) -> Fit:
        counts.append(int(args[2].count.sum()))
        return fit(*args, **options)

    monkeypatch.setattr(fitter, "fit", counted)
    return counts


def test_fits_come_at_counts_that_grow_geometrically_whatever_the_values(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = counting_fits(monkeypatch)
    X = np.random.default_rng(4).random((120, 2))
    told(smooth(X), X)
    first = sorted(set(counts))
    counts.clear()
    told(np.full(120, 2.0), X)
    assert counts == first
    gaps, before = np.diff(first), np.array(first[:-1])
    assert first[0] == 1
    assert ((gaps >= 1) & (gaps >= before // 8) & (gaps <= np.maximum(before / 8, 1))).all()


@pytest.mark.parametrize("replayed", [2, 7, 512])
def test_at_every_time_the_belief_has_taken_in_all_that_was_told(
    replayed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "REPLAYED", replayed)
    model = Model(GROUPS)
    kernels: set[Kernel] = set()
    for action, value in zip(POINTS, VALUES["noisy"].tolist(), strict=True):
        model.tell(action, value)
        assert_filled(model)
        kernels.add(model.belief.kernel)
    assert len(kernels) > 4  # filled in pieces or at once, fresh beliefs came to serve


@pytest.mark.parametrize("replayed", [3, 512])
def test_beyond_the_cap_everything_is_absorbed_once(replayed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "REPLAYED", replayed)
    model = Model(GROUPS, max_model_order=5)
    for t, (action, value) in enumerate(zip(POINTS, VALUES["noisy"].tolist(), strict=True), 1):
        model.tell(action, value)
        assert model.belief.absorbed == t
    model.tell_many(PROBES, smooth(PROBES))
    assert model.belief.absorbed == 69
    assert POINTS[VALUES["noisy"].argmax()].tolist() in model.belief.dictionary.tolist()


def test_filled_in_pieces_a_belief_is_as_filled_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    # A fit is due at 45 values; in pieces of 12, with one more coming for each, the fresh belief has caught up at 48.
    models, served = [], []
    for replayed in (512, 12):
        monkeypatch.setattr(module, "REPLAYED", replayed)
        model = Model(GROUPS, seed=1)
        model.tell_many(POINTS[:40], VALUES["noisy"][:40])
        old = model.belief.kernel
        for action, value in zip(POINTS[40:48], VALUES["noisy"][40:48].tolist(), strict=True):
            model.tell(action, value)
            served.append(model.belief.kernel == old)
        models.append(model)
    assert served == [True] * 4 + [False] * 4 + [True] * 7 + [False]
    np.testing.assert_array_equal(models[0].belief.dictionary, models[1].belief.dictionary)
    np.testing.assert_allclose(models[0].belief.predict(POINTS), models[1].belief.predict(POINTS), rtol=1e-9, atol=1e-9)
    assert models[0].scaling == models[1].scaling


def test_many_told_at_once_are_as_told_one_by_one() -> None:
    for n in range(1, 9):  # as long as every value is followed by a fit
        one, many = told(VALUES["noisy"][:n]), told(VALUES["noisy"][: n - 1])
        many.tell_many(POINTS[n - 1 : n], VALUES["noisy"][n - 1 : n])
        assert many.belief.state() == one.belief.state()
        assert (many.kernel, many.scaling) == (one.kernel, one.scaling)


@pytest.mark.parametrize("name", VALUES)
def test_many_told_at_once_are_fitted_once_and_all_known(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    one = told(VALUES[name])
    counts = counting_fits(monkeypatch)
    many = Model(GROUPS)
    many.tell_many(POINTS, VALUES[name])
    assert set(counts) == {60}
    np.testing.assert_array_equal(many.history.actions, one.history.actions)
    np.testing.assert_array_equal(many.history.values, one.history.values)
    assert many.scaling._replace(bend=Bend()) == scaling_of(VALUES[name])
    assert_filled(many)
    assert_filled(one)
    assert_close(predicted(many), predicted(one), 0.02)


def test_many_told_while_a_belief_is_filled_are_all_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "REPLAYED", 2)
    model = told(VALUES["noisy"][:30])
    model.tell_many(POINTS[30:], VALUES["noisy"][30:])
    assert_filled(model)
    assert model.scaling._replace(bend=Bend()) == scaling_of(VALUES["noisy"])


def test_beyond_fit_rows_the_atoms_are_fitted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FIT_ROWS", 5)
    seen: list[Array] = []

    def looked(kernel: Kernel, noise: float, data: Any, **options: Any) -> Fit:
        seen.append(data.X)
        return fit(kernel, noise, data, **options)

    monkeypatch.setattr(fitter, "fit", looked)
    model = told(VALUES["noisy"][:40])
    assert max(len(X) for X in seen) == 5
    atoms = {x.tobytes() for x in model.history.all_rows()}
    assert all(x.tobytes() in atoms for x in seen[-1])
    assert_filled(model)


def test_a_fit_that_fails_is_said_and_the_last_numbers_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    model = told(VALUES["noisy"][:8])
    kernel, noise = model.kernel, model.noise_variance

    def failing(kernel: Kernel, noise: float, *_: Any, **__: Any) -> Fit:
        return Fit(kernel, noise, -math.inf, converged=False)

    monkeypatch.setattr(fitter, "fit", failing)
    with pytest.warns(FitWarning, match="the last ones are kept"):
        model.tell(POINTS[8], 0.0)
    assert (model.kernel, model.noise_variance) == (kernel, noise)
    assert_filled(model)


# What a value taught


@settings(max_examples=8)
@given(seed=st.integers(0, 2**32 - 1), repeats=st.booleans())
def test_a_lesson_is_what_the_belief_of_then_learned(seed: int, repeats: bool) -> None:
    rng = np.random.default_rng(seed)
    X = rng.random((4 if repeats else 25, 2))
    model = Model(GROUPS)
    for _ in range(25):
        action, value = X[rng.integers(len(X))], float(rng.normal())
        belief = model.belief.copy()
        atoms, variance = belief.distinct, float(belief.predict(action[None, :]).variance[0])
        lesson = model.tell(action, value)
        belief.update(action, 0.0)
        nats = information_gain(variance, belief.noise_variance)
        assert lesson.nats == pytest.approx(nats, rel=1e-6, abs=1e-9)
        assert lesson == Lesson(belief.distinct == atoms + 1, lesson.nats, belief.distinct, lesson.clipped)
        assert lesson.nats >= 0.0


def test_the_first_value_is_kept_and_a_repeat_of_it_is_not() -> None:
    model = Model(GROUPS)
    first, again = model.tell(POINTS[0], 1.0), model.tell(POINTS[0], 1.0)
    assert (first.kept, first.model_order, again.kept, again.model_order) == (True, 1, False, 1)
    assert first.nats > again.nats > 0.0


def test_at_the_cap_what_becomes_an_atom_is_kept() -> None:
    model = told(VALUES["noisy"][:20], max_model_order=3)
    far = np.array([1.0, 0.0])
    lesson = model.tell(far, 0.0)
    assert far.tolist() in model.belief.dictionary.tolist()
    assert lesson.kept


# What is given


@pytest.mark.parametrize("noise", [1e-6, 0.01, 4.0])
def test_a_known_noise_stays_in_the_units_of_the_objective(noise: float) -> None:
    model = Model(GROUPS, noise_variance=noise)
    for action, value in zip(POINTS, (10.0 * VALUES["noisy"]).tolist(), strict=True):
        model.tell(action, value)
        assert model.belief.noise_variance * model.scaling.unit**2 == pytest.approx(noise, rel=1e-12)


@pytest.mark.parametrize("cap", [1, 2, 7])
def test_the_model_order_never_exceeds_its_cap(cap: int) -> None:
    model, evictions = Model(GROUPS, max_model_order=cap), 0
    for action, value in zip(POINTS[:40], VALUES["noisy"].tolist(), strict=False):
        assert model.tell(action, value).model_order <= cap
        assert model.belief.distinct <= cap
        evictions = max(evictions, model.belief.evictions)
    assert evictions > 0
    model.tell_many(POINTS[40:], VALUES["noisy"][40:])
    assert model.belief.distinct == cap
    assert len(model.history) == 60


def test_coordinates_of_one_parameter_share_a_length_scale() -> None:
    rng = np.random.default_rng(5)
    model = Model(np.array([0, 1, 1, 2]))
    for action in rng.random((25, 4)):
        model.tell(action, float(np.sin(6.0 * action[1]) + action[0]))
    scales = model.kernel.length_scale
    assert scales[1] == scales[2]
    assert len({float(s) for s in scales}) == 3


def test_the_class_of_the_kernel_is_the_one_given() -> None:
    kinds: list[Callable[[], Kernel]] = [lambda: SquaredExponential(0.5), lambda: SquaredExponential([0.5, 0.5])]
    for kind in kinds:
        model = told(VALUES["noisy"][:20], kernel=kind())
        assert isinstance(model.belief.kernel, SquaredExponential)
        assert model.belief.kernel.isotropic == kind().isotropic
        assert model.belief.kernel != kind()


@pytest.mark.parametrize("kind", [Matern32, Matern52])
def test_values_tell_how_smooth_the_kernel_is(kind: type[Kernel]) -> None:
    for seed in range(4):
        rng, kernel, model = np.random.default_rng(seed), kind([0.5, 0.5]), Model(GROUPS)
        X = rng.random((120, 2))
        model.tell_many(X, rng.multivariate_normal(np.zeros(120), kernel(X, X), method="cholesky"))
        assert isinstance(model.kernel, kind)


@pytest.mark.parametrize("values", [*VALUES.values(), -np.abs(POINTS - 0.4).sum(axis=1)])
@pytest.mark.parametrize("kind", [Matern32, Matern52])
def test_which_kernel_explains_no_less_than_the_other(values: Array, kind: type[Kernel]) -> None:
    """Up to what an ascent from elsewhere finds, as the fits of a model that is given one begin elsewhere."""
    free, given = told(values[:40]), told(values[:40], kernel=kind([0.4, 0.4]))
    assert explained(free) >= explained(given) - 1.0


def explained(model: Model) -> float:
    """The log posterior of another fit from where the model is."""
    affine = scaling_of(model.history.values)
    data = model.history.observations(model.history.all_rows())
    scaled = replace(data, mean=affine.standard(data.mean))
    return fit(model.kernel, model.noise_variance, scaled, radius=model.radius, starts=0).log_posterior


# Bent values


def arms(noise: float, **options: Any) -> tuple[Model, Array]:
    """Five places that are looked at a hundred times each."""
    truth, rng = np.array([0.0, 0.1, 0.2, 0.3, 0.25]), np.random.default_rng(2)
    X = np.tile(np.linspace(0.0, 1.0, 5), 100)[:, None]
    model = Model(np.arange(1), **options)
    model.tell_many(X, np.tile(truth, 100) + noise * rng.standard_normal(500))
    return model, truth


@pytest.mark.parametrize("options", [{}, {"noise_variance": 1.0}])
def test_the_noise_of_repeats_is_not_bent_away(options: dict[str, Any]) -> None:
    model, truth = arms(1.0, **options)
    assert 0.5 < model.noise_variance * model.scaling.unit**2 < 2.0
    mean, variance = model.belief.predict(np.linspace(0.0, 1.0, 5)[:, None])
    np.testing.assert_allclose(model.scaling.unscaled(mean), truth, atol=0.35)
    assert (np.sqrt(variance) * model.scaling.unit > 0.03).all()


def test_a_known_noise_gives_the_predictions_of_a_learned_one() -> None:
    rng = np.random.default_rng(0)
    X = rng.random((150, 1))
    y = np.sin(6.0 * X[:, 0]) + 0.5 * rng.standard_normal(150)
    one, other = Model(np.arange(1), noise_variance=0.25), Model(np.arange(1))
    probes = np.linspace(0.05, 0.95, 19)[:, None]
    means = []
    for model in (one, other):
        model.tell_many(X, y)
        means.append(model.scaling.unscaled(model.belief.predict(probes).mean))
    np.testing.assert_allclose(means[0], means[1], atol=0.15)
    assert abs(np.mean(means[0] - np.sin(6.0 * probes[:, 0]))) < 0.15


@pytest.mark.parametrize("seed", range(3))
def test_what_succeeds_or_fails_is_believed_to_do_either(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.random((50, 1))
    chance = 0.2 + 0.5 * X[:, 0]
    model = Model(np.arange(1))
    model.tell_many(X, (rng.random(50) < chance).astype(float))
    believed = model.scaling.unscaled(model.belief.predict(X).mean)
    assert np.sqrt(np.mean((believed - chance) ** 2)) < 0.3


def test_a_fit_that_fails_keeps_the_bend(monkeypatch: pytest.MonkeyPatch) -> None:
    model = told(-np.exp(4.0 * VALUES["noiseless"])[:30])
    radius = model.radius
    assert radius < 3.0

    def fails(*_: Any) -> None:
        raise NotPositiveDefiniteError

    monkeypatch.setattr(Likelihood, "__call__", fails)
    with pytest.warns(FitWarning, match="kept"):
        model.tell_many(POINTS[30:], -np.exp(4.0 * VALUES["noiseless"])[30:])
    assert (model.radius, model.scaling.bend.radius) == (radius, radius)


# A function that repeats itself


def again(values: Array, **options: Any) -> Model:
    """Told all of these, and the first ones once more, for which they were evaluated again."""
    model = told(values, **options)
    for point, value in zip(POINTS[:ENOUGH], values.tolist(), strict=False):
        model.tell(point, value, looked=True)
    return model


def is_rippled(model: Model) -> bool:
    return isinstance(model.belief.kernel, Rippled)


@pytest.mark.parametrize("kernel", [None, SquaredExponential(0.4)], ids=["by values", "given"])
def test_what_comes_again_as_before_is_part_of_the_function(kernel: Kernel | None) -> None:
    rugged, noisy = again(VALUES["noisy"], kernel=kernel), told(VALUES["noisy"], kernel=kernel)
    assert noisy.belief.noise_variance > RUGGED
    assert not is_rippled(noisy)
    assert rugged.belief.noise_variance <= RUGGED
    assert isinstance(rugged.belief.kernel, Rippled)
    assert kernel is None or type(rugged.belief.kernel.trend) is type(kernel)
    mean, variance = rugged.predict(POINTS)
    np.testing.assert_allclose(rugged.scaling.unscaled(mean), VALUES["noisy"], atol=1e-3)
    assert variance.max() <= RUGGED
    assert (rugged.predict(PROBES).variance > 0.1 * noisy.belief.noise_variance).all()


def test_it_is_as_soon_as_that_is_known() -> None:
    model = told(VALUES["noisy"])
    for k in range(ENOUGH):
        assert not is_rippled(model)
        model.tell(POINTS[k], float(VALUES["noisy"][k]), looked=True)
    assert is_rippled(model)
    assert_close(model.predict(PROBES), filled(model).predict(PROBES), 1e-6)


@pytest.mark.parametrize("reason", ["the noise is known", "there is next to none"])
def test_a_function_has_no_ripples_where(reason: str) -> None:
    known = reason == "the noise is known"
    model = again(VALUES["noisy" if known else "noiseless"], noise_variance=0.01 if known else None)
    assert not is_rippled(model)


@pytest.mark.parametrize("n", [0, 30], ids=["at once", "long before the next fit"])
def test_ripples_may_turn_out_to_be_noise(n: int) -> None:
    model = again(VALUES["noisy"])
    for point in PROBES[:1].repeat(n, axis=0) + 1e-3 * np.arange(n)[:, None]:
        model.tell(point, float(smooth(point[None, :])[0]))
    assert is_rippled(model)
    model.tell(POINTS[1], 0.0)
    assert not is_rippled(model)
    assert model.belief.noise_variance > RUGGED


def test_what_was_told_is_known_when_the_atom_of_it_has_gone() -> None:
    model = again(VALUES["noisy"], max_model_order=20)
    assert is_rippled(model)
    for point, value in zip(PROBES, smooth(PROBES).tolist(), strict=True):
        model.tell(point, value)
    assert model.belief.evictions > 0
    assert np.ptp(model.belief.predict(POINTS).mean - model.scaling.scaled(VALUES["noisy"])) > 0.01
    mean, variance = model.predict(POINTS)
    np.testing.assert_allclose(model.scaling.unscaled(mean), VALUES["noisy"], rtol=1e-9)
    assert not variance.any()


def test_a_failure_does_not_change_what_is_known_of_an_exact_function() -> None:
    model, place = again(VALUES["noisy"]), POINTS[3]
    for action in (PROBES[0], place):
        model.learn(action, -1.0, None, Lesson(False, 0.0, 1, clipped=False), imputed=True)
    for _ in range(2):
        told, failed = model.scaling.unscaled(model.belief.predict(np.array([place, PROBES[0]])).mean)
        np.testing.assert_allclose((told, failed), (VALUES["noisy"][3], -1.0), atol=1e-3)
        model.tell_many(PROBES[1:], smooth(PROBES[1:]))  # with a fit, and a belief filled anew


def test_a_model_with_ripples_is_restored() -> None:
    model = again(VALUES["noisy"])
    model._settle(REFRESHED)
    assert model.settled
    other = Model(GROUPS)
    other.history = model.history
    other.restore(json.loads(json.dumps(model.state())))
    assert other.belief.kernel == model.belief.kernel
    assert_close(other.predict(PROBES), model.predict(PROBES), 1e-9)
    assert (other.kernel, other.noise_variance) == (model.kernel, model.noise_variance)


def test_a_copy_of_what_was_told_says_nothing_of_noise() -> None:
    model = told(VALUES["noisy"])
    for _ in range(5):
        model.tell(POINTS[0], float(VALUES["noisy"][0]))
    model.tell_many(POINTS, VALUES["noisy"])
    assert not is_rippled(model)


def test_where_the_best_value_is_too_good_to_be_believed_nothing_is_exact() -> None:
    values = VALUES["noisy"].copy()
    values[7] = 1e6
    model = again(values)
    assert model.history.is_exact
    assert not is_rippled(model)
