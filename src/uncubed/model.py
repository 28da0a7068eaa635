"""A model that fits itself: values scaled, hyper-parameters learned, everything told absorbed, at a bounded cost each.

Values are told in the objective's units, always to be maximised. At counts that grow geometrically the scaling and the
hyper-parameters are chosen anew and a fresh belief is filled from the history, a bounded piece at each value, while the
old one serves. The schedule counts values and never looks at a clock, so that a study can be repeated.
"""

import math
import warnings
from dataclasses import replace
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from uncubed import _state
from uncubed._typing import Array
from uncubed.beliefs import Posterior, ProjectedBelief
from uncubed.bend import Bend
from uncubed.errors import FitWarning
from uncubed.fit import Fit, Priors
from uncubed.fitter import RUGGED, Fitter
from uncubed.history import History
from uncubed.information import information_gain
from uncubed.kernels import Kernel, Matern52
from uncubed.observations import Observations
from uncubed.rippled import Rippled
from uncubed.scaling import Scaling, scaling_of

FIT_ROWS = 256
"""Rows that hyper-parameters are fitted to at most; a fit is cubic in them."""

LITTLE = 8
"""Values told at once are learned one by one where the history has so many times as many."""

REPLAYED = 512
"""Past values that a fresh belief takes in per value told."""

REFRESHED = 256
"""Values told between two times that everything updated is computed afresh, when a state may be saved."""

NOISE_AT_CAP = 1e-7
"""Least noise variance of a belief that evicts, in its units: below it evictions lose the digits of the rest."""


class Lesson(NamedTuple):
    """What one value taught.

    Attributes:
        kept: whether its action became an atom of the model; what did not was absorbed.
        nats: information gained.
        model_order: atoms now.
        clipped: whether the value lay too far out to be taken at its word.
    """

    kept: bool
    nats: float
    model_order: int
    clipped: bool


@final
class Model:
    """A belief about an objective on the unit cube.

    Args:
        groups: coordinates of one parameter have the same number, shape (d,); they share a length-scale.
        noise_variance: in the objective's units squared, where it is known.
        kernel: class and start of what is fitted. Unless given it has a length-scale per coordinate, and values tell
            whether it is Matérn 5/2 or 3/2.
        max_model_order: atoms at most.
        seed: of the fits.
    """

    def __init__(
        self,
        groups: NDArray[np.int64],
        *,
        noise_variance: float | None = None,
        kernel: Kernel | None = None,
        max_model_order: int = 256,
        seed: int = 0,
    ) -> None:
        d = len(groups)
        self.known_noise, self.max_model_order = noise_variance, max_model_order
        self.kernel = Matern52(np.full(d, 0.3 * math.sqrt(d))) if kernel is None else kernel
        self._fitter = Fitter(groups, by_values=kernel is None, rng=np.random.default_rng(seed))
        self.noise_variance = 1e-2  # in the belief's units, until something is known
        self.radius = Priors().radius.median
        self.scaling = Scaling()
        self.belief: ProjectedBelief = self._fresh()
        self.history = History(d)
        self.fits = 0
        """Fits whose belief came to serve."""
        self._next_fit = 1
        self._since_refresh = 0
        self._filling: _Filling | None = None

    def tell(self, action: Array, value: float, noise: float | None = None, *, looked: bool = False) -> Lesson:
        """Learn one value and the variance of its noise where that is known, in the objective's units."""
        lesson = self.lesson(action, value, noise)
        self.learn(action, value, noise, lesson, looked=looked)
        return lesson

    def lesson(self, action: Array, value: float, noise: float | None = None) -> Lesson:
        """What a value would teach; nothing changes."""
        belief = self.belief
        kept, variance = belief.foresee(action)
        assumed = float(self._noises(belief, self.scaling, np.array(noise or math.nan)))
        return Lesson(
            kept,
            information_gain(variance, assumed),
            min(belief.distinct + kept, self.max_model_order),
            bool(self.scaling.clips(np.array([value]))[0]),
        )

    def learn(self, action: Array, value: float, noise: float | None, lesson: Lesson, **how: bool) -> None:
        """Learn one value, of which this is the lesson; how it came, as `write_down` has it."""
        mistaken = self._mistakes_noise
        self.write_down(action, value, noise, lesson, **how)
        if self._mistakes_noise and not mistaken:
            self._next_fit = len(self.history)
        belief, value = self.belief, float(self.history.to_learn(np.array([-1]))[0])
        assumed = float(self._noises(belief, self.scaling, np.array(noise or math.nan)))
        belief.update(action, float(self.scaling.scaled(np.array(value))), noise_variance=assumed)
        if belief.distinct > self.max_model_order:
            belief.evict()
        self._advance()

    def write_down(
        self,
        action: Array,
        value: float,
        noise: float | None,
        lesson: Lesson,
        *,
        imputed: bool = False,
        looked: bool = False,
    ) -> None:
        """Enter a value in the history and learn nothing from it: a state to be restored knows it already."""
        self.history.add(
            action,
            value,
            noise=math.nan if noise is None else noise,
            nats=lesson.nats,
            model_order=lesson.model_order,
            imputed=imputed,
            looked=looked,
        )

    def tell_many(self, X: Array, values: Array, noises: Array | None = None) -> None:
        """Learn many at once: one fit, and one pass over the history; noise is NaN where it is not known."""
        if LITTLE * len(X) <= len(self.history):  # a pass over a long history would be dear
            self._learn_in_turn(X, values, noises)
            return
        self.write_down_many(X, values, noises)
        self._refit()
        self._fill(len(self.history))
        self._settle(len(X))

    def _learn_in_turn(self, X: Array, values: Array, noises: Array | None) -> None:
        given = [None] * len(X) if noises is None else [v if v > 0.0 else None for v in noises.tolist()]
        lesson = Lesson(kept=False, nats=math.nan, model_order=int(self.history.model_orders[-1]), clipped=False)
        for action, value, noise in zip(X, values.tolist(), given, strict=True):
            self.learn(action, value, noise, lesson)

    def write_down_many(self, X: Array, values: Array, noises: Array | None = None) -> None:
        """Enter values in the history and learn nothing from them."""
        noises = np.full(len(X), math.nan) if noises is None else noises
        before = int(self.history.model_orders[-1]) if len(self.history) else 0
        for action, value, noise in zip(X, values.tolist(), noises.tolist(), strict=True):
            self.history.add(action, value, noise=noise, nats=math.nan, model_order=before)

    @property
    def clipped(self) -> int:
        """Values that lie too far out to be taken at their word."""
        return int(self.scaling.clips(self.history.values).sum())

    @property
    def noisy(self) -> bool:
        """Whether it is known that what is taken for noise is noise."""
        return self.known_noise is not None or self.history.is_noisy

    @property
    def unclear(self) -> bool:
        """Whether what is taken for noise may as well be part of the function."""
        return self.known_noise is None and self.belief.noise_variance > RUGGED and self.history.is_unclear

    @property
    def exact(self) -> bool:
        """Whether it is known that there is no noise; nobody knows that of a best value too far out to be believed."""
        return self.known_noise is None and self.history.is_exact and not self.scaling.clips(self.history.largest).any()

    @property
    def _mistakes_noise(self) -> bool:
        """Whether there is noise in the model and none in the function, or ripples for what turned out to be noise."""
        if isinstance(self.belief.kernel, Rippled):
            return not self.exact
        return self.belief.noise_variance > RUGGED and self.exact

    def predict(self, X: Array) -> Posterior:
        """Mean and variance of the function, in the belief's units; where it was told and is exact, it is known.

        The belief itself may have evicted what it learned there.
        """
        mean, variance = self.belief.predict(X)
        if not self.exact:
            return Posterior(mean, variance)
        values = np.array([self.history.exact_at(x) for x in X], float)  # NaN for None
        told = ~np.isnan(values)
        return Posterior(np.where(told, self.scaling.scaled(values), mean), np.where(told, 0.0, variance))

    # On disk

    @property
    def settled(self) -> bool:
        """Whether everything that was updated has just been computed afresh, so that `state` is all there is to know.

        It comes at counts, so that a study is the same whether it was saved on the way or not.
        """
        return self._since_refresh == 0

    def state(self) -> dict[str, Any]:
        """What `restore` needs beside the history, as JSON values; only of a settled model."""
        return {
            "kernel": _state.encode(self.belief.kernel),
            "belief": self.belief.state(),
            "scaling": [*self.scaling[:-1], list(self.scaling.bend)],
            "radius": self.radius,
            "next_fit": self._next_fit,
            "fits": self.fits,
            "generator": self._fitter.rng.bit_generator.state,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Become the model that gave this state; the history must be that of then."""
        self.kernel = _state.decode(state["kernel"])
        self.belief = ProjectedBelief.restore(self.kernel, state["belief"])
        self.noise_variance = self.belief.noise_variance
        centre, spread, least, largest, bend = state["scaling"]
        self.scaling, self.radius = Scaling(centre, spread, least, largest, Bend(*bend)), state["radius"]
        self._next_fit, self.fits = state["next_fit"], state["fits"]
        self._fitter.rng.bit_generator.state = state["generator"]
        self._filling, self._since_refresh = None, 0

    # Fits

    def _advance(self) -> None:
        """After each value: go on filling a fresh belief, or start one when a fit is due."""
        if self._filling is None and len(self.history) >= self._next_fit:
            self._refit()
        if self._filling is not None:
            self._fill(REPLAYED)
        self._settle(1)

    def _settle(self, more: int) -> None:
        self._since_refresh += more
        if self._since_refresh >= REFRESHED and self._filling is None:
            self.belief.refresh()
            self._since_refresh = 0

    def _refit(self) -> None:
        n = len(self.history)
        self._next_fit = n + max(1, n // 8)
        affine = scaling_of(self.history.values)
        found = self._fit(affine)
        scaling = affine._replace(bend=found.bend)
        noise = found.noise_variance
        if self.known_noise is not None:
            noise = float(scaling.noise(self.known_noise))
        self.kernel, self.noise_variance = found.kernel, max(noise, self._least_noise())
        if math.isfinite(found.log_posterior):
            self.radius = found.bend.radius
        self._filling = _Filling(self._fresh(), scaling, self._order(), 0)

    def _least_noise(self) -> float:
        """A model that is full, or will be before the next fit, evicts atoms, which needs digits that noise leaves."""
        return NOISE_AT_CAP if self.history.distinct > 0.8 * self.max_model_order else 0.0

    def _fit(self, affine: Scaling) -> Fit:
        data, last = self._standard(self._fit_rows(), affine), (self.kernel, self.noise_variance)
        found = self._fitter.fit(*last, data, radius=self.radius, nth=self.fits, exact=self.exact)
        if not math.isfinite(found.log_posterior) and len(data.X) > 1 and np.ptp(data.mean) > 0.0:
            warnings.warn("hyper-parameters could not be fitted; the last ones are kept", FitWarning, stacklevel=4)
        return found

    def _standard(self, rows: Array, affine: Scaling) -> Observations:
        """What is known of these rows, scaled."""
        seen, unit = self.history.observations(rows), affine.spread**2
        given = self._given(seen.noise)
        return replace(
            seen,
            mean=affine.standard(seen.mean),
            scatter=np.where(np.isnan(given), seen.scatter / unit, 0.0),
            noise=affine.noise(given),
        )

    def _fit_rows(self) -> Array:
        """What is fitted to: all, or the atoms and as many others as there is room for, evenly from the history."""
        rows = self.history.all_rows()
        if len(rows) <= FIT_ROWS:
            return rows
        atoms = self.belief.dictionary[:FIT_ROWS].reshape(-1, rows.shape[1])  # of an empty belief too
        others = rows[np.linspace(0, len(rows) - 1, FIT_ROWS).astype(int)]
        both = np.vstack([atoms, others])
        first = np.sort(np.unique(both, axis=0, return_index=True)[1])
        return both[first[:FIT_ROWS]]

    def _order(self) -> NDArray[np.intp]:
        """In which to take in the past: as it came, or if it is more than the model holds, the best in between."""
        n = len(self.history)
        as_it_came = np.arange(n)
        if self.history.distinct <= self.max_model_order:
            return as_it_came
        best_first = np.argsort(-self.history.values, kind="stable")
        both = np.column_stack([best_first, as_it_came]).reshape(-1)
        _, first = np.unique(both, return_index=True)
        return both[np.sort(first)]

    def _fill(self, most: int) -> None:
        """Let the fresh belief take in some of the past; when it has caught up it serves.

        Once it is full nothing more becomes an atom: evictions are for what comes one at a time.
        """
        filling = self._filling
        if filling is None:
            return
        belief, n = filling.belief, len(self.history)
        order = np.append(filling.order, np.arange(len(filling.order), n))[filling.done : filling.done + most]
        scaled = filling.scaling.scaled(self.history.to_learn(order))
        noises = self._noises(belief, filling.scaling, self.history.noises[order])
        belief.update_many(self.history.actions[order], scaled, noises, max_model_order=self.max_model_order)
        self._filling = filling._replace(done=filling.done + len(order))
        if self._filling.done == n:
            self.belief, self.scaling, self._filling = belief, filling.scaling, None
            self.fits += 1

    def _noises(self, belief: ProjectedBelief, scaling: Scaling, noises: Array) -> Array:
        """Variances of the noise of values in the belief's units: as given in the objective's, or as learned."""
        given = self._given(noises)
        result: Array = np.where(given > 0.0, scaling.noise(given), belief.noise_variance)
        return result

    def _given(self, noises: Array) -> Array:
        """NaN where the noise is to be learned."""
        return noises if self.known_noise is None else np.where(noises > 0.0, noises, self.known_noise)

    def _fresh(self) -> ProjectedBelief:
        return ProjectedBelief(self.kernel, self.noise_variance)


class _Filling(NamedTuple):
    """A fresh belief on its way."""

    belief: ProjectedBelief
    scaling: Scaling
    order: NDArray[np.intp]
    done: int
